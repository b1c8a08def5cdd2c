"""Projections: what an audit looks at in a trained object, each a small picklable callable to a discrete outcome.

This file imports NumPy alone, so that it also runs in another environment's interpreter (``audit(python=...)``).
A projection is post-processing of the model: what it sees, whoever holds the model sees.
"""

from __future__ import annotations

import hashlib
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from math import frexp, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Point = tuple[Any, ...]

Outcome = Any


class Projection(ABC):
    """A named view of a trained object. Subclasses are frozen dataclasses whose fields are plain values."""

    @abstractmethod
    def __call__(self, model: Any) -> Outcome:
        """Project a trained object to a hashable outcome of plain values."""

    def supports(self, model: Any) -> bool:
        """Whether a trained object has what this projection reads."""
        return True

    @property
    def name(self) -> str:
        """The projection with its settings, as shown in reports."""
        settings = [getattr(self, part.name) for part in fields(self)]  # type: ignore[arg-type]  # a dataclass
        shown = ", ".join(part.name if isinstance(part, Projection) else repr(part) for part in settings)
        text = f"{type(self).__name__}({shown})"
        if len(text) <= 60:
            return text
        return f"{type(self).__name__}(#{hashlib.sha256(shown.encode()).hexdigest()[:8]})"


def projection_name(projection: Callable[[Any], Outcome]) -> str:
    """The name of a projection, or of any other callable that serves as one."""
    if isinstance(projection, Projection):
        return projection.name
    return str(getattr(projection, "__qualname__", None) or type(projection).__qualname__)


class _Tree(NamedTuple):
    """A tree of privet in the arrays that scikit-learn's trees have."""

    children_left: Any
    feature: Any
    threshold: Any
    value: Any


def _trees_of_forest(forest: Any) -> list[_Tree]:
    """The trees of a privet forest, as it writes them down itself: privet need not be installed where this runs."""
    trees, leaves = forest.structure.explicit(), forest.leaves
    splits = trees.splits
    votes = leaves.counts if hasattr(leaves, "counts") else np.eye(int(leaves.labels.max()) + 1)[leaves.labels]
    # A set of codes stands for a threshold by the number that its first bits make.
    where = np.where(splits.set_index >= 0, splits.set_index, 0)
    sets = splits.sets[where, 0] if len(splits.sets) else np.zeros_like(where)
    threshold = np.where(splits.set_index >= 0, sets.astype(float), splits.cut)
    value = votes[np.where(trees.leaf >= 0, trees.leaf, 0)]
    left = np.where(splits.feature >= 0, trees.first_child, -1)
    ranges = zip(trees.tree_offsets[:-1], trees.tree_offsets[1:], strict=True)
    return [_Tree(left[a:b], splits.feature[a:b], threshold[a:b], value[a:b, None]) for a, b in ranges]


def _forest(model: Any) -> Any:
    """The privet forest of a fitted estimator, if its trees are written down."""
    forest = getattr(model, "model_", None)
    return forest if hasattr(getattr(forest, "structure", None), "splits") and hasattr(forest, "leaves") else None


def _trees(model: Any) -> list[Any]:
    """The trees of a tree or of a forest: scikit-learn's, or privet's in the same form."""
    if _forest(model) is not None:
        return list(_trees_of_forest(_forest(model)))
    if hasattr(model, "tree_"):
        return [model.tree_]
    if hasattr(model, "estimators_"):
        return [member.tree_ for member in np.ravel(np.asarray(model.estimators_, dtype=object))]
    raise TypeError(f"a {type(model).__name__} has neither tree_ nor estimators_; choose another projection")


def _has_trees(model: Any) -> bool:
    if hasattr(model, "tree_") or _forest(model) is not None:
        return True
    members = getattr(model, "estimators_", None)
    return members is not None and all(hasattr(m, "tree_") for m in np.ravel(np.asarray(members, dtype=object)))


def _leaf_labels(tree: Any) -> tuple[int, ...]:
    leaves = np.flatnonzero(np.asarray(tree.children_left) == -1)
    return tuple(int(label) for label in np.argmax(np.asarray(tree.value)[leaves, 0, :], axis=1))


