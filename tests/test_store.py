"""Keys, fingerprints of code, and files that are whole or absent."""

import errno
import functools
import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_priors import store
from attention_priors.attention import BACKENDS
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.priors import GeneralizedGaussian
from attention_priors.tasks.passkey import PasskeyBatches
from attention_priors.training import fit

# --- keys ---


def test_a_key_is_what_it_always_was() -> None:
    """Written down once: a change here would rename every committed run."""
    assert store.key() == "4f53cda18c2baa0c"
    one, two = {"b": [1, 2.5, None, True], "a": "é"}, {"a": "é", "b": (1, 2.5, None, True)}
    assert store.key("run", one) == store.key("run", two)


def test_a_key_tells_values_types_and_places_apart() -> None:
    parts = [(1,), (1.5,), ("1",), (True,), (None,), ([1],), (1, None), (None, 1), ({"a": 1},), ({"a": 2},), ()]
    assert len({store.key(*each) for each in parts}) == len(parts)
    assert all(len(store.key(*each)) == 16 and int(store.key(*each), 16) >= 0 for each in parts)


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, Path("x"), {(1, 2): 3}, b"x"])
def test_a_key_refuses_what_is_not_plain(value: object) -> None:
    with pytest.raises(ValueError, match="plain finite data only, but got"):
        store.key("run", value)


# --- fingerprints ---

