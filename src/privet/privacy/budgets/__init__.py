"""A budget above single fits, which clone, cross-validation, worker processes and pickling cannot lose.

An accountant handed to a constructor is copied by `sklearn.base.clone`, and what the copies spend is forgotten. So a
budget is not a parameter. It belongs to the process that opened it, and every fit of that process and of those that
descend from it asks for it: in this process, in the environment, in what the estimator carries, and among the
ancestors' registrations.
"""

from privet.privacy.budgets.blocks import VARIABLE, Budget, budget, charge, in_force
from privet.privacy.budgets.store import Handle

__all__ = ["VARIABLE", "Budget", "Handle", "budget", "charge", "in_force"]
