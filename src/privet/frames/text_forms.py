"""The form of a text file: separator, encoding, decimal sign, and what stands for a missing value.

A form follows from the file's name, its first line and the command's options, never from a record: how one record is
read must not depend on another. So both decimal signs are understood where the separator leaves no doubt, and a byte
that is not valid UTF-8 is read as Windows-1252 on its own.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.errors import ParameterError, SchemaError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", "#N/A", "<NA>")
MOST_COLUMNS = 100_000
MOST_BYTES_OF_FIRST_LINE = 1 << 20

_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "pipe": "|", "space": " "}
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    """Read the bytes that are not valid UTF-8 as Windows-1252, or as Latin-1 where that has no character."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_OF_BYTE[byte] for byte in wrong), error.end


_OF_BYTE = [
    bytes([byte]).decode("latin-1" if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else "cp1252") for byte in range(256)
]
OTHERWISE_WINDOWS_1252 = "privet_windows_1252"
_FORGIVING = "privet_forgiving_"


def _forgiving(name: str) -> codecs.CodecInfo | None:
    """Find an encoding that is decoded without errors, for readers that take its name only, such as PyArrow's."""
    if not name.startswith(_FORGIVING):
        return None
    known = codecs.lookup(name.removeprefix(_FORGIVING))
    if known.incrementaldecoder is None:
        return None
    decoder, errors = known.incrementaldecoder, _errors_of(known.name)
    return codecs.CodecInfo(known.encode, known.decode, incrementaldecoder=lambda _="": decoder(errors), name=name)


def _errors_of(encoding: str) -> str:
    return OTHERWISE_WINDOWS_1252 if encoding.startswith("utf-8") else "replace"


codecs.register_error(OTHERWISE_WINDOWS_1252, _as_windows_1252)
codecs.register(_forgiving)


