"""What can be known before spending: depths, numbers of trees, predicted error. Public facts in, public facts out."""

from privet.planning.bojarski import (
    ErrorBound,
    theorem_5_1,
    theorem_5_2,
    theorem_5_3,
    theorem_5_4,
    theorem_5_5,
    trees_needed,
)
from privet.planning.bojarski_private import k_opt, theorem_5_6, theorem_5_7, theorem_5_8, theorem_5_9
from privet.planning.fletcher import fletcher_depth
from privet.planning.forest_shape import ForestShape, forest_shape
from privet.planning.memory import check_leaves_fit
from privet.planning.privatree import TreeBudget, label_error, tree_budget

__all__ = [
    "ErrorBound",
    "ForestShape",
    "TreeBudget",
    "check_leaves_fit",
    "fletcher_depth",
    "forest_shape",
    "k_opt",
    "label_error",
    "theorem_5_1",
    "theorem_5_2",
    "theorem_5_3",
    "theorem_5_4",
    "theorem_5_5",
    "theorem_5_6",
    "theorem_5_7",
    "theorem_5_8",
    "theorem_5_9",
    "tree_budget",
    "trees_needed",
]
