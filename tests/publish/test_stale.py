"""What becomes stale by an edit: one caption, one simulation, one check, one setting, one claim's words."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from attention_priors import claims, config
from attention_priors.figures import FIGURES
from attention_priors.publish.pipeline import stamps
from attention_priors.publish.pipeline.plan import Plan
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS

RESULTS = config.ROOT / "results"
KEYS = """
import json
from pathlib import Path
from attention_priors import config
from attention_priors.publish.pipeline import stamps
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS
layout = Layout(Path("results"), "cpu")
keys = stamps.Keys(config.profile("cpu"), {}, Path("notebooks"), layout)
print(json.dumps({name: keys[name] for name in NOTEBOOKS}))
"""


def keys(profile=None, results=RESULTS):
    profile = profile or config.profile("cpu")
    keys = stamps.Keys(profile, {}, stamps.NOTEBOOK_FOLDER, Layout(results, profile.name))
    return {name: keys[name] for name in NOTEBOOKS}


@pytest.fixture(scope="module")
def today():
    return keys()


def stale(today, after):
    return {name for name in today if after[name] != today[name]}


def after_edits(folder, *edits):
    """The keys in a copy of the repository in which each (path, pattern, replacement) was made."""
    shutil.copytree(config.ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for shared in ("data", "notebooks"):
        shutil.copytree(config.ROOT / shared, folder / shared)
    (folder / "results").symlink_to(RESULTS)
    for path, pattern, replacement in edits:
        file = folder / "lib" / "attention_priors" / path
        changed, times = re.subn(pattern, replacement, file.read_text(), count=1)
        assert times, f"{path} has no {pattern}"
        file.write_text(changed)
    environment = os.environ | {"PYTHONPATH": str(folder / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", KEYS], env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_font_size_a_message_and_words_about_code_make_nothing_stale(today, tmp_path):
    edits = [
        ("figures/style.py", r"SMALLEST = [\d.]+", "SMALLEST = 5.5"),
        ("training/runs.py", "lower the rate", "take a lower rate"),
        ("positions/priors.py", r'class Laplace\((\w+)\):\n    """', r'class Laplace(\1):\n    """Other. '),
    ]
    assert stale(today, after_edits(tmp_path, *edits)) == set()


@pytest.mark.slow
def test_a_caption_its_notebook_a_row_of_encodings_those_that_list_it_and_the_ledger(today, tmp_path):
    row = '_PLAIN = [\n    Encoding("bare", "Bare"),\n'
    caption = ("figures/passkey/depth.py", r"def caption\(frame: Frame\) -> str:\n", r"\g<0>    said = frame\n")
    assert stale(today, after_edits(tmp_path, caption, ("positions/encodings.py", r"_PLAIN = \[\n", row))) == {
        "passkeys",
        "field_guide",
        "verdicts",
    }


def test_a_simulation_and_a_check_their_notebook_and_the_ledger(today, monkeypatch):
    definition, module = stamps.code.definition, stamps.code.module
    rows = FIGURES["prior_shapes"].rows
    monkeypatch.setattr(stamps.code, "definition", lambda each: "edited" if each is rows else definition(each))
    assert stale(today, keys()) == {"generalised_gaussian", "verdicts"}
    monkeypatch.setattr(stamps.code, "definition", definition)
    monkeypatch.setattr(stamps.code, "module", lambda path: "" if path.stem == "generators" else module(path))
    assert stale(today, keys()) == {"audit_groups", "one_parameter_groups", "verdicts"}, "it decides claims of both"


def test_metrics_that_were_measured_anew_make_stale_whoever_reads_them(today, tmp_path):
    shutil.copytree(RESULTS / "theory" / "metrics", tmp_path / "theory" / "metrics")
    shutil.copytree(RESULTS / "cpu" / "metrics", tmp_path / "cpu" / "metrics")
    origin = tmp_path / "cpu" / "metrics" / "passkey_by_length.json"
    origin.write_text(origin.read_text().replace('"sha256": "', '"sha256": "0'))
    found = stale(today, keys(results=tmp_path))
    assert found == {"learned_priors", "learned_spectra", "verdicts"}


def test_a_setting_makes_stale_what_measures_with_it(today):
    profile = config.profile("cpu")
    needles = profile.needles.model_copy(update={"vocabulary": profile.needles.vocabulary + 1})
    found = stale(today, keys(profile.model_copy(update={"needles": needles})))
    assert {"needles", "verdicts"} <= found and not {"passkeys", "generalised_gaussian"} & found


def test_what_reads_a_waiting_notebook_waits_for_it_with_it(tmp_path):
    plan = Plan("smoke", tmp_path, ["scalable_softmax"], {})
    plan.waiting = lambda: ["passkeys"]
    assert plan.touched() == ["passkeys", "scalable_softmax"]


def test_theory_is_the_same_under_every_profile(today):
    full = keys(config.profile("full"))
    assert {name for name in today if full[name] == today[name]} == {
        name for name, row in NOTEBOOKS.items() if not row.trained
    }


def test_the_words_of_a_claim_make_stale_the_notebook_that_owns_it(today, monkeypatch):
    known = claims.register()
    changed = known | {"BAM-L1": known["BAM-L1"].model_copy(update={"statement": "Other words."})}
    monkeypatch.setattr(stamps.claims, "register", lambda: changed)
    assert stale(today, keys()) == {"attention_is_inference", "verdicts"}
