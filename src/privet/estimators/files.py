"""A fitted estimator as a JSON file and back.

A file is untrusted input. Loading runs no code: it reads data, limits how much memory that data can make it allocate,
and checks every value. What a file claims about privacy must follow from its ledger. The ledger itself is as
trustworthy as the file's sender, since a digest guards against damage, not against malice.

The format is published as a JSON Schema, ``models/model_file.schema.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import prod
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

import privet
from privet.errors import ModelFileError, PrivetError
from privet.estimators.objectives import (
    DEFAULT_OBJECTIVE,
    check_objective,
    objective_from_plain,
    objective_to_plain,
)
from privet.estimators.registry import estimator_class, estimator_names, is_estimator
from privet.models.files import digest, model_from_dict, model_to_dict, parse_json
from privet.privacy.certificate import certificate
from privet.privacy.terms import Terms
from privet.privacy.text import ledger_from_dict
from privet.schema.domains import MOST_VALUES, Numeric
from privet.schema.schema import Schema
from privet.writing import replace_text

if TYPE_CHECKING:
    from privet.estimators.base import PrivateEstimator

FORMAT = "privet-estimator"
VERSION = 3  # since 3 the encoding, which follows from the schema, is left out, and tables are written as runs
SAME_WORDS = 2  # the first version whose guarantees are in today's words; sentences of older files are not compared
MAX_BYTES = 64 << 20

# Limits on what a file may make the reader allocate.
_MOST_VALUES = 2 * MOST_VALUES  # JSON values that are not within an array's bytes: the schema's, and all others
_MOST_ARRAY_BYTES, _MOST_RATIO = 256 << 20, 64  # of all arrays together: this, and this many times the file's size

_ROUNDING = 1e-9
_LIBRARY = re.compile(r"[0-9A-Za-z.+-]{1,40}")
_FRACTION = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
_FRACTIONS = frozenset({"epsilon", "delta", "rho", "parameter", "sensitivity"})
_NOT_STORED = frozenset({"schema", "n_jobs"})  # the schema has its own place; threads are the reader's business


def save(estimator: PrivateEstimator, path: Path) -> str:
    """Write schema, parameters, model, ledger and certificate; return the digest. Equal models give equal bytes.

    Raises
    ------
    ModelFileError
        If `load` would refuse the file: only registered estimators are read back.
    """
    kind = type(estimator)
    if not is_estimator(kind.__name__) or estimator_class(kind.__name__) is not kind:
        raise ModelFileError(
            f"{kind.__name__} has no model files: privet.load() would refuse it, since it reads registered estimators "
            f"only; keep it with pickle, or fit one of them: {', '.join(estimator_names())}"
        )
    content = file_content(estimator)
    replace_text(path, _text(content))
    return str(content["digest"])


def file_text(estimator: PrivateEstimator) -> str:
    """Return the text of a fitted estimator's file."""
    return _text(file_content(estimator))


def _text(content: Mapping[str, Any]) -> str:
    # Keys are not sorted, unlike those that the digest is made of: the order of a schema's features has a meaning.
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"


def file_content(estimator: PrivateEstimator) -> dict[str, Any]:
    """Return the content of a fitted estimator's file, including the digest."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "library": privet.__version__,
        "estimator": type(estimator).__name__,
        "parameters": _plain_parameters(estimator),
        **_planned(estimator),
        "schema": estimator.schema_.to_dict(),
        "model": model_to_dict(estimator.model_, with_encoding=False),
        "privacy": estimator.privacy_.to_dict(),
        "certificate": certificate(estimator.privacy_, estimator.schema_, privet.__version__),
    }
    content["digest"] = digest(content)
    return content


def load(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model file and return the fitted estimator.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int
        The largest file that is read. Memory is limited to a fixed amount plus a multiple of the file's size.

    Raises
    ------
    ModelFileError
        If the file is damaged, of an unknown version, or contradicts itself; the message names the place.
    """
    path = Path(path)
    try:
        return _estimator(_read(path, max_bytes))
    except PrivetError as error:
        raise ModelFileError(f"{path}: {shorten(str(error), 500, placeholder=' ...')}") from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a valid model file ({type(error).__name__}); save it again") from error


