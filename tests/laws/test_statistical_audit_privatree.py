"""The black-box audit of PrivaTree: on the pairs that catch its published forms it is not refuted."""

import warnings

import pytest

from privet import PrivaTreeClassifier
from privet.audit import neighbours, statistical_audit
from privet.errors import UnsoundWarning

pytestmark = pytest.mark.law

TRAININGS = 600


def trainer(estimator, pair, **settings):
    def train(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsoundWarning)
            return estimator(schema=pair.schema, max_depth=1, random_state=0, **settings).fit(X, y)

    return train


def audited(estimator, pair, epsilon, trainings=TRAININGS, **settings):
    train = trainer(estimator, pair, epsilon=epsilon, **settings)
    return statistical_audit(train, [pair], epsilon=epsilon, relation="add_remove", max_trainings=trainings)


@pytest.mark.parametrize(
    ("pair", "settings"),
    [
        (neighbours.features_as_disjoint(4, 6), {"leaves": "labels"}),
        (neighbours.purity_stop(), {"leaves": "counts"}),
        (neighbours.size_stop(1), {"leaves": "labels", "stop": True}),
    ],
    ids=["features", "purity", "size"],
)
def test_it_is_not_refuted(pair, settings):
    assert not audited(PrivaTreeClassifier, pair, 1.0, **settings).refuted
