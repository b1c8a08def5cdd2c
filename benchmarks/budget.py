"""Accounts that last, under strain: racing processes, runs killed at random moments, what composition saves, speed.

    python benchmarks/budget.py            # in full: 64 processes, 200 kills, on SQLite and a PostgreSQL of its own
    python benchmarks/budget.py --quick    # smaller, for a look

Prints Markdown; docs/budgets.md holds what the full run printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import privet
from privet import (
    BoostingClassifier,
    Categorical,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    RandomDecisionForestClassifier,
    Schema,
)
from privet.errors import BudgetError
from privet.mechanisms.measurements import noisy_row_count
from privet.mechanisms.release import Release
from privet.privacy import conversions
from privet.privacy.accounts import Bill, Book, Limit, parse_address
from privet.privacy.accounts.entries import Entry
from privet.privacy.accounts.losses import epsilon_of_slots
from privet.privacy.accounts.slots import Slot
from privet.privacy.events import Cost

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import postgres

FORK = multiprocessing.get_context("fork")
ROWS = np.zeros((100, 2))
DELTA = Fraction(1, 10**6)


@contextmanager
def stores() -> Iterator[dict[str, str]]:
    """Yield an address of each kind of store; of PostgreSQL only where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        found = {"SQLite": f"sqlite:///{folder}/hospital.db"}
        try:
            with postgres.server(durable=True) as server:
                yield {**found, "PostgreSQL": server.emptied()}
        except pytest.skip.Exception as reason:
            print(f"PostgreSQL is left out: {reason}\n")
            yield found


def opened(url: str, dataset: str, limit: Limit) -> None:
    with Book.create(parse_address(url)) as book:
        book.open_account(dataset, limit)


def race(url: str, dataset: str, attempts: int, start: object, results: object) -> None:
    bill = Bill(Cost.pure(Fraction(1, 10)), "single records", "a race", {})
    start.wait()
    successes, refused = 0, 0
    for _ in range(attempts):
        try:
            with Book(parse_address(url)) as book:
                book.commit(book.reserve([dataset], bill))
            successes += 1
        except BudgetError as error:
            refused += "remains" in str(error)
    results.put((successes, refused))


