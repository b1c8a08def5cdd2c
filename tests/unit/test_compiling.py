"""Machine code is cached, and never used after a helper in another file has changed."""

import subprocess
import sys
import textwrap

import numba
import pytest

from privet.compiling import kernel_digest, kernel_folder

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
