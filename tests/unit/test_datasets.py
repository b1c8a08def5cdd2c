"""Adult and its schema."""

import sys

import pytest

from privet.datasets import load_adult
from privet.schema.domains import Categorical
from privet.schema.schema import Schema


@pytest.fixture(scope="module")
def adult():
    return load_adult()


def test_adult_has_its_published_shape(adult) -> None:
    assert adult.X.shape == (48_842, 14)
    assert [len(part) for part in (*adult.train, *adult.test)] == [32_561, 32_561, 16_281, 16_281]
    assert adult.y.value_counts().to_dict() == {"<=50K": 37_155, ">50K": 11_687}


def test_the_schema_is_in_the_order_of_the_columns(adult) -> None:
    assert list(adult.schema.features) == list(adult.X.columns)


def test_no_record_breaks_the_schema(adult) -> None:
    assert adult.schema.check(adult.X, adult.y).ok


def test_the_schema_claims_what_is_public(adult) -> None:
    assert isinstance(adult.schema, Schema)
    assert adult.schema.inferred is None
    missing = [name for name, domain in adult.schema.features.items() if domain.missing]
    assert missing == ["workclass", "occupation", "native_country"]


def test_the_codebooks_categories_are_all_there(adult) -> None:
    sizes = {n: len(d.categories) for n, d in adult.schema.features.items() if isinstance(d, Categorical)}
    assert sizes == {
        "workclass": 8,
        "education": 16,
        "marital_status": 7,
        "occupation": 14,
        "relationship": 6,
        "race": 5,
        "sex": 2,
        "native_country": 41,
    }


def test_every_level_of_education_has_its_own_cell(adult) -> None:
    place = list(adult.schema.features).index("education_num")
    codes = adult.schema.encoding().encode(adult.X)[place]
    assert (codes == adult.X.education_num.to_numpy() - 1).all()


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_without_the_frame_libraries_the_remedy_is_named(monkeypatch, library) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=f"pip install .*{library}"):
        load_adult()
