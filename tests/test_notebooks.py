"""Every notebook at `smoke` through the pipeline; its results are what a reader is promised; the verifier sees changes.

One run serves all tests here. The corpus is built once for the checkout; runs go to a store of their own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from attention_priors import claims, config, experiments, store
from attention_priors.checks import CHECKS
from attention_priors.commands import verify as verifier
from attention_priors.experiments import archive
from attention_priors.figures import FIGURES, LEDGER, TABLES
from attention_priors.publish import verify
from attention_priors.publish.pipeline import stamps
from attention_priors.publish.report import Report
from attention_priors.publish.site import numbers
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS
from store.test_damage import flipped, truncated

PROFILE = "smoke"


def command(cache, *arguments):
    environment = os.environ | {"ATTENTION_PRIORS_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-m", *arguments], env=environment, cwd=config.ROOT, capture_output=True, text=True
    )


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """(layout, cache) after the whole pipeline at smoke."""
    folder = tmp_path_factory.mktemp("smoke")
    _, path = experiments.corpus(config.profile(PROFILE), config.CACHE / "corpora")
    (folder / "cache" / "corpora").mkdir(parents=True)
    shutil.copy(path, folder / "cache" / "corpora" / path.name)
    done = command(
        folder / "cache",
        "attention_priors.commands.reproduce",
        "--profile",
        PROFILE,
        "--results",
        str(folder / "results"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Layout(folder / "results", PROFILE), folder / "cache"


@pytest.mark.slow
def test_every_notebook_ran_without_an_error_and_without_a_machine_path(smoke):
    for name in NOTEBOOKS:
        executed = nbformat.read(smoke[0].copy(name), as_version=4)
        code = [cell for cell in executed.cells if cell.cell_type == "code" and cell.source.strip()]
        assert all(cell.execution_count for cell in code), name
        text = json.dumps(executed)
        assert '"output_type": "error"' not in text
        assert str(config.ROOT) not in text and str(smoke[0].results) not in text
        assert executed.metadata[stamps.STAMP]["profile"] == smoke[0].label(name)


@pytest.mark.slow
def test_every_file_has_its_sum_and_nothing_lies_outside(smoke):
    looked, wrong = manifest.problems(smoke[0])
    assert looked > 300 and wrong == []
    assert [path.name for path in smoke[0].results.iterdir()] == [PROFILE]


@pytest.mark.slow
def test_the_ledger_has_all_claims_and_decides_those_of_the_notebooks(smoke):
    ledger = claims.read(smoke[0].own / "claims.json")
    assert ledger.keys() == claims.register().keys()
    decided = {name for name, verdict in ledger.items() if verdict.verdict != "not run"}
    exact = {name for name, claim in claims.register().items() if claim.scale == "cpu" and name.startswith("BAM-")}
    assert exact <= decided
    assert len(decided) >= 55
    assert all(verdict.verdict != "reproduced" for verdict in ledger.values())


@pytest.mark.slow
def test_every_figure_has_its_three_files_and_names_its_profile_unless_it_is_theory(smoke):
    for folder, says in ((smoke[0].own, f"Profile {PROFILE}, recipe "), (smoke[0].theory, "ecipe ")):
        figures = sorted((folder / "figures").glob("*.md"))
        assert len(figures) >= 15
        for path in figures:
            assert says in path.read_text() and (folder == smoke[0].own or "rofile" not in path.read_text()), path.name
            assert path.with_suffix(".pdf").stat().st_size > 2000 and path.with_suffix(".png").stat().st_size > 2000


@pytest.mark.slow
def test_every_column_that_a_profile_can_write_is_explained(smoke):
    for path in smoke[0].own.glob("metrics/*.csv*"):
        for column in pd.read_csv(path, nrows=0).columns:
            assert numbers.meaning(column, path.stem)


@pytest.mark.slow
def test_a_second_run_does_nothing_and_a_lost_copy_is_made_from_the_store(smoke):
    layout, cache = smoke
    runs = {path: path.stat().st_mtime_ns for path in (cache / "runs").rglob("model.safetensors")}
    assert runs
    layout.copy("dividing_the_work").unlink()  # trains, needs another that trains, and draws little
    again = command(
        cache,
        "attention_priors.commands.reproduce",
        "--profile",
        PROFILE,
        "--results",
        str(layout.results),
        "--only",
        "17_dividing_the_work",
    )
    assert again.returncode == 0, again.stderr[-2000:]
    assert "[passkeys] up to date" in again.stdout
    assert layout.copy("dividing_the_work").exists()
    assert runs == {path: path.stat().st_mtime_ns for path in (cache / "runs").rglob("model.safetensors")}


def _edit_metric(layout, name, column, change):
    """Change numbers and their seals, as somebody would who wants it to look right."""
    made = Report(layout, "passkeys")
    frame, origin = made.read(name)
    frame[column] = change(frame[column])
    made.metrics(name, frame, origin["key"], origin["recipe"])
    manifest.add(layout, [made.place(name), made.place(name).with_name(f"{name}.json")])


def _verdict(layout, claim, **changes):
    ledger = store.read_json(layout.own / "claims.json")
    ledger["claims"][claim] |= changes
    store.write_json(layout.own / "claims.json", ledger)


def _first(folder, pattern):
    return min(path for path in folder.rglob(pattern) if "state" not in path.as_posix())


def _answer(layout):
    """One more right symbol, as a model that was trained otherwise would give, and the seal of it."""
    path = min(layout.runs.glob("algorithms/copy/*/*.xz"))
    kept = archive.unpacked(path)
    (rows,) = (rows for files in kept.values() for name, rows in files.items() if name.startswith("algorithms-"))
    rows[0]["right"] += 1
    store.write_bytes(path, archive.packed(kept))
    manifest.add(layout, [path])


DAMAGE = {  # what is changed, and the line in which the verifier must say so
    "a metric": (lambda place: _edit_metric(place, "ruler_over_seeds", "mean", lambda x: x + 0.01),
                 "metrics/ruler_over_seeds.csv from ruler_answers.csv"),
    "the rows behind it": (lambda place: _edit_metric(place, "passkey_samples", "correct", lambda x: 1 - x),
                           "metrics/passkey_by_length.csv from passkey_samples.csv"),
    "an exact verdict": (lambda place: _verdict(place, "BAM-L1", verdict="inconclusive", opposite="x",
                                                outcome="undecided"), " BAM-L1: verdict inconclusive committed"),
    "an empirical number": (lambda place: _verdict(place, "BAM-C21", measured=0.123),
                            " BAM-C21: measured 0.123 committed"),
    "what a model answered": (_answer, "answers   metrics/algorithms_answers.csv: is not what the models answered"),
    "a drawing": (lambda place: (place.own / "tables" / "language_table2.csv").write_text("encoding\n"),
                  "exact     smoke/tables/language_table2.csv"),
}  # fmt: skip


EDITED = {"ruler_over_seeds", "passkey_samples"}  # metrics


@pytest.fixture(scope="session")
def complaints(smoke, tmp_path_factory):
    """What the verifier says of a copy of the results with every damage at once, and trains: (exit status, lines)."""
    layout = Layout(tmp_path_factory.mktemp("damaged") / "results", PROFILE)
    shutil.copytree(smoke[0].results, layout.results, ignore=shutil.ignore_patterns(manifest.STATE))
    for change, _ in DAMAGE.values():
        change(layout)
    done = command(smoke[1], "attention_priors.commands.verify", "--profile", PROFILE, "--results", str(layout.results))
    assert "[verify] training " in done.stderr, done.stderr[-2000:]
    return done.returncode, done.stdout.splitlines()


KINDS = (
    "claims.json",
    "claims.md",
    "provenance.json",
    "runs.json",
    "claims/*.json",
    "metrics/*.csv",
    "metrics/*.json",
    "figures/*.pdf",
    "figures/*.png",
    "figures/*.md",
    "tables/*.csv",
    "tables/*.md",
    "tables/*.tex",
    "notebooks/*.ipynb",
)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, flipped, os.unlink], ids=["truncated", "flipped", "missing"])
def test_a_damaged_file_of_each_kind_is_named(smoke, tmp_path, damage, monkeypatch, capsys):
    layout = Layout(tmp_path / "results", PROFILE)
    shutil.copytree(smoke[0].results, layout.results, ignore=shutil.ignore_patterns(manifest.STATE))
    kinds = [(layout.own, kind) for kind in KINDS] + [(layout.theory, kind) for kind in KINDS[4:] + KINDS[2:3]]
    kinds += [(layout.runs, "*.xz"), (layout.models, "*.safetensors")]
    damaged = {_first(folder, kind) for folder, kind in kinds}
    for path in damaged:
        damage(path)
    named = {line.partition(":")[0] for line in manifest.problems(layout)[1]}
    assert named == {path.relative_to(layout.results).as_posix() for path in damaged}
    monkeypatch.setattr(verify, "verify_claims", lambda *_: None)  # which would read the damaged files
    for part in ("metrics", "answers", "drawings"):
        monkeypatch.setattr(verify, f"verify_{part}", lambda *_: None)
    (layout.own / "claims.json").touch()
    arguments = ["--profile", PROFILE, "--results", str(layout.results), "--no-training"]
    assert verifier.main(arguments) == 1
    assert f"{len(damaged)} differ" in capsys.readouterr().out


@pytest.mark.slow
def test_the_verifier_agrees_with_all_that_was_just_computed_and_not_changed(complaints):
    """One run of it serves both: whatever it says must come from a damage."""
    lines = complaints[1]
    for kind in ("sealed", "exact", "answers", "bitwise"):
        assert f" {kind}" in lines[-2]
    metrics = EDITED | {LEDGER}
    touched = EDITED | {"claims", "algorithms_answers", "language_table2", "BAM-L1", "BAM-C21"}
    touched |= {name for rows in (FIGURES, TABLES) for name in rows if rows[name].metrics in metrics}
    touched |= {name for name in CHECKS if EDITED & set(CHECKS[name].metrics)}
    for line in lines:
        if line.startswith("DIFFERS"):
            named = re.split(r", | from ", line.split(maxsplit=2)[2].partition(":")[0])
            assert touched & {*named, *(Path(each).stem for each in named)}, line


@pytest.mark.slow
def test_the_verifier_says_that_all_agrees(smoke, monkeypatch, capsys):
    for part in ("claims", "metrics", "answers", "drawings"):  # which another test runs
        monkeypatch.setattr(verify, f"verify_{part}", lambda *_: None)
    assert verifier.main(["--profile", PROFILE, "--results", str(smoke[0].results), "--no-training"]) == 0
    assert capsys.readouterr().out.endswith("sealed\nall agree\n")


@pytest.mark.slow
@pytest.mark.parametrize("what", sorted(DAMAGE))
def test_the_verifier_names_each_thing_that_was_changed(complaints, what):
    status, lines = complaints
    named = [line for line in lines if line.startswith("DIFFERS") and DAMAGE[what][1] in line]
    assert status == 1 and len(named) == 1, lines[-20:]


def test_a_retrained_run_is_compared_bitwise_here_and_by_tolerance_elsewhere():
    old = {
        "name": "passkey/x/0",
        "key": "k",
        "processor": "a",
        "threads": 1,
        "loss": [2.0, *[0.1] * 10],
        "learned": [],
        "parameters": {},
    }
    for new, kind, agrees in (
        (old, "bitwise", True),
        (old | {"loss": [2.0, *[0.1000001] * 10]}, "bitwise", False),
        (old | {"processor": "b", "loss": [2.0, *[0.104] * 10]}, "tolerance", True),
        (old | {"processor": "b", "loss": [2.0, *[0.2] * 10]}, "tolerance", False),
        (old | {"processor": "b", "loss": [2.0, *[0.05, 0.2] * 5]}, "tolerance", True),  # one batch's last says nothing
        (old | {"processor": "b", "loss": [2.0, *[1.5] * 10]}, "ordinal", False),
        (old | {"key": "other"}, "exact", False),
    ):
        outcome = verify.Outcome()
        verify.compare_runs(old, new, outcome)
        assert outcome.compared[kind] == 1
        assert (not outcome.differ) == agrees, new


@pytest.mark.parametrize(
    "committed, computed, equal",
    [
        (0.0, 3e-17, True),
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (1e6, 1e6 + 1e-4, False),
        (1e-3, 1.001e-3, False),
        ([1, 2.0], [1, 2.0], True),
        ([1], [1, 2], False),
        ("a", "b", False),
        (None, 0.0, False),
        (True, 1, False),
        ({"a": 1}, {"a": 2}, False),
    ],
)
def test_sameness(committed, computed, equal):
    assert verify.same(committed, computed) is equal
