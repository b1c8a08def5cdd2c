"""Laws of the command line: quick help, one line for a mistake, the right exit code."""

import signal
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

from privet import cli
from privet.cli import app, drafts


def privet_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "privet", *arguments], capture_output=True, text=True, check=False, timeout=600
    )


def test_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"privet {version('privet')}\n")


def test_help_does_not_load_the_heavy_libraries() -> None:
    code = (
        "import sys, privet.cli\n"
        "from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(privet.cli.app, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'sklearn', 'numba', 'opendp', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert (result.returncode, result.stderr) == (0, "")


def test_module_runs_the_command_line() -> None:
    result = privet_command("--version")
    assert (result.returncode, result.stdout) == (0, f"privet {version('privet')}\n")


def test_a_large_delta_is_remarked_upon_once_and_without_a_place_in_the_code(tmp_path):
    schema, data = tmp_path / "schema.yaml", tmp_path / "people.csv"
    schema.write_text(
        "version: 1\nfeatures:\n  age: {type: numeric, low: 0, high: 100}\n"
        "target: {type: categorical, categories: [0, 1]}\n"
    )
    data.write_text("age,y\n30,0\n60,1\n")
    learner = ("-l", "privatree", "--set", "max_depth=1")
    settings = ("-e", "1", "--delta", "0.5", *learner, "-o", str(tmp_path / "model.json"))
    result = privet_command("train", str(data), "-s", str(schema), *settings)
    assert result.returncode == 0
    assert result.stderr.count("privet: warning: delta is large") == 1
    assert ".py" not in result.stderr
    assert "a strong guarantee" not in result.stdout


def stopped(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def given_up(*_: object, **__: object) -> None:
    raise typer.Abort  # what `typer.prompt` makes of an interrupt


@pytest.mark.parametrize(
    ("place", "name", "what", "command"),
    [
        (drafts, "load_schema", stopped, "plan -s schema.yaml"),
        (typer, "prompt", given_up, "schema init people.csv --target ill -o new.yaml"),
    ],
)
def test_an_interrupt_says_what_became_of_the_files(tmp_path, monkeypatch, capsys, place, name, what, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,ill\n30,no\n60,yes\n")
    monkeypatch.setattr(place, name, what)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "argv", ["privet", *command.split()])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as left:
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert left.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == "privet: stopped; files that were not finished are as they were"
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
