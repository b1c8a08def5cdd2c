"""Trees in words and pictures say what the model does."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from privet import Categorical, Numeric, PrivaTreeClassifier, RandomDecisionForestClassifier, Schema
from privet.errors import ParameterError
from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.models.reading import read_tree
from privet.trees.explicit_trees import TreeBuilder
from privet.trees.structure import FeatureCodes, Multiway, Subset, Threshold

SCHEMA = Schema(
    {
        "income": Numeric(0, 100, bins=4, missing=True),
        "colour": Categorical(["red", "green", "blue"], other=True),
    },
    classes=["no", "yes"],
)


def forest(splits, leaves):
    encoding = SCHEMA.encoding()
    builder = TreeBuilder(FeatureCodes.of(encoding))
    for level in splits:
        builder.grow(level)
    voting = "majority" if isinstance(leaves, LeafLabels) else "threshold"
    return Forest(encoding, builder.finish(), leaves, voting)


def labels(*numbers):
    return LeafLabels(np.array(numbers, dtype=np.uint16))


def test_text_has_names_units_and_how_sure_a_leaf_is():
    counts = LeafCounts(np.array([[90, 10], [-3, 50], [0, 20]]))
    model = forest([[Threshold(0, 1, missing_first=True)], [None, Subset(1, [1, 3])]], counts)
    assert model.export_text().splitlines() == [
        "income <= 50 or missing: no (90% of about 100)",
        "income > 50",
        "|   colour is red or blue: yes (100% of about 50)",
        "|   colour is green or another: yes (100% of about 20)",
    ]


def test_rules_are_sentences_one_for_each_leaf():
    model = forest([[Threshold(0, 3)], [Multiway(1), None]], labels(0, 1, 0, 1, 1))
    assert model.rules() == [
        "If income is present and colour is red, then yes.",
        "If income is present and colour is green, then no.",
        "If income is present and colour is blue, then yes.",
        "If income is present and colour is another, then yes.",
        "If income is missing, then no.",
    ]


def test_a_single_leaf_is_a_rule_too():
    assert forest([[None]], labels(1)).rules() == ["Always yes."]
    assert forest([[None]], labels(1)).export_text() == "yes"


def test_many_categories_are_named_by_the_few_that_are_not_among_them():
    schema = Schema({"country": Categorical([f"c{i}" for i in range(40)])}, classes=["no", "yes"])
    encoding = schema.encoding()
    for codes, first, second in [
        ([3, 5], "country is not c3 nor c5", "country is c3 or c5"),
        (range(20), "country is one of c20, c21, c22, c23, c24, c25 and 14 more", None),
    ]:
        builder = TreeBuilder(FeatureCodes.of(encoding))
        builder.grow([Subset(0, list(codes))])
        conditions = read_tree(Forest(encoding, builder.finish(), labels(0, 1)), 0).conditions
        assert conditions[0] == first
        assert second in (None, conditions[1])


def test_sentences_agree_with_predictions():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.uniform(0, 100, 2000), "colour": rng.choice(["red", "green", "blue"], 2000)})
    y = np.where((X["income"] > 50) & (X["colour"] != "red"), "yes", "no")
    tree = PrivaTreeClassifier(epsilon=20.0, schema=SCHEMA, max_depth=2, random_state=0).fit(X, y)
    for rule in tree.model_.rules():
        conditions, _, verdict = rule.removeprefix("If ").partition(", then ")
        holds = np.ones(len(X), bool)
        for condition in conditions.split(" and "):
            name, operator, rest = condition.split(" ", 2)
            values = X[name]
            if operator == "is":
                holds &= values.isin(rest.split(" or ")).to_numpy()
            else:
                threshold = float(rest.removesuffix(" or missing"))
                holds &= (values <= threshold if operator == "<=" else values > threshold).to_numpy()
        assert (tree.predict(X)[holds] == verdict.split(" ")[0]).all()


def test_a_plot_is_written_as_svg_and_has_every_leaf(tmp_path):
    model = forest([[Threshold(0, 1, missing_first=True)], [None, Subset(1, [1])]], labels(0, 1, 0))
    axes = model.plot(tmp_path / "tree.svg", leaf_epsilon=0.5)
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").count("</svg>") == 1
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("no") == 2 + 2  # two leaves, and an answer at each of two nodes
    assert texts.count("yes") == 1 + 2
    assert "income <= 50 or missing?" in [text.replace("\n", " ") for text in texts]
    assert any("probability" in text for text in texts)
    given = Figure().add_subplot()
    assert model.plot(given) is given


def test_random_forests_can_be_read_tree_by_tree():
    X = pd.DataFrame({"income": [1.0, 99.0], "colour": ["red", "blue"]})
    model = (
        RandomDecisionForestClassifier(schema=SCHEMA, n_trees=2, max_depth=2, random_state=0)
        .fit(X, ["no", "yes"])
        .model_
    )
    assert len(model.rules(tree=1)) == 4
    assert model.rules(0) != model.rules(1)
    with pytest.raises(ParameterError, match="tree must be"):
        model.export_text(tree=2)
