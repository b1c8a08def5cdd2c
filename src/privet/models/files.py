"""Models as plain data and back, for JSON files. Loading runs no code: it reads data and checks every value.

A file is untrusted input. What it declares is compared with limits before anything is allocated, and every error is a
`ModelFileError` that names the place.
"""

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ModelFileError, PrivetError
from privet.schema.encoding import Encoding

FORMAT = "privet-model"
VERSION = 1
MOST_ARRAY_BYTES = 1 << 30  # of all arrays of a model
_MOST_AXES = 4
_LEVEL = 6

Content = dict[str, Any]


@dataclass(frozen=True)
class _Kind:
    model: type[Any]
    to_content: Callable[[Any], Content]
    from_content: Callable[["Reader"], Any]


_KINDS: dict[str, _Kind] = {}


def register(
    kind: str, model: type, to_content: Callable[[Any], Content], from_content: Callable[["Reader"], Any]
) -> None:
    """Let files hold one more kind of model.

    Parameters
    ----------
    kind : str
        The name in files; it never changes.
    model : type
        The class of the models.
    to_content : callable
        Gives a model as plain data: what JSON can hold, with arrays through `array_to_dict`; without its encoding.
    from_content : callable
        Makes the model again, from a `Reader`; it may raise ParameterError for what does not fit together.
    """
    _KINDS[kind] = _Kind(model, to_content, from_content)


def model_to_dict(model: Any, *, with_encoding: bool = True) -> Content:
    """Return a model as plain data; equal models give equal data.

    Parameters
    ----------
    model
        The model.
    with_encoding : bool, default=True
        Whether to write its encoding down, which may have thousands of values for each feature. It can be left out
        where a schema says the same.
    """
    for name, kind in _KINDS.items():
        if type(model) is kind.model:
            encoding = {"encoding": model.encoding.to_dict()} if with_encoding else {}
            return {"format": FORMAT, "version": VERSION, "kind": name, **encoding, **kind.to_content(model)}
    raise ModelFileError(f"{type(model).__name__} is not a kind of model that files can hold: register it")


def model_from_dict(content: object, encoding: Encoding | None = None) -> Any:
    """Make a model from what `model_to_dict` gave.

    Parameters
    ----------
    content
        The plain data.
    encoding : Encoding, optional
        The model's encoding, where it was left out.

    Raises
    ------
    ModelFileError
        If the content is damaged, of an unknown version or kind, or does not fit together; it names the place.
    """
    reader = Reader(content, "model", known=encoding)
    reader.choice("format", [FORMAT])
    if reader.whole("version", 1, 2**31) > VERSION:
        raise ModelFileError(
            f"model.version: {reader.get('version')}, this privet reads up to {VERSION}: use a newer one"
        )
    kind = reader.text("kind")
    if kind not in _KINDS:
        raise ModelFileError(f"model.kind: {kind[:40]!r} is unknown, a newer privet may know it")
    return _KINDS[kind].from_content(reader)


def canonical_json(content: object) -> str:
    """Return JSON that is the same for equal data: sorted keys, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; anything else is a ModelFileError, and so are NaN, infinities and names that occur twice."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Of two equal names other readers may take the first: a file must say the same to everybody.
        entries = dict(pairs)
        if len(entries) < len(pairs):
            raise ValueError("a name occurs twice")
        return entries

    try:
        # Decoded here, since JSON's own guess at the encoding would let a file choose which codec is imported.
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ModelFileError("damaged or cut short, not JSON; save the model again") from error


def digest(content: object) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def array_to_dict(array: NDArray[Any]) -> Content:
    """Return an array as dtype, shape and base64 of its compressed little-endian bytes."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(zlib.compress(little.tobytes(), _LEVEL)).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


@dataclass(frozen=True)
class Reader:
    """Reads an untrusted object value by value.

    Parameters
    ----------
    content : object
        What JSON held.
    place : str
        Where it stands in the file, for messages.
    bytes_read : list of one int
        What the arrays of the whole model have taken so far, shared by the readers of all its parts.
    known : Encoding, optional
        The encoding of the model, if it is not in the file.
    """

    content: Any
    place: str
    bytes_read: list[int] = field(default_factory=lambda: [0])
    known: Encoding | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.content, Mapping):
            raise ModelFileError(f"{self.place}: expected an object, got {type(self.content).__name__}")

    def get(self, name: str) -> Any:
        """Return a value as it is."""
        if name not in self.content:
            raise ModelFileError(f"{self.place}.{name}: missing")
        return self.content[name]

    def part(self, name: str) -> "Reader":
        """Return a reader of an object within this one."""
        return Reader(self.get(name), f"{self.place}.{name}", self.bytes_read)

    def encoding(self) -> Encoding:
        """Return the model's encoding, which has at least one feature: as it is written, or else as it is known."""
        if self.known is not None and "encoding" not in self.content:
            return self.known
        place = f"{self.place}.encoding"
        try:
            encoding = Encoding.from_dict(self.part("encoding").content)
        except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(f"{place}: {error}") from error
        if not encoding.columns:
            raise ModelFileError(f"{place}: no features")
        return encoding

    def whole(self, name: str, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        value = self.get(name)
        if type(value) is not int or not low <= value <= high:
            raise ModelFileError(f"{self.place}.{name}: expected a whole number from {low} to {high}")
        return value

    def text(self, name: str) -> str:
        """Return a string."""
        value = self.get(name)
        if not isinstance(value, str):
            raise ModelFileError(f"{self.place}.{name}: expected a string, got {type(value).__name__}")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return a string that is one of `choices`."""
        value = self.text(name)
        if value not in choices:
            raise ModelFileError(f"{self.place}.{name}: expected one of {', '.join(choices)}, got {value[:40]!r}")
        return value

    def array(self, name: str, dtype: type[np.generic], n_axes: int) -> NDArray[Any]:
        """Return an array of the dtype and number of axes; memory is bounded by the shape, and that by a limit."""
        part = self.part(name)
        expected = np.dtype(dtype)
        part.choice("dtype", [expected.name])
        shape = part.get("shape")
        if not isinstance(shape, list) or len(shape) != n_axes or len(shape) > _MOST_AXES:
            raise ModelFileError(f"{part.place}.shape: expected a list of {n_axes} lengths")
        if not all(type(length) is int and 0 <= length <= MOST_ARRAY_BYTES for length in shape):
            raise ModelFileError(f"{part.place}.shape: expected lengths from 0 to {MOST_ARRAY_BYTES}")
        size = prod(shape) * expected.itemsize
        self.bytes_read[0] += size
        if self.bytes_read[0] > MOST_ARRAY_BYTES:
            raise ModelFileError(f"{part.place}.shape: {size} bytes; all arrays together may have {MOST_ARRAY_BYTES}")
        raw = _decompress(part.text("data"), size, f"{part.place}.data")
        values = np.frombuffer(raw, dtype=expected.newbyteorder("<")).reshape(shape)
        if expected == np.bool_ and (values.view(np.uint8) > 1).any():
            raise ModelFileError(f"{part.place}.data: expected bytes 0 and 1 only")
        return values.astype(expected)


def _decompress(data: str, size: int, place: str) -> bytes:
    """Return the bytes, exactly `size` of them; never decompresses more than one byte beyond."""
    try:
        packed = base64.b64decode(data, validate=True)
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(packed, size + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ModelFileError(f"{place}: damaged, not compressed base64") from error
    if len(raw) != size or not unpacker.eof or unpacker.unused_data:
        raise ModelFileError(f"{place}: its length does not match the shape")
    return raw
