"""Vos et al. (2023), Figures 3 and 4, and one picture of all learners of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privet_papers.framework.entry import Cell, Outcome, Row, beside_paper
from privet_papers.vos_2023.poisoning.cells import backdoor, dpa_certificates, few_images, retrained_resistance
from privet_papers.vos_2023.poisoning.entry_parts import EPSILONS, MIXED, PRIVATREE, TREE, column, retraining_cells
from privet_papers.vos_2023.printed_numbers import PRINTED_FIG_4

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE = (0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01)
# (data, epsilon) -> retrainings: e^c times 100 or more for the c at which the certificate is to say something
RETRAININGS = {
    ("adult", 0.01): 12_000,
    ("adult", 0.1): 12_000,
    ("bench_compas-two-years", 0.01): 2000,
    ("bench_compas-two-years", 0.1): 2000,
}
FEW = (0.0001, 0.0002, 0.0003, 0.0005)
FEWER_TREES = {"DisjointForestClassifier": {"n_trees": 20}}  # its default of 100 would take hours of retraining
SPLITS = 50
IMAGES = (0, 1, 2, 5, 20, 112)  # up to 1% of 11,200
FEW_SPLITS = 5
FEW_IMAGES = (1, 2, 5, 11)  # 11 are 0.1% of the training set, the authors' smallest share
DPA, PLAIN = "DPA, 1000 trees", "plain tree"


def figure_3_cells(quick: bool) -> list[Cell]:
    """Adult on its published split, compas on a fold, and the DPA ensembles."""
    cells = []
    for data in dict.fromkeys(data for data, _ in RETRAININGS):
        settings = {"data": data, "parts": 1000, "shares": list(CURVE), "split": "published"}
        cells.append(Cell(dpa_certificates, settings, data=(data,)))
        for epsilon in EPSILONS:
            retrainings = 60 if quick else RETRAININGS[data, epsilon]
            cells += retraining_cells(data, epsilon, retrainings, "published", **TREE)
    return cells


def figure_3_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """One line for each data set, method, epsilon and share."""
    from privet.robustness import Certificates, Guarantee, tail_certificate

    rows: list[Row] = []
    for data in dict.fromkeys(outcome.settings["data"] for outcome in outcomes):
        of_data = [outcome for outcome in outcomes if outcome.settings["data"] == data]
        name = MIXED[data]
        for epsilon in EPSILONS:
            here = [outcome for outcome in of_data if outcome.settings.get("epsilon") == epsilon]
            scores = [score for outcome in here for score in outcome.result["accuracies"]]
            n_records = here[0].result["n_records"]
            guarantee = Guarantee.stated(epsilon)
            table = Certificates.from_scores(scores, guarantee, n_records, CURVE)
            alone = [tail_certificate(scores, guarantee.under(row.n_poisoned)) for row in table.rows]
            head: Row = {"data": name, "method": PRIVATREE, "epsilon": epsilon}
            rows += [
                {
                    **head,
                    "share": share,
                    "poisoned": row.n_poisoned,
                    "clean": table.clean,
                    "formula": row.paper,
                    "two-sided": row.two_sided,
                    "tail certificate": tail.expected,
                    "threshold": tail.threshold,
                    "reached by": tail.probability,
                    "certified": row.guaranteed,
                }
                for share, row, tail in zip(CURVE, table.rows, alone, strict=True)
            ]
        for outcome in of_data:
            for share, certified in zip(CURVE, outcome.result.get("certified", ()), strict=False):
                rows.append({"data": name, "method": DPA, "epsilon": None, "share": share, "certified": certified})
    return rows


def figure_3_plot(rows: list[Row]) -> Figure:
    """Guaranteed accuracy against the share poisoned; dashed: the paper's formula."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8))
    names = list(dict.fromkeys(row["data"] for row in rows))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        for place, (method, epsilon) in enumerate([(PRIVATREE, 0.01), (PRIVATREE, 0.1), (DPA, None)]):
            line = [r for r in rows if (r["data"], r["method"], r["epsilon"]) == (name, method, epsilon)]
            shares = [100 * share for share in column(line, "share")]
            label = method if epsilon is None else f"{method}, epsilon {epsilon:g}"
            axes.plot(shares, column(line, "certified"), color=f"C{place}", label=f"{label}: certified")
            if epsilon is not None:
                axes.plot(shares, column(line, "formula"), "--", color=f"C{place}", label=f"{label}: paper's formula")
        axes.set_title(str(name))
        axes.set_xlabel("poisoned records (%)")
    panels[0].set_ylabel("guaranteed accuracy")
    panels[0].set_ylim(0, 1)
    panels[-1].legend(fontsize="small")
    return figure


def figure_4_cells(quick: bool) -> list[Cell]:
    """Splits for each model; retrainings on the first of them for the certificate."""
    numbers = [0, 5, 112] if quick else list(IMAGES)
    cells = [
        Cell(backdoor, {"epsilon": epsilon, "split": split, "poisoned": numbers}, data=("mnist_0_vs_1",))
        for split in range(2 if quick else SPLITS)
        for epsilon in (None, *EPSILONS)
    ]
    for epsilon in EPSILONS:
        settings = {"epsilon": epsilon, "retrainings": 20 if quick else 60, "part": 0}
        cells.append(Cell(retrained_resistance, settings, data=("mnist_0_vs_1",)))
    return cells


