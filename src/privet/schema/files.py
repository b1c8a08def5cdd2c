"""Schemas as YAML and JSON files.

A file says exactly what the schema says: 1, 1.0, "1" and true are four different categories, and remain so. Both
formats are read by JSON's rules: a plain scalar is a number, true, false or null only where it is so in JSON, and text
otherwise. YAML's older rules, by which ``no`` is false and ``2024-01-01`` is a date, would silently change categories.
Reading runs no code: tags, aliases and deep nesting are refused.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import yaml

from privet.errors import SchemaError
from privet.schema.category_domains import Boolean, DatePart, Hashed, Ordinal
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.readings import date_of
from privet.schema.schema import Schema, Unit
from privet.schema.whole_domains import Date, Integer
from privet.writing import replace_text

VERSION = 2
"""The newest version; a schema that needs nothing of it is written as version 1, which every privet reads."""
MOST_BYTES = {".yaml": 4 << 20, ".yml": 4 << 20, ".json": 32 << 20}
"""YAML is read at about a megabyte in ten seconds; the largest schemas are better written as JSON."""
MAX_DEPTH = 12
"""A schema needs five levels; a file that nests deeper than this is not one."""


def to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain data in a fixed order; options that have their default value are left out."""
    document: dict[str, Any] = {
        "version": _version_needed(schema),
        "features": {name: _domain_to_dict(domain) for name, domain in schema.features.items()},
        "target": _domain_to_dict(schema.target),
        "neighbours": schema.neighbours,
    }
    if schema.unit is not None:
        document["unit"] = {"column": schema.unit.column, "max_rows": schema.unit.max_rows}
    if schema.inferred is not None:
        document["inferred"] = schema.inferred
    if schema.ignored:
        document["ignored"] = list(schema.ignored)
    if schema.target_column is not None:
        document["target_column"] = schema.target_column
    return document


def _version_needed(schema: Schema) -> int:
    kinds = {type(domain) for domain in (*schema.features.values(), schema.target)}
    plain = kinds <= {Numeric, Categorical} and not schema.ignored and schema.target_column is None
    return 1 if plain else VERSION


def _domain_to_dict(domain: Domain) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": _TYPE_NAMES[type(domain)]}
    options: dict[str, Any] = {}
    match domain:
        case DatePart():
            return entry | {"of": domain.of, "part": domain.part}
        case Hashed():
            entry["buckets"] = domain.buckets
        case Boolean():
            pass
        case Categorical():
            entry["categories"] = list(domain.categories)
            options["other"] = domain.other or None
        case Numeric():
            written = (lambda days: date_of(days).isoformat()) if isinstance(domain, Date) else _short
            entry |= {"low": written(domain.low), "high": written(domain.high)}
            options = {
                "format": domain.format if isinstance(domain, Date) else None,
                "grid": domain.grid if domain.grid != "linear" else None,
                "edges": None if domain.edges is None else [written(edge) for edge in domain.edges],
                "bins": domain.bins,
            }
    options["missing"] = domain.missing or None
    return entry | {name: value for name, value in options.items() if value is not None}


