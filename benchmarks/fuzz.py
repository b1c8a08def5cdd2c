"""Throw damaged and hostile model files and schemas at the loaders.

A loader must either return what it read or raise its own error; it must not crash, run code, or take memory. What loads
is then used for a prediction, since a bad index would only show in compiled code.

Memory is measured for every load by itself: the kernel's high-water mark is reset before it. The growth of the whole
process, which also holds the fuzzer's own documents and whatever compiles or imports lazily, is printed beside it.

Run ``python benchmarks/fuzz.py`` for 100,000 files, ``--quick`` for a few hundred; it prints one line of figures.
"""

from __future__ import annotations

import argparse
import base64
import copy
import itertools
import json
import random
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import privet
from privet import Categorical, Numeric, Schema, Unit
from privet.errors import ModelFileError, NonPrivateWarning, SchemaError
from privet.estimators.registry import estimator_class, estimator_names
from privet.models.files import array_to_dict, digest
from privet.testing import seeded_noise

MEMORY_LIMIT = 200 << 20
SCHEMA = Schema(
    {
        "age": Numeric(0, 100, bins=8),
        "income": Numeric(1, 1e5, grid="log", bins=6, missing=True),
        "colour": Categorical(["red", "green", "blue"], other=True, missing=True),
        "member": Categorical([False, True]),
    },
    classes=["no", "maybe", "yes"],
)
ROWS = [[30, 2000, "red", True], [None, None, None, None], [1e300, -1e300, "?", 7]]

# What a hostile writer might put in the place of any value.
NASTY: list[Any] = [
    None, True, False, -1, 0, 1, 2, 255, 65535, 65536, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 2**200,
    0.5, -0.0, 1e308, 5e-324, "", "0", "-1", "1/0", "0/1", "1e999999999", "9" * 5000, "NaN", "inf", "__class__", "\x00",
    "\ud7ff", "os.system", "builtins.eval", "../../etc/passwd", "forest", "random", "explicit", "add_remove",
    [], {}, [[]], [None], [0] * 1000, {"": None}, {"sequential": []}, {"parallel": [{"sequential": []}]},
    {"dtype": "int32", "shape": [2**40], "data": ""}, {"dtype": "object", "shape": [1], "data": "gASVAAAA"},
]  # fmt: skip


def real_models() -> list[dict[str, Any]]:
    """Return the content of small files of every learner, with and without a delta."""
    rng = random.Random(7)
    X = [
        [rng.uniform(0, 100), rng.uniform(1, 1e5), rng.choice(["red", "green"]), rng.random() < 0.5] for _ in range(300)
    ]
    labels = [rng.choice(["no", "maybe", "yes"]) for _ in X]
    numbers = Schema(SCHEMA.features, Numeric(0, 200))
    settings_of = {"n_trees": 3, "max_depth": 3, "bins": 4}
    contents = []
    for name, delta in itertools.product(estimator_names(), (0.0, 1e-6)):
        schema, y = (numbers, [row[0] for row in X]) if name.endswith("Regressor") else (SCHEMA, labels)
        estimator = estimator_class(name)(epsilon=1.0, delta=delta, schema=schema, random_state=1)
        known = estimator.get_params(deep=False)
        estimator.set_params(**{key: value for key, value in settings_of.items() if key in known})
        with seeded_noise(3), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", NonPrivateWarning)
            path = Path(folder) / "model.json"
            estimator.fit(X, y).save(path)
            contents.append(json.loads(path.read_bytes()))
    return contents


def mutated_model(contents: list[dict[str, Any]], rng: random.Random) -> bytes:
    """Return a damaged model file; most have a digest that fits, so that they get past the first check."""
    content = json.loads(json.dumps(rng.choice(contents)))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _mutate(content, contents, rng)
    if rng.random() < 0.9:
        content.pop("digest", None)
        try:
            content["digest"] = digest(content)
        except (ValueError, RecursionError, UnicodeEncodeError):
            content["digest"] = "0" * 64
    try:
        raw = json.dumps(content, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        raw = b"{}"
    return _mutate_bytes(raw, rng) if rng.random() < 0.15 else raw


def mutated_schema(rng: random.Random) -> tuple[str, bytes]:
    """Return a suffix and a damaged schema file."""
    document = Schema(SCHEMA.features, SCHEMA.target, unit=Unit("person", 3)).to_dict()
    for _ in range(rng.choice([0, 1, 1, 2])):
        _mutate(document, [SCHEMA.to_dict()], rng)
    suffix = rng.choice([".json", ".yaml"])
    try:
        raw = json.dumps(document).encode()  # JSON is YAML, too
    except (ValueError, RecursionError):
        raw = b"{}"
    if suffix == ".yaml" and rng.random() < 0.3:
        raw += rng.choice(
            [b"\n- &a [*a]", b"\n!!python/object/apply:os.system [ls]", b"\na: &a [1]\nb: [*a, *a]", b"\n? [1]"]
        )
    return suffix, _mutate_bytes(raw, rng) if rng.random() < 0.4 else raw


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if len(path) > 30:  # what was nested deeply is left as it is
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*path, key)
        yield from _places(entry, (*path, key))