def races(addresses: dict[str, str], processes: int, attempts: int) -> None:
    limit = processes * attempts // 2  # of tenths, so that half of all attempts must be refused
    print("| store | processes | attempts | successes | spent, by the history | allowed | overspent | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, url in addresses.items():
        opened(url, "race", Limit.of(epsilon=limit / 10))
        start, results = FORK.Event(), FORK.Queue()
        racers = [FORK.Process(target=race, args=(url, "race", attempts, start, results)) for _ in range(processes)]
        for racer in racers:
            racer.start()
        begun = time.perf_counter()
        start.set()
        outcomes = [results.get() for _ in racers]
        successes, refused = (sum(numbers) for numbers in zip(*outcomes, strict=True))
        assert successes + refused == processes * attempts, "some could not wait long enough for the others"
        for racer in racers:
            racer.join()
        seconds = time.perf_counter() - begun
        with Book(parse_address(url)) as book:
            spent, problems = book.history().account("race").reading, book.problems()
        assert problems == []
        assert spent == Fraction(successes, 10)
        over = max(Fraction(0), spent - Fraction(limit, 10))
        cells = (
            name,
            processes,
            processes * attempts,
            successes,
            float(spent),
            limit / 10,
            float(over),
            f"{seconds:.1f}",
        )
        print("|" + "|".join(f" {cell} " for cell in cells) + "|")
    print()


def draw_for_ever(url: str, drawn: Path, ready: object) -> None:
    """Buy facts under the account; write down each time before noise is drawn."""
    original = Release.noisy

    def noisy(release: Release, *arguments: object) -> object:
        descriptor = os.open(drawn, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, b"x")
        os.close(descriptor)
        return original(release, *arguments)

    Release.noisy = noisy
    ready.set()
    while True:
        with privet.budget(url, dataset="kill"):
            noisy_row_count(ROWS, epsilon=0.001)


def kills(addresses: dict[str, str], count: int) -> None:
    print(
        "| store | runs killed | draws begun | charges committed | reserved only | draws without a charge | refunds |"
    )
    print("|---|---|---|---|---|---|---|")
    noisy_row_count(ROWS, epsilon=0.001)  # everything is imported and compiled before the first child
    for name, url in addresses.items():
        opened(url, "kill", Limit.of(epsilon=1000))
        with tempfile.NamedTemporaryFile() as marks:
            drawn, highest, refunds = Path(marks.name), Fraction(0), 0
            chance = random.Random(0)
            for _ in range(count):
                ready = FORK.Event()
                victim = FORK.Process(target=draw_for_ever, args=(url, drawn, ready))
                victim.start()
                ready.wait()
                time.sleep(chance.uniform(0, 0.8))
                os.kill(victim.pid, signal.SIGKILL)
                victim.join()
                with Book(parse_address(url)) as book:
                    spent = book.history().account("kill").reading
                refunds += spent < highest
                highest = max(highest, spent)
            begun = drawn.stat().st_size
        with Book(parse_address(url)) as book:
            charges, problems = list(book.history().charges_to("kill")), book.problems()
        assert problems == []
        committed = sum(charge.status == "committed" for charge in charges)
        reserved = sum(charge.status == "reserved" for charge in charges)
        assert highest == Fraction(committed + reserved, 1000)
        # Runs commit one after the other, so a draw without a charge would make the draws outnumber the charges.
        cells = (name, count, begun, committed, reserved, max(0, begun - committed), refunds)
        print("|" + "|".join(f" {cell} " for cell in cells) + "|")
    print()


def composition() -> None:
    schema = Schema({"x": Numeric(0, 1), "c": Categorical(["a", "b", "d"])}, classes=[0, 1])
    print("| charges | sum of the epsilons | zCDP | slots of that cost | slots of that plan |")
    print("|---|---|---|---|---|")
    for name, settings, sizes in (
        ("boosting", BoostingClassifier(schema=schema, n_rows_hint=10_000), [(50, 0.1, 1e-8), (10, 1.0, 1e-8)]),
        (
            "random forest",
            RandomDecisionForestClassifier(schema=schema, n_trees=25, n_rows_hint=10_000),
            [(50, 0.1, 0), (10, 1.0, 0), (50, 0.1, 1e-8)],
        ),
        (
            "single tree",
            PrivaTreeClassifier(schema=schema, n_rows_hint=10_000),
            [(50, 0.1, 0), (10, 1.0, 0), (50, 0.1, 1e-8)],
        ),
        ("multinomial forest", MultinomialForestClassifier(schema=schema, n_rows_hint=10_000), [(50, 0.1, 0)]),
    ):
        for count, epsilon, delta in sizes:
            plan = settings.set_params(epsilon=epsilon, delta=delta).plan()
            slot = Slot.of(count, plan)
            cost = slot.cost  # as in an account, where noise goes by rho
            by_cost = Slot(count, rho=cost.rho) if cost.epsilon is None else Slot(count, epsilon=cost.epsilon)
            what = f"{count} {name} fits at epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")
            plain = f"{count * epsilon:g}" + (f", and delta {count * delta:g}" if delta else "")
            bounds = (
                conversions.zcdp_to_epsilon(count * cost.rho, DELTA),
                epsilon_of_slots([by_cost], DELTA),
                epsilon_of_slots([slot], DELTA),
            )
            print(f"| {what} | {plain} | " + " | ".join(f"{float(bound):.3f}" for bound in bounds) + " |")
    for count, epsilon in [(50, 0.1), (10, 0.5), (400, 0.02)]:
        slot = Slot(count, epsilon=Fraction(str(epsilon)))
        by_zcdp = conversions.zcdp_to_epsilon(count * slot.cost.rho, DELTA)
        bound = float(epsilon_of_slots([slot], DELTA))
        plain = f"{count * epsilon:g} | {float(by_zcdp):.3f} | {bound:.3f} |  |"
        print(f"| {count} charges of pure epsilon {epsilon:g}, whatever they are | {plain}")
    print()


def fill(book: Book, length: int) -> None:
    """Write entries in one transaction, for a store that has been in use for a while."""
    content = {"charge": "", "accounts": ["speed"], "epsilon": "1/1000", "rho": "1/1000", "protects": "single records"}
    log, last = book._log, book.entries()[-1]
    with log.writing():
        for number in range(length - last.seq):
            charge = {**content, "charge": f"{length} {number}", "what": "a charge"}
            last = Entry.following(last, "reserve", "speed", log.who(), charge)
            log.append(last)


def speed(addresses: dict[str, str], lengths: list[int]) -> None:
    print("| store | entries before | one charge, both steps: median |")
    print("|---|---|---|")
    bill = Bill(Cost.pure(Fraction(1, 1000)), "single records", "a charge", {})
    for name, url in addresses.items():
        opened(url, "speed", Limit.of(epsilon=10_000))
        for length in lengths:
            with Book(parse_address(url)) as book:
                fill(book, length)
                before, times = len(book.entries()), []
                for _ in range(20):
                    begun = time.perf_counter()
                    book.commit(book.reserve(["speed"], bill))
                    times.append(time.perf_counter() - begun)
            print(f"| {name} | {before:,} | {1000 * statistics.median(times):.0f} ms |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=["composition", "races", "kills", "speed"], help="only this part")
    asked = parser.parse_args()
    quick = asked.quick
    if asked.part in (None, "composition"):
        print("### What charges come to together\n")
        composition()
    with stores() as addresses:
        if asked.part in (None, "races"):
            print("### Racing processes\n")
            races(addresses, 8 if quick else 64, 4 if quick else 10)
        if asked.part in (None, "kills"):
            print("### Runs killed at random moments\n")
            kills(addresses, 10 if quick else 200)
        if asked.part in (None, "speed"):
            print("### What a charge takes\n")
            speed(addresses, [200] if quick else [1000, 3000])


if __name__ == "__main__":
    main()
