"""How the claims of Vos et al. (2023) are read off the results."""

from __future__ import annotations

from collections.abc import Callable

from privet_papers.framework.claims import Figures, Finding, holds
from privet_papers.vos_2023.data import BY_KEY

Find = Callable[[Figures], Finding]
OURS, PRINTED = "ours", "PrivaTree 2023"
WHOLE = "average of whole sets"
PARTS = tuple(benchmark.paper for benchmark in BY_KEY.values() if benchmark.rows_here is not None)
RIVALS = ("BDPT", "DPGDF", "DiffPrivLib")


def ahead_of(rival: str) -> Find:
    """Compare on the data sets that both have."""

    def find(figures: Figures) -> Finding:
        sets = figures.without("data", "average", WHOLE)
        counts = {name: sets.wins(name, rival) for name in (PRINTED, OURS)}
        said = {name: f"{wins} of {of}" for name, (wins, of) in counts.items()}
        shares = [wins / of for wins, of in counts.values()]
        return Finding(said[PRINTED], said[OURS], holds(min(shares) >= 0.8, partly=max(shares) > 0.5))

    return find


def averages(figures: Figures) -> Finding:
    """Compare the average over whole sets with the paper's."""
    row = figures.where(data=WHOLE)
    paper = row.mean("PrivaTree (paper)")
    gap = row.mean(PRINTED) - paper
    return Finding(f"{row.mean(PRINTED):.3f}", f"{row.mean(OURS):.3f}", holds(abs(gap) <= 0.02))


def near_the_plain_tree(figures: Figures) -> Finding:
    """Ask how far below a tree without privacy the private ones are on average."""
    row = figures.where(data=WHOLE)
    gaps = {name: row.mean("tree") - row.mean(name) for name in (PRINTED, OURS)}
    said = {name: f"{gap:.3f} below" for name, gap in gaps.items()}
    return Finding(said[PRINTED], said[OURS], holds(max(gaps.values()) <= 0.05, partly=min(gaps.values()) <= 0.05))


def private_quantiles_cost_little(figures: Figures) -> Finding:
    """Compare with the data's own quantiles."""
    row = figures.where(data=WHOLE)
    gap = row.mean("PrivaTree*") - row.mean(PRINTED)
    return Finding(f"{gap:+.3f} with the data's own quantiles", "", holds(gap <= 0.03))


def fails_on_numbers(figures: Figures) -> Finding:
    """Average BDPT over the sets where the paper's is at .5."""
    numeric = [
        (float(row["BDPT"]), float(row["BDPT, thresholds"]))
        for row in figures.rows
        if row["BDPT (paper)"] and float(row["BDPT (paper)"]) <= 0.515
    ]
    means = [sum(column) / len(numeric) for column in zip(*numeric, strict=True)]
    return Finding(
        f"{means[0]:.3f} on the {len(numeric)} sets where the paper has .5; with thresholds {means[1]:.3f}",
        "",
        holds(means[0] <= 0.55),
    )


def small_data(name: str) -> Find:
    """Compare with DiffPrivLib on one set."""

    def find(figures: Figures) -> Finding:
        row = figures.where(data=name)
        rival = row.mean("DiffPrivLib")
        said = {method: f"{row.mean(method):.3f} against {rival:.3f}" for method in (PRINTED, OURS)}
        behind = [row.mean(method) <= rival for method in (PRINTED, OURS)]
        return Finding(said[PRINTED], said[OURS], holds(behind[0], partly=any(behind)))

    return find


def dominates(figures: Figures) -> Finding:
    """From the budgets that the paper names on, against every other private method of the figure."""
    said, kept = {}, []
    for name in (PRINTED, OURS):
        wins = of = 0
        for data, least in (("adult", 0.005), ("bench_compas-two-years", 0.05)):
            of_data = figures.where(data=data)
            for epsilon in sorted({row["epsilon"] for row in of_data.rows if row["epsilon"]}, key=float):
                found = of_data.where(epsilon=epsilon).by("method", "accuracy")
                rivals = [accuracy for method, accuracy in found.items() if method.startswith(RIVALS)]
                if float(epsilon) >= least:
                    wins, of = wins + (found[name] > max(rivals)), of + 1
        said[name] = f"{wins} of {of}"
        kept.append(wins / of)
    return Finding(said[PRINTED], said[OURS], holds(min(kept) == 1, partly=min(kept) > 0.5))


