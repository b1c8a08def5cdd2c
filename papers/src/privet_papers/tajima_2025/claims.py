"""What Tajima, Wu and Houmansadr (2025) claim, and what holds."""

from __future__ import annotations

from collections.abc import Callable

from privet_papers.framework.claims import Claim, Figures, Finding, holds

PAPER = "Tajima, Wu, Houmansadr 2025"
PRIVACY = (
    "Sound as intended: what is measured is linear in the records, with the strategy's largest column norm as "
    "sensitivity. Two sentences need care: W D + W A+ noise is private only if the strategy supports the queries, "
    "and 'randomly split' has to mean a secret coin for each record; the exact audit refutes equal parts "
    "(`tests/laws/test_audit_matrix_forest.py`)."
)
AUDIT_TEST = "tests/laws/test_audit_matrix_forest.py"
Find = Callable[[Figures], Finding]


def _accuracy(method: str, *, near: float = 0.03, also: str = "") -> Find:
    """Compare a row of Table 2 with the paper's figure."""

    def find(figures: Figures) -> Finding:
        row = figures.where(method=method)
        gap = row.mean("accuracy") - row.mean("accuracy (paper)")
        other = f"{also}: {figures.where(method=also).mean('accuracy'):.3f}" if also else ""
        return Finding(other, f"{row.mean('accuracy'):.3f}", holds(abs(gap) <= near, partly=gap > 0))

    return find


def _ahead(first: str, second: str) -> Find:
    def find(figures: Figures) -> Finding:
        found = figures.by("method", "accuracy")
        return Finding("", f"{found[first]:.3f} against {found[second]:.3f}", holds(found[first] > found[second]))

    return find


def _two_subsets(figures: Figures) -> Finding:
    found = figures.values("accuracy")
    reached = sum(accuracy >= 0.81 for accuracy in found)
    return Finding(
        "", f"{reached} of {len(found)} pairs of subsets reach .81", holds(2 * reached > len(found), partly=reached > 0)
    )


def _deepest(line: str, depth: str) -> Find:
    def find(figures: Figures) -> Finding:
        curve = figures.where(line=line).by("depth", "accuracy")
        best = max(curve, key=lambda d: curve[d])
        return Finding("", f"{curve[best]:.3f} at depth {best}", holds(best == depth))

    return find


def _always_ahead(figures: Figures) -> Finding:
    ours = figures.where(line="batch training, weight").by("depth", "accuracy")
    theirs = figures.where(line="leaf Laplace, weight").by("depth", "accuracy")
    wins = sum(ours[depth] > theirs[depth] for depth in ours)
    return Finding("", f"{wins} of {len(ours)} depths", holds(wins == len(ours), partly=wins > 0))


def _optimising_dominates(figures: Figures) -> Finding:
    private = figures.where(line="batch training")
    optimise, rest = private.mean("optimise (s)"), private.mean("build (s)") + private.mean("train (s)")
    return Finding("", f"{optimise:.3f} s of {optimise + rest:.3f} s", holds(optimise > rest))


def _beats_per_query(figures: Figures) -> Finding:
    said = {}
    for vote in ("weight", "hard"):
        wins = of = 0
        for data in ("car", "iris", "balance_scale"):
            ours = figures.where(data=data, line=f"optimised, {vote}").by("epsilon", "accuracy")
            theirs = figures.where(data=data, line=f"per query, {vote}").by("epsilon", "accuracy")
            wins, of = wins + sum(ours[e] > theirs[e] for e in ours), of + len(ours)
        said[vote] = wins, of
    words = ", ".join(f"{wins} of {of} with {vote} votes" for vote, (wins, of) in said.items())
    shares = [wins / of for wins, of in said.values()]
    return Finding("", words, holds(min(shares) == 1, partly=min(shares) > 0.8))


def _many_points(line: str, paper: float) -> Find:
    def find(figures: Figures) -> Finding:
        found = figures.where(line=line, batch="1000").mean("accuracy")
        return Finding("", f"{found:.3f}", holds(abs(found - paper) <= 0.05, partly=found > paper))

    return find


def _baseline_degrades(figures: Figures) -> Finding:
    found = [figures.where(line=f"per query, {vote}", batch="50").mean("accuracy") for vote in ("weight", "hard")]
    return Finding("", ", ".join(f"{accuracy:.2f}" for accuracy in found), holds(max(found) <= 0.4))


def _poorer_when_deep(line: str, *, flat: bool) -> Find:
    def find(figures: Figures) -> Finding:
        by_depth = figures.where(panel="depth", line=line).by("depth", "accuracy")
        by_trees = figures.where(panel="trees", line=line).by("n_trees", "accuracy")
        losses = max(by_depth.values()) - by_depth["6"], max(by_trees.values()) - by_trees["128"]
        said = f"loses {losses[0]:.2f} to depth 6, {losses[1]:.2f} to 128 trees"
        kept = max(losses) < 0.1
        return Finding("", said, holds(kept == flat))

    return find


