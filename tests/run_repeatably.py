"""Run a program as Python would, but with its noise from a stream of the tests.

run_repeatably.py NAME -m MODULE [ARGUMENTS]
run_repeatably.py NAME SCRIPT [ARGUMENTS]
"""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from tests import streams  # noqa: E402  # found only now

if __name__ == "__main__":
    name, program, *arguments = sys.argv[1:]
    streams.install()
    with streams.stream(name):
        if program == "-m":
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [program, *arguments]
            runpy.run_path(program, run_name="__main__")