def _read(path: Path, max_bytes: int) -> dict[str, Any]:
    """Return the content of a file after checking its size, version and digest."""
    if not path.is_file():
        raise ModelFileError(f"{'not a regular file' if path.exists() else 'no such file'}; check the path")
    if path.stat().st_size > max_bytes:
        raise ModelFileError(
            f"larger than {max_bytes >> 20} MB; if you trust its sender, load it with privet.load(path, max_bytes=...)"
        )
    raw = path.read_bytes()
    # A value takes two bytes of the file but about a hundred in memory, so values are counted before parsing.
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > _MOST_VALUES:
        raise ModelFileError(f"more than {_MOST_VALUES:,} values, which no model file needs")
    content = parse_json(raw)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError("not a privet model file; such files are written by save() and `privet train`")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError("the file's version is not a number; save the model again")
    if version > VERSION:
        raise ModelFileError(f"file version {version}, this privet reads up to {VERSION}; upgrade privet")
    stated = content.pop("digest", None)
    if stated != digest(content):
        raise ModelFileError("the digest does not match, so the file was changed or damaged; save the model again")
    declared = sum(_array_bytes(content.get("model")))
    if declared > _MOST_ARRAY_BYTES + _MOST_RATIO * len(raw):
        raise ModelFileError(f"its arrays would take {declared >> 20} MB, which a file of this size cannot need")
    return content


def _estimator(content: Mapping[str, Any]) -> Any:
    """Make the fitted estimator from a file's content, and check every part against the others."""
    name = content["estimator"]
    if not isinstance(name, str) or not is_estimator(name):
        raise ModelFileError(f"unknown estimator {str(name)[:60]!r}; a newer privet may know it")
    kind, parameters = estimator_class(name)._of_file(_plain_values(content["parameters"]))
    estimator = kind()
    # Version 0.1 wrote None for some of the parameters that are now "auto".
    automatic = {
        key: "auto" for key, value in parameters.items() if value is None and getattr(estimator, key, 0) == "auto"
    }
    parameters = parameters | automatic
    estimator.set_params(**_known_parameters(parameters, estimator))
    schema = Schema.from_dict(content["schema"])
    estimator._check_target(schema)
    if "objective" in parameters:
        check_objective(parameters["objective"], schema)
    # What is quickly checked comes before the encoding, which may have millions of cuts.
    estimator.privacy_ = _checked_ledger(content["privacy"], schema, content["version"])
    library = content["library"]
    if not isinstance(library, str) or not _LIBRARY.fullmatch(library):
        raise ModelFileError("library: not a version; save the model again")
    follows = certificate(estimator.privacy_, schema, library)
    if content["version"] < SAME_WORDS:
        follows["guarantee"] = content["certificate"]["guarantee"]
    if not _is_same_certificate(content["certificate"], follows):
        raise ModelFileError("certificate: it does not follow from the schema and the ledger; save the model again")
    bins = estimator._learner().bins
    estimator.set_params(schema=schema)
    encoding = schema.encoding(bins)
    estimator.model_ = model_from_dict(content["model"], encoding)
    if estimator.model_.encoding != encoding:
        raise ModelFileError("the model's encoding does not follow from its schema; save the model again")
    if isinstance(schema.target, Numeric) and not hasattr(estimator.model_, "predictions"):
        raise ModelFileError("the model is of classes, its schema's target is one of regression; save the model again")
    estimator._planned_rows, estimator._planned_epsilon = _checked_planned(content.get("planned", {}))
    estimator._note_public_facts(schema, estimator.model_.encoding)
    estimator.n_features_in_ = len(schema.features)
    return estimator


def _planned(estimator: PrivateEstimator) -> dict[str, Any]:
    """Return what an estimator that chooses was planned with, where that is not among its parameters."""
    known = {"rows": estimator._planned_rows, "epsilon": estimator._planned_epsilon}
    known = {name: value for name, value in known.items() if value is not None}
    return {"planned": known} if known and estimator._keeps_what_was_planned else {}


