"""Whatever stands around a private estimator and uses more of the records than its ledger says is found."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

import privet
from privet import BoostingRegressor, Categorical, Numeric, PrivaTreeClassifier, Schema, Unit
from privet.audit import audit_pipeline
from privet.errors import AuditError, SchemaError
from privet.mechanisms.release import secret_key
from privet.tables.reading import encode_table

FEATURES = {"age": Numeric(0, 1), "height": Numeric(0, 1)}


def schema(**changes):
    return Schema(**{"features": FEATURES, "classes": [0, 1], **changes})


def tree(**changes):
    return PrivaTreeClassifier(1.0, max_depth=1, schema=schema(**changes))


def as_frame(X):
    return pd.DataFrame(X, columns=[*FEATURES, "row_id"]).astype({"row_id": "int64"})


def kinds(report):
    return {finding.kind for finding in report.findings}


class Ranks(TransformerMixin, BaseEstimator):
    """Looks at all records when it transforms, and keeps nothing of them."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X).argsort(axis=0).argsort(axis=0) / len(X)


@pytest.mark.parametrize(
    ("pipeline", "step"),
    [
        (make_pipeline(MinMaxScaler(), tree()), "minmaxscaler (MinMaxScaler)"),
        (make_pipeline(StandardScaler(), tree(neighbours="replace")), "standardscaler (StandardScaler)"),
        (make_pipeline(Ranks(), tree()), "Pipeline"),
        (
            make_pipeline(
                ColumnTransformer([("scaled", MinMaxScaler(), ["age"]), ("as it is", "passthrough", ["height"])]),
                tree(),
            ),
            "scaled (MinMaxScaler)",
        ),
        (GridSearchCV(make_pipeline(MinMaxScaler(), tree()), {}, cv=2), "minmaxscaler (MinMaxScaler)"),
    ],
    ids=["MinMaxScaler", "StandardScaler", "ranks", "ColumnTransformer", "within a search"],
)
def test_a_step_that_learns_from_the_records_in_front_of_the_estimator_is_named(pipeline, step):
    report = audit_pipeline(pipeline)
    assert report.refuted
    assert step in {finding.step for finding in report.findings if finding.kind == "before"}
    assert "other records changed when one record was replaced" in str(report)
    assert "SchemaScaler" in str(report)


def test_a_selection_of_features_by_the_records_is_named():
    one = PrivaTreeClassifier(1.0, schema=Schema({"best": Numeric(0, 1)}, classes=[0, 1]))
    report = audit_pipeline(make_pipeline(SelectKBest(k=1), one), schema=schema())
    assert "selectkbest (SelectKBest)" in {finding.step for finding in report.findings}
    assert report.refuted


def test_a_bootstrap_that_copies_records_is_named_with_the_copies():
    report = audit_pipeline(BaggingClassifier(tree(neighbours="replace"), n_estimators=6))
    assert report.refuted
    assert kinds(report) == {"copies", "many fits"}
    assert "3 copies of one record reached one private fit" in str(report)


def test_dealing_records_out_by_their_number_or_by_others_labels_is_named():
    report = audit_pipeline(BaggingClassifier(tree(), n_estimators=3, bootstrap=False, max_samples=0.5))
    assert "resampled" in kinds(report)
    assert "_n_samples" in str(report)  # the number of records is private, and stands in the object
    assert "resampled" in kinds(audit_pipeline(GridSearchCV(tree(neighbours="replace"), {}, cv=2)))  # stratified
    assert "resampled" not in kinds(audit_pipeline(GridSearchCV(tree(neighbours="replace"), {}, cv=KFold(2))))


@pytest.mark.parametrize(
    ("pipeline", "what"),
    [
        (GridSearchCV(tree(neighbours="replace"), {"max_depth": [1, 2]}, cv=KFold(2)), "cv_results_"),
        (CalibratedClassifierCV(tree(neighbours="replace"), cv=KFold(2)), "_SigmoidCalibration"),
        (StackingClassifier([("tree", tree())], final_estimator=LogisticRegression(), cv=2), "LogisticRegression"),
        (VotingClassifier([("tree", tree()), ("other", LogisticRegression())]), "LogisticRegression"),
    ],
    ids=["search", "calibration", "stacking", "voting"],
)
def test_what_is_learned_beside_the_estimator_is_named(pipeline, what):
    report = audit_pipeline(pipeline)
    assert report.refuted
    assert what in " ".join(str(finding) for finding in report.findings if finding.kind == "after")


def test_several_fits_leave_each_ledger_true_and_are_counted():
    report = audit_pipeline(VotingClassifier([("a", tree()), ("b", tree())]))
    assert not report.refuted
    assert report.fits == 2
    assert "one record reaches 2 of 2 private fits" in str(report)
    assert report.to_dict()["findings"][0]["voids"] is False


