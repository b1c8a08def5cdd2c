"""A scaler for pipelines that takes its bounds from the schema: fitting it looks at no record."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from privet.errors import SchemaError
from privet.frames.columns import Values
from privet.frames.opening import open_frame, read_feature, say_ignored
from privet.parameters import check_choice
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.encoding import Column
from privet.schema.schema import Schema

Categories = Literal["codes", "one_hot"]
CATEGORIES: tuple[Categories, ...] = ("codes", "one_hot")


class SchemaScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Map numbers to [0, 1] by their public bounds, and categories to codes or to columns of zeros and ones.

    Trees need no scaling; this is for pipelines in which another step does. scikit-learn's scalers and encoders read
    bounds, means and categories off the data, which no ledger covers.

    Parameters
    ----------
    schema : Schema
        What is public about the features.
    categories : {"codes", "one_hot"}
        A category becomes its place in the schema's list (then "other", then "missing", where declared), or one column
        for each of these.

    Notes
    -----
    *Privacy.* `fit` looks at no values, and each row of the result depends on the schema and on that row alone: adding
    or removing a record adds or removes one row and changes no other. So a guarantee of the steps that follow is one
    for the records. Values are mapped as the schema says and never refused: numbers beyond the bounds are clipped; a
    missing number stays missing where the schema declares that, else it becomes the middle, 0.5.

    Examples
    --------
    >>> from privet import Categorical, Numeric, Schema
    >>> schema = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])}, classes=["no", "yes"])
    >>> SchemaScaler(schema).fit_transform([[25, "M"], [300, "F"]])
    array([[0.25, 1.  ],
           [1.  , 0.  ]])
    >>> SchemaScaler(schema, categories="one_hot").get_feature_names_out().tolist()
    ['age', 'sex=F', 'sex=M']
    """

    def __init__(self, schema: Schema | None = None, *, categories: Categories = "codes") -> None:
        self.schema = schema
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns' names; nothing is read off the records."""
        schema = self._checked_schema()
        self._places(X, schema)
        self.n_features_in_ = len(schema.features)
        self.feature_names_in_ = np.array(list(schema.features), dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return one row for each record, as the schema alone says; see `output_schema` for its columns."""
        schema = self._checked_schema()
        self._outputs(schema)  # raises an error if two columns of the result would have one name
        opened, places = self._places(X, schema)
        layout = schema.encoding().columns
        parts = []
        for column, domain, place in zip(layout, schema.features.values(), places, strict=True):
            values = read_feature(opened, place)
            if isinstance(domain, Numeric):
                parts.append(_shares(column.read(values), domain))
            else:
                parts.append(self._codes(values, column))
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of the result."""
        return np.array(list(self._outputs(self._checked_schema())), dtype=object)

    def output_schema(self) -> Schema:
        """Return the schema of the result, for the private estimator that follows.

        Examples
        --------
        >>> from privet import Categorical, Numeric, Schema
        >>> schema = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])}, classes=["no", "yes"])
        >>> SchemaScaler(schema).output_schema().features
        {'age': Numeric(0, 1), 'sex': Categorical([0, 1])}
        """
        schema = self._checked_schema()
        return Schema(
            self._outputs(schema),
            schema.target,
            neighbours=schema.neighbours,
            unit=schema.unit,
            inferred=schema.inferred,
            ignored=schema.ignored,
            target_column=schema.target_column,
        )

    def _outputs(self, schema: Schema) -> dict[str, Domain]:
        """Return the domain of each column of the result."""
        outputs: list[tuple[str, Domain]] = []
        for column, domain in zip(schema.encoding().columns, schema.features.values(), strict=True):
            if isinstance(domain, Numeric):
                outputs.append((column.name, Numeric(0, 1, bins=domain.bins, missing=domain.missing)))
            elif self.categories == "codes":
                outputs.append((column.name, Categorical(tuple(range(column.n_codes)))))
            else:
                outputs += [(f"{column.name}={label}", Numeric(0, 1, bins=2)) for label in _labels(column)]
        if len(dict(outputs)) < len(outputs):
            raise SchemaError("two columns of the result would have one name; use categories='codes', or rename one")
        return dict(outputs)

    def _codes(self, values: Values, column: Column) -> NDArray[np.float64]:
        codes = np.empty(len(values.data), dtype=np.uint16)
        column.encode(values, codes)
        if self.categories == "one_hot":
            return np.asarray(codes[:, np.newaxis] == np.arange(column.n_codes), dtype=np.float64)
        return codes[:, np.newaxis].astype(np.float64)

    def _places(self, X: Any, schema: Schema) -> tuple[Any, list[int]]:
        opened = open_frame(X)
        places = schema.encoding().places(opened)
        say_ignored(opened.unnamed(schema.named_columns))
        return opened, places

    def _checked_schema(self) -> Schema:
        if not isinstance(self.schema, Schema):
            raise SchemaError(
                f"schema must be a privet.Schema, got {type(self.schema).__name__}: without one, bounds would have to "
                "be read off the data"
            )
        check_choice("categories", self.categories, CATEGORIES)
        return self.schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _shares(values: Values, domain: Numeric) -> NDArray[np.float64]:
    """Return where numbers lie between the bounds, from 0 to 1."""
    with np.errstate(all="ignore"):  # a warning would depend on a value
        numbers = values.numbers().astype(np.float64)
        if values.absent is not None:
            numbers[values.absent] = np.nan
        shares = (np.clip(numbers, domain.low, domain.high) - domain.low) / (domain.high - domain.low)
    if not domain.missing:
        shares[np.isnan(shares)] = 0.5
    return np.asarray(shares[:, np.newaxis])


def _labels(column: Column) -> list[str]:
    names = [column.value_in_words(code) for code in range(column.n_values)]
    return names + ["other"] * (column.other_code is not None) + ["missing"] * (column.missing_code is not None)