def _as_rows(points: Any) -> Any:
    """Points as a model takes them: numbers stay numbers, mixed records become objects."""
    if all(isinstance(value, (int, float, np.number)) for point in points for value in point):
        return np.array(points, dtype=np.float64)
    return np.array(points, dtype=object)


@dataclass(frozen=True)
class Value(Projection):
    """The trained object itself, where it is already a discrete outcome."""

    def __call__(self, model: Any) -> Outcome:
        return model


@dataclass(frozen=True)
class Attribute(Projection):
    """A public attribute of the model by its dotted path; arrays and lists become tuples."""

    path: str

    def __call__(self, model: Any) -> Outcome:
        for name in self.path.split("."):
            model = getattr(model, name)
        return _frozen(model)

    def supports(self, model: Any) -> bool:
        for name in self.path.split("."):
            if not hasattr(model, name):
                return False
            model = getattr(model, name)
        return True


def _frozen(value: Any) -> Outcome:
    if isinstance(value, np.ndarray):
        return _frozen(value.tolist())
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(part) for part in value)
    return value


@dataclass(frozen=True)
class RootIsLeaf(Projection):
    """Whether the root was not split; a forest gives one answer per tree."""

    def __call__(self, model: Any) -> Outcome:
        return tuple(int(tree.children_left[0]) == -1 for tree in _trees(model))

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class RootFeature(Projection):
    """The feature that the root of the first tree splits on; -1 for a leaf."""

    def __call__(self, model: Any) -> Outcome:
        tree = _trees(model)[0]
        return -1 if int(tree.children_left[0]) == -1 else int(tree.feature[0])

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class RootSplit(Projection):
    """Feature and threshold of the first tree's root; None for a leaf."""

    def __call__(self, model: Any) -> Outcome:
        tree = _trees(model)[0]
        return None if int(tree.children_left[0]) == -1 else (int(tree.feature[0]), float(tree.threshold[0]))

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class FeaturesUsed(Projection):
    """The set of features that any node splits on."""

    def __call__(self, model: Any) -> Outcome:
        return frozenset(
            int(feature)
            for tree in _trees(model)
            for feature in np.asarray(tree.feature)[np.asarray(tree.children_left) != -1]
        )

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class LeafLabel(Projection):
    """The label of one leaf, by its place among the leaves of one tree."""

    leaf: int = 0
    tree: int = 0

    def __call__(self, model: Any) -> Outcome:
        return _leaf_labels(_trees(model)[self.tree])[self.leaf]

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class LabelsOfLeaves(Projection):
    """The labels of all leaves of all trees, in the order of the trees' nodes."""

    def __call__(self, model: Any) -> Outcome:
        return tuple(_leaf_labels(tree) for tree in _trees(model))

    def supports(self, model: Any) -> bool:
        return _has_trees(model)


@dataclass(frozen=True)
class Predictions(Projection):
    """What ``predict`` answers at a list of points."""

    points: tuple[Point, ...]

    def __call__(self, model: Any) -> Outcome:
        return _frozen(np.asarray(model.predict(_as_rows(self.points))))

    def supports(self, model: Any) -> bool:
        return hasattr(model, "predict")


@dataclass(frozen=True)
class Steps(Projection):
    """In which of a few equal steps of a range each of some released numbers lies; few trainings can count these."""

    of: Callable[[Any], Outcome]
    low: float
    high: float
    steps: int = 4

    def __call__(self, model: Any) -> Outcome:
        shares = (np.ravel(np.asarray(self.of(model), dtype=np.float64)) - self.low) / (self.high - self.low)
        return tuple(np.clip(np.floor(shares * self.steps), 0, self.steps - 1).astype(int).tolist())

    def supports(self, model: Any) -> bool:
        return _releases_numbers(self.of, model)


@dataclass(frozen=True)
class TreeLabels(Projection):
    """What each tree of a forest answers at one point."""

    point: Point

    def __call__(self, model: Any) -> Outcome:
        row = _as_rows((self.point,))
        return tuple(_frozen(np.asarray(member.predict(row)))[0] for member in model.estimators_)

    def supports(self, model: Any) -> bool:
        members = getattr(model, "estimators_", ())
        return len(members) > 0 and all(hasattr(member, "predict") for member in members)