def random_trees_win_below(figures: Figures) -> Finding:
    """Compare with DiffPrivLib at the smallest epsilon of the figure."""
    said, wins = {}, []
    for name in (PRINTED, OURS):
        parts = []
        for data in ("adult", "bench_compas-two-years"):
            found = figures.where(data=data, epsilon="0.001").by("method", "accuracy")
            parts.append(f"{found['DiffPrivLib']:.3f} against {found[name]:.3f}")
            wins.append(found["DiffPrivLib"] > found[name])
        said[name] = "; ".join(parts)
    return Finding(said[PRINTED], said[OURS], holds(all(wins), partly=any(wins)))


def leaf_share(data: str, *, rises: bool) -> Find:
    """Ask whether the best division gives half or more to the leaves, or less."""

    def find(figures: Figures) -> Finding:
        said, kept = {}, []
        for method in (PRINTED, OURS):
            lines = figures.where(data=data, method=method)
            best = max(lines.rows, key=lambda row: float(row["accuracy"]))
            shares = ", ".join(f"{name} {best[name]}" for name in ("quantiles", "nodes", "leaves"))
            said[method] = f"best {float(best['accuracy']):.3f} at {shares}"
            kept.append((float(best["leaves"]) >= 0.5) == rises)
        return Finding(said[PRINTED], said[OURS], holds(all(kept), partly=any(kept)))

    return find


def quantiles_take_the_time(figures: Figures) -> Finding:
    """Compare the fit with the data's own quantiles, where both were timed."""
    pairs = figures.pairs(f"{PRINTED} / tree", "PrivaTree* / tree")
    slower = sum(own > 2 * without for own, without in pairs)
    ours = figures.values(f"{OURS} / tree")
    return Finding(
        f"more than twice the time on {slower} of {len(pairs)} data sets",
        f"{min(ours):.2g} to {max(ours):.2g} of a plain tree's time, on a public grid",
        holds(2 * slower > len(pairs), partly=slower > 0),
    )


def formula(level: str, *, tolerance: float) -> Find:
    """Compare guarantees by the paper's formula with those it prints, and with certificates from retraining."""

    def find(figures: Figures) -> Finding:
        column = f"{level} formula"
        # A part of a data set has fewer poisoned records at the same share.
        trees = figures.where(method="PrivaTree").without("data", *PARTS)
        gaps = [abs(a - b) for a, b in trees.pairs(column, f"{column} (paper)")]
        near = sum(gap <= tolerance for gap in gaps)
        certified = trees.mean(f"{level} certified")
        return Finding(
            f"{near} of {len(gaps)} within {tolerance:g}",
            f"mean {trees.mean(column):.3f} by the formula, {certified:.3f} certified",
            holds(near == len(gaps), partly=2 * near > len(gaps)),
        )

    return find


def smaller_epsilon_guarantees_more(figures: Figures) -> Finding:
    """Count the sets where .01 guarantees more than .1, with 0.1% poisoned."""
    trees = figures.where(method="PrivaTree")
    counts = []
    for column in ("0.1% formula", "0.1% certified"):
        strict, loose = (trees.where(epsilon=epsilon).by("data", column) for epsilon in ("0.01", "0.1"))
        counts.append((sum(strict[name] > loose[name] for name in strict if name in loose), len(strict)))
    said = [f"{wins} of {of}" for wins, of in counts]
    return Finding(f"{said[0]} by the formula", f"{said[1]} certified", holds(counts[0][0] == counts[0][1]))


def larger_epsilon_is_more_accurate(figures: Figures) -> Finding:
    """Count the sets where .1 is more accurate than .01."""
    trees = figures.where(method="PrivaTree")
    strict, loose = (trees.where(epsilon=epsilon).by("data", "accuracy") for epsilon in ("0.01", "0.1"))
    wins = sum(loose[name] > strict[name] for name in strict if name in loose)
    return Finding("", f"{wins} of {len(strict)}", holds(wins == len(strict)))


