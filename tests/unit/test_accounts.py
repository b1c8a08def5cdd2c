"""Accounts that last lose no charge, refund none in silence and keep their limits, in a file and on a server."""

import dataclasses
import json
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privet.errors import BudgetError
from privet.privacy.accounts import Book, Limit, parse_address
from privet.privacy.accounts import entries as entries_module
from privet.privacy.accounts.entries import Entry, entry_hash
from privet.privacy.accounts.history import History, HistoryError
from privet.privacy.accounts.logs import VERSION
from privet.privacy.accounts.slots import Slot
from tests.unit.accounts import RECORDS, account, bill, make, opened, spend

PATIENCE = 300  # seconds, for a machine that is busy
FORK = multiprocessing.get_context("fork")


def test_a_charge_is_spent_until_the_limit_and_then_refused(empty_store):
    make(empty_store)
    assert [spend(empty_store) for _ in range(4)] == [True, True, True, False]
    assert (account(empty_store).reading, account(empty_store).remaining) == (3, 0)
    assert account(empty_store).created > "2026"
    with opened(empty_store) as book:
        assert book.problems() == []


def test_a_reservation_without_a_commit_stays_spent_and_can_be_released_on_record(empty_store):
    make(empty_store)
    with opened(empty_store) as book:
        charge = book.reserve([None], bill())
    assert account(empty_store).reading == 1
    with opened(empty_store) as book:
        book.release(charge, "the machine lost its power")
        assert account(empty_store).reading == 0
        assert [entry.kind for entry in book.entries()] == ["store", "create", "reserve", "release"]
        with pytest.raises(BudgetError, match="released already"):
            book.release(charge, "again")
        with pytest.raises(BudgetError, match="was released already; nothing was drawn"):
            book.commit(charge)


def test_what_was_committed_is_never_released(empty_store):
    make(empty_store)
    with opened(empty_store) as book:
        charge = book.reserve([None], bill())
        book.commit(charge)
        with pytest.raises(BudgetError, match="may have drawn noise: it stays spent"):
            book.release(charge, "a mistake")
    assert account(empty_store).reading == 1


def test_raising_allows_more_and_closing_allows_nothing(empty_store):
    make(empty_store, limit=Limit.of(epsilon=1))
    assert [spend(empty_store), spend(empty_store)] == [True, False]
    with opened(empty_store) as book:
        book.raise_limit(None, Limit.of(epsilon=2))
        for wrong in (Limit.of(epsilon=1), Limit.of(epsilon=5, delta=1e-6), Limit.of(rho=9)):
            with pytest.raises(BudgetError, match="can be raised, in the same measure"):
                book.raise_limit(None, wrong)
    assert [spend(empty_store), spend(empty_store)] == [True, False]
    with opened(empty_store) as book:
        book.raise_limit(None, Limit.of(epsilon=9))
        book.close_account(None)
        with pytest.raises(BudgetError, match="closed"):
            book.reserve([None], bill())


def test_a_charge_to_a_part_is_charged_to_the_whole_and_refused_by_either(empty_store):
    make(empty_store, "hospital", Limit.of(epsilon=3))
    make(empty_store, "surgery", Limit.of(epsilon=2), parent="hospital")
    make(empty_store, "radiology", Limit.of(epsilon=2), parent="hospital")
    assert [spend(empty_store, 2, "surgery"), spend(empty_store, 2, "radiology")] == [True, False]
    assert spend(empty_store, 1, "radiology")
    readings = [account(empty_store, name).reading for name in ("hospital", "surgery", "radiology")]
    assert readings == [3, 2, 1]
    with opened(empty_store) as book, pytest.raises(BudgetError, match="the account of 'hospital'"):
        book.reserve(["radiology"], bill())


def test_limits_of_analysts_and_purposes_hold_inside_an_account(empty_store):
    make(empty_store, limit=Limit.of(epsilon=10))
    with opened(empty_store) as book:
        book.limit_part(None, "analyst", book.who(), Limit.of(epsilon=3))
        book.limit_part(None, "purpose", "study", Limit.of(epsilon=2))
        with pytest.raises(BudgetError, match="in its own measure"):
            book.limit_part(None, "purpose", "other", Limit.of(rho=1))
    assert not spend(empty_store), "with limits for each purpose one must be named"
    assert [spend(empty_store, 1, purpose="study") for _ in range(3)] == [True, True, False]
    with opened(empty_store) as book:
        book.limit_part(None, "purpose", "care", Limit.of(epsilon=5))
    assert [spend(empty_store, 1, purpose="care") for _ in range(2)] == [True, False], "the analyst's own limit"