@dataclass(frozen=True)
class Agreement(Projection):
    """In how many places a tuple-valued projection agrees with a reference.

    Where each of many parts leaks a little, the count gathers it into few outcomes, which few trainings can tell
    apart; the vector itself would have exponentially many.
    """

    of: Callable[[Any], Outcome]
    reference: tuple[Any, ...]

    def __call__(self, model: Any) -> Outcome:
        seen = self.of(model)
        return sum(bool(seen[place] == wanted) for place, wanted in enumerate(self.reference))

    def supports(self, model: Any) -> bool:
        return not isinstance(self.of, Projection) or self.of.supports(model)


@dataclass(frozen=True)
class EqualTo(Projection):
    """Whether another projection gives exactly a reference."""

    of: Callable[[Any], Outcome]
    reference: Outcome

    def __call__(self, model: Any) -> Outcome:
        return bool(self.of(model) == self.reference)

    def supports(self, model: Any) -> bool:
        return not isinstance(self.of, Projection) or self.of.supports(model)


@dataclass(frozen=True)
class Below(Projection):
    """Whether a released number lies below a cut."""

    cut: float
    of: Callable[[Any], Outcome] = field(default_factory=Value)

    def __call__(self, model: Any) -> Outcome:
        return bool(self.of(model) < self.cut)

    def supports(self, model: Any) -> bool:
        return _releases_numbers(self.of, model)


@dataclass(frozen=True)
class Difference(Projection):
    """The exact difference of two released numbers, by their places."""

    first: int = 0
    second: int = 1
    of: Callable[[Any], Outcome] = field(default_factory=Value)

    def __call__(self, model: Any) -> Outcome:
        released = self.of(model)
        return float(released[self.first]) - float(released[self.second])

    def supports(self, model: Any) -> bool:
        if isinstance(self.of, Projection) and not self.of.supports(model):
            return False
        return isinstance(self.of(model), (tuple, list, np.ndarray))


@dataclass(frozen=True)
class LowestBit(Projection):
    """Where the lowest set bit of each released float lies: e such that the float is an odd multiple of 2^e.

    Noise drawn in floats and added to a count is rounded to the sum's own precision, so the lowest bits tell the
    count. Zero gives None; e is clipped to at least ``floor`` to keep the outcomes few.
    """

    floor: int = -64
    of: Callable[[Any], Outcome] = field(default_factory=Value)

    def __call__(self, model: Any) -> Outcome:
        released = self.of(model)
        numbers = released if isinstance(released, (tuple, list, np.ndarray)) else (released,)
        return tuple(self._exponent(float(number)) for number in np.ravel(np.asarray(numbers)))

    def _exponent(self, number: float) -> int | None:
        if number == 0 or not isfinite(number):
            return None
        mantissa, exponent = frexp(number)
        significand = int(mantissa * 2**53)
        trailing_zeros = (significand & -significand).bit_length() - 1
        return max(exponent - 53 + trailing_zeros, self.floor)

    def supports(self, model: Any) -> bool:
        return _releases_numbers(self.of, model)


def _releases_numbers(of: Callable[[Any], Outcome], model: Any) -> bool:
    if isinstance(of, Projection) and not of.supports(model):
        return False
    released = np.asarray(of(model))
    return bool(released.dtype.kind in "biuf")


@dataclass(frozen=True)
class PickleDigest(Projection):
    """A digest of the model's pickle without the outputs that are declared as released.

    With every released output declared, the rest must not depend on the data or the noise: one digest, whatever the
    data set. With none declared, a digest that repeats from training to training shows noise that was seeded.

    Parameters
    ----------
    declared : tuple of str
        Names of attributes that are released outputs, or public parameters.
    """

    declared: tuple[str, ...] = ()

    def __call__(self, model: Any) -> Outcome:
        state = vars(model) if hasattr(model, "__dict__") else {"value": model}
        rest = sorted((name, part) for name, part in state.items() if name not in self.declared)
        # A second round removes what depends on object identity, such as shared strings.
        settled = pickle.dumps(pickle.loads(pickle.dumps(rest, protocol=4)), protocol=4)
        return hashlib.sha256(settled).hexdigest()
