"""Who is one unit is read exactly, and no sentence takes a unit for a record."""

import re
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privet
from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import BudgetError, SchemaError
from privet.mechanisms.measurements import noisy_row_count, private_bounds
from privet.privacy.terms import Terms
from privet.report.page import render
from privet.tables.units import canonical_id, read_units

BIG = 2**53  # doubles hold whole numbers up to here
IDS = [BIG, BIG + 1, None, BIG + 1]
DECIMALS = [None if number is None else Decimal(number) for number in IDS]
EXACT = {
    "numpy": np.ma.MaskedArray([BIG, BIG + 1, 0, BIG + 1], mask=[0, 0, 1, 0]),
    "numpy objects": np.array(IDS, dtype=object),
    "pandas nullable": pd.Series(IDS, dtype="Int64"),
    "pandas categories": pd.Series(pd.Categorical(IDS)),
    "pandas decimals": pd.Series(DECIMALS, dtype=object),
    "pandas strings": pd.Series([None if number is None else str(number) for number in IDS]),
    "polars integers": pl.Series(IDS, dtype=pl.UInt64),
    "polars 128 bits": pl.Series(IDS, dtype=pl.Int128),
    "polars decimals": pl.Series(DECIMALS, dtype=pl.Decimal(38, 2)),
    "polars strings": pl.Series(IDS).cast(pl.String),
    "polars categories": pl.Series(IDS).cast(pl.String).cast(pl.Categorical),
    "polars enum": pl.Series(IDS).cast(pl.String).cast(pl.Enum([str(BIG + 1), str(BIG)])),
    "arrow integers": pa.chunked_array([IDS[:1], [], IDS[1:]], pa.int64()),
    "arrow decimals": pa.array(DECIMALS, pa.decimal128(38, 2)),
    "arrow wide decimals": pa.array(DECIMALS, pa.decimal256(70, 2)),
    "arrow dictionary": pa.array(IDS).dictionary_encode(),
    "arrow dictionary of decimals": pa.array(DECIMALS, pa.decimal128(20, 0)).dictionary_encode(),
    "arrow dictionaries": pa.chunked_array([pa.array(part).dictionary_encode() for part in (IDS[:2], IDS[2:])]),
    "pandas decimals of arrow": pd.Series(pd.array(DECIMALS, pd.ArrowDtype(pa.decimal128(20, 0)))),
    "pandas wide decimals of arrow": pd.Series(pd.array(DECIMALS, pd.ArrowDtype(pa.decimal256(50, 0)))),
}
WIDE = np.finfo(np.longdouble).nmant > 52  # not everywhere
if WIDE:
    EXACT["numpy long doubles"] = np.array([BIG, BIG + 1, np.nan, BIG + 1], dtype=np.longdouble)


@pytest.mark.parametrize("kind", EXACT)
def test_neighbouring_ids_beyond_doubles_are_two_units_and_equal_ones_one(kind):
    units = read_units(EXACT[kind])
    assert units.present.tolist() == [True, True, False, True]
    assert units.ids[1] == units.ids[3] != units.ids[0]
    assert units.words[1] == units.words[3]


@pytest.mark.parametrize("kind", EXACT)
def test_exact_ids_reach_the_measurements(kind):
    frame = np.zeros((4, 1))
    measured = noisy_row_count(frame, epsilon=1e6, units=EXACT[kind], max_rows=1)
    assert measured.value == 2
    bounds = private_bounds(np.ones(4), low=0, high=10, epsilon=1.0, units=EXACT[kind], unit_column="id")
    assert "one unit (the rows that share a value of column 'id'" in bounds.privacy.table()


def test_one_id_in_many_types_is_one_unit_and_other_texts_are_others():
    seven = [7, np.int64(7), np.uint8(7), 7.0, np.float32(7), np.longdouble(7), Decimal(7), Decimal("7.00"), "7", b"7"]
    seven += [np.str_("7"), np.bytes_(b"7"), pd.Series([7, 8], dtype="Int64")[0]]
    assert {canonical_id(value) for value in seven} == {"7"}
    others = [
        "07",
        " 7",
        "7.0",
        True,
        1,
        7.5,
        -7,
        BIG,
        BIG + 1,
        0.1,
        b"\xff",
        "\xff",
        "",
        UUID(int=7),
        Decimal("1E+22"),
    ]
    others += [np.longdouble(2) ** 63 + 1, 2**63]
    texts = [canonical_id(value) for value in others]
    assert len(set(texts)) == len(others)
    assert "7" not in texts
    assert canonical_id(0.1) == canonical_id(Decimal("0.10")) == canonical_id(np.float32(0.1)) == "0.1"
    assert canonical_id(-0.0) == canonical_id(Decimal("-0.00")) == canonical_id(0) == "0"
    assert canonical_id(1e22) == canonical_id(10**22) == canonical_id(Decimal("1e22")) == str(10**22)


class Hostile(str):
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __hash__ = __str__


class Faceless:
    @property
    def __class__(self):
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


NOBODY = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN"), Faceless()]
NOBODY += [float("inf"), Decimal("-Infinity"), np.longdouble("inf"), object(), [7], (7,), {7}, 1j, np.complex64(7)]
NOBODY += [pd.Timestamp(0), np.timedelta64(7, "D"), np.array(7), 10**5000, Decimal("1e999999999"), np.ma.masked]


