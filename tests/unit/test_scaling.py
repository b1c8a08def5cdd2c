"""The scaler takes its bounds from the schema: fitting looks at no record, and records do not touch one another."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from privet import Categorical, Numeric, PrivaTreeClassifier, Schema, SchemaScaler, Unit
from privet.audit import audit_pipeline
from privet.errors import ParameterError, SchemaError

SCHEMA = Schema(
    {
        "age": Numeric(0, 100),
        "income": Numeric(-1000, 1000, missing=True),
        "job": Categorical(["farmer", "clerk"], other=True, missing=True),
    },
    classes=["no", "yes"],
)
VALUES = st.tuples(
    st.floats(allow_nan=True, allow_infinity=True), st.floats(), st.sampled_from(["farmer", "clerk", "pope", None])
)


def frame(rows):
    return pd.DataFrame(rows, columns=list(SCHEMA.features)).astype({"age": float, "income": float, "job": object})


class OnAnyWidth(SchemaScaler):
    """scikit-learn's checks make arrays of many widths; here the schema follows from the width alone."""

    def __init__(self):
        pass

    @property
    def schema(self):
        return Schema({f"x{i}": Numeric(-1000, 1000, missing=True) for i in range(self._width)}, classes=[0, 1])

    categories = "codes"
    _width = 1

    def fit(self, X, y=None):
        shape = np.shape(X)
        self._width = shape[1] if len(shape) == 2 and shape[1] else 1
        return super().fit(X, y)


EXPECTED = {
    # Errors depend on names and declared types only, and are in the words that all estimators use.
    "check_estimators_empty_data_messages": "an empty frame gives an empty result",
    "check_complex_data": "each value for itself: a complex number is no number",
    "check_n_features_in_after_fitting": "another number of columns is refused in other words",
    "check_fit2d_predict1d": "one dimension is refused in other words",
    "check_transformer_data_not_an_array": "frames, arrays and lists are taken, not whatever can be made an array",
    "check_transformers_unfitted_stateless": "this subclass learns the width at fit; the scaler itself needs no fit",
}


@parametrize_with_checks([OnAnyWidth()], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@given(st.lists(VALUES, min_size=1, max_size=8), st.lists(VALUES, max_size=8), st.sampled_from(["codes", "one_hot"]))
def test_a_row_of_the_result_depends_on_its_own_record_alone(rows, others, categories):
    scaler = SchemaScaler(SCHEMA, categories=categories)
    alone = np.vstack([scaler.fit_transform(frame([row])) for row in rows])
    together = scaler.fit(frame(others)).transform(frame([*others, *rows]))[len(others) :]
    np.testing.assert_array_equal(alone, together)
    numbers = together[~np.isnan(together)]
    assert numbers.min() >= 0
    assert numbers.max() <= (3 if categories == "codes" else 1)


def test_fitting_reads_nothing_off_the_records():
    first, second = (SchemaScaler(SCHEMA).fit(frame(rows)) for rows in ([], [(1e300, np.nan, "pope")]))
    assert {name: str(value) for name, value in vars(first).items()} == {
        name: str(value) for name, value in vars(second).items()
    }
    np.testing.assert_array_equal(
        SchemaScaler(SCHEMA).transform(frame([(50, 0, "clerk")])), first.transform(frame([(50, 0, "clerk")]))
    )


def test_values_are_mapped_as_the_schema_says():
    rows = [(25, np.nan, "clerk"), (-7, 3000, "pope"), (np.nan, 0, None)]
    assert np.array_equal(
        SchemaScaler(SCHEMA).fit_transform(frame(rows)),
        [[0.25, np.nan, 1], [0, 1, 2], [0.5, 0.5, 3]],
        equal_nan=True,
    )
    hot = SchemaScaler(SCHEMA, categories="one_hot").set_output(transform="pandas").fit_transform(frame(rows))
    assert list(hot) == ["age", "income", "job=farmer", "job=clerk", "job=other", "job=missing"]
    assert hot.iloc[:, 2:].to_numpy().tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("categories", ["codes", "one_hot"])
def test_a_pipeline_with_public_scaling_fits_predicts_and_passes_the_audit(categories):
    scaler = SchemaScaler(SCHEMA, categories=categories)
    pipeline = make_pipeline(scaler, PrivaTreeClassifier(1.0, max_depth=2, schema=scaler.output_schema()))
    X = frame([(age, age, "clerk" if age > 50 else "farmer") for age in range(100)])
    y = np.where(X["age"] > 50, "yes", "no")
    fitted = clone(pipeline).fit(X, y)
    assert fitted[-1].privacy_.proven
    assert set(fitted.predict(X)) <= {"no", "yes"}
    assert not audit_pipeline(pipeline, schema=SCHEMA).findings


def test_a_unit_passes_the_scaler_by_in_a_column_transformer():
    features = {"age": Numeric(0, 100), "height": Numeric(0, 3)}
    schema = Schema(features, classes=[0, 1], unit=Unit("person", 1))
    scaler = SchemaScaler(schema)
    steps = ColumnTransformer(
        [("scaled", scaler, list(features)), ("unit", "passthrough", ["person"])], verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(steps, PrivaTreeClassifier(1.0, max_depth=1, schema=scaler.output_schema()))
    assert not audit_pipeline(pipeline, schema=schema).findings


@pytest.mark.parametrize(
    ("scaler", "error", "message"),
    [
        (SchemaScaler(), SchemaError, "read off the data"),
        (SchemaScaler(SCHEMA, categories="ordinal"), ParameterError, "categories must be one of"),
        (
            SchemaScaler(Schema({"a": Categorical([1, "1"])}, classes=[0, 1]), categories="one_hot"),
            SchemaError,
            "one name",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(scaler, error, message):
    with pytest.raises(error, match=message):
        scaler.get_feature_names_out()


def test_a_dtype_that_cannot_be_read_is_refused_by_its_declaration():
    with pytest.raises(SchemaError, match="declared Numeric"):
        SchemaScaler(SCHEMA).fit_transform(frame([]).astype({"age": "string"}))
