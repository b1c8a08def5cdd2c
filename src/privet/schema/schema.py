"""What is public: features with their domains, the target, the neighbour relation, the unit of privacy.

Before it spends anything, a learner may look at a schema and at public hints, and at nothing else. Therefore a schema
is written from public knowledge (a codebook, a form, common sense), not from the data that it is to protect.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from json import dumps
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from privet.errors import SchemaError
from privet.frames.columns import Category
from privet.schema.category_domains import Boolean, DatePart
from privet.schema.declarations import checked_features, checked_ignored, checked_target, problem_of_target_column
from privet.schema.domains import Categorical, Domain, Numeric, check_size, refuse
from privet.schema.encoding import ClassTarget, Encoding, FieldsOnly, RangeTarget
from privet.schema.grids import DEFAULT_BINS, MAX_CODES
from privet.schema.readings import Truth

if TYPE_CHECKING:
    from privet.schema.check import CheckReport

__all__ = ["Categorical", "Domain", "Neighbours", "Numeric", "Schema", "Task", "Unit"]

Neighbours = Literal["add_remove", "replace", "label"]
Task = Literal["classification", "regression"]
SHOWN_WHOLE = 8  # features of a schema whose repr is the call that makes it; others are shown whole by print()


@dataclass(frozen=True)
class Unit:
    """Whom the guarantee protects, where one person may have several rows.

    Parameters
    ----------
    column : str
        The column that identifies the person. It is not a feature.
    max_rows : int
        The most rows of one person that take part; the budget is divided accordingly.
    """

    column: str
    max_rows: int

    def problem(self) -> str | None:
        """What is wrong with this unit, if anything, and the remedy."""
        if not isinstance(self.column, str) or not self.column:
            return f"column must be a column's name, got {self.column!r}; e.g. Unit('person_id', max_rows=5)"
        if type(self.max_rows) is not int or self.max_rows < 1:
            return f"max_rows must be a whole number of at least 1, got {self.max_rows!r}; e.g. max_rows=5"
        return None


@dataclass(frozen=True, init=False, repr=False)
class Schema(FieldsOnly):
    """All that is public about a table; immutable.

    Parameters
    ----------
    features : mapping of str to a domain
        The domain of each feature, in the order in which a plain array has its columns: `Numeric`, `Integer`, `Date`,
        `Categorical`, `Ordinal`, `Boolean`, `Hashed`, `DatePart`.
    target : Categorical, Ordinal, Boolean, Numeric or Integer
        The classes, or the bounds of a regression target.
    classes : sequence, optional
        Shorthand for ``target=Categorical(classes)``.
    neighbours : {"add_remove", "replace", "label"}
        What the guarantee hides: whether a record is present, its content, or only its label.
    unit : Unit, optional
        Whom the guarantee protects, where one person may have several rows. By default every record counts as a
        separate person.
    inferred : str, optional
        For a schema that was read off private data: why nothing is guaranteed.
    ignored : sequence of str
        Columns that a table has and that are not used, such as identifiers and free text. Columns that the schema does
        not name are ignored, too; of these, nothing needs to be said.
    target_column : str, optional
        The name of the column to predict, for commands that read it from the same table.
    budget : str, optional
        The account that every fit with this schema is charged to: a file or a URL. It says nothing about the table, so
        it is in the schema's file, and not in its digest nor in model files.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(17, 90), "sex": Categorical(["Female", "Male"])}, classes=["no", "yes"])
    >>> schema.encoding(bins=8).encode([[30, "Male"], [300, "Female"]]).tolist()
    [[1, 7], [1, 0]]
    """

    _features: tuple[tuple[str, Domain], ...]
    target: Domain
    neighbours: Neighbours
    unit: Unit | None
    inferred: str | None
    ignored: tuple[str, ...] = ()
    target_column: str | None = None
    budget: str | None = field(default=None, compare=False)

    def __init__(
        self,
        features: Mapping[str, Domain],
        target: Domain | None = None,
        *,
        classes: Iterable[Category] | None = None,
        neighbours: Neighbours = "add_remove",
        unit: Unit | None = None,
        inferred: str | None = None,
        ignored: Iterable[str] = (),
        target_column: str | None = None,
        budget: str | None = None,
    ) -> None:
        features = checked_features(features)
        if target is not None and classes is not None:
            raise SchemaError("target and classes were both given; pass one of them")
        if classes is not None:
            target = Categorical(classes)  # type: ignore[arg-type]  # made a tuple there
        if neighbours not in get_args(Neighbours):
            raise SchemaError(
                f"neighbours must be one of {', '.join(map(repr, get_args(Neighbours)))}, got {neighbours!r}; "
                "leave it out for 'add_remove'"
            )
        if unit is not None:
            if not isinstance(unit, Unit):
                raise SchemaError(f"unit must be a Unit, got {unit!r}; e.g. Unit('person_id', max_rows=5)")
            refuse("unit", unit.problem())
            if unit.column in features:
                raise SchemaError(f"unit column {unit.column!r} is also a feature; drop it from the features")
        if inferred is not None and not (isinstance(inferred, str) and inferred):
            raise SchemaError(f"inferred must be a reason in words, got {inferred!r}; leave it out if there is none")
        used = {*features, *([] if unit is None else [unit.column])}
        refuse("target_column", problem_of_target_column(target_column, used))
        ignored = checked_ignored(ignored, used | ({target_column} if target_column is not None else set()))
        if budget is not None and not (isinstance(budget, str) and budget.strip()):
            raise SchemaError(f"budget must be a file name or a URL, got {budget!r:.60}; e.g. 'sqlite:///hospital.db'")
        public = (tuple(features.items()), checked_target(target), neighbours, unit, inferred, ignored, target_column)
        for name, value in zip(self.__dataclass_fields__, (*public, budget), strict=True):
            object.__setattr__(self, name, value)

    def charged_to(self, budget: str | None) -> "Schema":
        """Return the same schema with another account that its fits are charged to.

        Examples
        --------
        >>> schema = Schema({"age": Numeric(17, 90)}, classes=["no", "yes"]).charged_to("sqlite:////srv/hospital.db")
        >>> schema.budget
        'sqlite:////srv/hospital.db'
        """
        return self._with(budget=budget)

    def also_ignoring(self, names: Iterable[str]) -> "Schema":
        """Return the same schema with further columns that are listed as ignored: predictions keep them beside theirs.

        Examples
        --------
        >>> Schema({"age": Numeric(17, 90)}, classes=["no", "yes"]).also_ignoring(["id"]).ignored
        ('id',)
        """
        return self._with(ignored=(*self.ignored, *(name for name in names if name not in self.ignored)))

    def _with(self, **changes: Any) -> "Schema":
        same: dict[str, Any] = {
            "neighbours": self.neighbours,
            "unit": self.unit,
            "inferred": self.inferred,
            "ignored": self.ignored,
            "target_column": self.target_column,
            "budget": self.budget,
        }
        return Schema(self.features, self.target, **{**same, **changes})

    @property
    def features(self) -> dict[str, Domain]:
        """The domain of each feature, in schema order (a copy)."""
        return dict(self._features)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The columns that a frame must have: the features, without those that are derived from another."""
        return tuple(name for name, domain in self._features if not isinstance(domain, DatePart))

    @cached_property
    def named_columns(self) -> tuple[str, ...]:
        """Every column that the schema names: features, the unit, the target and those that it ignores."""
        unit = () if self.unit is None else (self.unit.column,)
        target = () if self.target_column is None else (self.target_column,)
        return (*(name for name, _ in self._features), *unit, *target, *self.ignored)

    def encoding(self, bins: int = DEFAULT_BINS) -> Encoding:
        """How records become codes; numeric features that do not say otherwise have `bins` cells.

        The last one that was asked for is kept: plans and fits with one schema lay out its codes once.
        """
        if type(bins) is not int or not 2 <= bins < MAX_CODES:
            raise SchemaError(f"bins must be a whole number from 2 to {MAX_CODES - 1:,}, got {bins!r}; e.g. 32")
        made = self._last_encoding.get(bins)
        if made is None:
            made = self._lay_out(bins)
            self._last_encoding.clear()
            self._last_encoding[bins] = made
        return made

    @cached_property
    def _last_encoding(self) -> dict[int, Encoding]:
        return {}

    def _lay_out(self, bins: int) -> Encoding:
        check_size(self.features.values(), self.target, bins)
        if isinstance(self.target, Categorical):
            truth = Truth() if isinstance(self.target, Boolean) else None
            target: ClassTarget | RangeTarget = ClassTarget(self.target.categories, truth)
        else:
            target = RangeTarget(self.target.low, self.target.high)
        return Encoding(tuple(domain.column(name, bins) for name, domain in self._features), target)

    def digest(self) -> str:
        """SHA-256 of the schema's canonical JSON; equal for equal schemas."""
        return sha256(dumps(self.to_dict(), separators=(",", ":")).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data, as written to files."""
        from privet.schema.files import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Schema":
        """Make a schema from what `to_dict` returned."""
        from privet.schema.files import from_dict

        return from_dict(document)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema to a file: YAML or JSON, by its suffix."""
        from privet.schema.files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Schema":
        """Read a schema from a YAML or JSON file. Loading runs no code."""
        from privet.schema.files import load

        return load(path)

    @classmethod
    def from_dtypes(
        cls,
        frame: Any,
        target: str | Domain,
        *,
        public: bool = False,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        missing: Collection[str] = (),
        neighbours: Neighbours = "add_remove",
        unit: Unit | None = None,
    ) -> "Schema":
        """Take categories from a frame's declared dtypes (pandas Categorical, polars Enum, booleans).

        Parameters
        ----------
        target : str, Categorical or Numeric
            A column's name, or the target's domain.
        public : bool
            Must be True: you state that the categories in the dtypes are public knowledge, and were not read off
            the data.
        bounds : mapping of str to (low, high)
            Public bounds of the numeric columns, which a dtype does not declare.
        missing : collection of str
            The columns in which missing values have a code of their own.
        """
        from privet.schema.inference import from_dtypes

        return from_dtypes(
            frame, target, public=public, bounds=bounds, missing=missing, neighbours=neighbours, unit=unit
        )

    @classmethod
    def infer(cls, frame: Any, target: Any, *, task: Task | None = None) -> "Schema":
        """Read domains off the data. Nothing is guaranteed then, and the schema says so (`inferred`).

        Parameters
        ----------
        target
            A column's name, or the labels themselves.
        task : {"classification", "regression"}, optional
            What the target is. By default, a target of numbers that are not all whole is one for regression.
        """
        from privet.schema.inference import infer

        return infer(frame, target, task)

    def check(self, frame: Any, target: Any = None) -> "CheckReport":
        """Report every way in which a frame breaks the schema. The report is not private: keep it to yourself.

        Parameters
        ----------
        target
            The labels, or the name of their column, to be checked too.
        """
        from privet.schema.check import check

        return check(self, frame, target)

    def __repr__(self) -> str:
        if len(self._features) <= SHOWN_WHOLE:
            return str(self)
        unit = "" if self.unit is None else f", unit={self.unit!r}"
        return f"<Schema of {len(self._features)} features, target={self.target!r}{unit}; print() shows them>"

    def _repr_html_(self) -> str:
        """Show the schema in a notebook."""
        from privet.markup import card, paragraph, table

        rows = [[name, repr(domain)] for name, domain in self._features]
        facts = [f"neighbours: {self.neighbours}", *([] if self.unit is None else [f"unit: {self.unit!r}"])]
        warning = None if self.inferred is None else paragraph(f"{self.inferred}: nothing is guaranteed.")
        domains = table("What is public", ["feature", "domain"], [*rows, ["(to predict)", repr(self.target)]])
        return card(f"Schema of {len(rows)} features", domains, paragraph("; ".join(facts)), warning)

    def __str__(self) -> str:
        shown = [f"        {name!r}: {domain!r},\n" for name, domain in self._features[:20]]
        if len(self._features) > len(shown):
            shown.append(f"        ... {len(self._features)} features in all\n")
        lines = f"Schema(\n    features={{\n{''.join(shown)}    }},\n    target={self.target!r},\n"
        lines += f"    neighbours={self.neighbours!r},\n"
        lines += f"    unit={self.unit!r},\n" * (self.unit is not None)
        lines += f"    inferred={self.inferred!r},\n" * (self.inferred is not None)
        lines += f"    ignored={list(self.ignored)!r},\n" * bool(self.ignored)
        lines += f"    target_column={self.target_column!r},\n" * (self.target_column is not None)
        lines += f"    budget={self.budget!r},\n" * (self.budget is not None)
        return lines + ")"
