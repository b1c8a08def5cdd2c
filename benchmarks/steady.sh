#!/usr/bin/env bash
# Does any test pass or fail by chance? From a clean clone, beside a busy loop: the whole suite in random order, and
# everything statistical, parallel or compiled again and again. Prints how many runs were green, and keeps every log.
#
#   benchmarks/steady.sh [--whole N] [--again M] [--workers W] [--fresh-cache] [--log FOLDER] [FILES...]
#
#   --whole N      run the whole suite N times (default 4)
#   --again M      run what is statistical, parallel or compiled M times (default 20)
#   --workers W    processes that run tests, beside the busy loop (default 2)
#   --fresh-cache  empty numba's cache before every run, so that everything is compiled anew
#   --log FOLDER   where the logs go (default: results/steady)
#   FILES          run these files or folders in place of both selections
set -euo pipefail

usage() { sed -n '2,/^set -euo/{s/^# \{0,1\}//;/^set -euo/d;p}' "$0"; }

root=$(cd "$(dirname "$0")/.." && pwd)
whole=4 again=20 workers=2 fresh=no log=$root/results/steady files=()
while [ $# -gt 0 ]; do
    case $1 in
        --whole) whole=$2; shift 2 ;;
        --again) again=$2; shift 2 ;;
        --workers) workers=$2; shift 2 ;;
        --fresh-cache) fresh=yes; shift ;;
        --log) log=$2; shift 2 ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; exit 2 ;;
        *) files+=("$1"); shift ;;
    esac
done

python=$root/.venv/bin/python
test -x "$python" || make -C "$root" .venv/dev.stamp
mkdir -p "$log"
log=$(cd "$log" && pwd)
clone=$(mktemp -d)
git clone --quiet "$root" "$clone/privet" # what is not committed is not tested
cd "$clone/privet"
export PYTHONPATH=$clone/privet/src:$clone/privet/papers/src # before the editable installs of the environment

"$python" -c 'while True: pass' &
busy=$!
trap 'kill $busy 2>/dev/null; rm -rf "$clone"' EXIT

green=0 runs=0
run() { # NAME, then arguments of pytest
    local name=$1 seed=$((RANDOM * 32768 + RANDOM)) started=$SECONDS verdict=FAILED
    shift
    if [ $fresh = yes ]; then find src -name '*.nb[ic]' -delete; fi
    if "$python" -m pytest -n "$workers" -ra --durations=10 \
        --random-order --random-order-bucket=global --random-order-seed=$seed "$@" >"$log/$name.log" 2>&1; then
        verdict=green green=$((green + 1))
    fi
    runs=$((runs + 1))
    echo "$verdict  $name  seed $seed  $((SECONDS - started)) s  $(tail -n 1 "$log/$name.log")" | tee -a "$log/summary.txt"
}

chancy=(tests/laws tests/noise)
for file in tests/unit/test_*.py; do
    case $file in
        *audit* | *budget* | *kernel* | *repeatable* | *mixture* | *release* | *gradient* | *moments* | *honest* | *hashing* | *joint* | *structure* | *grids* | *forest*)
            chancy+=("$file") ;;
    esac
done

git log -1 --format='%h %s' >"$log/summary.txt"
for i in $(seq 1 "$whole"); do run "whole-$i" --dist loadfile "${files[@]}"; done
echo "$green of $runs runs of the whole suite were green" | tee -a "$log/summary.txt"
sum=$green all=$runs green=0 runs=0
if [ ${#files[@]} -gt 0 ]; then chancy=("${files[@]}"); fi
# One file has half of these tests, so workers take from one another, whatever the file.
for i in $(seq 1 "$again"); do run "again-$i" --dist worksteal "${chancy[@]}"; done
echo "$green of $runs runs of what is statistical, parallel or compiled were green" | tee -a "$log/summary.txt"
[ $((sum + green)) = $((all + runs)) ]
