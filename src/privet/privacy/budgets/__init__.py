"""A budget for several fits, which clone, cross-validation, worker processes and pickling cannot lose.

An accountant passed to a constructor would be copied by `sklearn.base.clone`, and what the copies spend would be
forgotten. So a budget is not a parameter. It belongs to the process that opened it. Every fit of that process and of
its descendants looks for it: in its own process, in the environment, in what the estimator carries, and among the
ancestors' registrations.
"""

from privet.privacy.budgets.blocks import Budget, LastingBudget, budget
from privet.privacy.budgets.charging import Receipt, charge, record_model
from privet.privacy.budgets.registry import ACCOUNT_VARIABLE, VARIABLE, in_force
from privet.privacy.budgets.store import Handle

__all__ = [
    "ACCOUNT_VARIABLE",
    "VARIABLE",
    "Budget",
    "Handle",
    "LastingBudget",
    "Receipt",
    "budget",
    "charge",
    "in_force",
    "record_model",
]