def figure_4_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """One line for each model and number of poisoned images."""
    from privet.robustness import Certificates, Guarantee, paper_attack_success

    rows: list[Row] = []
    for epsilon in (None, *EPSILONS):
        here = [outcome for outcome in outcomes if outcome.settings["epsilon"] == epsilon]
        attacks = [outcome for outcome in here if "split" in outcome.settings]
        numbers = attacks[0].settings["poisoned"]
        accuracy = np.mean([outcome.result["accuracy"] for outcome in attacks], axis=0)
        success = np.array([outcome.result["success"] for outcome in attacks])
        for place, number in enumerate(numbers):
            row: Row = {
                "model": PLAIN if epsilon is None else PRIVATREE,
                "epsilon": epsilon,
                "poisoned": number,
                "accuracy": float(accuracy[place]),
                "attack success": float(success[:, place].mean()),
                "worst split": float(success[:, place].max()),
            }
            if epsilon is not None:
                guarantee = Guarantee.stated(epsilon)
                retrained = [outcome for outcome in here if "retrainings" in outcome.settings]
                scores = [score for outcome in retrained for score in outcome.result["scores"]]
                table = Certificates.from_scores(scores, guarantee, retrained[0].result["n_records"], numbers)
                row["bound by formula"] = paper_attack_success(float(success[:, 0].mean()), guarantee.under(number))
                row["certified bound"] = 1.0 - table.at(number).guaranteed
            rows.append(row)
    return beside_paper(rows, PRINTED_FIG_4, on=["epsilon", "poisoned"], column="accuracy")


def few_cells(quick: bool) -> list[Cell]:
    """A cell for each split and place of the trigger."""
    numbers = [1, 2] if quick else list(FEW_IMAGES)
    return [
        Cell(few_images, {"margin": margin, "split": split, "poisoned": numbers}, data=("mnist_0_vs_1",))
        for split in range(2 if quick else FEW_SPLITS)
        for margin in (1, 0)
    ]


def few_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """One line for each place of the trigger and number of images."""
    rows: list[Row] = []
    for margin in dict.fromkeys(outcome.settings["margin"] for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.settings["margin"] == margin]
        success, asked = (np.array([outcome.result[name] for outcome in here], float) for name in ("success", "asked"))
        for place, number in enumerate(here[0].settings["poisoned"]):
            head: Row = {"margin": margin, "poisoned": number, "runs": len(here)}
            error = success[:, place].std(ddof=1) / np.sqrt(len(here))
            figures: Row = {"attack success": float(success[:, place].mean()), "s.e.": float(error)}
            rows.append({**head, **figures, "asked": float(asked[:, place].mean())})
    return rows


def figure_4_plot(rows: list[Row]) -> Figure:
    """Attack success rate against poisoned images; dashed: Corollary 3, dotted: the certificate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2))
    axes = figure.subplots()
    for place, epsilon in enumerate((None, *EPSILONS)):
        line = [row for row in rows if row["epsilon"] == epsilon]
        numbers = column(line, "poisoned")
        label = PLAIN if epsilon is None else f"{PRIVATREE}, epsilon {epsilon:g}"
        axes.plot(numbers, column(line, "attack success"), color=f"C{place}", label=label)
        if epsilon is not None:
            for bound, style, name in [("bound by formula", "--", "bound"), ("certified bound", ":", "certified")]:
                axes.plot(numbers, column(line, bound), style, color=f"C{place}", label=f"{label}: {name}")
    axes.set_xlabel("poisoned images of 11,200")
    axes.set_ylabel("attack success rate")
    axes.set_ylim(-0.02, 1.02)
    axes.legend(fontsize="small")
    return figure


def learners_cells(quick: bool) -> list[Cell]:
    """Every classifier of the library on Adult, at epsilon 0.1 and otherwise its defaults."""
    from privet.estimators.registry import estimator_names

    return [
        cell
        for learner in estimator_names("Classifier")
        if learner.endswith("Classifier")
        for cell in retraining_cells(
            "adult", 0.1, 40 if quick else 200, "published", learner=learner, parameters=FEWER_TREES.get(learner, {})
        )
    ]


def learners_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """One line for each learner and share."""
    from privet.robustness import Certificates, Guarantee

    rows: list[Row] = []
    for learner in dict.fromkeys(outcome.settings["learner"] for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.settings["learner"] == learner]
        scores = [score for outcome in here for score in outcome.result["accuracies"]]
        table = Certificates.from_scores(scores, Guarantee.stated(0.1), here[0].result["n_records"], FEW)
        rows += [
            {
                "learner": learner.removesuffix("Classifier"),
                "epsilon": 0.1,
                "share": share,
                "poisoned": row.n_poisoned,
                "clean": table.clean,
                "formula": row.paper,
                "certified": row.guaranteed,
            }
            for share, row in zip(FEW, table.rows, strict=True)
        ]
    return rows


def learners_plot(rows: list[Row]) -> Figure:
    """Certified accuracy of each learner against the share poisoned."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2))
    axes = figure.subplots()
    for learner in dict.fromkeys(row["learner"] for row in rows):
        line = [row for row in rows if row["learner"] == learner]
        shares = [0.0, *(100 * share for share in column(line, "share"))]
        axes.plot(shares, [*column(line[:1], "clean"), *column(line, "certified")], label=str(learner))
    axes.set_xlabel("poisoned records (%); at 0 the clean accuracy")
    axes.set_ylabel("certified accuracy")
    axes.legend(fontsize="small")
    return figure