def test_only_the_same_guarantees_add_up(empty_store):
    make(empty_store)
    assert spend(empty_store)
    with opened(empty_store) as book, pytest.raises(BudgetError, match="do not add up"):
        book.reserve([None], bill(protects="units by column 'person'"))


def test_names_are_asked_for_where_there_are_several_accounts(empty_store):
    make(empty_store, "one")
    assert spend(empty_store)
    make(empty_store, "two", apart_from=["one"])
    with opened(empty_store) as book:
        with pytest.raises(BudgetError, match="which data set"):
            book.reserve([None], bill())
        with pytest.raises(BudgetError, match="no account for the data set 'three'; there are 'one', 'two'"):
            book.reserve(["three"], bill())
        with pytest.raises(BudgetError, match="already"):
            book.open_account("one", Limit.of(epsilon=1))
        with pytest.raises(BudgetError, match="printable"):
            book.open_account("a\nb", Limit.of(epsilon=1))


def _race(url, n, results):
    for _ in range(n):
        results.put(spend(url, "0.5"))


@pytest.mark.slow
def test_racing_processes_spend_exactly_what_succeeds_and_never_too_much(empty_store):
    make(empty_store, limit=Limit.of(epsilon=10))
    results = FORK.Queue()
    racers = [FORK.Process(target=_race, args=(empty_store, 2, results)) for _ in range(64)]
    for racer in racers:
        racer.start()
    successes = sum(results.get(timeout=PATIENCE) for _ in range(64 * 2))
    for racer in racers:
        racer.join(PATIENCE)
    assert successes == 20
    assert account(empty_store).reading == 10
    with opened(empty_store) as book:
        assert book.problems() == []


def _spend_and_draw(url, drawn):
    """Charge, then write down that something was drawn, for ever."""
    while True:
        with opened(url) as book:
            charge = book.reserve([None], bill("0.001"))
            book.commit(charge)
        with drawn.open("a") as file:
            file.write(charge + "\n")
            file.flush()


def test_a_process_that_is_killed_loses_no_charge_after_a_draw(empty_store, tmp_path):
    make(empty_store, limit=Limit.of(epsilon=100))
    drawn = tmp_path / "drawn"
    drawn.touch()
    for turn in range(6):
        victim = FORK.Process(target=_spend_and_draw, args=(empty_store, drawn))
        victim.start()
        seen = len(drawn.read_text().split())
        deadline = time.monotonic() + PATIENCE
        while len(drawn.read_text().split()) == seen and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.013 * turn)  # another moment of the next charge each time
        os.kill(victim.pid, signal.SIGKILL)
        victim.join(PATIENCE)
    lines = drawn.read_text().splitlines()
    with opened(empty_store) as book:
        charges = book.history().charges
        assert book.problems() == []
    assert len(lines) >= 6
    assert all(charges[line].status == "committed" for line in lines if len(line) == 16)
    assert account(empty_store).reading == len(charges) * Fraction("0.001"), "what was reserved is spent"


def test_the_clock_may_go_backwards(empty_store, monkeypatch):
    make(empty_store)
    monkeypatch.setattr(entries_module, "utc_now", lambda: "1970-01-01T00:00:00Z")
    assert spend(empty_store)
    with opened(empty_store) as book:
        times = [entry.at for entry in book.entries()]
        assert times == sorted(times)
        assert times[0] > "2026"
        assert book.problems() == []


