"""PrivaTree as printed, its repair, BDPT and DPGDF are refuted; the sound twin of DPGDF is not."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet_papers as published
from privet import Numeric, Schema
from privet.audit import neighbours, statistical_audit
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.errors import ParameterError, UnsoundWarning
from privet.estimators.learning import Hints
from privet.privacy import laws
from privet.privacy.terms import Allowance, Terms
from privet_papers.vos_2023.bdpt import PrintedBDPT
from privet_papers.vos_2023.dpgdf import DPGDFTree
from privet_papers.vos_2023.dpgdf_printed import PrintedDPGDF
from privet_papers.vos_2023.one_against_rest import STEPS
from privet_papers.vos_2023.printed import PrintedPrivaTree, repaired_rate
from tests.laws.planted import TINY
from tests.laws.registry import SCHEMA, people

pytestmark = pytest.mark.law

PUBLISHED = {
    "PrivaTree2023Classifier": "same records",
    "PrivaTreeStarClassifier": "quantiles",
    "PrivaTreeNoisyNClassifier": "noisy number of records",
    "BDPTClassifier": "merged values",
    "DPGDFClassifier": "smooth sensitivity",
}


def audited(learner, records, epsilon=1.0, schema=TINY):
    return exact_audit(Subject(learner, schema, Allowance.of(epsilon)), records)


@pytest.mark.parametrize("version", ["2023", "star"])
def test_not_splitting_pure_nodes_has_no_finite_epsilon(version):
    assert audited(PrintedPrivaTree(1, version), 2).loss == math.inf


def test_histograms_of_two_features_cost_twice_what_is_charged_for_them():
    # half of epsilon for the leaf; the other half, charged once for both features, is lost twice
    found = audited(PrintedPrivaTree(1, "2023", stops=False), 2)
    assert found.loss == pytest.approx(1.5, abs=1e-3)
    assert found.refuted


def test_quantiles_of_the_data_are_refuted():
    schema = Schema({"x": Numeric(0, 1, bins=3)}, classes=[0, 1])
    assert audited(PrintedPrivaTree(1, "star", stops=False), 2, schema=schema).refuted


@pytest.mark.parametrize("epsilon", ["0.1", "0.001", "0.00001"])
def test_the_loss_of_the_repair_does_not_vanish_with_epsilon(epsilon):
    """One record of each class, apart or together: sum over the noisy number of records, which is never released."""
    node_epsilon = Fraction(epsilon)
    decay = math.exp(-float(node_epsilon) / 2)

    def together(n, gap):
        """Return the probability of the split that keeps two records together, at this gap between the two splits."""
        reach = int(40 / -math.log(decay)) + n
        sizes = np.unique(np.geomspace(1, reach, 2000).astype(np.int64))
        total, before = 0.0, None
        for size in sizes.tolist():  # blocks of sizes, their rate that of the smallest: it understates the loss
            low = -math.inf if before is None else before
            mass = _mass(decay, n, low, size)
            rate = repaired_rate(node_epsilon, before or 1)
            total += mass * laws.permute_and_flip([-gap, 0], rate)[0]
            before = size
        return total

    # alone, a record is pure on either side; with one of the other class, together has an average impurity of 1/2
    alone, both = together(1, 0), together(2, STEPS // 2)
    loss = math.log(alone / both)
    assert loss > 0.05
    if node_epsilon < Fraction(1, 100):
        assert loss > 5 * node_epsilon


def _mass(decay, n, low, high):
    """Return the probability that a number of records with discrete Laplace noise, at least 1, is in (low, high]."""

    def cdf(k):
        if k == -math.inf:
            return 0.0
        below = k - n
        tail = decay ** (-below if below < 0 else below + 1) / (1 + decay)
        return tail if below < 0 else 1 - tail

    return cdf(high) - cdf(low)


@pytest.mark.parametrize("splits", ["categories", "thresholds"])
def test_candidates_merged_from_the_data_are_refuted(splits):
    schema = Schema({"x": Numeric(0, 1, bins=4)}, classes=[0, 1])
    assert audited(PrintedBDPT(1, merged=1, splits=splits), 2, schema=schema).loss == math.inf


def test_merged_values_as_categories_learn_nothing_of_a_threshold_and_thresholds_do():
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    y = (x > 0.5).astype(int)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        for splits in ("categories", "thresholds"):
            tree = published.BDPTClassifier(10.0, schema=schema, splits=splits, random_state=0)
            scores[splits] = tree.fit(pd.DataFrame({"x": x}), y).score(pd.DataFrame({"x": x}), y)
    assert scores["categories"] < 0.6
    assert scores["thresholds"] > 0.95


def test_a_larger_error_of_labels_leaves_more_for_the_splits():
    def share_of_leaves(error):
        learner = published.PrivaTree2023Classifier(1.0, schema=SCHEMA, max_leaf_error=error)._learner()
        encoding = SCHEMA.encoding(learner.bins)
        plan = learner.plan(encoding, Terms.of(SCHEMA), Allowance.of(1.0).whole, Hints(n_rows=10_000))
        return float(plan.leaves.parameter)

    # Equation 7: inversely to E_max, and never more than half
    assert share_of_leaves(0.02) == pytest.approx(share_of_leaves(0.01) / 2, rel=1e-3)
    assert share_of_leaves(1e-9) == pytest.approx(0.5, rel=1e-3)
    with pytest.raises(ParameterError, match="max_leaf_error"):
        share_of_leaves(0.0)


def test_smooth_sensitivity_of_a_label_is_refuted_and_its_sound_twin_is_not():
    assert audited(PrintedDPGDF(1), 3, epsilon=2.0).refuted
    sound = audited(DPGDFTree(1), 3, epsilon=2.0)
    assert not sound.refuted
    assert sound.loss > 1.0


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_claims_nothing_and_says_why(name):
    columns, labels = people()
    estimator = getattr(published, name)(epsilon=1.0, schema=SCHEMA, max_depth=2, random_state=0)
    with pytest.warns(UnsoundWarning, match=PUBLISHED[name]):
        estimator.fit(pd.DataFrame(columns), labels)
    assert estimator.privacy_.epsilon == np.inf
    assert PUBLISHED[name] in estimator.privacy_.why[0]
    assert not estimator.plan().proven
    assert estimator.predict(pd.DataFrame(columns)).shape == labels.shape
    with pytest.raises(ParameterError, match="pure epsilon"):
        getattr(published, name)(delta=1e-6, schema=SCHEMA).plan()


# DPGDF has no numeric features, and BDPT reads their merged values as categories.
@pytest.mark.parametrize("name", sorted(set(PUBLISHED) - {"DPGDFClassifier", "BDPTClassifier"}))
def test_with_much_budget_it_learns_what_is_there(name):
    columns, labels = people(5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        estimator = getattr(published, name)(epsilon=100.0, schema=SCHEMA, max_depth=3, random_state=0)
        estimator.fit(pd.DataFrame(columns), labels)
    assert estimator.score(pd.DataFrame(columns), labels) > 0.9


@pytest.mark.parametrize("pair", [neighbours.purity_stop(), neighbours.size_stop(1)], ids=["purity", "size"])
def test_as_printed_it_is_refuted_by_its_stops(pair):
    def train(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsoundWarning)
            estimator = published.PrivaTree2023Classifier(1.0, schema=pair.schema, max_depth=1, random_state=0)
            return estimator.fit(X, y)

    audited = statistical_audit(train, [pair], epsilon=1.0, relation="add_remove", max_trainings=600)
    assert audited.refuted
