"""Text files as the world writes them: every form is the same table, and no record changes how others are read."""

import gzip
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from privet import Boolean, Categorical, Date, Hashed, Integer, Numeric, Ordinal, Schema
from privet.cli.data import read_any, read_features, read_labelled, read_undeclared
from privet.cli.recognition import recognise
from privet.cli.safe_text import printable, printable_json, without_formulas
from privet.errors import ParameterError, SchemaError
from privet.frames.columns import read_values
from privet.frames.text_forms import MISSING, TextForm, TextOptions

SCHEMA = Schema(
    {
        "größe": Numeric(0, 10, missing=True),
        "ort": Categorical(["Köln", "Genève", "NA"], other=True, missing=True),
        "tag": Date("2000-01-01", "2029-12-31", missing=True),
        "klasse": Ordinal([1, 2, 3]),
        "krank": Boolean(),
        "plz": Hashed(50),
        "alter": Integer(0, 120),
    },
    classes=["ja", "nein"],
    ignored=["notiz"],
)
NAMES = ["größe", "ort", "tag", "klasse", "krank", "plz", "alter", "notiz", "ziel"]
ROWS = [
    ["3.5", "Köln", "2020-02-29", "1", "yes", "50667", "65", 'zwei\nZeilen und ein "Zitat"', "ja"],
    ["", "Genève", "", "3", "no", "01067", "7", "x;y,z\tw", "nein"],
    ["9.25", "Paris", "2029-12-31", "2", "TRUE", "SW1A 1AA", "120", "", "ja"],
    ["0.5", "NA", "2000-01-01", "1", "0", "50667", "0", "€", "ja"],
]


def written(separator: str, decimal: str = ".", quote_all: bool = False, missing: str = "") -> str:
    text = io.StringIO()
    cells = [[cell.replace(".", decimal) if place == 0 else cell for place, cell in enumerate(row)] for row in ROWS]
    cells = [[missing if cell == "" and place in (0, 2) else cell for place, cell in enumerate(row)] for row in cells]
    frame = pd.DataFrame(cells, columns=NAMES)
    frame.to_csv(text, sep=separator, index=False, quoting=1 if quote_all else 0)
    return text.getvalue()


def zipped(data: bytes, name: str = "table.csv") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


PLAIN = written(",").encode()
FORMS = {
    "table.csv": PLAIN,
    "quoted.csv": written(",", quote_all=True).encode(),
    "semicolons.csv": written(";", ",").encode(),
    "semicolons_and_points.csv": written(";").encode(),
    "tabs.txt": written("\t", ",").encode(),
    "tabs.tsv": written("\t").encode(),
    "bars.csv": written("|").encode(),
    "bom.csv": written(";", ",").encode("utf-8-sig"),
    "windows.csv": written(";", ",").encode("cp1252"),
    "utf16.csv": written(",").encode("utf-16"),
    "utf16_no_mark.csv": written(";").encode("utf-16-le"),
    "crlf.csv": written(",").replace("\n", "\r\n").replace("zwei\r\n", "zwei\n").encode(),
    "packed.csv.gz": gzip.compress(PLAIN),
    "packed.tsv.gz": gzip.compress(written("\t").encode()),
    "packed.zip": zipped(PLAIN),
    "packed.csv.zst": zstandard.compress(written(";", ",").encode()),
    "words.csv": written(",", missing="N/A").encode(),
    "question.csv": written(",", missing="?").encode(),
}


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    cells = pd.DataFrame(ROWS, columns=NAMES).replace({"": None})
    cells = cells.assign(**{name: pd.to_numeric(cells[name]) for name in ("größe", "klasse", "alter")})
    return SCHEMA.encoding(16).encode(cells, ignore=["ziel", "notiz"])


def codes(path, *options: str) -> np.ndarray:
    frame, name = read_labelled([path], SCHEMA, "ziel", TextOptions.of(*options) if options else TextOptions())
    assert SCHEMA.encoding().encode_target(frame[name]).tolist() == [0, 1, 0, 0]
    return SCHEMA.encoding(16).encode(frame.drop(columns=name))


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read_as_the_same_table(tmp_path, name, expected) -> None:
    (tmp_path / name).write_bytes(FORMS[name])
    np.testing.assert_array_equal(codes(tmp_path / name), expected)