def _short(number: float) -> float | int:
    """Write 17.0 as 17, which reads better and means the same bound."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def from_dict(document: Any) -> Schema:
    """Make a schema from plain data, or say where in it something is wrong."""
    known = ("version", "features", "target", "neighbours", "unit", "inferred", "ignored", "target_column")
    entries = _mapping(document, "", known, required=("version", "features", "target"))
    version = entries["version"]
    if type(version) is not int or not 1 <= version <= VERSION:
        _fail("version", f"this privet reads versions up to {VERSION}, got {_kind(version)}; upgrade privet")
    features = _mapping(entries["features"], "features")
    unit = entries.get("unit")
    if unit is not None:
        unit = Unit(**_mapping(unit, "unit", ("column", "max_rows"), required=("column", "max_rows")))
        _fail_if(unit.problem(), "unit")
    return Schema(
        {name: _domain_from_dict(entry, f"features.{name}") for name, entry in features.items()},
        _domain_from_dict(entries["target"], "target"),
        neighbours=entries.get("neighbours", "add_remove"),
        unit=unit,
        inferred=entries.get("inferred"),
        ignored=_list_of_names(entries.get("ignored", []), "ignored"),
        target_column=entries.get("target_column"),
    )


def _list_of_names(value: Any, path: str) -> list[str]:
    if not isinstance(value, list):
        _fail(path, f"expected a list of names, got {_kind(value)}; write [id, notes]")
    return value


def _domain_from_dict(entry: Any, path: str) -> Domain:
    kind = _mapping(entry, path, required=("type",))["type"]
    if not isinstance(kind, str) or kind not in _TYPES:
        got = repr(kind) if isinstance(kind, str) else _kind(kind)
        _fail(f"{path}.type", f"expected one of {', '.join(_TYPES)}, got {got}")
    make, required, others = _TYPES[kind]
    options = _options(entry, path, (*required, *others), required)
    for name in required:
        got = _kind(options[name])
        if kind in ("numeric", "integer") and not _is_number(options[name]):
            _fail(f"{path}.{name}", f"expected a number, got {got}; write it without quotes")
        if kind == "date" and not isinstance(options[name], str):
            _fail(f"{path}.{name}", f"expected a date, got {got}; write it as in 2010-12-31")
        if name == "categories" and not isinstance(options[name], list):
            _fail(f"{path}.categories", f'expected a list, got {got}; write ["a", "b"]')
    domain = make(**options)
    _fail_if(domain.problem(), path)
    return domain


_RANGE, _GRID = ("low", "high"), ("grid", "edges", "bins", "missing")
_TYPES: dict[str, tuple[Callable[..., Domain], tuple[str, ...], tuple[str, ...]]] = {
    # the domain, the entries that it needs, and those that it may have
    "numeric": (Numeric, _RANGE, _GRID),
    "integer": (Integer, _RANGE, _GRID),
    "date": (Date, _RANGE, ("format", *_GRID)),
    "categorical": (Categorical, ("categories",), ("other", "missing")),
    "ordinal": (Ordinal, ("categories",), ("missing",)),
    "boolean": (Boolean, (), ("missing",)),
    "hashed": (Hashed, ("buckets",), ("missing",)),
    "date_part": (DatePart, ("of", "part"), ()),
}
_TYPE_NAMES: dict[Any, str] = {make: name for name, (make, *_) in _TYPES.items()}


def _options(entry: Any, path: str, known: Collection[str], required: Collection[str]) -> dict[str, Any]:
    options = dict(_mapping(entry, path, ("type", *known), required))
    del options["type"]
    return options


def _mapping(
    value: Any, path: str, known: Collection[str] | None = None, required: Collection[str] = ()
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _fail(path, f"expected a mapping of names to values, got {_kind(value)}")
    for name in value:
        place = f"{path}.{name}".lstrip(".")
        if not isinstance(name, str):
            _fail(place, f"expected text as a name, got {_kind(name)}; put it in quotes")
        if known is not None and name not in known:
            _fail(place, f"unknown entry; known are {', '.join(known)}")
    for name in required:
        if name not in value:
            _fail(f"{path}.{name}".lstrip("."), "this entry is missing; add it")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), f"{value!r}" if _is_number(value) else f"a {type(value).__name__}")


def _fail(path: str, problem: str) -> NoReturn:
    raise SchemaError(f"{path or 'schema'}: {problem}")


def _fail_if(problem: str | None, path: str) -> None:
    if problem is not None:
        _fail(path, problem)


# --- Text ------------------------------------------------------------------------------------------------------


def save(schema: Schema, path: str | PathLike[str]) -> None:
    """Write a schema as YAML or JSON, by the file's suffix."""
    # The budget is only in files that users write: a model file must not decide what its reader is charged to.
    document = to_dict(schema) | ({} if schema.budget is None else {"budget": schema.budget})
    if _suffix(path) == ".json":
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    else:
        text = yaml.dump(
            document,
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,  # a mapping of scalars on one line, the others indented
            width=110,
        )
    replace_text(path, text)