@pytest.mark.parametrize("place", range(len(NOBODY)))  # pytest itself cannot print some of them
def test_what_names_nobody_is_no_unit_and_no_error(place):
    column = np.empty(3, dtype=object)
    column[:] = ["a", "b", "a"]
    column[1] = NOBODY[place]
    assert read_units(column).present.tolist() == [True, False, True]


def test_a_text_that_refuses_to_be_read_is_still_its_text():
    assert canonical_id(Hostile("7")) == "7"


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.5, np.nan, 1.5]),
        np.array([1.5, np.inf, 1.5], np.float32),
        pd.Series(pd.Categorical([1.5, None, 1.5])),
        pl.Series([1.5, float("nan"), 1.5]),
        pa.array([1.5, float("nan"), 1.5]),
        pa.array([1.5, float("nan"), 1.5]).dictionary_encode(),
        pa.chunked_array([pa.array([1.5, float("nan")]).dictionary_encode(), pa.array([1.5]).dictionary_encode()]),
        pd.Series([1.5, np.nan, 1.5], dtype=pd.ArrowDtype(pa.float64())),
    ],
)
def test_what_is_not_a_number_is_no_unit_of_a_column_of_floats(column):
    units = read_units(column)
    assert units.present.tolist() == [True, False, True]
    assert units.ids[0] == units.ids[2]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01"]))),
        pl.Series([[1]]),
        pa.array([b"a"]),
        pa.array([1], pa.date32()).dictionary_encode(),
        np.array([1j]),
    ],
)
def test_units_of_a_dtype_that_cannot_be_read_exactly_are_refused(column):
    with pytest.raises(SchemaError, match="convert it to text or integers"):
        read_units(column)


def forest(unit, neighbours="add_remove"):
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], unit=unit, neighbours=neighbours)
    return RandomDecisionForestClassifier(epsilon=1.0, schema=schema, n_trees=2, max_depth=2)


FRAME = pd.DataFrame({"x": np.linspace(0, 1, 40), "id": np.arange(40) // 2, "visit": np.arange(40)})
Y = (FRAME["x"] > 0.5).astype(int)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace", "label"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_unit_of_one_row_is_never_called_a_record(max_rows, neighbours, tmp_path):
    model = forest(Unit("id", max_rows), neighbours).fit(FRAME[["x", "id"]], Y)
    model.save(tmp_path / "model.json")
    words = privet.load(tmp_path / "model.json").privacy_.to_dict()["guarantee"]
    page = re.sub(r"<[^>]*>", "", render(model)).replace("&#x27;", "'").replace("&#39;", "'")
    take = "takes" if max_rows == 1 else "take"
    unit = f"unit (the rows that share a value of column 'id', at most {max_rows} of which {take} part)"
    assert unit in words
    assert "record" not in words
    assert page.count(f"one {unit}") >= 3
    assert f"a {unit}" in page
    assert "Poisoners are counted in units, not in rows" in page
    for wrong in ("removing one record", "replacing one record", "of a record", "what a record", "records planted"):
        assert wrong not in page
    assert ("two steps (the unit is removed, the changed one added)" in page) == (neighbours == "add_remove")


def test_without_a_unit_the_guarantee_is_for_a_record():
    ledger = forest(None).plan()
    assert ledger.to_dict()["guarantee"] == (
        "epsilon = 1 for adding or removing one record, for what reached this estimator"
    )
    assert list(ledger.to_dict()) == [
        *("guarantee", "proven", "why", "neighbours", "max_rows", "epsilon", "delta", "spent"),
    ]
    assert forest(Unit("id", 1)).plan().to_dict()["unit_column"] == "id"


def test_units_by_different_columns_do_not_add_up_in_one_budget():
    with privet.budget(epsilon=10.0) as budget:
        forest(Unit("id", 1)).fit(FRAME[["x", "id"]], Y)
        with pytest.raises(BudgetError, match=r"units by column 'visit' under.*begun for units by column 'id' under"):
            forest(Unit("visit", 1)).fit(FRAME[["x", "visit"]], Y)
        with pytest.raises(BudgetError, match="single records"):
            forest(None).fit(FRAME[["x"]], Y)
        with pytest.raises(BudgetError, match="begun for units by column 'id'"):
            noisy_row_count(FRAME, epsilon=1.0, units=FRAME["id"].to_numpy())
        forest(Unit("id", 3)).fit(FRAME[["x", "id"]], Y)  # for all rows of a unit, however many take part
        noisy_row_count(FRAME, epsilon=1.0, units=FRAME["id"], max_rows=2)
        noisy_row_count(FRAME, epsilon=1.0, units=FRAME["id"].to_numpy(), unit_column="id")
        assert budget.spent == 4.0


def test_terms_say_whom_they_protect():
    assert Terms("replace").protects == "single records under 'replace'"
    assert Terms("add_remove", 1, "id").protects == Terms("add_remove", 5, "id").protects
    assert Terms("add_remove", 1, "id") != Terms("add_remove", 1)
