"""Laws of shapes: they are averages of the model itself, noise is as wide as it says, pictures and text show them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from privet import BoostingClassifier, BoostingRegressor, Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.learners.boosting.gradients import LARGEST_SCORE
from privet.learners.boosting.shapes import shapes_of
from privet.models.axes import grid_ticks, round_numbers

FEATURES = {
    "x": Numeric(0, 1, bins=16),
    "z": Numeric(1, 10_000, grid="log", bins=16, missing=True),
    "c": Categorical(["a", "b", "d"], other=True),
}
SCHEMAS = {
    "two": Schema(FEATURES, classes=["no", "yes"]),
    "three": Schema(FEATURES, classes=["no", "perhaps", "yes"]),
    "number": Schema(FEATURES, target=Numeric(-50, 150)),
}


def fitted(kind="two", delta=1e-6, **settings):
    rng = np.random.default_rng(0)
    n, schema = 4000, SCHEMAS[kind]
    x, z, c = rng.random(n), rng.lognormal(4, 2, n), rng.choice(["a", "b", "d", "q"], n)
    z[rng.random(n) < 0.2] = np.nan
    strength = 3 * x - 1.5 + (c == "b") * np.where(np.isnan(z), 2.0, np.sign(z - 60))
    X = pd.DataFrame({"x": x, "z": z, "c": c})
    if kind == "number":
        return BoostingRegressor(4.0, delta, schema, random_state=0, **settings).fit(X, 30 * strength + 50).model_
    cuts = [0.0] if kind == "two" else [-0.7, 0.7]
    y = np.array(schema.target.categories)[np.searchsorted(cuts, strength)]
    return BoostingClassifier(4.0, delta, schema, random_state=0, **settings).fit(X, y).model_


def unbounded(model):
    """The same model without the bounds on its tables' sum, which would not be additive."""
    return replace(model, low=-LARGEST_SCORE, high=LARGEST_SCORE)


def scores_on_all_steps(model, whole):
    """Every combination of steps, and the model's own scores there, in the shapes' units."""
    by_name = {shape.column.name: shape for shape in whole.shapes}
    ends = [by_name[column.name].ends for column in model.encoding.columns]
    codes = np.array(list(product(*ends))).T
    scale = 200.0 if model.link == "range" else 1.0
    return codes, scale * model.scores(codes.astype(model.encoding.dtype))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_shape_is_the_average_of_the_model_over_all_other_features(kind, delta):
    model = unbounded(fitted(kind, delta))
    whole = shapes_of(model)
    codes, scores = scores_on_all_steps(model, whole)
    assert sum(shape.importance for shape in whole.shapes) == pytest.approx(1)
    for shape in whole.shapes:
        place = [column.name for column in model.encoding.columns].index(shape.column.name)
        for end, value in zip(shape.ends, shape.values, strict=True):
            average = scores[codes[place] == end].mean(axis=0) - scores.mean(axis=0)
            np.testing.assert_allclose(value, average, atol=1e-9)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_what_is_beyond_the_shapes_is_the_variance_that_they_do_not_have(kind):
    model = unbounded(fitted(kind, max_depth=3))
    whole = shapes_of(model)
    _, scores = scores_on_all_steps(model, whole)
    in_shapes = sum((shape.values**2).mean(axis=0).sum() for shape in whole.shapes)
    exact = 1 - in_shapes / scores.var(axis=0).sum()
    assert exact > 0.02, "this model has combinations of features"
    assert whole.beyond == pytest.approx(exact, abs=0.02)


def test_without_trees_nothing_is_beyond():
    model = unbounded(fitted())
    n_scores = model.n_scores
    bare = replace(
        model, trees=None, values=np.zeros((0, n_scores), np.int64), noise=np.zeros((0, n_scores), np.float64)
    )
    whole = shapes_of(bare)
    assert (whole.from_trees, round(whole.beyond, 9)) == (0, 0)
    with pytest.raises(ParameterError, match="no trees"):
        bare.export_text(0)


