"""Laws of the report page: complete, self-contained, escaped, silent about records."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

import privet
from privet import Categorical, Numeric, RandomDecisionForestClassifier, Schema
from privet.audit.report import AuditReport, Claim, Finding
from privet.errors import ParameterError
from privet.privacy.terms import Allowance
from privet.report import insight, render
from privet.report.evaluation import evaluation_from_dict, measure
from privet.report.evidence import read_audit, read_evaluation
from privet.report.insight import importances, shape
from privet.report.words import Meaning
from privet.testing import seeded_noise

SECTIONS = ["learned", "guarantee", "budget", "schema", "accuracy", "poisoning", "audit", "verify", "limits"]
SCHEMA = Schema(
    {
        "age": Numeric(0, 100),
        "income": Numeric(1, 1e6, grid="log", missing=True),
        "colour": Categorical(["red", "blue"]),
    },
    classes=["no", "yes"],
)


def records(n=400):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 100, n), rng.uniform(1, 1e6, n), rng.choice(["red", "blue"], n)]).astype(object)
    return X, np.where(X[:, 0].astype(float) > 50, "yes", "no")


def fitted(schema=SCHEMA, **parameters):
    settings = {"epsilon": 1.0, "schema": schema, "n_trees": 4, "max_depth": 3, "random_state": 0, **parameters}
    return RandomDecisionForestClassifier(**settings).fit(*records())


@pytest.fixture(scope="module")
def model():
    return fitted()


class Reader(HTMLParser):
    """Collects what a page is made of, and checks that its elements nest."""

    def __init__(self):
        super().__init__()
        self.ids, self.tags, self.open, self.text, self.addresses = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self.ids += [named["id"]] if "id" in named else []
        self.addresses += [named[key] for key in ("src", "href", "action", "data") if key in named]
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_every_section_is_there_once_and_linked(model):
    page = read(render(model))
    assert [key for key in page.ids if key in SECTIONS] == SECTIONS
    assert [address for address in page.addresses if address != "#report"] == [f"#{key}" for key in SECTIONS]


def test_the_page_has_no_script_and_asks_for_nothing(model):
    text = render(model)
    page = read(text)
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert all(address.startswith("#") for address in page.addresses)
    assert not re.search(r"url\(|@import|https?://|style=|\son\w+=", text)
    assert "default-src 'none'" in unescape(text)


def test_the_page_is_the_same_each_time_and_has_no_date(model):
    assert render(model) == render(model)
    assert not re.search(r"\b20[0-9]{2}-[0-9]{2}|\b[0-9]{2}:[0-9]{2}\b", render(model))


def test_the_page_of_a_loaded_file_is_the_same(model, tmp_path):
    model.save(tmp_path / "model.json")
    assert render(privet.load(tmp_path / "model.json")) == render(model)


def test_names_from_a_schema_cannot_become_markup():
    evil = '"><script>alert(1)</script>'
    schema = Schema({evil: Categorical([evil, "b</style>"]), "</svg>": Numeric(0, 1)}, classes=[evil, "<img src=x>"])
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([evil, "b</style>"], 50), rng.uniform(0, 1, 50)]).astype(object)
    estimator = RandomDecisionForestClassifier(schema=schema, n_trees=2, max_depth=3).fit(X, [evil, "<img src=x>"] * 25)
    page = read(render(estimator))
    assert not {"script", "img"} & set(page.tags)
    assert page.tags.count("style") == 1
    assert evil in "".join(page.text)


def test_a_model_without_a_guarantee_says_so_first_and_why():
    with seeded_noise(1):
        text = "".join(read(render(fitted())).text)
    assert "No guarantee" in text
    assert "the noise was seeded" in text
    assert "odds" not in text


def test_the_guarantee_is_put_in_numbers(model):
    text = "".join(read(render(model)).text)
    assert "a factor of at most 2.72" in text
    assert "26.8% to 73.2%" in text
    assert "advantage of at most 46.3%" in text


def test_delta_and_other_relations_are_named():
    label = Schema(SCHEMA.features, SCHEMA.target, neighbours="label")
    text = "".join(read(render(fitted(label, delta=1e-6, n_trees=64))).text)
    assert "the label of a record only" in text
    assert "exceed what epsilon allows by up to 1e-06" in text
    assert "but for a probability of up to 2e-06" in text
    assert "records relabelled" in text


def test_posterior_and_advantage_are_those_of_the_worst_case_mechanism():
    """Randomised response reaches the bounds: what it does is the most that epsilon allows."""
    meaning = Meaning(1.3, 0.0)
    truthful = np.exp(1.3) / (1 + np.exp(1.3))
    assert meaning.posterior(0.5) == pytest.approx((1 - truthful, truthful))
    assert meaning.membership_advantage == pytest.approx(2 * truthful - 1)
    assert meaning.guessing_accuracy == pytest.approx(truthful)
    prior = 0.1
    assert meaning.posterior(prior)[1] == pytest.approx(prior * truthful / (prior * truthful + 0.9 * (1 - truthful)))
    assert Meaning(0.0, 0.1).membership_advantage == pytest.approx(0.1)
    assert Meaning(float("inf"), 1.0).posterior(0.5) == (0.0, 1.0)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), (4, "1e-8")])
def test_odds_are_exceeded_no_more_often_than_the_page_says(epsilon, delta, steps):
    """The logarithm of the odds of two Gaussians that differ by d deviations is normal, with mean d^2 / 2."""
    rho = float(Allowance.of(Fraction(epsilon), Fraction(delta)).rho)
    meaning, shift = Meaning(float(epsilon), float(delta), rho), steps * np.sqrt(2 * rho)

    def exceeded(loss):
        return norm.sf((loss - shift**2 / 2) / shift) + norm.cdf((-loss - shift**2 / 2) / shift)

    assert exceeded(meaning.odds(steps)) <= meaning.odds_fail
    assert exceeded(steps * float(epsilon)) > meaning.delta  # epsilon itself is not such a bound


def test_importances_find_the_feature_that_matters():
    estimator = fitted(epsilon=1000.0, n_trees=40, max_depth=4)
    moved = importances(estimator.model_)
    assert moved.argmax() == 0
    curve = shape(estimator.model_, 0).votes[:, 1]
    assert curve[0] < 0.4 < 0.6 < curve[-1]


def test_accuracy_stands_on_the_page_with_its_provenance(model):
    X, y = records()
    evaluation = measure(model, X, y, data="held_out.csv", public=True)
    text = "".join(read(render(model, evaluation=evaluation)).text)
    assert f"{evaluation.accuracy:.3f}" in text
    assert "held_out.csv" in text
    assert evaluation_from_dict(json.loads(json.dumps(evaluation.to_dict()))) == evaluation


def test_an_evaluation_that_does_not_name_its_kind_is_of_classes(model):
    """Files of earlier versions do not."""
    evaluation = measure(model, *records(), data="x", public=True)
    content = {name: value for name, value in evaluation.to_dict().items() if name != "kind"}
    assert evaluation_from_dict(content) == evaluation


def test_accuracy_on_private_records_or_of_another_model_is_refused(model):
    X, y = records()
    with pytest.raises(ParameterError, match="would be a disclosure"):
        render(model, evaluation=measure(model, X, y, data="x", public=False))
    with pytest.raises(ParameterError, match="of another model"):
        render(model, evaluation=measure(fitted(), X, y, data="x", public=True))


NUMBERS = Schema(SCHEMA.features, target=Numeric(0, 300))


@pytest.fixture(scope="module")
def regressor():
    X, y = records()
    numbers = 2 * X[:, 0].astype(float) + 50 * (y == "yes")
    return privet.BoostingRegressor(4.0, 1e-6, NUMBERS, random_state=0).fit(X, numbers), numbers


def test_measures_of_numbers_are_what_they_say(regressor):
    model, numbers = regressor
    X, _ = records()
    truth = np.append(numbers, [np.nan, 1e4])  # without an answer, and beyond the range
    evaluation = measure(model, np.vstack([X, X[:2]]), truth, data="x", public=True)
    errors = np.append(numbers, 1e4) - np.delete(model.predict(np.vstack([X, X[:2]])), len(X))
    known = np.append(numbers, 1e4)
    assert evaluation.rmse == pytest.approx(np.sqrt((errors**2).mean()), abs=0.1)
    assert evaluation.mae == pytest.approx(np.abs(errors).mean(), abs=0.1)
    assert evaluation.constant_rmse == pytest.approx(known.std(), abs=0.1)
    assert evaluation.constant_mae == pytest.approx(np.abs(known - np.median(known)).mean(), abs=0.1)
    assert evaluation.r_squared == pytest.approx(1 - (errors**2).mean() / known.var(), abs=1e-3)
    assert sum(evaluation.residual_shares) == pytest.approx(1, abs=0.01)


def test_pictures_of_numbers_are_of_public_records_and_of_groups_of_many(regressor):
    model, numbers = regressor
    X, _ = records()
    assert measure(model, X, numbers, data="x", public=False).groups == ()
    assert measure(model, X, numbers, data="x", public=False).residual_shares == ()
    assert measure(model, X[:15], numbers[:15], data="x", public=True).groups == ()
    groups = measure(model, X, numbers, data="x", public=True).groups
    assert 2 <= len(groups) <= 10
    assert [group.predicted for group in groups] == sorted(group.predicted for group in groups)
    assert all(group.low <= group.middle <= group.high for group in groups)


def test_a_page_about_numbers_has_everything_and_says_what_good_means(regressor):
    model, numbers = regressor
    X, _ = records()
    evaluation = measure(model, X, numbers, data="held_out.csv", public=True)
    assert evaluation_from_dict(json.loads(json.dumps(evaluation.to_dict()))) == evaluation
    page = read(render(model, evaluation=evaluation))
    text = "".join(page.text)
    assert [key for key in page.ids if key in SECTIONS] == SECTIONS
    for said in ("root mean squared error", "Predicted against true", "Residuals", "within a tolerance", "0 to 300"):
        assert said in text
    assert "accuracy of a" not in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rmse", "1"),
        ("r_squared", float("nan")),
        ("residual_shares", [0.5]),
        ("groups", [{"predicted": 1}]),
        ("groups", [{"predicted": 1, "low": 1, "middle": None, "high": 1}]),
        ("public", 1),
        ("data", None),
    ],
)
def test_an_evaluation_of_numbers_that_was_changed_is_refused(regressor, name, value):
    model, numbers = regressor
    content = measure(model, records()[0], numbers, data="x", public=True).to_dict()
    with pytest.raises(ParameterError, match="make"):
        evaluation_from_dict({**json.loads(json.dumps(content)), name: value})


def test_an_additive_model_shows_every_acting_feature_with_numbers_beside_the_picture(regressor):
    model, _ = regressor
    page = read(render(model))
    text = "".join(page.text)
    whole = model.model_.shapes()
    for drawn in whole.acting:
        assert f"{drawn.column.name}: {drawn.importance:.0%} of all importance" in text
        assert f"{drawn.column.name}: what each value adds" in text
        assert all(label in text for label in drawn.labels)
    assert f"{whole.from_trees:.0%} of it comes from trees" in text
    assert "combinations of features" in text
    assert "in its own units" in text


def test_a_model_that_learned_nothing_says_so(regressor):
    idle = clone(regressor[0]).fit(*(part[:0] for part in (records()[0], regressor[1])))
    model = idle.model_
    no_leaves = model.values[:0]
    idle.model_ = replace(
        model, tables=np.zeros_like(model.tables), trees=None, values=no_leaves, noise=no_leaves.astype(np.float64)
    )
    assert "says the same of every record" in "".join(read(render(idle)).text)


def test_measures_are_what_they_say(model):
    X, y = records()
    guess = model.predict(X)
    evaluation = measure(model, X, y, data="x", public=True)
    assert evaluation.accuracy == pytest.approx((guess == y).mean(), abs=5e-4)
    recalls = [(guess[y == label] == label).mean() for label in ("no", "yes")]
    assert evaluation.balanced_accuracy == pytest.approx(np.mean(recalls), abs=5e-4)
    assert evaluation.largest_class == pytest.approx(max((y == "no").mean(), (y == "yes").mean()), abs=5e-4)


def audit_report(refuted):
    finding = Finding("a pair", "a flaw", "exact", float("inf") if refuted else 0.5, refuted, "an event")
    return AuditReport("RandomDecisionForestClassifier", Claim(1.0, 0.0, "add_remove"), [finding], 0.9, 12, ["a note"])


@pytest.mark.parametrize("refuted", [False, True])
def test_the_verdict_of_an_audit_stands_on_the_page(model, refuted, tmp_path):
    from privet.cli.console import write_json

    write_json(audit_report(refuted).to_dict(), tmp_path / "audit.json")
    report = read_audit(tmp_path / "audit.json")
    assert report.to_dict() == audit_report(refuted).to_dict()
    text = "".join(read(render(model, audit=report)).text)
    assert ("Refuted" in text) == refuted
    assert ("Not refuted is not a proof" in text) != refuted


@pytest.mark.parametrize("content", ["", "[1", "{}", '{"format": 3}', "[" * 100_000])
def test_evidence_that_is_none_is_refused_by_name(content, tmp_path):
    path = tmp_path / "evidence.json"
    path.write_text(content)
    for reader in (read_audit, read_evaluation):
        with pytest.raises(ParameterError, match=r"evidence\.json: ") as refused:
            reader(path)
        assert str(refused.value).count("evidence.json") == 1


def test_evidence_that_is_not_there_or_may_never_end_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    for name, problem in (("absent", "no such file"), ("folder", "not a regular file")):
        for reader in (read_audit, read_evaluation):
            with pytest.raises(ParameterError) as refused:
                reader(tmp_path / name)
            assert str(refused.value) == f"{tmp_path / name}: {problem}; check the path"


def test_every_learner_has_a_page():
    from benchmarks.fuzz import real_models

    from privet.estimators.files import _estimator

    for content in real_models():
        assert read(render(_estimator(content))).ids


def test_a_model_that_answers_one_batch_only_has_a_page_too(tmp_path):
    schema = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1])}, classes=[0, 1])
    X = [[i % 2, i // 2 % 2] for i in range(60)]
    model = privet.MatrixForestClassifier(
        schema=schema, n_trees=3, max_depth=1, mode="prediction", strategy="queries", random_state=0
    )
    model.fit(X, [row[0] for row in X], batch=[[0, 1], [1, 1]]).save(tmp_path / "model.json")
    text = "".join(read(render(privet.load(tmp_path / "model.json"))).text)
    assert "one public batch only" in text


def test_a_step_is_where_the_vote_is_the_same_and_steps_end_where_a_tree_cuts():
    estimator = fitted(n_trees=3, max_depth=3)
    model = estimator.model_
    for feature, column in enumerate(model.encoding.columns):
        curve = shape(model, feature)
        every = [shape_at(model, feature, code) for code in range(column.n_codes)]
        of_step = np.searchsorted(curve.ends, np.arange(column.n_codes))
        np.testing.assert_allclose(np.array(every), curve.votes[of_step])
        if column.ordered:
            present = curve.votes[: np.searchsorted(curve.ends, column.n_values - 1) + 1]
            assert (present[1:] != present[:-1]).any(axis=1).all()


def shape_at(model, feature, code):
    """The average vote where one feature has one code."""
    others = insight._uniform(model.encoding, insight.public_rng(insight.SEED))[:, : insight.ROWS_PER_CODE].copy()
    others[feature] = code
    return model.votes(others).mean(axis=0)