def _weight_ahead(figures: Figures) -> Finding:
    weight, hard = (
        figures.where(data=("car", "iris", "balance_scale"), line=f"optimised, {vote}").mean("accuracy")
        for vote in ("weight", "hard")
    )
    return Finding("", f"{weight:.3f} against {hard:.3f}", holds(weight > hard))


CLAIMS = (
    Claim(
        "Theorems 6 and 9",
        "weight and hard votes of trees on disjoint data cost epsilon",
        "",
        AUDIT_TEST,
        Finding(
            "equal parts are refuted: a loss of 3 for a claim of 1", "secret coins: epsilon, exactly", "holds in part"
        ),
        "With secret coins it holds.",
    ),
    Claim(
        "Equation 1",
        "W D + W A+ noise is private",
        "",
        AUDIT_TEST,
        Finding("only if A supports W", "nothing but the noisy measurement reaches the answer", "holds in part"),
    ),
    Claim(
        "Proposition 1",
        "the L1 sensitivity of W X is the largest column norm",
        "",
        AUDIT_TEST,
        Finding("", "norms are those of the explicit matrix", "holds"),
    ),
    Claim("Table 2", "batch training", ".735", "tajima-table-2", _accuracy("batch training, hard")),
    Claim(
        "Table 2",
        "batch training with two subsets",
        ".810",
        "tajima-table-2",
        _accuracy("batch training, q = 2"),
        "See the claim on pairs of subsets.",
    ),
    Claim("Table 2", "batch prediction", ".793", "tajima-table-2", _accuracy("batch prediction, all 346 points")),
    Claim(
        "Table 2",
        "batch prediction with two subsets",
        ".809",
        "tajima-table-2",
        _accuracy("batch prediction, q = 2"),
        "As above.",
    ),
    Claim("Table 2", "subsample and aggregate", ".749", "tajima-table-2", _accuracy("subsample and aggregate, weight")),
    Claim(
        "Table 2",
        "subsample and aggregate with two subsets",
        ".763",
        "tajima-table-2",
        _accuracy("subsample and aggregate, q = 2"),
    ),
    Claim(
        "Table 2",
        "without privacy",
        ".789",
        "tajima-table-2",
        _accuracy("without privacy, hard"),
        "Likely by how ties are broken.",
    ),
    Claim(
        "section on multiple ensembles",
        "two subsets of four features improve accuracy on Car",
        ".810 against .735",
        "tajima-subsets",
        _two_subsets,
        "It depends on the subsets.",
    ),
    Claim(
        "Figure 3, text",
        "the existing method has 25% on Car at epsilon 1",
        ".25",
        "tajima-table-2",
        _accuracy("subsample and aggregate, per query (baseline)"),
    ),
    Claim(
        "Table 2, text",
        "batch training beats noise on leaves",
        "",
        "tajima-table-2",
        _ahead("batch training, weight", "leaf Laplace (baseline)"),
    ),
    Claim(
        "Table 2, text",
        "batch training and prediction beat subsample and aggregate",
        "",
        "tajima-table-2",
        _ahead("batch training, weight", "subsample and aggregate, weight"),
    ),
    Claim(
        "Figure 1",
        "batch training is best at depth 4",
        "84% at 4",
        "tajima-fig-1",
        _deepest("batch training, weight", "4"),
    ),
    Claim(
        "Figure 1",
        "noise on leaves is best at depth 2",
        "72% at 2",
        "tajima-fig-1",
        _deepest("leaf Laplace, weight", "2"),
    ),
    Claim("Figure 1", "ahead of noise on leaves whatever the depth", "", "tajima-fig-1", _always_ahead),
    Claim(
        "Figure 2",
        "optimising the noise takes most of the time",
        "322 s of 357 s",
        "tajima-fig-2",
        _optimising_dominates,
        "The best strategy for training is known in closed form.",
    ),
    Claim("Figure 3", "the optimised strategy always beats the existing one", "", "tajima-fig-3", _beats_per_query),
    Claim("Figure 3", "weight votes generally beat hard votes", "", "tajima-fig-3", _weight_ahead),
    Claim("Figure 4", "1000 points with weight votes", ".80", "tajima-fig-4", _many_points("optimised, weight", 0.80)),
    Claim("Figure 4", "1000 points with hard votes", ".70", "tajima-fig-4", _many_points("optimised, hard", 0.70)),
    Claim(
        "Figure 4",
        "the existing method falls to 30 to 35% at 50 points",
        ".30 to .35",
        "tajima-fig-4",
        _baseline_degrades,
    ),
    Claim(
        "Figure 5",
        "weight votes lose with depth and number of trees",
        "",
        "tajima-fig-5",
        _poorer_when_deep("optimised, weight", flat=False),
    ),
    Claim("Figure 5", "hard votes do not", "", "tajima-fig-5", _poorer_when_deep("optimised, hard", flat=True)),
)