def test_noise_is_as_wide_as_it_says():
    """Leaves shaken by normal noise of their own deviations shake the shapes as these say."""
    model = fitted(n_trees=4)
    model = replace(model, table_noise=np.zeros_like(model.table_noise))
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(200):
        shaken = model.values + np.rint(model.noise * rng.normal(size=model.noise.shape) * 65_536).astype(np.int64)
        drawn.append({s.column.name: s.values for s in shapes_of(replace(model, values=shaken)).shapes})
    for shape in shapes_of(model).shapes:
        found = np.std([values[shape.column.name] for values in drawn], axis=0)
        np.testing.assert_allclose(found, shape.noise, rtol=0.25, atol=0.002)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_picture_has_every_feature_in_its_own_units_and_names(kind, tmp_path):
    model = fitted(kind)
    figure = model.plot(tmp_path / "shapes.svg")
    names = [axes.get_title().split(" (")[0] for axes in figure.axes]
    assert names == [shape.column.name for shape in model.shapes().acting]
    categories = figure.axes[names.index("c")]
    assert [label.get_text() for label in categories.get_yticklabels()] == ["a", "b", "d", "another"]
    labels = [label.get_text() for label in figure.axes[names.index("z")].get_xticklabels()]
    assert labels == ["10", "100", "1000", "missing"]
    assert "<svg" in (tmp_path / "shapes.svg").read_text()


def test_one_shape_goes_into_a_file_or_axes():
    model = fitted()
    axes = Figure().add_subplot()
    assert model.plot_shape("x", axes) is axes
    assert axes.get_title().startswith("x (")
    assert model.plot_shape("c").get_xlabel() == "what it adds to yes, in log-odds"
    assert len(model.plot(features=["c", "x"]).axes) == 2
    with pytest.raises(ParameterError, match="no feature is called 'y'; there are "):
        model.plot_shape("y")


def test_text_has_every_step_and_says_what_is_missing_from_it():
    model = fitted("number")
    whole, text = model.shapes(), model.export_text()
    assert text.startswith("what it adds to the target, in units of the target\non average: ")
    for shape in whole.acting:
        assert f"{shape.column.name} (importance {shape.importance:.0%})" in text
        assert all(f"|   {label}" in text for label in shape.labels)
    assert "is in combinations of features and not shown" in text


def test_the_text_about_many_classes_names_them_in_order():
    assert fitted("three").export_text().splitlines()[1] == "classes, in this order: no, perhaps, yes"


def test_the_text_of_a_tree_has_what_each_leaf_adds():
    model = fitted()
    lines = model.export_text(0).splitlines()
    added = [float(line.rsplit(": ", 1)[1]) for line in lines if ": " in line]
    per_tree = len(model.values) // model.trees.n_trees
    np.testing.assert_allclose(added, model.values[:per_tree, 0] / 65_536, rtol=5e-3)


def test_axes_have_round_numbers_where_the_schema_has_them():
    columns = {column.name: column for column in SCHEMAS["two"].encoding(64).columns}
    for name in ("x", "z"):
        ticks = grid_ticks(columns[name])
        assert 2 <= len(ticks) <= 5
        assert all(0 <= place <= 1 for place, _ in ticks)
        for place, label in ticks:
            expected = float(label) if name == "x" else np.log10(float(label)) / 4
            assert place == pytest.approx(expected, abs=1 / 16)
    edges = Numeric(0, 20_000, edges=[0.01, 0.02, 0.5, 1, *range(2, 101), 10_000])  # powers of ten crowd at one end
    (crowded,) = Schema({"x": edges}, classes=[0, 1]).encoding(64).columns
    places = [place for place, _ in grid_ticks(crowded)]
    assert len(places) >= 2
    assert np.diff(places).min() >= 0.1
    assert round_numbers(0.0, 0.0) == [0.0]
    assert round_numbers(-3e-7, 7e-7, 3) == [0.0, 5e-7]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_shape_of_is_what_the_pictures_draw(kind):
    from privet.report.additive_section import learned

    model = fitted(kind)
    page = learned(model)
    for shape in shapes_of(model).acting:
        names, heights = model.shape_of(shape.column.name)
        axes = model.plot_shape(shape.column.name)
        if shape.column.ordered:
            present = shape.n_present
            # Bands of noise are filled, lines are not.
            drawn = [patch.get_data().values for patch in axes.patches if not patch.get_fill()]
            np.testing.assert_allclose(np.array(drawn).T, heights[:present])
        else:
            drawn = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == len(names)]
            assert any(np.allclose(row, heights[:, 0]) for row in drawn)
        assert all(f">{name}</th>" in page for name in names)


def test_shape_of_a_feature_that_is_not_there_names_those_that_are():
    with pytest.raises(ParameterError, match="no feature is called 'y'; there are"):
        fitted().shape_of("y")
