"""A file of each kind that results hold, cut short, with a flipped bit, or gone: every reader says so in one line."""

import functools
import os
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from attention_priors import checks, claims, runtime, store
from attention_priors.commands import verify
from attention_priors.corpora import corpora
from attention_priors.corpora.packing import PackedCorpus
from attention_priors.experiments import archive
from attention_priors.experiments.archive import INDEX
from attention_priors.publish import report
from attention_priors.publish.pipeline import progress
from attention_priors.publish.report import Report
from attention_priors.publish.study import Study
from attention_priors.store import manifest
from attention_priors.store.layout import THEORY, Layout

KEY = "0123456789abcdef"


@pytest.fixture(scope="module", autouse=True)
def settled():
    """No test here edits data, and `verify` asks for the keys of all runs, in which they have a part."""
    with pytest.MonkeyPatch.context() as patch:
        for where, name in ((PackedCorpus, "read"), (corpora, "pinned")):
            patch.setattr(where, name, functools.cache(getattr(where, name)))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Small results with a file of every kind, all listed in their sha256.txt."""
    layout = Layout(tmp_path_factory.mktemp("whole") / "results", "smoke")
    study = Study("smoke", "generalised_gaussian", layout.results, device="cpu")
    study.draw("prior_shapes")
    Study("smoke", "field_guide", layout.results, device="cpu").table("guide_priors")
    claims.write_part(layout.results, "smoke", study.notebook, [checks.CHECKS["BAM-T4"].verdict(THEORY, {})])
    frame = pd.DataFrame({"length": [128, 256], "accuracy": [1.0, 0.5]})
    Report(layout, "passkeys").metrics("made_up", frame, KEY, "passkey-small")
    claims.write_part(layout.results, "smoke", "passkeys", [])
    claims.merge(layout.results, "smoke")
    report.redraw(layout)  # the figures and tables of the ledger
    store.write_json(layout.own / INDEX, {"passkey/nope/0": KEY})
    kept = {"record.json": {"key": KEY, "loss": [1.0, 0.5]}, "passkey-0.json": [1, 2]}
    store.write_bytes(layout.run("passkey/nope/0", KEY), archive.packed({KEY: kept}))
    layout.models.mkdir()
    save_file({"head.weight": torch.ones(2, 2)}, layout.models / "0.safetensors")
    for name in ("generalised_gaussian", "passkeys"):
        store.write_text(layout.copy(name), nbformat.writes(nbformat.v4.new_notebook()))
        versions = {"matplotlib": runtime.provenance()["versions"]["matplotlib"]}
        progress.record(layout, name, {"wall_seconds": 1.0, "key": KEY, "versions": versions})
    manifest.add(layout, [path for path in files(layout) if path.name != manifest.NAME])
    return layout


def files(layout: Layout) -> list[Path]:
    return [path for path in layout.results.rglob("*.*") if path.is_file() and manifest.STATE not in path.parts]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_undamaged_results_verify(whole, capsys):
    assert manifest.problems(whole)[1] == []
    status = verify.main(["--profile", "smoke", "--results", str(whole.results), "--no-training"])
    said = capsys.readouterr().out
    assert (status, "all agree" in said) == (0, True), said


def test_a_folder_that_is_gone_differs(whole, tmp_path):
    shutil.copytree(whole.results, tmp_path / "results")
    layout = Layout(tmp_path / "results", "smoke")
    for folder in (layout.theory, layout.runs, layout.models):
        shutil.rmtree(folder)
        outcome = verify.verify.Outcome()
        verify.verify.verify_files(layout, outcome)
        assert f"smoke/{folder.name}/sha256.txt: is missing" in outcome.differ[-1]


@pytest.mark.parametrize("damage", [truncated, flipped, os.unlink], ids=["truncated", "flipped", "missing"])
def test_a_damaged_file(whole, damage, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verify.verify, "verify_drawings", lambda *_: None)  # takes longer than all else together
    found = (path.relative_to(whole.own) for path in files(whole))
    kinds = {(path.parent, path.suffix if path.parent.name else path.name): path for path in found}
    assert len(kinds) == 31
    for number, kind in enumerate(kinds.values()):
        layout = Layout(tmp_path / str(number), "smoke")
        shutil.copytree(whole.results, layout.results, ignore=shutil.ignore_patterns(manifest.STATE))
        damage(layout.own / kind)
        status = verify.main(["--profile", "smoke", "--results", str(layout.results), "--no-training"])
        said = "".join(capsys.readouterr())
        assert status in (1, 2) and "all agree" not in said, kind
        assert f"smoke/{kind}" in said or kind.name in said, kind
        assert "Traceback" not in said, kind