def _checked_planned(planned: Any) -> tuple[int | None, float | None]:
    if not isinstance(planned, dict) or set(planned) - {"rows", "epsilon"}:
        raise ModelFileError("planned: expected rows and epsilon; save the model again")
    rows, epsilon = planned.get("rows"), planned.get("epsilon")
    if rows is not None and (type(rows) is not int or not 1 <= rows <= 10**18):
        raise ModelFileError("planned.rows: expected a whole number of records; save the model again")
    if epsilon is not None and (type(epsilon) not in (int, float) or not 0 < epsilon < float("inf")):
        raise ModelFileError("planned.epsilon: expected a positive number; save the model again")
    return rows, epsilon


def _is_same_certificate(stated: Any, follows: Mapping[str, Any]) -> bool:
    """Whether a certificate is the one that follows; conversions of earlier versions rounded epsilon further up."""
    if not isinstance(stated, dict):
        return False
    theirs, ours = stated.get("epsilon"), follows["epsilon"]
    rounded_up = isinstance(theirs, float) and ours is not None and ours <= theirs <= ours * (1 + _ROUNDING)
    return stated == ({**follows, "epsilon": theirs} if rounded_up else follows)


def _plain_values(parameters: Any) -> dict[str, Any]:
    if not isinstance(parameters, dict):
        raise ModelFileError("parameters: expected plain values by name; save the model again")
    # Of all parameters an objective alone may be more than a plain value: costs, as pairs of class and number.
    objective = {name: objective_from_plain(value) for name, value in parameters.items() if name == "objective"}
    if not all(_is_plain(value) for name, value in parameters.items() if name not in objective):
        raise ModelFileError("parameters: expected plain values by name; save the model again")
    return parameters | objective


def _known_parameters(parameters: dict[str, Any], estimator: Any) -> dict[str, Any]:
    unknown = set(parameters) - (set(estimator.get_params(deep=False)) - _NOT_STORED)
    if unknown:
        raise ModelFileError(f"parameters: {sorted(unknown)[0][:60]!r} is unknown, a newer privet may know it")
    return parameters


def _checked_ledger(document: Any, schema: Schema, version: int) -> Any:
    for key, value in _entries(document):
        # Fraction("1e999999999") would be accepted, too, and use up all memory.
        if key in _FRACTIONS and value is not None and not (isinstance(value, str) and _FRACTION.fullmatch(value)):
            raise ModelFileError(f"privacy.{key}: expected a fraction as text, such as '1/10'")
    if version < SAME_WORDS and schema.unit is not None:
        document = {**document, "unit_column": schema.unit.column}
    ledger = ledger_from_dict(document)
    if ledger.terms != Terms.of(schema):
        raise ModelFileError("privacy: neighbours or unit are not those of the schema; save the model again")
    if schema.inferred and schema.inferred not in ledger.why:
        raise ModelFileError("privacy: the schema was read off the data, but the ledger does not say so")
    follows = ledger.to_dict()
    if version < SAME_WORDS:
        follows["guarantee"] = document["guarantee"]
    if follows != document:
        raise ModelFileError("privacy: what it states does not follow from its events; save the model again")
    return ledger


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every name and value of a document, however deep."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield name, entry
            yield from _entries(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _entries(entry)


def _array_bytes(value: Any) -> Iterator[int]:
    """Yield the size in bytes that each array in a document declares, at the largest item size, eight bytes."""
    for name, entry in _entries(value):
        if name == "shape" and isinstance(entry, list):
            lengths = [length for length in entry if type(length) is int and length >= 0]
            yield 8 * prod(lengths[:8])


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _plain_parameters(estimator: PrivateEstimator) -> dict[str, Any]:
    """Return the constructor's parameters that are plain data; a random generator, which is not, is left out."""
    parameters = {name: _as_plain(value) for name, value in estimator.get_params(deep=False).items()}
    objective = objective_to_plain(parameters.pop("objective", DEFAULT_OBJECTIVE))
    plain = {name: value for name, value in parameters.items() if name not in _NOT_STORED and _is_plain(value)}
    return plain if objective == DEFAULT_OBJECTIVE else plain | {"objective": objective}


def _as_plain(value: Any) -> Any:
    """Turn numbers of other types, such as those of a search over `numpy.arange`, into Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, Fraction) else value
