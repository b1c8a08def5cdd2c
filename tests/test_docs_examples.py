"""What the documentation shows runs, and its tables name what there is."""

import inspect
import re
from pathlib import Path

import pytest

import privet

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "index.md", ROOT / "docs" / "tuning.md", *sorted((ROOT / "docs" / "how_to").glob("*.md"))]
LEARNERS = {
    "boosting": "BoostingClassifier",
    "consistent_forests": "ConsistentForestClassifier",
    "disjoint_forest": "DisjointForestClassifier",
    "matrix_forest": "MatrixForestClassifier",
    "multinomial_forest": "MultinomialForestClassifier",
    "privatree": "PrivaTreeClassifier",
    "random_decision_forest": "RandomDecisionForestClassifier",
}


def blocks(page):
    """Return the Python examples of a page with the line that each begins on, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start()].count("\n") + 2, match.group(1)) for match in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples, names = blocks(page), {"__name__": "example"}
    assert examples
    for line, example in examples:
        exec(compile("\n" * (line - 1) + example, str(page), "exec"), names)


def test_readme_shows_examples_that_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "example"}
    for line, example in blocks(ROOT / "README.md"):
        exec(compile("\n" * (line - 1) + example, "README.md", "exec"), names)


@pytest.mark.parametrize(("page", "learner"), LEARNERS.items())
def test_a_learners_page_begins_with_every_parameter_and_its_default(page, learner):
    text = (ROOT / "docs" / "learners" / f"{page}.md").read_text(encoding="utf-8")
    first, table = re.split(r"^## ", text, flags=re.MULTILINE)[1].split("\n", 1)
    assert first == "Parameters"
    listed = dict(re.findall(r"^\| `(\w+)` \| `(.*?)` \|", table, re.MULTILINE))
    parameters = inspect.signature(getattr(privet, learner)).parameters
    assert listed == {name: repr(parameter.default) for name, parameter in parameters.items()}
