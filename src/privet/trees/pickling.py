"""`FieldsOnly`: pickle what was declared and nothing else."""

from dataclasses import fields
from typing import Any


class FieldsOnly:
    """A dataclass that is pickled by its fields.

    A cached property stands in an object's ``__dict__`` only once it was used. Pickled with the object, it would tell
    what was done with it, such as whether there was any record to route. A cache that is needed is computed again.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a mixin