def load(path: str | PathLike[str]) -> Schema:
    """Read a schema from a YAML or JSON file."""
    suffix = _suffix(path)
    try:
        text = _read_text(Path(path), MOST_BYTES[suffix])
        if suffix == ".json":
            document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        else:
            document = yaml.load(text, Loader=_Loader)  # a SafeLoader: it makes plain data only
        # An entry without a value is a mistake: such fits would be charged to nobody.
        budget = document.pop("budget") or "" if isinstance(document, dict) and "budget" in document else None
        schema = from_dict(document)
        return schema if budget is None else schema.charged_to(_beside(path, budget))
    except SchemaError as error:
        raise SchemaError(f"{path}: {_brief(str(error))}") from None
    except (UnicodeDecodeError, ValueError, yaml.YAMLError, RecursionError) as error:
        problem = _brief(" ".join(str(error).split())) or type(error).__name__
        raise SchemaError(f"{path}: this is not a {suffix[1:].upper()} file: {problem}; correct it") from None


def _beside(path: str | PathLike[str], budget: Any) -> Any:
    """Return the address of an account whose file, unless its path is absolute, is beside the schema."""
    scheme = "sqlite:///"
    if not isinstance(budget, str) or not budget or ("://" in budget and not budget.startswith(scheme)):
        return budget
    file, mark, options = budget.removeprefix(scheme).partition("?")
    # A name becomes part of a URL here, and a folder may have any name.
    whole = Path(path).resolve().parent / (unquote(file) if budget.startswith(scheme) else file)
    return f"{scheme}{quote(str(whole), safe='/:' + chr(92))}{mark}{options}"


def _read_text(path: Path, most: int) -> str:
    """Read a file, unless it may be endless or is larger than any schema."""
    if path.exists() and not path.is_file():
        raise SchemaError("not a regular file; write the schema to a file first")
    if path.exists() and path.stat().st_size > most:
        raise SchemaError(f"larger than {most >> 20} MB, which no schema needs; JSON may be larger than YAML")
    return path.read_text(encoding="utf-8")


def _brief(message: str, start: int = 300, end: int = 160) -> str:
    """Shorten a long message, which may quote a file, in the middle: the remedy is at its end."""
    return message if len(message) <= start + end else f"{message[:start]} ... {message[-end:]}"


def _suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".yaml", ".yml", ".json"):
        raise SchemaError(f"{path}: cannot tell the format from {suffix!r}; end the name in .yaml, .yml or .json")
    return suffix


def _unique(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    entries: dict[Any, Any] = {}
    for name, value in pairs:
        if name in entries:
            raise SchemaError(f"{name!r} occurs twice in one mapping; keep one of them")
        entries[name] = value
    return entries


def _no_constant(name: str) -> NoReturn:
    raise SchemaError(f"{name} is not a number that a schema can hold; give a finite one")


_JSON_SCALARS = {
    "null": re.compile(r"(?:null|)$"),
    "bool": re.compile(r"(?:true|false)$"),
    "int": re.compile(r"-?(?:0|[1-9][0-9]*)$"),
    "float": re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
}


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with JSON's scalars, unique keys, bounded nesting and no aliases."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own class attribute
        None: [(f"tag:yaml.org,2002:{kind}", pattern) for kind, pattern in _JSON_SCALARS.items()]
    }
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise SchemaError("aliases (*name) are not supported; write the entry out")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise SchemaError(f"nested deeper than {MAX_DEPTH} levels; this is not a schema")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        if any(isinstance(name, list | dict) for name in names):
            raise SchemaError("a name must be text, not a list or mapping; put it in quotes")
        return _unique(
            (name, self.construct_object(value, deep=True)) for name, (_, value) in zip(names, node.value, strict=True)
        )


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, quoting every string that some YAML reader might take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(
        self, tag: str, sequence: Iterable[Any], flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=True)


_NEVER_MISREAD = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null|nan|inf)$)[a-z_][a-z0-9_]*$", re.IGNORECASE)


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None if _NEVER_MISREAD.match(text) and "\n" not in text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
