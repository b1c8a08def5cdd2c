"""Vos et al. (2023), robustness: Tables III and VIII, Figures 3 and 4, and one picture of all learners."""

from __future__ import annotations

from privet_papers.framework.entry import Entry
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB
from privet_papers.framework.sources import default_sources
from privet_papers.vos_2023.data import coverage
from privet_papers.vos_2023.poisoning import figures, tables
from privet_papers.vos_2023.poisoning.entry_parts import (
    CERTIFIED,
    NOT_A_RELEASE,
    POISONED,
    SIZE_IS_PUBLIC,
    TRUE_EPSILON,
)

_SOURCES = (
    *default_sources(),
    "privet.robustness",
    *("privet_papers.framework.peers", "privet_papers.framework.smooth_sensitivity"),
    *("privet_papers.vos_2023.bdpt", "privet_papers.vos_2023.cells", "privet_papers.vos_2023.data"),
    *("privet_papers.vos_2023.dpgdf", "privet_papers.vos_2023.dpgdf_printed"),
    *("privet_papers.vos_2023.one_against_rest", "privet_papers.vos_2023.printed"),
    "privet_papers.vos_2023.poisoning.attacks",
    "privet_papers.vos_2023.poisoning.backdoors",
    "privet_papers.vos_2023.poisoning.dpa",
)
_NOTES = (TRUE_EPSILON, CERTIFIED, POISONED, SIZE_IS_PUBLIC, NOT_A_RELEASE)
_REGRESSION_NOTE = (
    f"diffprivlib's private logistic regression is run where the environment variable {DIFFPRIVLIB.variable} names "
    "the interpreter of an environment that has it; features are encoded, centred and scaled by the data, as in the "
    "paper, which is not private. The paper's figure at epsilon .01 and 1% is not legible in our copy."
)
_PROTOCOL = (
    "Five stratified folds (seed 0), as in the paper. The paper trains once a fold; here 5 times, 50 times for sets of "
    "fewer than 1,000 records; once for covertype, and for the regression on sets of 20,000 records and more (column "
    "'trainings'). 's.e.' is the standard error over the means of the folds. Certificates: 500 retrainings on the "
    "first fold, 100 for sets of 20,000 records and more, too few to say much there."
)
_EQUATION_12 = (
    "'by (12)' is Equation 12, which the paper states and does not use: the same bound for errors. It guarantees more "
    "than Corollary 2 where few records are poisoned and the model is good. Like 'formula' it is an estimate at the "
    "mean accuracy, without confidence: where that is 1, so is the bound."
)

ENTRIES = (
    Entry(
        name="vos-table-3",
        paper="Vos et al. 2023, Table III",
        title="Guaranteed accuracy under poisoning, numerical data",
        cells=tables.table_3_cells,
        assemble=tables.table_3_rows,
        notes=(
            *_NOTES,
            _REGRESSION_NOTE,
            _EQUATION_12,
            _PROTOCOL,
            coverage("numerical"),
            "Of a set that is here in part the same share is fewer poisoned records, so that its guarantees are not to "
            "be compared with the paper's.",
        ),
        sources=_SOURCES,
    ),
    Entry(
        name="vos-table-8",
        paper="Vos et al. 2023, Table VIII",
        title="Guaranteed accuracy under poisoning, data with categories",
        cells=tables.table_8_cells,
        assemble=tables.table_8_rows,
        notes=(
            *_NOTES,
            _REGRESSION_NOTE,
            _EQUATION_12,
            _PROTOCOL,
            coverage("mixed", "UCI"),
        ),
        sources=_SOURCES,
    ),
    Entry(
        name="vos-fig-3",
        paper="Vos et al. 2023, Figure 3",
        title="Guaranteed accuracy against the share of poisoned records",
        cells=figures.figure_3_cells,
        assemble=figures.figure_3_rows,
        plot=figures.figure_3_plot,
        notes=(
            *_NOTES,
            "Adult: the published split, 30,162 training and 15,060 test records without missing values; 12,000 "
            "retrainings at each epsilon. compas: one fold, 2000 retrainings.",
            "'tail certificate' (a threshold and the share of poisoned trainings that reach it) has confidence 95% for "
            "each line by itself, 'certified' for all lines of a curve together.",
            "The paper averages over 50 random splits and prints no numbers.",
            "DPA's certificate is for each test record, without probability; it is neither private nor readable.",
        ),
        sources=_SOURCES,
    ),
    Entry(
        name="vos-fig-4",
        paper="Vos et al. 2023, Figure 4",
        title="Backdoor on MNIST 0 against 1: attack success rate against poisoned images",
        cells=figures.figure_4_cells,
        assemble=figures.figure_4_rows,
        plot=figures.figure_4_plot,
        notes=(
            TRUE_EPSILON,
            "50 stratified splits, as in the paper, with 11,200 training images; trees of depth 4; the trigger is "
            "BadNets' four pixels. The paper prints the clean accuracies only.",
            "'bound by formula' is Corollary 3 at the mean over splits, an estimate that the luck of few splits can "
            "exceed; 'certified bound' has joint confidence 95%, from 60 retrainings on the first split's images.",
            "**One poisoned image does not open a plain tree here**: the mean success is .08, where the paper says "
            "that with 0.01% of the training set poisoned, which is one image, it is almost 100%; two images give .71, "
            "five .98. The authors' code poisons in steps of 0.1%, so the first poisoned point of their curve has 11 "
            "images, for which almost 100% is right; .01% seems to be a slip for .1%. Why one image fails is on the "
            "page [vos-fig-4-few](vos-fig-4-few.md).",
            SIZE_IS_PUBLIC,
            NOT_A_RELEASE,
        ),
        sources=_SOURCES,
    ),
    Entry(
        name="vos-fig-4-few",
        paper="Vos et al. 2023, Figure 4, one to eleven images",
        title="Backdoor on MNIST 0 against 1: how few images open a plain tree",
        cells=figures.few_cells,
        assemble=figures.few_rows,
        notes=(
            f"{figures.FEW_SPLITS} stratified splits, where the paper has 50, 11,200 training images, scikit-learn's "
            "tree of depth 4. 'asked' is the share of trees that ask for a pixel of the trigger at all.",
            "'margin' is the distance of the pattern from the edge: 1 as in BadNets, 0 as in the authors' code.",
            "One image is told from the others by many of its pixels, and all of them separate it equally well; a tree "
            "that does so picks one at random, and mostly leaves the image alone. Two images with the same label have "
            "little in common but the trigger, so that the trigger's pixels become the best split.",
        ),
        sources=_SOURCES,
    ),
    Entry(
        name="robustness-learners",
        paper="privet",
        title="Certified accuracy of every learner of the library at epsilon 0.1, Adult",
        cells=figures.learners_cells,
        assemble=figures.learners_rows,
        plot=figures.learners_plot,
        notes=(
            "Adult's published split, 200 retrainings of each learner; joint confidence 95% for each. Defaults but for "
            "the disjoint forest, which has 20 trees here.",
            POISONED,
            SIZE_IS_PUBLIC,
            NOT_A_RELEASE,
        ),
        sources=_SOURCES,
    ),
)
