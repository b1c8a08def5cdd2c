"""Every error and warning of the library. This file imports nothing."""

__all__ = [
    "AuditError",
    "BudgetError",
    "IgnoredColumnsWarning",
    "LargeDeltaWarning",
    "ModelFileError",
    "NonPrivateWarning",
    "ParameterError",
    "PrivacyLeakWarning",
    "PrivetError",
    "SchemaError",
    "TableChangedError",
    "UnsoundWarning",
]


class PrivetError(Exception):
    """The root of everything that privet raises on purpose."""


class SchemaError(PrivetError, ValueError):
    """A schema is not valid, or a frame's columns or declared types do not fit it."""


class ParameterError(PrivetError, ValueError):
    """A parameter of a learner or mechanism is not valid."""


class TableChangedError(PrivetError, RuntimeError):
    """A file was changed or removed after it had been checked. What was charged until then stays charged."""


class BudgetError(PrivetError, ValueError):
    """The privacy budget does not suffice. Raised before anything is drawn."""


class ModelFileError(PrivetError, ValueError):
    """A model file is damaged, of an unknown version, or not a model file."""


class AuditError(PrivetError, ValueError):
    """An audit cannot be run as requested, or could not conclude anything."""


class PrivacyLeakWarning(UserWarning):
    """Something private was read without a charge; the ledger claims nothing."""


class UnsoundWarning(UserWarning):
    """The algorithm is printed with a proof that does not hold; for comparison only."""


class IgnoredColumnsWarning(UserWarning):
    """A frame has columns that the schema does not name; they are ignored, and this is said once."""


class LargeDeltaWarning(UserWarning):
    """The delta that was asked for is not far below one in the number of records."""


class NonPrivateWarning(UserWarning):
    """The model was asked for without privacy (epsilon=None)."""
