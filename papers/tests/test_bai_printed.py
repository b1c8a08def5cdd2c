"""The private multinomial forest as printed is refuted: thresholds and stops that are impossible without one record."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import privet_papers as published
from privet import Numeric, Schema
from privet.errors import ParameterError, UnsoundWarning
from privet_papers.bai_2021.printed import MultinomialForest2021Classifier, vote_of_pure_leaves
from tests.laws.registry import SCHEMA, people

pytestmark = pytest.mark.law

ONE_FEATURE = Schema({"x": Numeric(0, 1, bins=10)}, classes=[0, 1])
RUNS = 200


def roots(x, y, labels="printed"):
    """Return the distinct outcomes of many fits with one tree, each with fresh draws: a leaf, or the root's cut."""
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        for seed in range(RUNS):
            estimator = MultinomialForest2021Classifier(
                schema=ONE_FEATURE, n_trees=1, min_leaf=1, labels=labels, random_state=seed
            )
            fitted = estimator.fit(np.array(x)[:, np.newaxis], np.array(y))
            splits = fitted.model_.structure.splits
            found.add("leaf" if splits.feature[0] < 0 else int(splits.cut[0]))
    return found


def test_a_fresh_value_gives_a_threshold_that_was_impossible_without_it():
    x, y = [0.05] * 4 + [0.95] * 4, [0, 1, 0, 1, 1, 0, 1, 0]
    without, with_it = roots(x, y), roots([*x, 0.75], [*y, 0])
    assert without == {"leaf", 4}, "the data has two values, so there is one threshold, half way"
    assert with_it - without == {3, 7}, "half way to the new value, on either side: no finite epsilon"


def test_a_pure_data_set_is_always_a_leaf_and_one_more_label_splits_it():
    x = [0.05] * 4 + [0.95] * 4
    assert roots(x, [0] * 8) == {"leaf"}
    assert roots([*x, 0.95], [0] * 8 + [1]) == {"leaf", 4}


def test_few_records_are_always_a_leaf_and_more_are_not():
    assert roots([0.05, 0.95], [0, 1]) == {"leaf"}
    assert roots([0.05, 0.95, 0.05, 0.95, 0.5], [0, 1, 0, 1, 1]) > {"leaf"}


def test_as_printed_64_pure_leaves_hardly_vote_better_than_a_coin():
    assert vote_of_pure_leaves(1.0, 64) == pytest.approx(0.512, abs=5e-4)
    assert 1 / (1 + math.exp(-1 / 128)) == pytest.approx(0.50195, abs=1e-5)  # a single pure leaf
    assert vote_of_pure_leaves(1.0, 1) == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert math.exp(1 / (2 * 10 * 64) / 2) == pytest.approx(1.0004, abs=1e-5)  # the best against the worst split


@pytest.mark.parametrize("labels", ["printed", "code"])
def test_it_claims_nothing_and_says_why(labels):
    columns, y = people()
    estimator = published.MultinomialForest2021Classifier(schema=SCHEMA, n_trees=3, labels=labels, random_state=0)
    with pytest.warns(UnsoundWarning, match="values of the data"):
        estimator.fit(pd.DataFrame(columns), y)
    assert estimator.privacy_.epsilon == np.inf
    assert "no finite epsilon" in estimator.privacy_.why[0]
    assert ("without noise" in estimator.privacy_.why[0]) == (labels == "code")
    assert estimator.predict(pd.DataFrame(columns)).shape == y.shape
    with pytest.raises(ParameterError, match="pure epsilon"):
        published.MultinomialForest2021Classifier(delta=1e-6, schema=SCHEMA).plan()


def test_only_labels_without_noise_give_accuracies_as_in_the_paper():
    columns, y = people(2000)
    frame, score = pd.DataFrame(columns), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        for labels in ("printed", "code"):
            estimator = MultinomialForest2021Classifier(schema=SCHEMA, labels=labels, random_state=0)
            score[labels] = estimator.fit(frame, y).score(frame, y)
    assert score["printed"] < 0.5, "three classes, nearly alike: printed labels are noise"
    assert score["code"] > 0.8
