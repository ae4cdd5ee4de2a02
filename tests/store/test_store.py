"""Keys, and files that are whole or absent."""

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_priors import store

# --- keys ---


def test_a_key_is_what_it_always_was():
    """Written down once: a change here would rename every committed run."""
    assert store.key() == "4f53cda18c2baa0c"
    one, two = {"b": [1, 2.5, None, True], "a": "é"}, {"a": "é", "b": (1, 2.5, None, True)}
    assert store.key("run", one) == store.key("run", two)


def test_a_key_tells_values_types_and_places_apart():
    parts = [(1,), (1.5,), ("1",), (True,), (None,), ([1],), (1, None), (None, 1), ({"a": 1},), ({"a": 2},), ()]
    assert len({store.key(*each) for each in parts}) == len(parts)
    assert all(len(store.key(*each)) == 16 and int(store.key(*each), 16) >= 0 for each in parts)


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, Path("x"), {(1, 2): 3}, b"x"])
def test_a_key_refuses_what_is_not_plain(value):
    with pytest.raises(ValueError, match="plain finite data only, but got"):
        store.key("run", value)


# --- files ---


def partials(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if "partial" in path.name]


def test_writes_make_folders_and_round_trip(tmp_path):
    path = tmp_path / "a" / "b" / "record.json"
    store.write_json(path, {"b": 1, "a": ["é", 0.1]})
    assert store.read_json(path) == {"a": ["é", 0.1], "b": 1}
    assert path.read_bytes() == b'{\n "a": [\n  "\xc3\xa9",\n  0.1\n ],\n "b": 1\n}\n'
    store.write_text(path, "x\n")
    assert path.read_bytes() == b"x\n" and path.stat().st_mode & 0o777 == 0o644
    assert not partials(tmp_path)


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt(), MemoryError()])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, step, error):
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


def test_what_is_not_json_is_not_written(tmp_path):
    for value in (math.nan, {"x": math.inf}, object()):
        with pytest.raises((ValueError, TypeError)):
            store.write_json(tmp_path / "record.json", value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keep", [0, 1, 10, -2])
def test_a_truncated_file_is_damaged_not_data(tmp_path, keep):
    path = tmp_path / "record.json"
    store.write_json(path, {"accuracy": [0.5, 0.25], "name": "é"})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        store.DamagedFile, match=r"record\.json is not complete JSON .*; restore it .* delete it and run"
    ) as caught:
        store.read_json(path)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        store.read_json(tmp_path / "absent.json")


def test_readers_see_the_old_file_or_the_new(tmp_path):
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
