"""The command line reads each record of a file by itself: no other record, type or error depends on it."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import Categorical, Numeric, Schema, Unit
from privet.cli.data import read_labelled
from privet.frames.opening import open_frame
from privet.tables.units import read_units

BIG = 2**53  # from here on doubles do not distinguish whole numbers
SCHEMA = Schema(
    {"x": Numeric(0, 2.0**60, bins=8), "zone": Categorical([1, 2, BIG + 1], other=True)},
    classes=["no", "yes"],
    unit=Unit("id", max_rows=2),
)
HEADER, RECORDS = b"id,x,zone,y\n", [b"7,3,1,no\n", b"8,9007199254740993,9007199254740993,yes\n"]
ODD = {
    "a cell too many": b"9,4,2,no,5\n",
    "two cells too many": b"9,4,2,no,,5\n",
    "an empty cell too many": b"9,4,2,no,\n",
    "a cell too few": b"9,4,2\n",
    "one cell": b"9\n",
    "commas alone": b",,,\n",
    "an empty line": b"\n",
    "a number without end": b"9," + b"9" * 5000 + b",2,no\n",
    "a whole number beyond 64 bits": b"9,99999999999999999999999,99999999999999999999999,no\n",
    "a fraction": b"9,0.5,1.5,no\n",
    "a word for a number": b"9,many,many,no\n",
    "no number": b"9,nan,nan,no\n",
    "infinity": b"9,-inf,inf,no\n",
    "bytes that are no text": b"\xff\xfe,\xff,\xc3\x28,\xff\n",
    "a zero byte": b"9,4,2,n\0o\n",
    "digits with underscores": b"9,1_0,1_0,no\n",
    "a quotation": b'"9","4","2","no"\n',
    "a quotation that goes on": b'9,"4"4,"2"2,"no"no\n',
}


def read_without_a_warning(*files):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame, target = read_labelled(files, SCHEMA, "y")
    return frame, target


def codes_and_units(*files):
    """Return the codes and the unit of every record, and the types of the columns."""
    frame, target = read_without_a_warning(*files)
    encoding, units = SCHEMA.encoding(), read_units(open_frame(frame).named("id"))
    codes = encoding.encode(frame.drop(columns=target), ignore=["id"])
    labels = encoding.encode_target(frame[target])
    words = np.where(units.present, units.words, np.uint64(0))
    return np.vstack([codes.astype(np.int64), labels, words.view(np.int64)]), [str(dtype) for dtype in frame.dtypes]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_odd_row_of_a_csv_file_changes_nothing_for_the_others(odd, place, tmp_path):
    without, whole = tmp_path / "without.csv", tmp_path / "whole.csv"
    without.write_bytes(HEADER + b"".join(RECORDS))
    whole.write_bytes(HEADER + b"".join([*RECORDS[:place], ODD[odd], *RECORDS[place:]]))
    (others, types), (records, same_types) = codes_and_units(without), codes_and_units(whole)
    more = records.shape[1] - others.shape[1]
    assert more in (0, 1)
    assert np.array_equal(np.delete(records, place, axis=1) if more else records, others)
    assert same_types == types


def test_what_happens_to_one_odd_row_does_not_depend_on_another(tmp_path):
    codes = {}
    for name, rows in {"one": [ODD["two cells too many"]], "two": [ODD["a cell too many"]]}.items():
        for others in ([], [ODD["two cells too many"]], [ODD["a cell too many"]]):
            file = tmp_path / "table.csv"
            file.write_bytes(HEADER + b"".join([*others, *RECORDS, *rows]))
            codes.setdefault(name, []).append(codes_and_units(file)[0].shape[1])
    assert codes == {"one": [2, 2, 2], "two": [2, 2, 2]}  # rows of another length are left out


def test_a_table_without_records_is_read_like_one_with_a_record(tmp_path):
    file = tmp_path / "table.csv"
    file.write_bytes(HEADER)
    none, types = codes_and_units(file)
    file.write_bytes(HEADER + RECORDS[0])
    one, same_types = codes_and_units(file)
    assert (none.shape[1], one.shape[1]) == (0, 1)
    assert types == same_types


def parquet(path, ids, kind, **columns):
    table = {"id": pa.array(ids, kind), "x": [1.0] * len(ids), "zone": [1] * len(ids), "y": ["no"] * len(ids)}
    pq.write_table(pa.table({**table, **columns}), path)
    return path


def test_a_missing_id_in_a_parquet_file_merges_nobody(tmp_path):
    file = parquet(tmp_path / "table.parquet", [BIG, BIG + 1, None], pa.int64())
    frame, _ = read_without_a_warning(file)
    units = read_units(open_frame(frame).named("id"))
    assert units.present.tolist() == [True, True, False]
    assert units.ids[0] != units.ids[1]


@pytest.mark.parametrize("other", [pa.float64(), pa.int32(), pa.string(), pa.decimal128(20, 2)])
def test_ids_of_several_files_are_compared_exactly_whatever_their_types(other, tmp_path):
    values = ["7"] if pa.types.is_string(other) else [7]
    files = [
        parquet(tmp_path / "one.parquet", [BIG, BIG + 1, 7], pa.int64()),
        parquet(tmp_path / "other.parquet", values, other),
    ]
    frame, _ = read_without_a_warning(*files)
    units = read_units(open_frame(frame).named("id"))
    assert len(set(units.ids.tolist())) == 3
    assert units.ids[2] == units.ids[3]


def test_whether_a_truth_value_is_missing_does_not_decide_whether_there_is_an_error(tmp_path):
    schema = Schema({"x": Numeric(0, 1), "zone": Categorical(["a", "b"])}, classes=["no", "yes"], unit=Unit("id", 2))
    errors = []
    for zones in ([True, None], [True, False]):
        file = parquet(tmp_path / "table.parquet", [1, 2], pa.int64(), zone=pa.array(zones, pa.bool_()))
        frame, _ = read_labelled([file], schema, "y")
        with pytest.raises(ValueError, match="zone") as caught:
            schema.encoding().encode(frame[["x", "zone"]])
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_columns_of_a_csv_file_are_strings_until_the_schema_says_otherwise(tmp_path):
    file = tmp_path / "table.csv"
    file.write_bytes(HEADER + b"007,3,1,no\n")
    frame, _ = read_without_a_warning(file)
    assert frame["id"].tolist() == ["007"]
    assert frame["x"].dtype == np.float64
