"""Audit diffprivlib's forest and tree, in an environment built for them.

Run ``python benchmarks/audit_peers.py``. It builds a virtual environment with diffprivlib 0.6.6 in a cache folder
(once), audits each estimator at the epsilon it states, prints the reports, and writes a table and a plot.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from privet.audit import AuditReport, NeighbourPair, statistical_audit
from privet.audit.neighbours import moving_partition, new_class, replaced_label, smooth_sensitivity
from privet.audit.projections import Attribute
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB

TRAINERS = Path(__file__).with_name("peer_trainers.py")
DOCS = Path(__file__).resolve().parents[1] / "docs"
EPSILON = 0.5
COLUMNS = (
    *("subject", "claimed", "relation", "pair", "lower_bound", "confidence", "verdict"),
    *("projection", "event", "direction", "hits", "trials", "other_hits", "other_trials", "trainings", "seconds"),
)


@dataclass(frozen=True)
class Case:
    """One estimator with its settings, and the pairs it is audited with."""

    name: str
    function: str
    pairs: Sequence[NeighbourPair]
    trainings: int
    relation: str = "add_remove"
    settings: dict[str, Any] = field(default_factory=dict)


def cases() -> list[Case]:
    """What is audited; a forest of 3 trees has a loss that is known exactly: 1.995 at epsilon 0.5."""
    shallow = {"max_depth": 1}  # depth changes nothing where all records share one point, but the speed
    classes_read = replace(new_class(), projections=(Attribute("classes_"),))
    return [
        Case("forest, defaults (10 trees)", "forest", [moving_partition(10)], 1_200),
        Case("forest, 3 trees", "forest", [moving_partition(3)], 8_000, settings={"n_estimators": 3, **shallow}),
        Case("tree", "tree", [smooth_sensitivity(1), smooth_sensitivity(2)], 20_000, settings=shallow),
        Case("tree, claim read as replacement", "tree", [replaced_label()], 20_000, "replace", settings=shallow),
        Case("tree, classes not given (it warns)", "tree", [classes_read], 400, settings={"classes": None, **shallow}),
    ]


def run(case: Case, python: Path, n_jobs: int) -> AuditReport:
    """Audit one case in the other environment."""
    report = statistical_audit(
        f"{TRAINERS}:{case.function}",
        case.pairs,
        epsilon=EPSILON,
        relation=case.relation,
        settings={"epsilon": EPSILON, **case.settings},
        confidence=0.99,
        max_trainings=case.trainings,
        n_jobs=n_jobs,
        python=python,
    )
    return replace(report, subject=f"diffprivlib {DIFFPRIVLIB.version}: {case.name}")


def write_table(path: Path, reports: Sequence[tuple[AuditReport, float]]) -> None:
    """One row per finding."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for report, seconds in reports:
            for finding in report.findings:
                claim = [report.claimed.epsilon, report.claimed.relation]
                bound = [f"{finding.epsilon:.4f}", finding.confidence, finding.verdict]
                counts = [finding.hits, finding.trials, finding.other_hits, finding.other_trials]
                view = [finding.projection, finding.event, finding.direction]
                row = [report.subject, *claim, finding.name, *bound, *view, *counts]
                writer.writerow([*row, report.trainings, f"{seconds:.0f}"])


def plot(path: Path, reports: Sequence[AuditReport]) -> None:
    """All cases in one picture: the best lower bound of each against the claim."""
    findings = []
    for report in reports:
        best = max(report.findings, key=lambda finding: finding.epsilon)
        findings.append(replace(best, name=report.subject.split(": ", 1)[1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(reports[0], subject=f"diffprivlib {DIFFPRIVLIB.version}", findings=findings).plot(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="by default in the cache folder")
    parser.add_argument("--table", type=Path, default=DOCS / "data" / "audit_peers.csv")
    parser.add_argument("--plot", type=Path, default=DOCS / "images" / "audit_peers.svg")
    parser.add_argument("--n-jobs", type=int, default=-1)
    options = parser.parse_args(arguments)

    python = DIFFPRIVLIB.built(options.environment, say=print)
    reports = []
    for case in cases():
        started = time.perf_counter()
        report = run(case, python, options.n_jobs)
        reports.append((report, time.perf_counter() - started))
        print(report, end="\n\n", flush=True)
    write_table(options.table, reports)
    plot(options.plot, [report for report, _ in reports])
    print(f"{sum(seconds for _, seconds in reports):.0f} seconds of trainings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
