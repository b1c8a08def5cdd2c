"""A file is written whole or not at all: neither a full disk nor a signal costs the old one."""

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import privet
from privet import Numeric, RandomDecisionForestClassifier, Schema, cli
from privet.cli import app
from privet.errors import ModelFileError
from privet.estimators.registry import estimator_class, estimator_names
from privet.report import write_report
from privet.writing import check_room, replace_bytes, replace_figure, replace_text, replacing

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
X = np.linspace(0, 1, 40).reshape(-1, 1)
Y = np.where(X[:, 0] > 0.5, "yes", "no")
POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions, links and pipes as POSIX has them")
NOT_ROOT = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may do everything")


@pytest.fixture(scope="module")
def model():
    return RandomDecisionForestClassifier(schema=SCHEMA, n_trees=2, max_depth=2).fit(X, Y)


def run(script, *arguments):
    """Run a script in a process of its own."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)], capture_output=True)


# --- failures ---------------------------------------------------------------------------------------------------------


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("failure", [FULL, KeyboardInterrupt(), ValueError()], ids=repr)
def test_a_failure_half_way_leaves_the_old_file_and_nothing_beside_it(tmp_path, failure):
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail():
        with replacing(path) as beside:
            beside.write_text("half of the n")
            raise failure

    with pytest.raises(type(failure)):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_command_line_says_that_there_is_no_room(monkeypatch, capsys):
    def full():
        raise FULL

    monkeypatch.setattr(cli, "app", full)
    with pytest.raises(SystemExit):
        cli.main()
    assert "No space left on device; make room" in capsys.readouterr().err


WRITERS = {
    "model": lambda model, path: model.save(path),
    "report": lambda model, path: write_report(model, path),
    "schema": lambda model, path: model.schema_.save(path.with_suffix(".yaml")),
    "drawing": lambda model, path: model.model_.plot(path.with_suffix(".svg")),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_on_a_full_disk_the_old_file_stays_whatever_is_written(model, tmp_path, monkeypatch, write):
    write(model, tmp_path / "out.json")
    [path] = tmp_path.iterdir()
    old = path.read_bytes()

    def full(self, content):
        with self.open("wb") as stream:
            stream.write(content[: len(content) // 2])
        raise FULL

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write(model, tmp_path / "out.json")
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_predictions_on_a_full_disk_leave_the_old_ones(model, tmp_path, monkeypatch, suffix):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    model.save(tmp_path / "model.json")
    pandas.DataFrame(X, columns=["x"]).to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / f"out.{suffix}"
    command = ["predict", str(tmp_path / "model.json"), str(tmp_path / "new.csv"), "-o", str(out), "--force"]
    assert CliRunner().invoke(app, command).exit_code == 0
    old = out.read_bytes()

    def full(*_, **options):
        raise FULL  # when a file beside the old one has been opened

    written = {"csv": (pandas.DataFrame, "to_csv"), "parquet": (parquet.ParquetWriter, "write_table")}
    monkeypatch.setattr(*written[suffix], full)
    with pytest.raises(OSError, match="No space left"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert out.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 3


@POSIX
def test_a_real_limit_on_the_size_of_files_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    script = """
        import resource, signal, sys
        from privet.writing import replace_text
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            replace_text(sys.argv[1], "new" * 100_000)
        except OSError as error:
            sys.exit(error.errno)
    """
    assert run(script, path).returncode == errno.EFBIG
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@POSIX
def test_a_process_that_is_killed_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    script = """
        import os, signal, sys
        from privet.writing import replacing
        with replacing(sys.argv[1]) as beside:
            beside.write_text("half of the n")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(script, path).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    replace_text(path, "new")  # what the other left behind is in nobody's way
    assert path.read_text() == "new"


# --- as plain open would ----------------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_that_open_gives(tmp_path, umask):
    before = os.umask(umask)
    try:
        replace_text(tmp_path / "ours", "text")
        (tmp_path / "theirs").write_text("text")
    finally:
        os.umask(before)
    ours, theirs = ((tmp_path / name).stat() for name in ("ours", "theirs"))
    assert (ours.st_mode, ours.st_gid) == (theirs.st_mode, theirs.st_gid)


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_replaced_file_keeps_its_permissions_and_is_never_open_to_more(tmp_path, mode):
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


@POSIX
@NOT_ROOT
def test_a_file_that_may_not_be_written_to_is_not_replaced(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match=r"model\.json"):
        replace_text(path, "new")
    assert path.read_text() == "old"


