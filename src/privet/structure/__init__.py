"""The shapes of trees: written down, or random as a pure function of a public seed."""

from privet.structure.building import Multiway, Split, Subset, Threshold, TreeBuilder
from privet.structure.candidates import Candidates
from privet.structure.complete_trees import CompleteTrees
from privet.structure.domains import Domains
from privet.structure.explicit_trees import ExplicitTrees
from privet.structure.greedy import GreedyGrowth
from privet.structure.quantiles import JointQuantiles, QuantileSearch
from privet.structure.random_trees import RandomTrees
from privet.structure.splits import Splits
from privet.structure.trees import Trees

__all__ = [
    "Candidates",
    "CompleteTrees",
    "Domains",
    "ExplicitTrees",
    "GreedyGrowth",
    "JointQuantiles",
    "Multiway",
    "QuantileSearch",
    "RandomTrees",
    "Split",
    "Splits",
    "Subset",
    "Threshold",
    "TreeBuilder",
    "Trees",
]
