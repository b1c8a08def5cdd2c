"""Projections of models to discrete outcomes."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from privet.audit import projections as views
from privet.audit.peer import UnusableOutcomeError, outcome_key

X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = np.array([0, 0, 1, 1])


@pytest.fixture
def tree() -> Any:
    return DecisionTreeClassifier(random_state=0).fit(X, y)


@pytest.fixture
def forest() -> Any:
    return RandomForestClassifier(n_estimators=3, random_state=0, bootstrap=False).fit(X, y)


def test_views_of_a_tree_read_its_arrays(tree: Any) -> None:
    assert views.RootSplit()(tree) == (0, 0.5)
    assert views.RootFeature()(tree) == 0
    assert views.RootIsLeaf()(tree) == (False,)
    assert views.FeaturesUsed()(tree) == frozenset({0})
    assert views.LabelsOfLeaves()(tree) == ((0, 1),)
    assert views.LeafLabel(1)(tree) == 1
    assert views.Predictions(((0, 0), (1, 0)))(tree) == (0, 1)
    assert views.Attribute("classes_")(tree) == (0, 1)


def test_numbers_are_put_into_a_few_equal_steps(tree: Any) -> None:
    steps = views.Steps(views.Predictions(((0, 0), (1, 0))), 0.0, 2.0)
    assert steps(tree) == (0, 2)
    assert views.Steps(views.Value(), -1.0, 1.0, 8)([-9.0, -0.9, 0.0, 1.0, 9.0]) == (0, 0, 4, 7, 7)
    assert steps.supports(tree)
    assert not views.Steps(views.Value(), 0.0, 1.0).supports("text")


def test_views_of_a_leaf_say_so() -> None:
    leaf = DecisionTreeClassifier().fit(X, np.zeros(4, dtype=int))
    assert views.RootIsLeaf()(leaf) == (True,)
    assert views.RootFeature()(leaf) == -1
    assert views.RootSplit()(leaf) is None


def test_views_of_a_forest_have_one_entry_per_tree(forest: Any) -> None:
    labels = views.TreeLabels((1, 1))
    assert labels(forest) == (1.0, 1.0, 1.0)
    assert views.Agreement(labels, (1, 0, 1))(forest) == 2
    assert views.EqualTo(labels, (1, 1, 1))(forest) is True
    assert len(views.LabelsOfLeaves()(forest)) == 3
    assert len(views.RootIsLeaf()(forest)) == 3


@pytest.mark.parametrize(
    ("number", "place"), [(1.0, 0), (6.0, 1), (0.75, -2), (2.0**-70, -64), (0.0, None), (3, 0), (float("nan"), None)]
)
def test_the_lowest_bit_is_the_power_of_two_that_divides(number: float, place: int | None) -> None:
    assert views.LowestBit()(number) == (place,)


def test_numbers_below_a_cut_and_their_differences() -> None:
    assert views.Below(0.5)(0.4) is True
    assert views.Below(0.5)(0.5) is False
    assert views.Difference()([5.25, 4.0]) == 1.25


def test_the_pickle_digest_sees_all_but_what_is_declared() -> None:
    digest = views.PickleDigest(("released_",))
    base = digest(SimpleNamespace(released_=1.0, depth=2))
    assert digest(SimpleNamespace(depth=2, released_=2.0)) == base
    assert digest(SimpleNamespace(released_=1.0, depth=3)) != base
    assert digest(SimpleNamespace(released_=1.0, depth=2, n_=7)) != base


def test_a_projection_knows_what_it_can_read(tree: Any, forest: Any) -> None:
    assert views.RootSplit().supports(tree)
    assert views.RootSplit().supports(forest)
    assert views.TreeLabels((0, 0)).supports(forest)
    assert not views.TreeLabels((0, 0)).supports(tree)
    assert not views.RootSplit().supports(3.0)
    assert not views.Predictions(((0, 0),)).supports(3.0)
    assert not views.Attribute("classes_.nothing").supports(tree)
    assert views.LowestBit().supports(3.0)
    assert not views.LowestBit().supports(tree)
    assert not views.Difference().supports(3.0)
    with pytest.raises(TypeError, match="neither tree_ nor estimators_"):
        views.RootSplit()(3.0)


def test_every_projection_is_named_by_its_settings_and_survives_pickling() -> None:
    for view in (views.Value(), views.Agreement(views.TreeLabels((0,)), (1, 0)), views.PickleDigest(("a",))):
        assert pickle.loads(pickle.dumps(view)) == view
    assert views.LeafLabel(1).name == "LeafLabel(1, 0)"
    one, other = (views.Predictions(((number,) * 40,)).name for number in (0, 1))
    assert len(one) < 60
    assert one != other
    assert views.projection_name(outcome_key) == "outcome_key"


def test_equal_outcomes_and_only_those_have_equal_keys() -> None:
    assert outcome_key((np.int64(1), np.float64(0.5), np.str_("a"))) == outcome_key((1, 0.5, "a"))
    distinct = [None, True, 1, 1.0, -0.0, 0.0, "1", b"1", (1,), ((1,),), (1, 1), (), frozenset({1}), ("1,",)]
    assert len({outcome_key(outcome) for outcome in distinct}) == len(distinct)


@pytest.mark.parametrize(
    ("outcome", "reason"), [([1], "not hashable"), (np.zeros(2), "not hashable"), (object(), "two processes")]
)
def test_outcomes_that_cannot_be_counted_are_refused(outcome: object, reason: str) -> None:
    with pytest.raises(UnusableOutcomeError, match=reason):
        outcome_key(outcome)
