"""Private tuning: choose among estimators, settings and thresholds by private records, for one stated charge."""

from privet.tuning.search import PrivateSearch

__all__ = ["PrivateSearch"]
