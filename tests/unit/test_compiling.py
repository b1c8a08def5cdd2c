"""Machine code is cached, never used after a helper in another file has changed, and made anew if it was damaged."""

import importlib
import io
import logging
import subprocess
import sys
import textwrap

import numba
import pytest

from privet.compiling import kernel_digest, kernel_folder, waiting

HELPER = """
from privet.compiling import inlined

@inlined
def helper(x):
    return x + {step}
"""
KERNEL = """
from privet.compiling import compiled
from {package}.helper import helper

@compiled
def kernel(x):
    return helper(x) * 2
"""


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """Return a function that runs a small package's kernel on 1 in a new process, with a helper that adds a step."""
    package = tmp_path / "toy_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernel.py").write_text(KERNEL.format(package="toy_kernels"))
    script = "from toy_kernels.kernel import kernel; print(kernel(1), sum(kernel.stats.cache_hits.values()))"

    def run(step):
        (package / "helper.py").write_text(HELPER.format(step=step))
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
        )
        value, hits = done.stdout.split()
        return int(value), int(hits) > 0

    return run


@pytest.mark.slow
def test_a_changed_helper_is_seen_although_the_kernels_own_file_is_the_same(answer):
    assert answer(step=10)[0] == 22
    assert answer(step=10) == (22, True)
    assert answer(step=20)[0] == 42


def test_the_digest_is_of_files_with_kernels(tmp_path, monkeypatch):
    package = tmp_path / "toy_digest"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    empty = kernel_digest("toy_digest")
    (package / "prose.py").write_text("x = 1\n")
    assert kernel_digest("toy_digest") == empty
    (package / "kernel.py").write_text(textwrap.dedent(HELPER.format(step=1)))
    assert kernel_digest("toy_digest") != empty


def test_other_peoples_functions_are_cached_where_they_were(tmp_path):
    import privet.trees.kernels.count

    assert privet.trees.kernels.count is not None
    assert not str(numba.config.CACHE_DIR).startswith(str(kernel_folder("privet")))


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a function that imports a small module anew, runs its kernel on 1, and returns its answer and the hits."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "toy_damage.py").write_text(
        "from privet.compiling import compiled\n\n@compiled\ndef kernel(x):\n    return 2 * x + 7\n"
    )
    importlib.invalidate_caches()

    def run():
        sys.modules.pop("toy_damage", None)
        kernel = importlib.import_module("toy_damage").kernel
        return kernel(1), sum(kernel.stats.cache_hits.values())

    kernel_folder.cache_clear()
    yield run
    sys.modules.pop("toy_damage", None)
    kernel_folder.cache_clear()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["emptied", "cut short", "another text", "one bit"])
def test_a_damaged_file_of_the_cache_is_made_anew(toy, ending, damage):
    assert toy() == (9, 0)
    assert toy() == (9, 1)
    (path,) = kernel_folder("toy_damage").rglob(f"*.{ending}")
    sound = path.read_bytes()
    last = len(sound) - 1
    path.write_bytes(
        {
            "emptied": b"",
            "cut short": sound[: len(sound) // 2],
            "another text": b"no pickle" * 100,
            "one bit": sound[:last] + bytes([sound[last] ^ 1]),
        }[damage]
    )
    assert toy() == (9, 0)
    assert toy() == (9, 1)


def test_a_disk_without_room_costs_the_cache_and_nothing_else(toy, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", full)
    assert toy() == (9, 0)
    assert toy() == (9, 0)


def test_the_first_folder_that_can_be_written_to_holds_the_code(tmp_path, monkeypatch):
    home, users, temporary, a_file = (tmp_path / name for name in ("home", "users", "temporary", "file"))
    home.mkdir()
    temporary.mkdir()
    a_file.write_text("")
    monkeypatch.setattr("privet.compiling.kernel_cache.folder_of", lambda package: home)
    monkeypatch.setattr("privet.compiling.kernel_cache.gettempdir", lambda: str(temporary))
    monkeypatch.setenv("XDG_CACHE_HOME", str(users))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "asked"))
    find = kernel_folder.__wrapped__
    assert find("toy").parent == tmp_path / "asked"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(a_file))  # not a folder: nothing can be written there, whoever asks
    assert find("toy").parent == home / "__pycache__"
    monkeypatch.setattr("privet.compiling.kernel_cache.folder_of", lambda package: a_file)
    assert find("toy").parent == users / "privet"
    monkeypatch.setenv("XDG_CACHE_HOME", str(a_file))
    private = find("toy").parent
    assert private.parent == temporary
    assert private.stat().st_mode & 0o777 == 0o700
    private.chmod(0o770)  # others could put code there
    assert find("toy") is None


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_wait_is_said_once_and_on_a_terminal_only(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(waiting, "perf_counter", lambda: now[0])
    terminal, file = Terminal(), io.StringIO()

    def compile_for(listener, seconds):
        listener.on_start(None)
        listener.on_start(None)  # one within the other is not counted twice
        now[0] += seconds
        listener.on_end(None)
        listener.on_end(None)

    with caplog.at_level(logging.INFO, "privet.compiling.waiting"):
        for stream, texts in ((terminal, 1), (file, 0)):
            monkeypatch.setattr(sys, "stderr", stream)
            listener = waiting.Waiting()
            compile_for(listener, 0.4)
            compile_for(listener, 0.4)
            assert listener.seconds == pytest.approx(0.8)
            assert not stream.getvalue()
            compile_for(listener, 0.4)
            compile_for(listener, 5.0)
            assert stream.getvalue().count("compiling, once") == texts
    assert len(caplog.records) == 2
