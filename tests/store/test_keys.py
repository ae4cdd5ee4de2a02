"""What an edit does to keys and fingerprints: declared settings and versions name a run, code only vouches for it."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from attention_priors import config
from attention_priors.experiments import EXPERIMENTS, unread
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.store import code
from attention_priors.tasks.passkey import PasskeyBatches
from attention_priors.training import blessed, runs

KEYS = """
import json
from attention_priors import config
from attention_priors.experiments import runs, unread
profile = config.profile("smoke")
print(json.dumps({name: spec.key() for name, spec in runs(profile, unread(profile)).items()}))
"""


def keys(root):
    environment = os.environ | {"PYTHONPATH": str(root / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", KEYS], env=environment, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(config.ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for folder in ("data", "notebooks/profiles"):
        shutil.copytree(config.ROOT / folder, tmp_path / folder)
    return tmp_path


def edit(root, path, pattern, replacement):
    file = root / "lib" / "attention_priors" / path
    changed, times = re.subn(pattern, replacement, file.read_text())
    assert times, f"{path} has no {pattern}"
    file.write_text(changed)


@pytest.fixture(scope="module")
def today():
    return keys(config.ROOT)


def test_a_message_a_local_and_a_moved_function_rename_no_run(checkout, today):
    edit(checkout, "training/runs.py", "lower the rate", "take a lower rate")
    edit(checkout, "training/runs.py", r"\blossy\b", "loss_function")
    edit(checkout, "training/runs.py", "def rate_at", "def rate_of")
    edit(checkout, "training/runs.py", r"rate_at\(", "rate_of(")
    edit(checkout, "figures/style.py", r"SMALLEST = [\d.]+", "SMALLEST = 5.5")
    assert keys(checkout) == today


def test_another_default_renames_whoever_has_it(checkout, today):
    edit(checkout, "config.py", r"rope_base: float = Field\(default=10_000.0", "rope_base: float = Field(default=9.0")
    after = keys(checkout)
    kept = {name.partition("/")[0] for name in today if after[name] == today[name]}
    assert after.keys() == today.keys() and kept == {"digits", "resolution"}  # whose sections name a base


def planned(name="passkeys"):
    profile = config.profile("cpu")
    return EXPERIMENTS[name].plan(profile, unread(profile))


@pytest.mark.parametrize(
    ("owner", "renamed"),
    [
        ("training", {"passkeys": "all", "languages": "all"}),
        ("task", {"passkeys": "all", "languages": "none"}),
        ("encoding", {"passkeys": "bam-ssmax", "languages": "bam-ssmax"}),
    ],
)
def test_a_raised_version_renames_what_it_stands_for(monkeypatch, owner, renamed):
    before = {each: {name: spec.key() for name, spec in planned(each).items()} for each in renamed}
    if owner == "training":
        monkeypatch.setattr(runs, "TRAINING_VERSION", runs.TRAINING_VERSION + 1)
    elif owner == "task":
        monkeypatch.setattr(PasskeyBatches, "version", 2)
    else:
        monkeypatch.setitem(ENCODINGS, "bam-ssmax", replace(ENCODINGS["bam-ssmax"], version=2))
    for each, which in renamed.items():
        changed = {name for name, spec in planned(each).items() if spec.key() != before[each][name]}
        wanted = {"all": set(before[each]), "none": set()}
        assert changed == wanted.get(which, {name for name in before[each] if name.split("/")[1] == which})


def test_a_setting_that_came_later_renames_nobody_who_lacks_it():
    class Later(config.Size):
        dropout: float = config.Field(default=0.1, json_schema_extra={"before": 0.0})

    size = {"width": 8, "layers": 1, "heads": 2, "hidden": 8}
    assert Later(**size, dropout=0.0).settings() == config.Size(**size).settings()
    assert Later(**size).settings() == config.Size(**size).settings() | {"dropout": 0.1}
    assert config.Size(**size).settings()["rope_base"] == 10_000.0


UNSEEN = [
    ("training/runs.py", r'"""Train in place, yielding', '"""Yielding'),
    ("training/runs.py", r"# of a row of SOURCES", "# another remark"),
    ("figures/style.py", r"SMALLEST = [\d.]+", "SMALLEST = 5.5"),
    ("positions/priors.py", r"from __future__ import annotations\n", "from __future__ import annotations\n\n\n"),
    ("tasks/copying.py", r"SYMBOLS = \d+", "SYMBOLS = 3"),
]
SEEN = [
    ("training/runs.py", "init/", "start/"),
    ("config.py", r"return self\.target is not None or self\.gate is not None", "return self.target is not None"),
    ("positions/encodings.py", r"return int\(keys\) \* \(heads // kv_heads\), int\(keys\)", "return heads, int(keys)"),
    ("attention/kernels_backward.py", r"tl\.maximum\(", "tl.minimum("),
    ("tasks/passkey.py", r"passkey/gate", "passkey/asked"),
]


@pytest.mark.parametrize(("path", "pattern", "replacement"), UNSEEN + SEEN)
def test_the_fingerprint_of_a_run_sees_what_its_code_does(checkout, monkeypatch, path, pattern, replacement):
    monkeypatch.setattr(code, "PACKAGE", checkout / "lib" / "attention_priors")
    before = code.fingerprint("training.runs", "tasks.passkey")
    edit(checkout, path, pattern, replacement)
    assert (code.fingerprint("training.runs", "tasks.passkey") != before) == ((path, pattern, replacement) in SEEN)


def test_families_are_blessed_by_their_versions(tmp_path, monkeypatch):
    path, (spec, *_) = tmp_path / "blessed.json", planned().values()
    assert blessed.changed([spec], path) == []
    blessed.add(spec, path)
    assert blessed.read(path) == {"passkey": {"versions": [1, 1], "fingerprints": [spec.fingerprint]}}
    monkeypatch.setattr(runs.RunSpec, "fingerprint", "other")
    assert blessed.changed([spec], path) == ["passkey"]
    blessed.add(spec, path)
    assert blessed.changed([spec], path) == [] and len(blessed.read(path)["passkey"]["fingerprints"]) == 2
    monkeypatch.setattr(runs, "TRAINING_VERSION", 2)
    assert blessed.changed([spec], path) == []
    blessed.add(spec, path)
    assert blessed.read(path)["passkey"] == {"versions": [2, 1], "fingerprints": ["other"]}
    monkeypatch.setattr(runs, "TRAINING_VERSION", 1)
    with pytest.raises(ValueError, match=r"passkey has versions \[1, 1\] .* knows \[2, 1\]; versions only go up"):
        blessed.changed([spec], path)
    path.write_text('{"passkey": []}')
    with pytest.raises(ValueError, match="passkey needs versions and fingerprints alone; restore it"):
        blessed.read(path)
