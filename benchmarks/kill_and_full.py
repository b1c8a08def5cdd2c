"""Kill trainings at random moments, and let them find no room, over files that exist: none of these may be lost.

``python benchmarks/kill_and_full.py --times 200`` prints in how many of them the old files were whole: model and page
are the old ones, or the new ones, and nothing in between.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import privet
from privet import cli

SCHEMA = """\
version: 2
features:
  age: {type: integer, low: 0, high: 120}
  town: {type: categorical, categories: [Lima, Oslo], other: true}
target: {type: categorical, categories: ["no", "yes"]}
target_column: ill
"""
COMMAND = "train people.csv -s schema.yaml -e 1 -o model.json --force"


def prepared(folder: Path) -> Path:
    """Write a table, a schema, and the model and page that are to survive; everything is compiled by then."""
    rows = (f"{i % 90},{'Lima' if i % 2 else 'Oslo'},{'yes' if i % 3 else 'no'}\n" for i in range(2_000))
    (folder / "people.csv").write_text("age,town,ill\n" + "".join(rows))
    (folder / "schema.yaml").write_text(SCHEMA)
    child = interrupted(folder, first=True)
    found, _ = finish(folder, child)
    if found != 0:
        raise SystemExit(f"the first training failed with {found}")
    return folder


def interrupted(folder: Path, *, first: bool = False, most_bytes: int | None = None) -> int:
    """Start a training in a child process; it finds no room beyond `most_bytes`."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        if most_bytes is not None:
            os.environ["TMPDIR"] = str(folder)  # a rescue elsewhere finds no room either
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["privet", *COMMAND.split()[: None if not first else -1]]
        cli.main()
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        os._exit(code)


def finish(folder: Path, child: int) -> tuple[int, bool]:
    """Wait for a training; return its exit code and whether model and page are whole."""
    _, status = os.waitpid(child, 0)
    whole = True
    try:
        privet.load(folder / "model.json")
        whole = (folder / "model.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    except (privet.errors.ModelFileError, OSError):
        whole = False
    return os.waitstatus_to_exitcode(status), whole


def survives(folder: Path, kills: int, full: int) -> int:
    """Return after how many trainings, killed or without room, the files were whole."""
    began, survived, chance = time.perf_counter(), 0, random.Random(7)
    finish(folder, interrupted(folder))
    length = time.perf_counter() - began
    for _ in range(kills):
        child = interrupted(folder)
        time.sleep(chance.uniform(0, 1.1 * length))
        os.kill(child, signal.SIGKILL)
        survived += finish(folder, child)[1]
    size = (folder / "model.html").stat().st_size
    for _ in range(full):
        child = interrupted(folder, most_bytes=chance.randrange(size))
        code, whole = finish(folder, child)
        survived += whole and code == cli.Exit.FAILED
    for left in folder.glob(".privet-*"):
        left.unlink()
    return survived


def main() -> None:
    """Print how many trainings left the files whole."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--times", type=int, default=200)
    times = arguments.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        work = prepared(Path(folder))
        print(f"killed: files whole in {survives(work, times, 0)} of {times}")
        print(f"no room: files whole in {survives(work, 0, times)} of {times}")


if __name__ == "__main__":
    main()