@dataclass(frozen=True)
class TextOptions:
    """What the user says of a text file's form; None for what is to be found out."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] | None = None

    @property
    def given(self) -> bool:
        """Whether the user says anything."""
        return self != TextOptions()

    @classmethod
    def of(
        cls, separator: str | None, encoding: str | None, decimal: str | None, na: Sequence[str] | None
    ) -> TextOptions:
        """Check the options of a command."""
        if separator is not None:
            separator = _NAMED.get(separator, separator)
            if len(separator) != 1 or separator in '"\n\r':
                raise ParameterError(f"--separator takes one character, or tab, got {separator!r}; e.g. ';'")
        if decimal is not None and decimal not in (".", ","):
            raise ParameterError(f"--decimal takes '.' or ',', got {decimal!r}")
        if decimal is not None and decimal == separator:
            raise ParameterError("--decimal and --separator are the same; give another separator")
        if encoding is not None:
            try:
                encoding = codecs.lookup(encoding).name
                known = "a".encode(encoding).decode(encoding) == "a"  # there are codecs of other things, too
            except (LookupError, ValueError, UnicodeError):
                known = False
            if not known:
                raise ParameterError(f"--encoding: {encoding!r} is unknown; e.g. utf-8, latin-1, utf-16")
        return cls(separator, encoding, decimal, None if na is None else tuple(dict.fromkeys(["", *na])))


@dataclass(frozen=True)
class TextForm:
    """How a text file is to be read.

    Attributes
    ----------
    separator, encoding : str
        Between cells, and of characters.
    decimal : str
        The decimal sign; "" where both a comma and a point may be one.
    na : tuple of str
        What stands for a missing value, unless the schema lists it as a category.
    names : tuple of str
        The columns, from the first line.
    """

    separator: str
    encoding: str
    decimal: str
    na: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def errors(self) -> str:
        """How a byte that does not fit the encoding is read: never with an error, since it is part of a record."""
        return _errors_of(self.encoding)

    @property
    def forgiving_encoding(self) -> str:
        """The name of the encoding for readers that cannot be told how to treat such bytes."""
        return _FORGIVING + self.encoding.replace("-", "_")

    def in_words(self) -> str:
        """The form in a few words."""
        apart = SEPARATORS.get(self.separator, f"{self.separator!r}")
        decimal = {".": "decimal points", ",": "decimal commas"}.get(self.decimal, "decimal commas or points")
        letters = "utf-8" if self.encoding == "utf-8-sig" else self.encoding
        if self.errors == OTHERWISE_WINDOWS_1252:
            letters += " (other bytes as windows-1252)"
        missing = "empty, NA and the like" if self.na == MISSING else " ".join(word or "empty" for word in self.na)
        return f"{apart} between cells, {decimal}, {letters}, missing: {missing}"

    def number(self, text: str) -> str:
        """Return the text of a number with a decimal point and no thousands separators.

        Examples
        --------
        >>> from dataclasses import replace
        >>> form = TextForm(";", "utf-8", "", MISSING, ())
        >>> form.number("3,5"), form.number("3.5"), form.number("1.234,5"), form.number("1,234.5")
        ('3.5', '3.5', '1234.5', '1234.5')
        >>> replace(form, decimal=",").number("1.234")
        '1234'
        """
        if self.decimal == ".":
            return text.replace(",", "") if _WITH_COMMAS.fullmatch(text.strip()) else text
        if self.decimal == "," or ("," in text and text.rfind(",") > text.rfind(".")):
            return text.replace(".", "").replace(",", ".")
        return text.replace(",", "")


_WITH_COMMAS = re.compile(r"[-+]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")


def find_form(path: Path, head: bytes, options: TextOptions) -> TextForm:
    """Find out the form of a text file from its name and the first bytes, of which only the first line is looked at."""
    encoding = options.encoding or _character_encoding(head)
    line = _first_line(path, head, encoding)
    separator = options.separator or _separator(path, line)
    names = next(csv.reader([line], delimiter=separator), [])
    _refuse_names(path, names)
    decimal = options.decimal if options.decimal is not None else ("." if separator == "," else "")
    return TextForm(separator, encoding, decimal, MISSING if options.na is None else options.na, tuple(names))


def _character_encoding(head: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return encoding
    # Without a mark, the zeros of UTF-16 stand beside the first letters of the first name.
    start = head[:8]
    if len(start) >= 4 and not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    if len(start) >= 4 and not any(start[::2]) and all(start[1::2]):
        return "utf-16-be"
    return "utf-8"


def _first_line(path: Path, head: bytes, encoding: str) -> str:
    """Return the first line: up to the first line break that is not within quotes."""
    decoder = codecs.getincrementaldecoder(encoding)(_errors_of(encoding))
    text = decoder.decode(head)
    quoted = False
    for place, character in enumerate(text):
        if character == "\0":
            raise SchemaError(f"{path}: this is not a text file, its first line has zero bytes; check its format")
        if character == '"':
            quoted = not quoted
        elif character in "\n\r" and not quoted:
            return text[:place]
    if len(head) >= MOST_BYTES_OF_FIRST_LINE:
        raise SchemaError(
            f"{path}: its first line, which names the columns, has more than {MOST_BYTES_OF_FIRST_LINE >> 20} MB; "
            "this is not a table, or one with too many columns"
        )
    return text


def _separator(path: Path, line: str) -> str:
    """Return the separator that occurs most in the first line outside of quotes; a comma if none does."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    outside = re.sub(r'"[^"]*"', "", line)
    counts = {separator: outside.count(separator) for separator in SEPARATORS}
    return max(counts, key=lambda separator: counts[separator])


def _refuse_names(path: Path, names: Sequence[str]) -> None:
    if not any(name.strip() for name in names):
        raise SchemaError(f"{path}: its first line is empty; it must name the columns")
    if len(names) > MOST_COLUMNS:
        raise SchemaError(f"{path}: more than {MOST_COLUMNS:,} columns; keep those that are to be used")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"{path}: column {name!r} occurs more than once; rename or drop one of them")
        seen.add(name)