@pytest.mark.parametrize(
    "harmless",
    [
        tree(),
        make_pipeline(FunctionTransformer(np.sqrt), tree()),
        make_pipeline(MinMaxScaler(), tree(neighbours="label")),  # features are public under this relation
        PrivaTreeClassifier(schema=schema(features={"job": Categorical(["a", "b", "c"], missing=True), **FEATURES})),
        BoostingRegressor(schema=Schema(FEATURES, target=Numeric(0, 9))),
    ],
    ids=["alone", "stateless", "label", "categories", "numbers"],
)
def test_nothing_is_held_against_what_is_harmless(harmless):
    report = audit_pipeline(harmless)
    assert not report.findings
    assert "That is no proof" in str(report)


def test_categories_read_off_the_records_are_found():
    jobs = Schema({"job": Categorical(["a", "b", "c"])}, classes=[0, 1])
    hot = PrivaTreeClassifier(schema=Schema({f"x{i}": Numeric(0, 1) for i in range(2)}, classes=[0, 1]))
    report = audit_pipeline(make_pipeline(OneHotEncoder(sparse_output=False), hot), schema=jobs)
    assert "fails" in kinds(report)  # a new category makes one column more, which the estimator refuses


def test_a_step_that_fails_on_a_record_is_named():
    mid = SimpleImputer(strategy="constant", fill_value=0.5)
    allowed = schema(features={"age": Numeric(0, 1, missing=True), "height": Numeric(0, 1)})
    steps = make_pipeline(FunctionTransformer(validate=True), PrivaTreeClassifier(schema=allowed))
    assert kinds(audit_pipeline(steps)) == {"fails"}
    assert not audit_pipeline(make_pipeline(mid, PrivaTreeClassifier(schema=allowed))).refuted


def test_labels_that_are_encoded_on_the_way_are_named():
    report = audit_pipeline(VotingClassifier([("tree", tree(classes=[1, 2]))]))  # they become 0 and 1
    assert "labels" in kinds(report)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (make_pipeline(MinMaxScaler(), LogisticRegression()), "no privet estimator"),
        (lambda: None, "expected a scikit-learn estimator"),
        (PrivaTreeClassifier(), "has no schema"),
        (AdaBoostClassifier(tree()), "cannot be fitted .* sample_weight"),
        (GridSearchCV(tree(), {}, cv=ShuffleSplit(2)), "set every random_state"),
    ],
    ids=["none inside", "no estimator", "no schema", "weights", "random folds"],
)
def test_what_cannot_be_looked_at_is_refused_with_the_remedy(subject, message):
    with pytest.raises(AuditError, match=message):
        audit_pipeline(subject)


def test_the_pipeline_itself_is_not_changed_and_nothing_is_spent():
    pipeline = make_pipeline(MinMaxScaler(), tree())
    with privet.budget(epsilon=1.0) as budget:
        audit_pipeline(pipeline)
        assert budget.spent == 0
    assert not hasattr(pipeline[0], "data_max_")
    assert pipeline[-1].random_state is None


def test_estimators_in_the_grid_of_a_search_are_stood_in_for():
    search = GridSearchCV(make_pipeline(MinMaxScaler(), tree()), {"privatreeclassifier": [tree(), tree()]}, cv=2)
    with privet.budget(epsilon=0.1) as budget:
        assert audit_pipeline(search).fits == 5
        assert budget.spent == 0


UNITS = {"unit": Unit("row_id", 1), "neighbours": "replace"}


def test_units_by_row_id_survive_a_bootstrap_where_the_number_of_records_is_public():
    inner = make_pipeline(FunctionTransformer(as_frame), tree(**UNITS))
    report = audit_pipeline(BaggingClassifier(inner, n_estimators=6))
    assert not report.refuted
    assert kinds(report) == {"many fits"}  # which add up


def test_units_by_row_id_do_not_make_up_for_a_bootstrap_that_depends_on_the_number_of_records():
    inner = make_pipeline(FunctionTransformer(as_frame), tree(unit=Unit("row_id", 1)))
    assert "resampled" in kinds(audit_pipeline(BaggingClassifier(inner, n_estimators=6)))


def test_copies_of_a_record_are_one_unit_in_a_fit():
    own = schema(**UNITS)
    drawn = [0, 1, 1, 1, 2, 2]
    X = as_frame(np.array([[i / 10, i / 10, i] for i in drawn], dtype=float))
    table = encode_table(own, own.encoding(), X, np.array([i % 2 for i in drawn]), secret_key, 1)
    assert table.aggregate(lambda block: np.array([len(block.target)])).tolist() == [3]


def test_bagging_hands_on_arrays_so_that_an_id_needs_its_name_again():
    X = as_frame(np.array([[i / 40, i / 40, i] for i in range(40)], dtype=float))
    y = np.arange(40) % 2
    with pytest.raises(SchemaError, match="the array has 3 columns, but the schema has 2 features"):
        BaggingClassifier(tree(**UNITS), n_estimators=2).fit(X, y)
    inner = make_pipeline(FunctionTransformer(as_frame), tree(**UNITS))
    with privet.budget(epsilon=3.0) as budget:
        bag = BaggingClassifier(inner, n_estimators=3).fit(X, y)
        assert budget.spent == 3  # each fit is charged
    assert all(fitted[-1].privacy_.proven for fitted in bag.estimators_)
