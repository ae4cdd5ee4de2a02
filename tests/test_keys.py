"""What an edit of the library trains again: keys of every run of a profile, from a copy of the code that is edited."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from attention_priors import config

KEYS = """
import json
from attention_priors import config, store
from attention_priors.experiments import EXPERIMENTS, unread
profile = config.profile("cpu")
plans = [EXPERIMENTS[name].plan(profile, unread(profile)) for name in ("passkeys", "benchmark", "languages")]
with store.settled():
    print(json.dumps({name: spec.key() for plan in plans for name, spec in plan.items()}))
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


def test_a_style_trains_nothing_again_and_an_encoding_only_itself(checkout):
    before = keys(checkout)
    assert before == keys(config.ROOT)
    edit(checkout, "figures/style.py", r"SMALLEST = [\d.]+", "SMALLEST = 5.5")
    assert keys(checkout) == before
    edit(checkout, "positions/kerple.py", r"\.log1p\(\)", ".log1p().mul(1)")
    after = keys(checkout)
    changed = {name.split("/")[1] for name in before if after[name] != before[name]}
    assert changed == {"kerple-log"}