SOURCE = '''
import functools
import math

RATE = 0.5
NAMES = frozenset({"alpha", "beta", "gamma", "delta"})
TABLE = {"x": 1, "y": [2, 3]}
UNUSED = 7


def outer(x):
    """Says something."""
    # a remark
    return inner(x) * RATE + len(NAMES) + TABLE["x"]


def inner(x: float) -> float:
    return math.sqrt(x) + cached(2)


@functools.lru_cache
def cached(n):
    return n + 1


class Root:
    """A class."""

    def step(self):
        return 1


class Child(Root):
    def run(self):
        return self.step()

    @classmethod
    def first(cls):
        return cls()

    @classmethod
    def second(cls):
        return cls()


def factory(power):
    def raised(x):
        return inner(x) ** power
    return raised


def unrelated():
    return UNUSED


scaled = functools.partial(inner, x=2.0)
other = functools.partial(inner, x=3.0)
calling = functools.partial(factory, inner)
calling_other = functools.partial(factory, power=cached)
short, long = lambda x: x + 1, None
double = lambda x: 2 * inner(x)
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that (re)writes the source of a small package, loads it and returns its module."""
    package = tmp_path / "attention_priors_sample"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(store, "PACKAGE", package.name)
    name = f"{package.name}.code"

    def load(old: str = "", new: str = ""):
        assert old in SOURCE
        (package / "code.py").write_text(SOURCE.replace(old, new, 1) if old else SOURCE)
        sys.modules.pop(name, None) if not load.reload else None
        importlib.invalidate_caches()
        return importlib.reload(sys.modules[name]) if load.reload else importlib.import_module(name)

    load.reload = False
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield load
    for each in (name, package.name):
        sys.modules.pop(each, None)
        store._TREES.pop(each, None)


NEUTRAL = {
    "comment": ("    # a remark\n", "    # another\n\n"),
    "docstring": ('"""Says something."""', '"""Says more."""'),
    "layout": ("inner(x) * RATE + len(NAMES)", "(inner(x)\n            * RATE + len(NAMES))"),
    "types of arguments": ("x: float) -> float", "x: int)"),
    "unrelated function": ("return UNUSED", "return -UNUSED"),
    "unrelated constant": ("UNUSED = 7", "UNUSED = 8"),
    "unrelated class": ("return 1", "return 2"),
    "order of a set": ('"alpha", "beta", "gamma", "delta"', '"delta", "gamma", "beta", "alpha"'),
}
TELLING = {
    "itself": ("inner(x) * RATE", "inner(x) / RATE"),
    "used function": ("math.sqrt(x)", "math.cbrt(x)"),
    "used decorated function": ("n + 1", "n + 2"),
    "used constant": ("RATE = 0.5", "RATE = 0.25"),
    "member of a set": ('"gamma"', '"epsilon"'),
    "plain table": ('"y": [2, 3]', '"y": [2, 4]'),
    "default": ("def inner(x: float)", "def inner(x: float = 1)"),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_fingerprint_ignores(name: str, module) -> None:
    before = store.fingerprint(module().outer)
    assert store.fingerprint(module(*NEUTRAL[name]).outer) == before


@pytest.mark.parametrize("name", TELLING)
def test_a_fingerprint_sees(name: str, module) -> None:
    before = store.fingerprint(module().outer)
    assert store.fingerprint(module(*TELLING[name]).outer) != before


def test_a_fingerprint_sees_base_classes_and_class_methods(module) -> None:
    loaded = module()
    before = store.fingerprint(loaded.Child)
    assert store.fingerprint(loaded.Child.first) != store.fingerprint(loaded.Child.second) != before
    assert store.fingerprint(module("return 1", "return 2").Child) != before


def test_a_fingerprint_sees_what_partials_closures_and_lambdas_hold(module) -> None:
    loaded = module()
    pairs = [(loaded.scaled, loaded.other), (loaded.factory(2), loaded.factory(3)), (loaded.short, loaded.double)]
    for one, two in pairs:
        assert store.fingerprint(one) != store.fingerprint(two)
        together = store.fingerprint(one, two)
        assert together not in (store.fingerprint(one), store.fingerprint(two))
        assert together == store.fingerprint(two, one)
    given = store.fingerprint(loaded.calling)
    assert given != store.fingerprint(loaded.calling_other)
    assert store.fingerprint(module("math.sqrt", "math.cbrt").calling) != given, "code handed to a partial counts"
    lambdas = store.fingerprint(module().double)
    assert store.fingerprint(module("\nRATE", "\n\n\nRATE").double) == lambdas  # a line further down
    assert store.fingerprint(module("math.sqrt", "math.cbrt").double) != lambdas


def test_a_fingerprint_follows_a_reload(module) -> None:
    before = store.fingerprint(module().outer)
    module.reload = True
    assert store.fingerprint(module("inner(x) * RATE", "inner(x) - RATE").outer) != before
    assert store.fingerprint(module().outer) == before


def test_where_the_code_is_settled_a_fingerprint_is_made_once(module, monkeypatch) -> None:
    outer, inner = module().outer, module().inner
    before, asked = store.fingerprint(outer), []
    monkeypatch.setattr(store, "reached", lambda *objects: asked.append(objects) or {"made": "up"})
    with store.settled():
        found = [store.fingerprint(outer) for _ in range(3)]
        with store.settled():
            found.append(store.fingerprint(outer))
        store.fingerprint(inner)
    assert len(set(found)) == 1 and found[0] != before and asked == [(outer,), (inner,)]
    store.fingerprint(outer)
    assert len(asked) == 3, "after it, code may have changed"


def test_a_fingerprint_does_not_depend_on_the_process() -> None:
    """Neither on the random order of sets nor on addresses."""
    code = (
        "from attention_priors import store; from attention_priors.training import *\n"
        "from attention_priors.tasks import SOURCES; from attention_priors.text import corpora, packing\n"
        "print(store.fingerprint(fit, Transformer, *SOURCES.values(), BACKENDS['sdpa'], corpora.read,"
        "packing.pack))"
    )
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env=os.environ | {"PYTHONHASHSEED": seed})  # fmt: skip
        found.add(done.stdout)
    assert len(found) == 1 and len(found.pop().strip()) == 16


def test_what_a_training_run_depends_on() -> None:
    found: dict[str, str] = {}
    for item in (fit, PasskeyBatches, BACKENDS["sdpa"], *ENCODINGS["bam-location-ssmax"].parts()):
        store._collect(item, found)
    text = " ".join(found)
    for part in ("priors.GeneralizedGaussian", "sdpa._add_diagonals", "passkey.training_batch", "runtime.seed_for",
                 "priors:FLOOR", "training.optimizer", "scaling.ScalableSoftmax", "sdpa:BLOCK_KEYS"):  # fmt: skip
        assert f"attention_priors.{part}" in text or part in text, part
    for part in ("priors.Laplace ", "figures", "report", "evaluation", "store.", "checks", "pipeline", "claims"):
        assert part not in text, part


def test_a_fingerprint_refuses_what_has_no_source() -> None:
    for item in (3, "fit", GeneralizedGaussian.uniform(2)):
        with pytest.raises(ValueError, match="functions and classes"):
            store.fingerprint(item)
    with pytest.raises(ValueError, match="more than plain data"):
        store.fingerprint(functools.partial(fit, object()))


# --- files ---


def partials(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if "partial" in path.name]


def test_writes_make_folders_and_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "record.json"
    store.write_json(path, {"b": 1, "a": ["é", 0.1]})
    assert store.read_json(path) == {"a": ["é", 0.1], "b": 1}
    assert path.read_bytes() == b'{\n "a": [\n  "\xc3\xa9",\n  0.1\n ],\n "b": 1\n}\n'
    store.write_text(path, "x\n")
    assert path.read_bytes() == b"x\n" and path.stat().st_mode & 0o777 == 0o644
    assert not partials(tmp_path)


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch, step: str, error: BaseException) -> None:
    path = tmp_path / "record.json"
    store.write_json(path, {"old": 1})

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)) as caught:
        store.write_json(path, {"new": list(range(1000))})
    monkeypatch.undo()
    assert store.read_json(path) == {"old": 1} and not partials(tmp_path)
    if isinstance(error, OSError):
        assert "the disk is full" in str(caught.value) and str(path) in str(caught.value)


def test_what_is_not_json_is_not_written(tmp_path: Path) -> None:
    for value in (math.nan, {"x": math.inf}, object()):
        with pytest.raises((ValueError, TypeError)):
            store.write_json(tmp_path / "record.json", value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keep", [0, 1, 10, -2])
def test_a_truncated_file_is_damaged_not_data(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "record.json"
    store.write_json(path, {"accuracy": [0.5, 0.25], "name": "é"})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(store.DamagedFile, match=r"record\.json is not complete JSON .*; delete it and run") as caught:
        store.read_json(path)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        store.read_json(tmp_path / "absent.json")


def test_readers_see_the_old_file_or_the_new(tmp_path: Path) -> None:
    """A second process reads while this one writes: every reading is whole."""
    path = tmp_path / "record.json"
    store.write_json(path, [0] * 3000)
    code = (
        "import json, sys\nseen = set()\n"
        f"for _ in range(300):\n    seen.add(tuple(set(json.load(open({str(path)!r})))))\n"
        "print(json.dumps(sorted(seen)))"
    )
    reader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    turn = 0
    while reader.poll() is None:
        turn += 1
        store.write_json(path, [turn] * 3000)
    assert reader.returncode == 0 and all(len(values) == 1 for values in json.loads(reader.stdout.read()))


def test_what_is_kept_is_measured_once_and_reads_the_same_each_time(tmp_path):
    path = tmp_path / "rows.json"
    first = store.kept_json(path, lambda: [{"length": 2, "accuracy": 0.5}])
    assert list(first[0]) == ["accuracy", "length"]  # the file's order, not the measurement's
    assert store.kept_json(path, lambda: pytest.fail("measured again")) == first
    path.write_text(path.read_text()[:10])
    assert store.kept_json(path, lambda: [{"length": 4}]) == [{"length": 4}] == store.read_json(path)
