"""What Fletcher and Islam (2017) claim, and what holds."""

from __future__ import annotations

from collections.abc import Callable

from privet_papers.framework.claims import Claim, Figures, Finding, holds

PAPER = "Fletcher, Islam 2017"
PRIVACY = (
    "Smooth sensitivity is used with the exponential mechanism, which needs a bound for all neighbours, and records "
    "are dealt into equal parts, so that one record moves others; exact audits refute both "
    "(`papers/tests/test_fletcher_printed.py`). `DisjointForestClassifier` deals records by secret coins and labels "
    "leaves by a margin law with the same epsilon."
)
PRINTED_TEST = "papers/tests/test_fletcher_printed.py"
QUERY_TEST = "papers/tests/test_fletcher_frequent_items.py"
Find = Callable[[Figures], Finding]


def _average(figures: Figures, variant: str, column: str = "accuracy", epsilon: str = "1") -> float:
    return figures.where(data="average", variant=variant, epsilon=epsilon).mean(column)


def _ahead(first: tuple[str, str], second: tuple[str, str], column: str = "accuracy") -> Find:
    """Compare two variants, (as printed, sound) each, by their average."""

    def find(figures: Figures) -> Finding:
        printed = [_average(figures, variant, column) for variant in (first[0], second[0])]
        sound = [_average(figures, variant, column) for variant in (first[1], second[1])]
        ahead, also = printed[0] > printed[1], sound[0] > sound[1]
        return Finding(_against(printed), _against(sound), holds(ahead and also, partly=ahead or also))

    return find


def _against(pair: list[float]) -> str:
    return f"{pair[0]:.3f} against {pair[1]:.3f}"


def _ahead_of_fs(figures: Figures) -> Finding:
    means = {variant: _average(figures, variant) for variant in ("sound", "FS", "FS, improved")}
    said = f"{means['sound']:.3f} against {means['FS']:.3f}, improved {means['FS, improved']:.3f}"
    return Finding("", said, holds(means["sound"] > means["FS"]))


def _on_every_set(rival: str, column: str = "accuracy", variants: tuple[str, ...] = ("printed", "sound")) -> Find:
    """Count the data sets on which the forest is ahead of a rival."""

    def find(figures: Figures) -> Finding:
        said, all_of_them = [], []
        for variant in variants:
            ours = figures.where(variant=variant).without("data", "average").by("data", column)
            theirs = figures.where(variant=rival).by("data", column)
            wins = sum(ours[name] > theirs[name] for name in ours)
            said.append(f"{wins} of {len(ours)}")
            all_of_them.append(wins / len(ours))
        return Finding(
            said[0] if len(said) > 1 else "", said[-1], holds(min(all_of_them) > 0.9, partly=max(all_of_them) > 0.5)
        )

    return find


def _auc_as_printed(figures: Figures) -> Finding:
    gaps = [a - b for a, b in figures.where(variant="printed").pairs("auc", "auc (paper)")]
    near = sum(abs(gap) <= 0.04 for gap in gaps)
    said = f"{sum(gaps) / len(gaps):+.3f} on average, {near} of {len(gaps)} within .04"
    return Finding(said, "", holds(near == len(gaps), partly=2 * near > len(gaps)))


def _auc_of_adult(figures: Figures) -> Finding:
    """Say what Adult's area asks for."""
    rows = figures.where(data="Adult")
    ours = rows.by("variant", "auc")
    paper = rows.where(variant="printed").mean("auc (paper)")
    printed, silent = ours["printed"], ours["printed, empty leaves silent"]
    said = f"{printed:.3f}; {silent:.3f} if leaves without records do not vote"
    return Finding(said, "", holds(abs(printed - paper) <= 0.02, partly=abs(silent - paper) <= 0.02))


def _table(column: str, near: float) -> Find:
    def find(figures: Figures) -> Finding:
        pairs = figures.pairs(column, f"{column} (paper)")
        equal = sum(abs(a - b) <= near for a, b in pairs)
        within = "equal" if near < 1e-3 else f"within {near:g}"
        return Finding(
            f"{equal} of {len(pairs)} {within}", "", holds(equal == len(pairs), partly=2 * equal > len(pairs))
        )

    return find