def test_the_form_is_said_once_and_options_override_it(tmp_path, expected, capsys) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(written("~", ",", missing="leer").encode("mac-roman"))
    np.testing.assert_array_equal(codes(path, "~", "mac-roman", ",", ["leer"]), expected)
    said = capsys.readouterr().err
    assert said.count("odd.csv: '~' between cells, decimal commas, mac-roman, missing: empty leer") == 1
    (tmp_path / "semi.csv").write_bytes(FORMS["windows.csv"])
    codes(tmp_path / "semi.csv")
    said = capsys.readouterr().err
    assert "semicolons between cells, decimal commas or points, utf-8 (other bytes as windows-1252), missing:" in said


@given(st.integers(0, 3), st.text(max_size=8), st.sampled_from(NAMES[:7]))
@pytest.mark.slow
def test_no_record_changes_how_another_is_read(row, value, column) -> None:
    """The law of encoding, for the way from a file: a changed record changes its own codes alone."""
    import tempfile
    from pathlib import Path

    changed = pd.DataFrame(ROWS, columns=NAMES)
    changed.loc[row, column] = value.replace("\0", "").encode("utf-8", "ignore").decode()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for number, frame in enumerate((pd.DataFrame(ROWS, columns=NAMES), changed)):
            path = Path(folder) / f"{number}.csv"
            path.write_bytes(frame.to_csv(index=False, sep=";", quoting=1).encode())
            read, name = read_labelled([path], SCHEMA, "ziel")
            found.append(SCHEMA.encoding(16).encode(read.drop(columns=name)))
    others = [place for place in range(4) if place != row]
    np.testing.assert_array_equal(found[0][:, others], found[1][:, others])


def test_a_word_for_missing_values_is_a_category_where_the_schema_lists_it(tmp_path, expected) -> None:
    assert expected[1].tolist() == [0, 1, 3, 2]  # Köln, Genève, other, NA
    (tmp_path / "t.csv").write_bytes(PLAIN)
    assert codes(tmp_path / "t.csv")[1].tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize(
    ("text", "number"),
    [("3,5", 3.5), ("3.5", 3.5), ("1.234,5", 1234.5), ("1,234.5", 1234.5), ("-0,5", -0.5), ("1e3", 1e3), ("12", 12)],
)
def test_both_decimal_signs_are_understood_where_commas_do_not_separate(text, number) -> None:
    assert float(TextForm(";", "utf-8", "", MISSING, ()).number(text)) == number


def test_long_records_are_left_out_in_private_and_an_error_elsewhere(tmp_path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_bytes(PLAIN + b"1,2,3,4,5,6,7,8,9,10,11\n")
    assert codes(path).shape[1] == 4
    for read in (read_any, lambda p, s, t: read_features(p, s)):
        with pytest.raises(SchemaError, match="not a readable table"):
            read([path], SCHEMA, "ziel")


BROKEN = {
    "empty.csv": (b"", "first line is empty"),
    "blank.csv": (b"\n1,2\n", "first line is empty"),
    "zeros.csv": (b"\0" * 5000, "not a text file"),
    "wide.csv": (b",".join(b"c%d" % i for i in range(120_000)) + b"\n", "more than 100,000 columns"),
    "endless.csv": (b"x" * (1 << 20) + b"\n1\n", "more than 1 MB"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "'a' occurs more than once"),
    "open.csv": (b'a,b\n1,"2\n3,4\n', "close its quotes"),
    "bad.csv.gz": (b"not packed", "cannot be unpacked"),
    "cut.csv.gz": (gzip.compress(PLAIN * 50)[:-20], "cannot be unpacked"),
    "bad.zip": (b"PK nothing", "cannot be unpacked"),
    "two.zip": (zipped(PLAIN, "a.exe"), "expected one .csv"),
    "bad.csv.zst": (b"nothing", "cannot be unpacked"),
    "bad.xlsx": (b"nothing", "not a readable .xlsx file"),
    "bad.sav": (b"nothing", "not a readable .sav file"),
    "bad.dta": (b"nothing", "not a readable .dta file"),
    "bad.sas7bdat": (b"nothing", "not a readable .sas7bdat file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_table_is_refused_with_the_reason(tmp_path, name) -> None:
    content, reason = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=reason):
        read_undeclared([tmp_path / name])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((";;", None, None, None), "one character"),
        (('"', None, None, None), "one character"),
        ((None, "klingon", None, None), "unknown"),
        ((None, "hex", None, None), "unknown"),
        ((None, None, ":", None), "'.' or ','"),
        ((",", None, ",", None), "the same"),
    ],
)
def test_options_of_a_form_are_checked(options, words) -> None:
    with pytest.raises(ParameterError, match=words):
        TextOptions.of(*options)