def _tamper(url, statement, *values):
    """Alter a store as somebody could who has every right."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(parse_address(url).path)) as database, database:
            for name in ("history_is_never_altered", "history_is_never_deleted"):
                database.execute(f"DROP TRIGGER IF EXISTS {name}")
            database.execute(statement.replace("%s", "?"), values)
        return
    import psycopg

    with psycopg.connect(url) as database:
        database.execute("ALTER TABLE privet_budget.history DISABLE TRIGGER ALL")
        database.execute("SET search_path = privet_budget")
        database.execute(statement, values)


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("DELETE FROM history WHERE seq = 4", "entry 4 is missing"),
        ("DELETE FROM history WHERE seq = 1", "entry 1 is missing"),
        ("DELETE FROM history WHERE seq >= 7", "entries are missing at its end"),
        ("DELETE FROM history", "written last"),
        ("UPDATE history SET who = 'nobody' WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE history SET content = replace(content, '\"1\"', '\"0\"') WHERE seq = 3", "entry 3 was altered"),
        ("UPDATE history SET seq = -seq WHERE seq = 4", "entry 1 is missing"),
    ],
)
def test_what_was_deleted_or_altered_is_found_and_nothing_is_spent_then(empty_store, statement, finding):
    make(empty_store, limit=Limit.of(epsilon=9))
    assert [spend(empty_store) for _ in range(3)] == [True] * 3
    _tamper(empty_store, statement)
    with opened(empty_store) as book:
        assert finding in " ".join(book.problems())
    assert not spend(empty_store)


def test_entries_that_changed_places_are_found(empty_store):
    make(empty_store, limit=Limit.of(epsilon=9))
    assert [spend(empty_store) for _ in range(2)] == [True] * 2
    for statement in (
        "UPDATE history SET seq = 100 WHERE seq = 3",
        "UPDATE history SET seq = 3 WHERE seq = 5",
        "UPDATE history SET seq = 5 WHERE seq = 100",
    ):
        _tamper(empty_store, statement)
    with opened(empty_store) as book:
        assert "entry 3 was altered, or put in another place" in book.problems()[0]


def test_a_forged_entry_with_right_hashes_still_obeys_the_rules():
    history = History()
    history.add(Entry.following(None, "store", "", "eve", {"id": "1"}))
    for kind, content in [
        ("reserve", {"charge": "1", "accounts": ["x"], "epsilon": "1", "rho": "1", "what": "", "protects": ""}),
        ("reserve", {}),
        ("create", {"limit": {"measure": "all of it"}}),
        ("store", {"id": "2"}),
        ("unheard of", {}),
        ("commit", {"charge": "7"}),
    ]:
        with pytest.raises(BudgetError):
            history.add(Entry.following(history.last, kind, "x", "eve", content))
    limit = Limit.of(epsilon=1).to_dict()
    history.add(Entry.following(history.last, "create", "x", "eve", {"limit": limit}))
    free = {"charge": "1", "accounts": ["x"], "epsilon": "-1", "rho": "-1", "what": "", "protects": ""}
    with pytest.raises(HistoryError, match="without a cost"):
        history.add(Entry.following(history.last, "reserve", "x", "eve", free))
    for strange in (
        *({"slots": {"x": 0}}, {"slots": {"y": 0}}, {"epsilon": float("inf")}, {"accounts": 7}),
        *({"details": []}, {"details": 7}, {"charge": 7}),
    ):
        with pytest.raises(HistoryError):
            history.add(
                Entry.following(history.last, "reserve", "x", "eve", free | {"epsilon": "1", "rho": "1"} | strange)
            )
    assert history.account("x").reading == 0, "an entry that is refused changes nothing"


def test_a_restored_copy_is_noticed_and_can_be_accepted_on_record(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    assert spend(url)
    path = parse_address(url).path
    copy = path.read_bytes()
    assert spend(url)
    path.write_bytes(copy)
    assert not spend(url)
    with opened(url) as book:
        (problem,) = book.problems()
        assert "it is an older copy" in problem
        book.accept_restored("the disk broke")
        assert book.problems() == []
        assert "6 entries were marked, 4 are here; the disk broke" in book.entries()[-1].content
    assert spend(url)


def test_a_copy_that_went_its_own_way_is_noticed(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    path, other = parse_address(url).path, tmp_path / "copy.db"
    other.write_bytes(path.read_bytes())
    assert spend(str(other))
    assert not spend(url)
    path.write_bytes(other.read_bytes())
    assert spend(url), "the newest copy is as good as the original"


def test_where_no_state_folder_can_be_written_accounts_work_without_marks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert spend(make(f"sqlite:///{tmp_path / 'hospital.db'}"))


def test_a_user_without_a_home_spends_without_marks(tmp_path, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", staticmethod(no_home))
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    assert spend(url)
    assert account(url).reading == 1


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\x00b", "a\udcff", "a" * 201])
def test_a_name_that_could_not_be_written_is_refused(tmp_path, name):
    with pytest.raises(BudgetError, match="needs a name of up to"):
        make(f"sqlite:///{tmp_path / 'hospital.db'}", name)


@pytest.mark.parametrize("name", ["'; DROP TABLE history; --", "%s", "päti\u2028ents?dataset=x", "a" * 200])
def test_any_other_name_is_just_a_name(empty_store, name):
    make(empty_store, name)
    assert spend(empty_store, dataset=name)
    assert account(empty_store, name).reading == 1
    with opened(empty_store) as book:
        assert book.problems() == []


@pytest.mark.parametrize("version", range(1, VERSION))
def test_versions_an_older_store_migrates_and_a_newer_one_is_refused(empty_store, version):
    make(empty_store)
    assert spend(empty_store)
    if empty_store.startswith("sqlite"):
        database = sqlite3.connect(parse_address(empty_store).path, isolation_level=None)
        to, of = "PRAGMA user_version = {}", "PRAGMA user_version"
        undone = ["DROP TABLE head", *["SELECT 1"] * 2]
    else:
        import psycopg

        database = psycopg.connect(empty_store, autocommit=True)
        to, of = "UPDATE privet_budget.about SET version = {}", "SELECT version FROM privet_budget.about"
        rules = ("apply_entry", "apply", "check_charge", "check_slot", "check_sum", "admits", "units", "refuse")
        undone = [
            "DROP TRIGGER entries_follow_one_another ON privet_budget.history; "
            "DROP FUNCTION privet_budget.check_entry; DROP TABLE privet_budget.head",
            "SELECT 1",
            "DROP TRIGGER entries_keep_the_rules ON privet_budget.history; "
            "DROP TABLE privet_budget.charges, privet_budget.parts, privet_budget.accounts; "
            + "; ".join(f"DROP FUNCTION privet_budget.{name}" for name in rules),
        ]
    for script in reversed(undone[version - 1 :]):
        database.execute(script)
    database.execute(to.format(version))
    assert spend(empty_store)
    assert account(empty_store).reading == 2
    assert database.execute(of).fetchone()[0] == VERSION
    database.execute(to.format(VERSION + 1))
    with pytest.raises(
        BudgetError, match=rf"version {VERSION + 1}, and this privet knows versions up to {VERSION}.*Upg"
    ):
        opened(empty_store).__enter__()
    database.close()


@pytest.mark.parametrize("damage", ["nothing left", "cut off", "a page overwritten", "another file", "rows gone"])
def test_a_damaged_file_is_never_taken_for_an_empty_one(tmp_path, damage):
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}", limit=Limit.of(epsilon=99))
    assert [spend(url) for _ in range(4)] == [True] * 4
    path = parse_address(url).path
    whole = path.read_bytes()
    path.write_bytes(
        {
            "nothing left": b"",
            "cut off": whole[: len(whole) // 2],
            "a page overwritten": whole[:4096] + bytes(4096) + whole[8192:],
            "another file": b"name,income\n",
            "rows gone": whole,
        }[damage]
    )
    if damage == "rows gone":
        _tamper(url, "DELETE FROM history")
    with pytest.raises(BudgetError, match="nothing was drawn"), opened(url) as book:
        book.reserve([None], bill())
    with pytest.raises(BudgetError):
        make(url, "another")


def test_a_missing_file_is_not_made_by_spending(tmp_path):
    with pytest.raises(BudgetError, match="none is made by spending"):
        opened(str(tmp_path / "absent.db")).__enter__()
    assert list(tmp_path.iterdir()) == []


def _without_root(function, *arguments):
    """Run a function in a child that is not root; return what it returned."""

    def run(results):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        results.put(function(*arguments))

    results = FORK.Queue()
    child = FORK.Process(target=run, args=(results,))
    child.start()
    answer = results.get(timeout=PATIENCE)
    child.join(PATIENCE)
    return answer


def _error_of_spending(url):
    try:
        with opened(url) as book:
            book.commit(book.reserve([None], bill()))
    except BudgetError as error:
        return str(error)
    return None


def test_a_file_that_cannot_be_written_refuses(tmp_path):
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    parse_address(url).path.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents):
        if os.geteuid() == 0 and folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    assert "nothing was drawn" in _without_root(_error_of_spending, url)
    parse_address(url).path.chmod(0o600)
    assert account(url).reading == 0


def test_a_full_disk_refuses_and_the_file_stays_sound(tmp_path):
    import resource

    url = make(f"sqlite:///{tmp_path / 'hospital.db'}", limit=Limit.of(epsilon=999))
    path = parse_address(url).path

    def fill(_=None):
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, path.stat().st_size))
        done, error = 0, None
        while error is None and done < 999:
            error = _error_of_spending(url)
            done += error is None
        return done, error

    results = FORK.Queue()
    child = FORK.Process(target=lambda: results.put(fill()))
    child.start()
    done, error = results.get(timeout=PATIENCE)
    child.join(PATIENCE)
    assert "nothing was drawn" in error
    with opened(url) as book:
        assert book.problems() == []
        charges = book.history().charges.values()
    assert sum(charge.status == "committed" for charge in charges) == done
    assert spend(url)


def test_a_lock_that_is_not_given_back_refuses_in_the_end(tmp_path, monkeypatch):
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    monkeypatch.setattr("privet.privacy.accounts.sqlite_log.MOST_SECONDS_TO_WAIT", 0.1)
    holder = sqlite3.connect(parse_address(url).path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "locked" in _error_of_spending(url)
    holder.execute("ROLLBACK")
    holder.close()
    assert _error_of_spending(url) is None


@pytest.mark.slow
def test_a_file_system_without_locks_refuses(tmp_path):
    import shutil
    import subprocess
    import sys

    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    # As a network file system without a lock daemon does: every request for a lock fails.
    source = (
        "#include <errno.h>\n#include <fcntl.h>\n#include <stdarg.h>\n#define _GNU_SOURCE\n#include <sys/syscall.h>\n"
        "long syscall(long, ...);\n"
        "int fcntl64(int fd, int cmd, ...) { va_list l; va_start(l, cmd); void *a = va_arg(l, void *); va_end(l);\n"
        "  if (cmd == F_SETLK || cmd == F_SETLKW) { errno = ENOLCK; return -1; }\n"
        "  return syscall(SYS_fcntl, fd, cmd, a); }\n"
        "int fcntl(int fd, int cmd, ...) { va_list l; va_start(l, cmd); void *a = va_arg(l, void *); va_end(l);\n"
        "  return fcntl64(fd, cmd, a); }\n"
    )
    (tmp_path / "nolock.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", "nolock.so", "nolock.c"], cwd=tmp_path, check=True)
    code = "from privet.privacy.accounts import sqlite_log; sqlite_log.MOST_SECONDS_TO_WAIT = 0.1; "
    code += f"from tests.unit.test_accounts import _error_of_spending as spend; print(spend({url!r}))"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(tmp_path / "nolock.so"),
        "PYTHONPATH": os.pathsep.join([*sys.path, str(Path.cwd())]),
    }
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "nothing was drawn" in said.stdout, said.stderr
    assert account(url).reading == 0


def test_a_connection_that_is_lost_in_the_middle_refuses(postgres_server):
    url = make(postgres_server.emptied())
    with opened(url) as book:
        charge = book.reserve([None], bill())
        postgres_server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND application_name = 'privet'"
        )
        with pytest.raises(BudgetError, match="cannot be used"):
            book.commit(charge)
    assert account(url).reading == 1, "what was reserved is spent"


def test_a_server_that_is_not_there_refuses(tmp_path):
    pytest.importorskip("psycopg")
    assert "nothing was drawn" in _error_of_spending(f"postgresql://nobody@/none?host={tmp_path}")


def test_an_analyst_spends_and_reads_and_nothing_else(postgres_server):
    """The server's own errors: the library's checks are not what stops an analyst."""
    import psycopg

    owner = make(postgres_server.emptied(), limit=Limit.of(epsilon=2))
    postgres_server.role("anna", "privet_analyst")
    postgres_server.role("stranger")
    anna = postgres_server.url("anna")
    assert [spend(anna) for _ in range(3)] == [True, True, False]
    assert account(anna).parts["analyst", "anna"].spent.epsilon == 2
    denied = psycopg.errors.InsufficientPrivilege
    for statement in (
        "UPDATE privet_budget.history SET who = 'bob'",
        "DELETE FROM privet_budget.history",
        "TRUNCATE privet_budget.history",
        "UPDATE privet_budget.head SET seq = 0",
        "UPDATE privet_budget.about SET version = 1",
        "DROP TABLE privet_budget.history",
        "ALTER TABLE privet_budget.history DISABLE TRIGGER ALL",
        "CREATE TABLE privet_budget.mine (x int)",
    ):
        with pytest.raises(denied):
            postgres_server.sql(statement, "anna")
    with opened(anna) as book:
        last = book.entries()[-1]
    for kind, who, content in [
        ("raise", "anna", {"limit": Limit.of(epsilon=99).to_dict()}),
        ("create", "anna", {"limit": Limit.of(epsilon=99).to_dict()}),
        ("reserve", "postgres", {}),
    ]:
        forged = Entry.following(last, kind, "patients", who, content)
        with psycopg.connect(anna) as connection, pytest.raises(denied, match="row-level security"):
            connection.execute(
                "INSERT INTO privet_budget.history VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                [forged.seq, forged.kind, forged.account, forged.who, forged.at, forged.content, *_ends(forged)],
            )
    wrong = Entry.following(None, "reserve", "patients", "anna", {})
    with psycopg.connect(anna) as connection, pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        connection.execute(
            "INSERT INTO privet_budget.history VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [last.seq + 1, wrong.kind, wrong.account, wrong.who, wrong.at, wrong.content, last.hash, wrong.hash],
        )
    with opened(anna) as book:
        with pytest.raises(BudgetError, match="row-level security"):
            book.raise_limit(None, Limit.of(epsilon=9))
        with pytest.raises(BudgetError, match="may have drawn noise"):
            book.release(next(iter(book.history().charges)), "for free")
    with pytest.raises(BudgetError, match="you may not read it"):
        opened(postgres_server.url("stranger")).__enter__()
    with opened(owner) as book:
        assert book.problems() == []


def _ends(entry):
    return entry.before, entry.hash


def _insert(url, entry):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO privet_budget.history VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", dataclasses.astuple(entry)
        )


def _by_hand(url, told, account="patients", **changed):
    """Write a charge with the right hashes, as somebody who knows SQL can."""
    with opened(url) as book:
        entry = Entry.following(book.entries()[-1], "reserve", account, book.who(), told)
    if changed:
        entry = replace(entry, **changed)
        entry = replace(entry, hash=entry_hash(*dataclasses.astuple(entry)[:-1]))
    _insert(url, entry)


def test_an_analyst_is_told_that_the_owner_migrates(postgres_server):
    make(postgres_server.emptied())
    postgres_server.role("anna", "privet_analyst")
    postgres_server.sql("UPDATE privet_budget.about SET version = 1")
    with pytest.raises(BudgetError, match=rf"of version 1, and you may not bring it to version {VERSION}.*owner does"):
        opened(postgres_server.url("anna")).__enter__()


@pytest.mark.slow
def test_an_analyst_who_writes_sql_can_neither_overspend_a_store_nor_spoil_it(postgres_server):
    import psycopg

    owner = make(postgres_server.emptied(), "hospital", limit=Limit.of(epsilon=9, delta=1e-6))
    make(owner, limit=Limit.of(epsilon=3), parent="hospital")
    make(owner, "slots", limit=Limit.of(epsilon=2, slots=[Slot.parse("2 x 1")]))
    make(owner, "closed")
    make(owner, "shared", limit=Limit.of(rho=1))
    with opened(owner) as book:
        book.close_account("closed")
        book.limit_part("shared", "purpose", "study", Limit.of(rho=0.1))
        book.limit_part("shared", "analyst", "anna", Limit.of(rho=0.5))
        book.limit_part("shared", "purpose", "care", Limit.of(rho=0.7))
    postgres_server.role("anna", "privet_analyst")
    anna = postgres_server.url("anna")
    assert spend(anna, dataset="patients")
    with opened(anna) as book:
        waiting = book.reserve(["patients"], bill())
        (done,) = (c.id for c in book.history().charges.values() if c.status == "committed")
    fair = {
        **{"charge": "mine", "accounts": ["patients", "hospital"], "epsilon": "1", "rho": "1/2"},
        **{"protects": RECORDS, "what": "a fit", "purpose": "", "slots": {}, "details": {}},
    }
    shared = {**fair, "accounts": ["shared"], "epsilon": None}
    deep = {}
    for _ in range(40):
        deep = {"x": deep}
    with opened(anna) as book:
        last, who = book.entries()[-1], book.who()
    for kind, content in [
        ("reserve", {**fair, "epsilon": "11/10"}),
        ("reserve", {**fair, "epsilon": None}),
        ("reserve", {**fair, "epsilon": "-1"}),
        ("reserve", {**fair, "epsilon": "0.1"}),
        ("reserve", {**fair, "epsilon": "1/0"}),
        ("reserve", {**fair, "epsilon": None, "rho": None}),
        ("reserve", {**fair, "accounts": ["patients"]}),
        ("reserve", {**fair, "accounts": []}),
        ("reserve", {**fair, "accounts": "patients"}),
        ("reserve", {**fair, "accounts": ["nobody"]}),
        ("reserve", {**fair, "accounts": ["closed"]}),
        ("reserve", {**fair, "charge": done}),
        ("reserve", {**fair, "charge": 7}),
        ("reserve", {**fair, "protects": "somebody else"}),
        ("reserve", {**fair, "details": []}),
        ("reserve", {**fair, "slots": {"patients": 0}}),
        ("reserve", {**fair, "slots": {"slots": 0}}),
        ("reserve", {**fair, "slots": []}),
        ("reserve", {**fair, "accounts": ["slots"]}),
        ("reserve", {**fair, "accounts": ["slots"], "slots": {"slots": 1}}),
        ("reserve", {**fair, "accounts": ["slots"], "slots": {"slots": "0"}}),
        ("reserve", {**fair, "accounts": ["slots"], "slots": {"slots": 0}, "epsilon": "2"}),
        ("reserve", {**shared, "rho": "1/20"}),
        ("reserve", {**shared, "purpose": "another"}),
        ("reserve", {**shared, "purpose": "study"}),
        ("reserve", {**shared, "purpose": "care", "rho": "51/100"}),
        ("reserve", {}),
        ("reserve", []),
        ("reserve", 7),
        ("reserve", {**fair, "details": {"x": 10**1200}}),
        ("reserve", {**fair, "details": deep}),
        ("reserve", {**fair, "details": {"x": "x" * 10**6}}),
        ("reserve", {**fair, "details": {"x": "\ud800"}}),
        ("commit", {"charge": done}),
        ("commit", {"charge": 7}),
        ("commit", {"charge": "nothing"}),
        ("release", {"charge": done, "why": "for free"}),
        ("release", {"charge": waiting}),
        ("model", {"charge": "nothing", "digest": ""}),
        ("model", {"charge": done}),
    ]:
        with pytest.raises(psycopg.Error):
            _insert(anna, Entry.following(last, kind, "patients", who, content))
    for changed in ({"at": "9999-01-01T00:00:00Z"}, {"at": "some time"}, {"content": "no JSON"}, {"account": "a\nb"}):
        with pytest.raises(psycopg.Error):
            _by_hand(anna, fair, **changed)
    for name in ("accounts", "parts", "charges"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            postgres_server.sql(f"DELETE FROM privet_budget.{name}", "anna")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        postgres_server.sql("SELECT privet_budget.apply('close', 'patients', 'anna', '{}')", "anna")
    _by_hand(anna, fair)
    _by_hand(anna, {**fair, "charge": "slot", "accounts": ["slots"], "slots": {"slots": 0}}, "slots")
    _by_hand(anna, {**shared, "charge": "care", "purpose": "care"}, "shared")
    with opened(owner) as book:
        assert book.problems() == []
        assert book.history().account("patients").reading == 3
        assert book.history().account("shared").reading == Fraction(1, 2)
        book.release(waiting, "nothing was drawn")
    assert spend(anna, dataset="patients")


def _busy_days(url):
    """Return which of many charges are allowed, with limits raised, parts limited and charges released in between."""
    make(url, "hospital", limit=Limit.of(epsilon=5, delta=1e-6))
    make(url, limit=Limit.of(epsilon=1, delta=1e-6), parent="hospital")
    allowed = [spend(url, dataset="patients", **cost) for cost in COSTS]
    with opened(url) as book:
        book.raise_limit("patients", Limit.of(epsilon=2.5, delta=1e-6), "agreed")
        book.limit_part("patients", "purpose", "study", Limit.of(epsilon=0.5, delta=1e-6))
        book.release(book.reserve(["patients"], bill(rho="0.005"), "study"), "nothing was drawn")
    allowed += [spend(url, dataset="patients", purpose=use, **cost) for cost in COSTS for use in ("study", "", "other")]
    with opened(url) as book:
        book.close_account("hospital")
    return [*allowed, spend(url, "0.001", dataset="patients", purpose="study")]


COSTS = [{"epsilon": "0.3"}, {"rho": "0.02"}, {"epsilon": "0.01"}, {"epsilon": "0.19"}, {"rho": "0.001"}]


def test_what_the_library_allows_the_server_allows_and_nothing_else(postgres_server, tmp_path):
    url = postgres_server.emptied()
    allowed = _busy_days(url)
    assert allowed == _busy_days(f"sqlite:///{tmp_path / 'hospital.db'}")
    assert {True, False} == set(allowed)
    with opened(url) as book:
        assert book.problems() == []


def test_a_charge_keeps_its_events_and_who_made_it(tmp_path):
    from privet import Numeric, PrivaTreeClassifier, Schema
    from privet.privacy.accounts import Bill

    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    ledger = PrivaTreeClassifier(1.0, schema=schema, n_rows_hint=1_000).plan()
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    with opened(url) as book:
        book.reserve([None], Bill.of(ledger, "PrivaTreeClassifier", {"schema": schema.digest()}))
        entry = book.entries()[-1]
        assert entry.who == book.who()
    details = json.loads(entry.content)["details"]
    assert details["schema"] == schema.digest()
    assert (details["relation"], details["unit"]) == ("add_remove", None)
    assert details["library"].startswith("privet ")
    assert sum(event["times"] for event in details["events"]) == len(ledger.events)
    assert {event["mechanism"] for event in details["events"]} == {str(event.mechanism) for event in ledger.events}


def test_filters_and_secret_coins_are_kept_with_the_events(tmp_path):
    from privet import BoostingClassifier, MultinomialForestClassifier, Numeric, Schema
    from privet.privacy.accounts import Bill
    from privet.privacy.accounts.views import charge_as_data

    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    url = make(f"sqlite:///{tmp_path / 'hospital.db'}")
    kinds = []
    for estimator in (
        BoostingClassifier(1.0, schema=schema, n_rows_hint=60_000),
        MultinomialForestClassifier(1.0, n_rows_hint=10_000),
    ):
        with opened(url) as book:
            book.reserve([None], Bill.of(estimator.plan(schema=schema), "a fit"))
            charge = charge_as_data(list(book.history().charges.values())[-1])
        kinds.append({event["mechanism"]: event for event in charge["events"]})
    assert {"filter", "discrete Laplace"} <= set(kinds[0])
    assert kinds[0]["filter"]["epsilon"] == "17/20"
    assert {"mixture", "permute-and-flip"} <= set(kinds[1])
    assert kinds[1]["mixture"]["parameter"] == "1/2 1/2"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "file name or a URL"),
        (7, "file name or a URL"),
        ("mysql://x/y", "cannot be kept at mysql"),
        ("sqlite:///", "names no file"),
        ("sqlite:///a.db?mode=memory", "mode is no option"),
        ("postgresql://me:secret@host/db", "contains a password"),
        ("postgresql://host/db?password=secret", "contains a password"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(text, problem):
    with pytest.raises(BudgetError, match=problem) as caught:
        parse_address(text)
    assert "secret" not in str(caught.value)


def test_a_store_is_made_once_whoever_comes_first(empty_store):
    first, second = Book.create(parse_address(empty_store)), Book.create(parse_address(empty_store))
    assert first.history().store == second.history().store != ""
    first.close()
    second.close()