def _trees(figures: Figures) -> Finding:
    said = {}
    for method in ("printed", "sound"):
        curve = figures.where(data="average", method=method, epsilon="1").by("trees", "accuracy")
        said[method] = curve["100"] - curve["1"], curve["300"] - curve["100"]
    words = {
        method: f"100 trees {gain:+.3f} over one, 300 a further {more:+.3f}" for method, (gain, more) in said.items()
    }
    return Finding(
        words["printed"], words["sound"], holds(all(gain > 0.1 and more < 0.02 for gain, more in said.values()))
    )


def _more_records(figures: Figures) -> Finding:
    """A hundredfold of the records at a tenth of the budget is as accurate."""
    said, kept = {}, []
    for method in ("printed", "sound"):
        shown = figures.where(method=method)
        few = shown.where(epsilon="1", n_rows="30000").mean("accuracy")
        many = shown.where(epsilon="0.1", n_rows="3000000").mean("accuracy")
        said[method] = f"{many:.3f} with 3,000,000 at .1, {few:.3f} with 30,000 at 1"
        kept.append(many >= few - 0.02)
    return Finding(said["printed"], said["sound"], holds(all(kept), partly=any(kept)))


def _towards_no_privacy(figures: Figures) -> Finding:
    said, closer = {}, []
    for variant in ("printed", "sound"):
        curve = figures.where(variant=variant).by("epsilon", "accuracy")
        plain = figures.where(variant="without privacy").by("epsilon", "accuracy")
        gaps = [plain[epsilon] - curve[epsilon] for epsilon in ("0.2", "1.6")]
        said[variant] = f"{gaps[0]:.3f} below at .2, {gaps[1]:.3f} at 1.6"
        closer.append(gaps[1] < gaps[0] and gaps[1] < 0.02)
    return Finding(said["printed"], said["sound"], holds(all(closer), partly=any(closer)))


def _smaller_sensitivity(figures: Figures) -> Finding:
    disjoint, together = (figures.where(composition=name).mean("sensitivity") for name in ("disjoint", "sequential"))
    return Finding(f"mean {disjoint:.2f} on disjoint data, {together:.2f} otherwise", "", holds(disjoint < together))


def _flips(figures: Figures) -> Finding:
    means = {column: figures.mean(column) for column in ("printed", "margin law")}
    one, many = (figures.where(n_trees=n).mean("printed") for n in ("1", "100"))
    return Finding(
        f"{one:.1%} of labels with one tree, {many:.1%} with 100",
        f"{means['margin law']:.1%} on average (printed {means['printed']:.1%})",
        holds(many > one),
    )


def _without_privacy_is_ahead(figures: Figures) -> Finding:
    said, kept = [], []
    for variant in ("printed", "sound"):
        ours = figures.where(variant=variant).without("data", "average").by("data", "accuracy")
        theirs = figures.where(variant="Breiman").by("data", "accuracy")
        wins = sum(theirs[name] > ours[name] for name in ours)
        said.append(f"{wins} of {len(ours)}")
        kept.append(wins == len(ours))
    return Finding(said[0], said[1], holds(all(kept)))