def test_excel_is_read_value_by_value(tmp_path, expected) -> None:
    frame = pd.DataFrame(ROWS, columns=NAMES).replace({"": None})
    typed = frame.assign(
        größe=pd.to_numeric(frame["größe"]), alter=frame.alter.astype(int), klasse=frame.klasse.astype(float)
    ).assign(tag=pd.to_datetime(frame.tag), krank=[True, False, True, False], plz=["50667", "01067", "SW1A 1AA", 50667])
    typed.to_excel(tmp_path / "table.xlsx", index=False)
    np.testing.assert_array_equal(codes(tmp_path / "table.xlsx"), expected)


def test_stata_and_spss_files_are_read(tmp_path) -> None:
    import pyreadstat

    schema = Schema({"age": Integer(0, 99), "sex": Categorical(["F", "M"])}, classes=["no", "yes"])
    frame = pd.DataFrame({"age": [30.0, 60.0], "sex": ["F", "M"], "y": ["no", "yes"]})
    frame.astype(object).convert_dtypes().assign(age=[30.0, 60.0]).astype({"sex": object, "y": object}).to_stata(
        tmp_path / "t.dta", write_index=False
    )
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"))
    for name in ("t.dta", "t.sav"):
        read, target = read_labelled([tmp_path / name], schema, "y")
        assert schema.encoding(2).encode(read[["age", "sex"]]).tolist() == [[0, 1], [0, 1]]
        assert schema.encoding().encode_target(read[target]).tolist() == [0, 1]


def test_pipes_and_devices_are_refused_at_once(tmp_path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        with pytest.raises(ParameterError, match="pipe or device, which may never end"):
            read_undeclared([tmp_path / name])


WORDS = [f"town {number % 130}" for number in range(400)]
TAKEN = [
    ("age", [1, 2], None, "integer"),
    ("price", [1.5, 2.0], None, "numeric"),
    ("customer_id", [1, 2], None, "ignored"),
    ("personID", ["a", "b"], None, "ignored"),
    ("E-Mail", ["a", "b"], None, "ignored"),
    ("surname", ["a", "b"], None, "ignored"),
    ("paid", [1.5], None, "numeric"),  # ends in "id", and is none
    ("valid", [True], None, "boolean"),
    ("notes", ["a"], None, "ignored"),
    ("since", [pd.Timestamp(0)], None, "date"),
    ("day", ["2020-01-01"], ["2020-01-01", "2021-12-31"], "date"),
    ("day", ["31.12.2020"], ["31.12.2020"], "date %d.%m.%Y"),
    ("day", ["12/31/2020"], ["12/31/2020", "01/02/2020"], "date %m/%d/%Y"),
    ("day", ["01/02/2020"], ["01/02/2020"], "date %d/%m/%Y"),
    ("smoker", ["yes"], ["yes", "No"], "boolean"),
    ("colour", ["red"], ["red", "green"], "categorical"),
    ("said", ["x"], ["it was a fine day", "nothing to say about this one"], "ignored"),
    ("code", ["x"], [f"x{number}" for number in range(60)], "ignored"),
    ("town", ["x"], WORDS, "hashed"),
    ("zip_code", [10115], None, "hashed"),
    ("PLZ", ["x"], WORDS, "hashed"),
    ("risk level", ["x"], ["low", "high"], "ordinal"),
    ("wait", [pd.Timedelta(1)], None, "ignored"),
]


@pytest.mark.parametrize(("name", "values", "texts", "kind"), TAKEN)
def test_a_column_is_recognised_by_name_type_and_form(name, values, texts, kind) -> None:
    taken = recognise(name, read_values(pd.Series(values)), texts)
    assert f"{taken.type} {taken.format or ''}".strip() == kind
    assert taken.why


def test_no_name_steers_a_terminal_and_no_text_is_a_formula() -> None:
    assert printable("a\x1b[31mred\x07\u202eb\nc\td") == "a\\x1b[31mred\\x07\\u202eb\nc\td"
    content = {"\x1b[2J": "\x9b\u202e\x7f"}
    printed = printable_json(json.dumps(content, indent=2, ensure_ascii=False))
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed) == content
    frame = pd.DataFrame({"=id": ["=1+1", "@x", "+a", "-5", "-x", "\tx", "plain", None], "n": range(-4, 4)})
    safe = without_formulas(frame)
    assert safe.columns.tolist() == ["'=id", "n"]
    assert safe["'=id"].tolist()[:7] == ["'=1+1", "'@x", "'+a", "-5", "'-x", "'\tx", "plain"]
    assert safe.n.tolist() == list(range(-4, 4))
