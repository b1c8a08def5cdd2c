"""A budget is seen by every process that descends from the one that opened it, whenever it was started."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import joblib
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.model_selection import GridSearchCV

import privet
from privet.errors import BudgetError
from privet.mechanisms.measurements import noisy_row_count
from privet.privacy import budgets
from privet.privacy.budgets import processes, registry
from tests.unit.test_budgets import X, Y, forest

PATIENCE = 300  # seconds, for a machine that is busy


def fit_an_own_estimator(_=None):
    """Fit what was built in this process; return whether that was allowed."""
    try:
        forest().fit(X, Y)
    except BudgetError:
        return False
    return True


def count_rows(_=None):
    try:
        noisy_row_count(X, epsilon=1.0)
    except BudgetError:
        return False
    return True


@pytest.fixture
def in_workers():
    """Run a function in two loky workers, which joblib starts at the first call and uses again at the next ones."""
    get_reusable_executor(max_workers=2).shutdown(wait=True)

    def run(function, times):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(function)(None) for _ in range(times))

    yield run
    get_reusable_executor(max_workers=2).shutdown(wait=True)


class Interpreter:
    """Another Python, which is told line by line what to do and answers each line."""

    def __init__(self, **environment):
        loop = "import sys\nfor line in sys.stdin:\n    exec(line)\n    print('done', flush=True)\n"
        paths = os.pathsep.join([*sys.path, str(Path.cwd())])
        self.process = subprocess.Popen(
            [sys.executable, "-c", loop],
            env={**os.environ, "PYTHONPATH": paths, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def __call__(self, line):
        """Run a line of code; return what it printed, if anything."""
        self.begin(line)
        printed = self.answer()
        if printed != "done":
            assert self.answer() == "done", "the line of code has failed"
        return printed

    def fits(self):
        """Whether it may fit an estimator of its own."""
        module = "tests.unit.test_budgets_in_processes"
        return {"True": True, "False": False}[self(f"from {module} import *; print(fit_an_own_estimator())")]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("spend", [fit_an_own_estimator, count_rows])
def test_workers_from_before_the_block_that_build_their_own_estimators_are_charged(in_workers, spend):
    in_workers(fit_an_own_estimator, 4)
    with privet.budget(epsilon=5.0) as budget:
        allowed = in_workers(spend, 20)
        assert (sum(allowed), budget.spent) == (5, 5.0)
    assert all(in_workers(spend, 4)), "the block is over"


@pytest.mark.slow
def test_a_grid_search_in_a_pool_from_before_the_block_charges_every_fit(in_workers):
    in_workers(fit_an_own_estimator, 4)
    with privet.budget(epsilon=25.0) as budget:
        GridSearchCV(forest(), {"max_depth": [1, 2, 3, 4]}, cv=5, n_jobs=2).fit(X, Y)
        assert budget.spent == 21.0


@pytest.mark.slow
def test_workers_that_outlive_the_block_are_free_after_it(in_workers):
    with privet.budget(epsilon=5.0) as budget:
        assert sum(in_workers(fit_an_own_estimator, 8)) == 5
    assert budget.spent == 5.0
    assert all(in_workers(fit_an_own_estimator, 4))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_pool_from_before_the_block_is_charged_however_its_workers_are_started(method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(fit_an_own_estimator).result(PATIENCE)
        with privet.budget(epsilon=1.0) as budget:
            assert [pool.submit(fit_an_own_estimator).result(PATIENCE) for _ in range(2)] == [True, False]
            assert budget.spent == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["store", "folder"])
@pytest.mark.parametrize("started", ["before", "inside"])
def test_a_budget_whose_store_was_deleted_refuses_the_fits_of_other_processes(started, lost):
    with Interpreter() as early, privet.budget(epsilon=5.0) as budget, Interpreter() as late:
        other = {"before": early, "inside": late}[started]
        assert other.fits()
        store = Path(budget._handle.store)
        assert budget.spent == 1.0
        if lost == "store":
            store.unlink()
        else:
            shutil.rmtree(store.parent)
        assert not other.fits()


@pytest.mark.slow
def test_a_budget_that_is_inherited_and_gone_refuses_and_one_that_was_closed_does_not():
    with privet.budget(epsilon=5.0) as budget:
        other = Interpreter()
        assert other.fits()
    with other:
        assert other.fits(), "the block was closed as it should be"
        Path(budget._handle.registration).unlink()
        assert not other.fits(), "nobody says that the block was closed"


@pytest.mark.slow
def test_a_process_that_fits_as_the_block_closes_is_refused():
    with Interpreter() as other:
        other(
            "import privet.estimators.base; from privet.tables.reading import encode_table; "
            "from tests.unit.test_budgets import *"
        )
        other("wait = lambda *a: (print('begun', flush=True), sys.stdin.readline(), encode_table(*a))[-1]")
        other("privet.estimators.base.encode_table = wait")
        with privet.budget(epsilon=5.0) as budget:
            other.begin("from tests.unit.test_budgets_in_processes import *; print(fit_an_own_estimator())")
            assert other.answer() == "begun"
        other.begin("go on")
        assert other.answer() == "False"
        assert other.answer() == "done"
        assert budget.spent == 0.0


@pytest.mark.slow
def test_a_folder_for_temporary_files_with_any_name_holds_a_budget_that_others_see(tmp_path):
    odd = tmp_path / "a:b, [c] ü"
    odd.mkdir()
    with Interpreter(TMPDIR=str(odd)) as owner:
        owner("import tests.unit.test_budgets_in_processes as t, privet, subprocess")
        # As if there was no /tmp: then the odd folder is where processes meet.
        owner("from privet.privacy.budgets import registry; from pathlib import Path; import tempfile")
        owner("registry._places = lambda: [Path(tempfile.gettempdir()) / 'privet-budgets']")
        owner("block = privet.budget(epsilon=1.0); budget = block.__enter__(); child = t.Interpreter()")
        assert owner("print(budget._handle.store.startswith(tempfile.gettempdir()))") == "True"
        assert owner("print(child.fits(), child.fits(), budget.spent)") == "True False 1.0"
        owner("child.__exit__(); block.__exit__(None, None, None)")
    assert list(odd.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_process_leaves_is_removed_when_the_next_budget_is_opened():
    with Interpreter() as owner:
        owner("import privet; block = privet.budget(epsilon=1.0); budget = block.__enter__()")
        registered = Path(owner("print(budget._handle.registration)"))
        stored = Path(owner("print(budget._handle.store)"))
        assert stored.exists()
        owner.process.send_signal(signal.SIGKILL)
        owner.process.wait(PATIENCE)
    assert registered.exists()
    with privet.budget(epsilon=1.0):
        assert not registered.exists()
        assert not stored.parent.exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_that_leaves_the_block_does_not_close_its_parents_budget():
    with Interpreter() as owner:
        owner("import tests.unit.test_budgets_in_processes as t, privet, os")
        owner("block = privet.budget(epsilon=2.0); budget = block.__enter__()")
        # The child leaves the block, fits, and reports by its exit code whether it was charged.
        owner("child = os.fork(); child or (block.__exit__(None, None, None), os._exit(t.fit_an_own_estimator()))")
        assert owner("print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), budget.spent)") == "1 1.0"
        assert owner("print(t.fit_an_own_estimator(), t.fit_an_own_estimator(), budget.spent)") == "True False 2.0"


def test_nothing_is_left_in_the_folder_when_the_process_ends():
    with Interpreter() as owner:
        owner("import privet; block = privet.budget(epsilon=1.0); budget = block.__enter__()")
        registered = Path(owner("print(budget._handle.registration)"))
        assert registered.exists()
    assert not registered.exists()
    assert not registered.with_suffix("").exists()


def test_a_process_is_not_taken_for_a_later_one_with_its_number():
    this = processes.this_process()
    assert this.pid == os.getpid()
    assert processes.is_running(this)
    assert not processes.is_running(processes.Process(this.pid, "at another time"))
    assert processes.Process(this.pid, "at another time").name != this.name


@pytest.mark.skipif(shutil.which("ps") is None or not Path("/proc/self/stat").exists(), reason="needs /proc and ps")
def test_the_ancestors_are_the_same_whichever_way_they_are_found(monkeypatch):
    parent = os.getppid()

    def numbers(has_proc):
        with monkeypatch.context() as patch:
            patch.setattr(processes, "_has_proc", lambda: has_proc)
            found = list(processes._upwards(parent))
        assert all(process.started for process in found)
        return [process.pid for process in found]

    assert processes.ancestors()[0].pid == parent
    by_proc, by_ps = numbers(True), numbers(False)
    while by_proc != numbers(True):  # an ancestor far up ended meanwhile; there is an end of them
        by_proc, by_ps = numbers(True), numbers(False)
    assert by_ps == by_proc
    monkeypatch.setattr(processes, "_has_proc", lambda: False)
    monkeypatch.setattr(processes.os, "name", "nt")
    assert list(processes._upwards(parent)) == [processes.Process(parent, "")]


def test_registrations_of_other_containers_are_left_alone():
    with privet.budget(epsilon=1.0) as budget:
        place = Path(budget._handle.registration).parent
        foreign = place / "of-another-container.json"
        foreign.write_text(json.dumps({"pid": 1, "started": "0", "namespace": "other", "opened": 1, "open": []}))
        registry.sweep()
        assert foreign.exists()
        foreign.unlink()


def test_a_registration_of_an_ancestor_that_cannot_be_read_is_not_taken_for_no_budget(monkeypatch):
    with privet.budget(epsilon=1.0) as budget:
        # As if this process were its own parent.
        monkeypatch.setattr(registry, "ancestors", lambda: [processes.this_process()])
        assert list(registry.handles_of_ancestors()) == [budget._handle]
        Path(budget._handle.registration).write_text("{")
        with pytest.raises(BudgetError, match="cannot be read"):
            forest().fit(X, Y)
    assert budgets.in_force() == ()