def _mutate(content: Any, contents: list[dict[str, Any]], rng: random.Random) -> None:
    """Change one place of a document: replace, delete, duplicate, nest, swap, or damage an array."""
    places = list(_places(content))
    if not places:
        return
    path = rng.choice(places)
    parent = content
    for key in path[:-1]:
        parent = parent[key]
    old, action = parent[path[-1]], rng.random()
    if isinstance(old, dict) and "dtype" in old and action < 0.8:
        try:
            parent[path[-1]] = _mutate_array(old, rng)
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError, OverflowError, zlib.error):
            parent[path[-1]] = copy.deepcopy(rng.choice(NASTY))  # this array was damaged before
    elif action < 0.5:
        parent[path[-1]] = copy.deepcopy(rng.choice(NASTY))
    elif action < 0.6:
        del parent[path[-1]]
    elif action < 0.7:
        nested: Any = old
        for _ in range(rng.choice([2, 25, 900, 5000])):
            nested = [nested] if rng.random() < 0.5 else {"sequential": [nested]}
        parent[path[-1]] = nested
    elif action < 0.8 and isinstance(old, list) and old:
        parent[path[-1]] = old * rng.choice([2, 100])
    elif action < 0.9 and isinstance(old, int | float):
        parent[path[-1]] = old + rng.choice([-1, 1, 2**31, 0.5])
    else:
        other = rng.choice(contents)
        source = other
        for key in rng.choice(list(_places(other))):
            source = source[key]
        parent[path[-1]] = copy.deepcopy(source)