@POSIX
@NOT_ROOT
def test_where_nothing_may_be_put_beside_a_file_it_is_written_in_place(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "model.json").write_text("old")
    folder.chmod(0o555)
    try:
        replace_text(folder / "model.json", "new")
        with pytest.raises(PermissionError, match=r"other\.json"):
            replace_text(folder / "other.json", "new")
    finally:
        folder.chmod(0o755)
    assert (folder / "model.json").read_text() == "new"


def test_a_file_whose_place_cannot_be_given_away_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def busy(self, target):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    replace_text(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@POSIX
@pytest.mark.parametrize("there", [True, False])
def test_a_link_still_leads_to_the_file(tmp_path, there):
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "model.json", tmp_path / "link.json"
    if there:
        file.write_text("old")
    link.symlink_to(Path("elsewhere") / "model.json")
    replace_text(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert [path.name for path in file.parent.iterdir()] == ["model.json"]


@POSIX
def test_pipes_and_devices_are_written_to_as_they_are(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    replace_bytes(pipe, b"through")
    reader.join(10)
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    replace_text("/dev/null", "away")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    script = "import sys; from privet.writing import replace_text; replace_text('/dev/stdout', sys.argv[1])"
    assert run(script, "said").stdout == b"said"
    with (tmp_path / "out").open("wb") as stream:
        subprocess.run([sys.executable, "-c", script, "said"], stdout=stream, check=True)
    assert (tmp_path / "out").read_bytes() == b"said"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_place_where_no_file_can_be_made_is_found_out_before_the_work():
    with pytest.raises(OSError, match=r"/proc/model\.json"):
        check_room("/proc/model.json")
    with pytest.raises(OSError, match=r"/proc/model\.json"), replacing("/proc/model.json"):
        pytest.fail("the work began")


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.model\.json"):
        replace_text(tmp_path / "absent" / "model.json", "text")
    with pytest.raises(IsADirectoryError if os.name == "posix" else PermissionError):
        replace_text(tmp_path, "text")


def test_long_names_and_names_without_a_suffix_do(tmp_path):
    for name in ("n" * 255, f"model.{'s' * 249}", "model", ".hidden"):
        replace_text(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("name", ["tree.svg", "tree.pdf", "tree", "tree."])
def test_figures_get_the_format_and_the_name_that_matplotlib_gives(tmp_path, name):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    for folder, write in (("ours", replace_figure), ("theirs", lambda path, figure: figure.savefig(path))):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / name, figure)
    [ours], [theirs] = ((tmp_path / folder).iterdir() for folder in ("ours", "theirs"))
    assert ours.name == theirs.name
    assert ours.read_bytes()[:4] == theirs.read_bytes()[:4]


# --- what load refuses, save refuses ----------------------------------------------------------------------------------


class RandomDecisionForestOfMine(RandomDecisionForestClassifier):
    """A subclass that the library does not know."""


def test_what_load_would_refuse_is_refused_when_it_is_saved(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    estimator = RandomDecisionForestOfMine(schema=SCHEMA).fit(X, Y)
    with pytest.raises(ModelFileError, match="RandomDecisionForestOfMine has no model files"):
        estimator.save(path)
    assert path.read_text() == "old"


def test_a_class_of_the_same_name_from_elsewhere_is_refused(tmp_path):
    namesake = type("RandomDecisionForestClassifier", (RandomDecisionForestClassifier,), {"__module__": __name__})
    with pytest.raises(ModelFileError, match="has no model files"):
        namesake(schema=SCHEMA).fit(X, Y).save(tmp_path / "model.json")


def test_every_registered_classifier_is_saved_and_read_back(tmp_path):
    for name in estimator_names("Classifier"):
        estimator = estimator_class(name)(schema=SCHEMA).fit(X, Y)
        estimator.save(tmp_path / "model.json")
        assert type(privet.load(tmp_path / "model.json")) is type(estimator)


@pytest.mark.parametrize(
    ("parameters", "read"),
    [
        ({"epsilon": np.float32(0.5), "max_depth": np.int64(3)}, {"epsilon": 0.5, "max_depth": 3}),
        ({"epsilon": Fraction(1, 4), "n_rows_hint": np.int32(500)}, {"epsilon": 0.25, "n_rows_hint": 500}),
    ],
)
def test_numbers_of_other_types_are_saved_too(parameters, read, tmp_path):
    """A parameter that is left out would come back as its default: a larger epsilon for the next fit."""
    RandomDecisionForestClassifier(schema=SCHEMA, n_trees=2, **parameters).fit(X, Y).save(tmp_path / "model.json")
    loaded = privet.load(tmp_path / "model.json").get_params()
    assert {name: loaded[name] for name in read} == read
    assert {type(loaded[name]) for name in read} <= {int, float}