def ahead_of_regression(figures: Figures) -> Finding:
    """Compare accuracies with the regression's at equal epsilon, set by set."""
    wins = of = 0
    for epsilon in ("0.01", "0.1"):
        trees, lines = (
            figures.where(method=method, epsilon=epsilon).by("data", "accuracy")
            for method in ("PrivaTree", "diffprivlib LR")
        )
        wins += sum(trees[name] > lines[name] for name in lines)
        of += len(lines)
    return Finding("", f"{wins} of {of}", holds(wins >= 0.9 * of, partly=2 * wins > of))


def as_in_table_4(figures: Figures) -> Finding:
    """Count the figures of whole sets that agree with Table IV."""
    whole = figures.where(status="whole")
    near = sum(
        row[name] == row[f"{name} (paper)"]
        for row in whole.rows
        for name in ("samples", "features", "categorical", "majority share")
    )
    missing = len(figures.where(status="missing").rows)
    said = f"{near} of {4 * len(whole.rows)} figures of {len(whole.rows)} sets; {missing} sets are missing"
    return Finding(said, "", holds(near == 4 * len(whole.rows) and not missing, partly=near == 4 * len(whole.rows)))


def dpa(figures: Figures) -> Finding:
    """Compare DPA's guarantee with the formula's and the certified one, share by share."""
    trees = figures.where(method="PrivaTree", data="adult")
    dpa = figures.where(data="adult", method="DPA, 1000 trees").by("share", "certified")
    formula = trees.where(epsilon="0.1").by("share", "formula")
    certified = trees.where(epsilon="0.1").by("share", "certified")
    wins = sum(dpa[share] > formula[share] for share in formula if share in dpa)
    also = sum(dpa[share] > certified[share] for share in certified if share in dpa)
    return Finding(
        f"DPA ahead at {wins} of {len(formula)} shares",
        f"at {also} of {len(certified)} against certificates",
        holds(wins == len(formula)),
    )


def backdoor(poisoned: str, paper: float) -> Find:
    """Ask whether so many poisoned images open a plain tree."""

    def find(figures: Figures) -> Finding:
        plain = figures.where(model="plain tree", poisoned=poisoned).mean("attack success")
        return Finding(f"{plain:.2f}", "", holds(plain >= paper - 0.05))

    return find


def eleven_images(figures: Figures) -> Finding:
    """At the smallest share of the authors' code, 0.1%, for both places of the trigger."""
    found = figures.where(poisoned="11").values("attack success")
    return Finding(" and ".join(f"{success:.2f}" for success in found), "", holds(min(found) >= 0.95))


def resists(figures: Figures) -> Finding:
    """Take the largest success of an attack on a private tree."""
    worst = {
        epsilon: max(figures.where(model="PrivaTree", epsilon=epsilon).values("attack success"))
        for epsilon in ("0.1", "0.01")
    }
    said = ", ".join(f"at most {success:.2f} at epsilon {epsilon}" for epsilon, success in worst.items())
    return Finding("", said, holds(max(worst.values()) < 0.2))


def fivefold(figures: Figures) -> Finding:
    """Compare attacks of five and more images on plain and private trees."""
    plain = figures.where(model="plain tree", poisoned=("5", "20", "112")).mean("attack success")
    private = figures.where(model="PrivaTree", poisoned=("5", "20", "112")).mean("attack success")
    return Finding("", f"{plain:.2f} against {private:.3f}", holds(plain >= 5 * private))


def tighter(figures: Figures) -> Finding:
    """Compare the bounds of both epsilons."""
    bounds = {
        epsilon: figures.where(model="PrivaTree", epsilon=epsilon, poisoned="20").mean("bound by formula")
        for epsilon in ("0.01", "0.1")
    }
    certified = {
        epsilon: figures.where(model="PrivaTree", epsilon=epsilon, poisoned="20").mean("certified bound")
        for epsilon in ("0.01", "0.1")
    }
    said = [f"{found['0.01']:.2f} against {found['0.1']:.2f}" for found in (bounds, certified)]
    return Finding(said[0], f"{said[1]} certified", holds(bounds["0.01"] < bounds["0.1"]))


def clean(figures: Figures) -> Finding:
    """Compare clean accuracies with the paper's."""
    pairs = figures.where(poisoned="0").pairs("accuracy", "accuracy (paper)")
    near = sum(abs(a - b) <= 0.01 for a, b in pairs)
    said = ", ".join(f"{ours:.3f}" for ours, _ in pairs)
    return Finding("", said, holds(near == len(pairs)))