def _mutate_array(array: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Damage an array: hostile numbers, another shape, or a bomb of zeros."""
    kind = rng.random()
    if kind < 0.15:
        return {**array, "shape": rng.choice([[0], [2**40], [-1], [1, 2**31], [2**20, 2**20], array["shape"] * 2])}
    if kind < 0.25:
        return array_to_dict(np.zeros(1 << 20, dtype=array["dtype"])) | {"shape": rng.choice([[1 << 20], [1 << 27]])}
    dtype = np.dtype(array["dtype"])
    values = np.zeros(array["shape"], dtype) if dtype == np.bool_ else _values(array, dtype)
    flat = values.reshape(-1)
    if flat.size == 0:
        return array
    for _ in range(rng.choice([1, 2, flat.size])):
        place = rng.randrange(flat.size)
        if dtype == np.bool_:
            flat[place] = not flat[place]
        elif dtype.kind == "f":
            flat[place] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0])
        else:
            limits = np.iinfo(dtype)
            # small numbers make cycles and self-references among children
            flat[place] = rng.choice([0, 1, place % 100, limits.max, limits.min, rng.randrange(50)])
    return array_to_dict(flat.reshape(array["shape"]))


def _values(array: dict[str, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    raw = zlib.decompress(base64.b64decode(array["data"]))
    return np.frombuffer(raw, dtype=dtype).reshape(array["shape"]).copy()


def _mutate_bytes(raw: bytes, rng: random.Random) -> bytes:
    kind, place = rng.random(), rng.randrange(max(1, len(raw)))
    if kind < 0.3:
        return raw[:place]
    if kind < 0.6:
        return raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :]
    if kind < 0.8:
        return raw[:place] + raw[place + rng.randrange(1, 40) :]
    return (
        raw[:place]
        + rng.choice([b"NaN", b"-Infinity", b"[" * 3000, b'{"a":' * 3000, b"1e999", b"\xff\xfe", b"\x00"])
        + raw[place:]
    )


def try_model(path: Path, watch: AbstractContextManager[None] = nullcontext()) -> str:  # noqa: B008  # has no state
    """Load a file and, if that works, predict; return what came of it. Any other error comes out."""
    try:
        with watch:
            estimator = privet.load(path)
    except ModelFileError as error:
        return _refused(error)
    try:
        if type(estimator).__name__.endswith("Regressor"):
            assert estimator.predict(ROWS).shape == (len(ROWS),)
        else:
            assert estimator.predict_proba(ROWS).shape == (len(ROWS), len(estimator.classes_))
    except privet.errors.ParameterError:  # a model of one batch answers for no other
        return "loaded"
    return "loaded"


def try_schema(path: Path, watch: AbstractContextManager[None] = nullcontext()) -> str:  # noqa: B008  # has no state
    """Load a schema; return what came of it."""
    try:
        with watch:
            Schema.load(path)
    except SchemaError as error:
        return _refused(error)
    return "loaded"


def _refused(error: Exception) -> str:
    assert len(str(error)) < 1_000, "an error must not repeat what a file holds"
    return "refused"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(NASTY[:30]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


def invented(
    contents: list[dict[str, Any]],
    number: int,
    random_seed: int,
    folder: Path,
    tally: Callable[[str], None],
    watch: AbstractContextManager[None],
) -> None:
    """Let hypothesis invent values for whole entries of model files, and whole schemas."""

    @seed(random_seed)
    @settings(
        max_examples=max(1, number // 2), database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.sampled_from(contents), st.dictionaries(st.sampled_from(sorted(contents[0])), JSON, max_size=3), JSON)
    def work(content: dict[str, Any], changes: dict[str, Any], schema: Any) -> None:
        changed = {**content, **changes}
        changed.pop("digest", None)
        changed["digest"] = digest(changed)
        path = folder / "invented.json"
        path.write_text(json.dumps(changed), encoding="utf-8")
        tally(try_model(path, watch))
        path.write_text(json.dumps(schema), encoding="utf-8")
        tally(try_schema(path, watch))

    work()


class Memory:
    """How much one load adds to what the process holds, at its worst moment; the largest over all loads is kept."""

    _reset, _status = Path("/proc/self/clear_refs"), Path("/proc/self/status")

    def __init__(self) -> None:
        self.most_of_a_load = 0
        self.most_of_all = 0  # loads, predictions, the fuzzer itself
        self._at_first = self._before = self._bytes("VmRSS")

    def _bytes(self, field: str) -> int:
        line = next(line for line in self._status.read_text().splitlines() if line.startswith(field))
        return int(line.split()[1]) << 10

    def __enter__(self) -> None:
        self.most_of_all = max(self.most_of_all, self._bytes("VmHWM") - self._at_first)
        self._reset.write_text("5")  # sets the high-water mark back to what is held now
        self._before = self._bytes("VmRSS")

    def __exit__(self, *_: object) -> None:
        self.most_of_a_load = max(self.most_of_a_load, self._bytes("VmHWM") - self._before)


class Watch:
    """Collects what the interpreter reports within ``with`` blocks: code that is run, processes, sockets, imports."""

    _run = ("exec", "compile", "import", "marshal", "pickle", "code.__new__", "ctypes.dlopen")
    _dangerous = (*_run, "os.exec", "os.system", "os.posix_spawn", "subprocess", "socket")

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.memory = Memory()
        self._looking = False
        sys.addaudithook(self._hook)  # there is no way to take a hook away, so it is told when to look

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._looking and event.startswith(self._dangerous):
            self.seen.append(f"{event} {str(arguments)[:80]}")

    def __enter__(self) -> None:
        self.memory.__enter__()  # reads files, which is not to be seen
        self._looking = True

    def __exit__(self, *_: object) -> None:
        self._looking = False
        self.memory.__exit__()


def fuzz(number: int, random_seed: int = 0) -> dict[str, Any]:
    """Load `number` files, a tenth of them invented, the others damaged; return figures, or raise what went wrong."""
    rng = random.Random(random_seed)
    contents = real_models()
    counts = {"loaded": 0, "refused": 0}

    def tally(outcome: str) -> None:
        counts[outcome] += 1

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "model.json"
        for content in contents:  # loads whatever is loaded once: compiled kernels, lazy imports
            path.write_text(json.dumps(content), encoding="utf-8")
            assert try_model(path) == "loaded"
        start = time.perf_counter()
        watch = Watch()
        invented(contents, number // 10, random_seed, folder, tally, watch)
        for index in range(number - number // 10):
            if index % 4 == 3:
                suffix, raw = mutated_schema(rng)
                (folder / f"schema{suffix}").write_bytes(raw)
                tally(try_schema(folder / f"schema{suffix}", watch))
            else:
                path.write_bytes(mutated_model(contents, rng))
                tally(try_model(path, watch))
            assert not watch.seen, watch.seen
    memory = watch.memory
    assert memory.most_of_a_load < MEMORY_LIMIT, f"{memory.most_of_a_load >> 20} MB for one load"
    return {
        **counts,
        "memory_of_a_load_mb": memory.most_of_a_load >> 20,
        "memory_of_all_mb": memory.most_of_all >> 20,
        "seconds": round(time.perf_counter() - start, 1),
    }


def main() -> None:
    """Parse options, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few hundred files")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    number = 400 if options.quick else options.files
    print(f"{number:,} files:", json.dumps(fuzz(number, options.seed)))


if __name__ == "__main__":
    main()