CLAIMS = (
    Claim(
        "section 4.1, Theorem 1",
        "smooth sensitivity keeps epsilon",
        "",
        PRINTED_TEST,
        Finding("refuted at every margin", "a margin law, audited exactly", "does not hold"),
    ),
    Claim(
        "section 4.2",
        "equal, disjoint parts of the data cost epsilon once",
        "",
        PRINTED_TEST,
        Finding(
            "refuted even with a private rule: one record moves others",
            "secret coins, one for each record",
            "does not hold",
        ),
    ),
    Claim(
        "sections 1.2, 4.1 and 6",
        "the query for the most frequent item is private by itself",
        "",
        QUERY_TEST,
        Finding("no finite epsilon", "`frequent_item`, by permute-and-flip, audited exactly", "does not hold"),
    ),
    Claim(
        "sections 1.2, 4.1 and 6",
        "so is that for the least frequent item",
        "",
        QUERY_TEST,
        Finding("no finite epsilon", "`frequent_item`, by permute-and-flip, audited exactly", "does not hold"),
    ),
    Claim(
        "section 4.1, Theorem 1",
        "the smooth sensitivity of the score is e^(-j epsilon)",
        "",
        QUERY_TEST,
        Finding("e^(-(j - 1) epsilon) by Definition 7, if equal counts score alike", "", "does not hold"),
    ),
    Claim(
        "abstract, Figure 4",
        "smooth sensitivity beats global sensitivity",
        "",
        "fletcher-fig-4",
        _ahead(("printed", "sound"), ("printed, global", "printed, global")),
        "The sound forest needs no smooth sensitivity to be as accurate.",
    ),
    Claim(
        "section 4.2, Figure 5",
        "disjoint data beat a divided budget",
        "",
        "fletcher-fig-5",
        _ahead(("printed", "sound"), ("printed, divided", "sound, divided")),
        "With sound labels the gap is about one point and not significant.",
    ),
    Claim("Figure 5", "smooth sensitivities are smaller on disjoint data", "", "fletcher-fig-5b", _smaller_sensitivity),
    Claim(
        "section 4.3, Figure 6",
        "depth by Theorem 2 beats m / 2",
        "",
        "fletcher-fig-6",
        _ahead(("printed, Theorem 2", "sound, Theorem 2"), ("printed, m/2", "sound, m/2")),
    ),
    Claim(
        "section 4.3, Figure 6",
        "depth by Theorem 2 beats m",
        "",
        "fletcher-fig-6",
        _ahead(("printed, Theorem 2", "sound, Theorem 2"), ("printed, m", "sound, m")),
    ),
    Claim("section 4.4, Figure 7", "about a hundred trees are enough", "", "fletcher-fig-7", _trees),
    Claim("section 4.4, Figure 8", "more trees cause more flipped labels", "", "fletcher-fig-8", _flips),
    Claim("Table 2", "smooth sensitivities", "21 values", "fletcher-table-2", _table("sensitivity", 5e-4)),
    Claim("Table 3", "shares of empty leaves", "28 values", "fletcher-table-3", _table("empty", 8)),
    Claim(
        "Table 4",
        "depths of the trees",
        "14 values",
        "fletcher-table-4",
        _table("depth", 0),
        "One deeper than the formula (16) prints where there are continuous features.",
    ),
    Claim(
        "section 5.1, Figure 9",
        "a hundred times the records at a tenth of epsilon are as accurate",
        "comparable",
        "fletcher-fig-9",
        _more_records,
        "One generator seed of the synthetic data, and an unfavourable one.",
    ),
    Claim(
        "section 5.1, Figure 10",
        "with epsilon the forest approaches the one without privacy",
        "",
        "fletcher-fig-10",
        _towards_no_privacy,
    ),
    Claim(
        "section 5.2, Figure 11",
        "more accurate than JPW, on average",
        "often by more than 10 points",
        "fletcher-fig-11",
        _ahead(("printed", "sound"), ("JPW", "JPW")),
    ),
    Claim(
        "section 5.2, Figure 11",
        "more accurate than JPW on all data sets but Claves",
        "13 of 14",
        "fletcher-fig-11",
        _on_every_set("JPW"),
    ),
    Claim(
        "section 5.2, Figure 11",
        "more accurate than FS, on average",
        "often by 30 points",
        "fletcher-fs",
        _ahead_of_fs,
        "FS with its own budget for cut points; improved so that all cuts join one selection, FS is ahead.",
    ),
    Claim(
        "section 5.2, Figure 11",
        "more accurate than FS on all data sets",
        "14 of 14",
        "fletcher-fs",
        _on_every_set("FS", variants=("sound",)),
        "As above.",
    ),
    Claim(
        "section 5.2, Figure 11",
        "Breiman's forest, without privacy, is always ahead",
        "14 of 14",
        "fletcher-fig-11",
        _without_privacy_is_ahead,
    ),
    Claim(
        "section 5.2, Figure 12",
        "a larger AUC than JPW's",
        "all but one at least level",
        "fletcher-fig-12",
        _on_every_set("JPW", "auc"),
    ),
    Claim("Figure 12", "AUC of Adult", ".861", "fletcher-auc", _auc_of_adult),
    Claim("Figure 12", "its AUCs", ".848 to .992", "fletcher-auc", _auc_as_printed),
    Claim(
        "section 5.2, Figure 13",
        "a larger F1 than JPW's",
        "all but one at least level",
        "fletcher-fig-13",
        _on_every_set("JPW", "f1"),
    ),
    Claim(
        "section 5.2, Figure 14",
        "level with RGV, which protects less",
        "5 won, 1 tied, 4 lost",
        "fletcher-fig-14",
        _on_every_set("RGV, 110 trees"),
        "RGV's 110 trees spend epsilon each.",
    ),
)
