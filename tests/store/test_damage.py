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
def whole(tmp_path_factory) -> Layout:
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


KINDS = (
    "claims.json",
    "claims.md",
    "runs.json",
    "provenance.json",
    "sha256.txt",
    "claims/passkeys.json",
    "metrics/made_up.csv",
    "metrics/made_up.json",
    "tables/errata.csv",
    "tables/errata.md",
    "tables/errata.tex",
    "figures/verdicts_by_document.pdf",
    "figures/verdicts_by_document.png",
    "figures/verdicts_by_document.md",
    "notebooks/passkeys.ipynb",
    "models/0.safetensors",
    "models/sha256.txt",
    "runs/passkey/nope/0.01234567.xz",
    "runs/sha256.txt",
    "theory/provenance.json",
    "theory/sha256.txt",
    "theory/claims/generalised_gaussian.json",
    "theory/metrics/prior_shapes.csv",
    "theory/metrics/prior_shapes.json",
    "theory/figures/prior_shapes.pdf",
    "theory/figures/prior_shapes.png",
    "theory/figures/prior_shapes.md",
    "theory/tables/guide_priors.csv",
    "theory/tables/guide_priors.md",
    "theory/tables/guide_priors.tex",
    "theory/notebooks/generalised_gaussian.ipynb",
)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_the_kinds_are_all_that_there_are(whole):
    assert manifest.problems(whole)[1] == []
    found = [path.relative_to(whole.own) for path in files(whole)]
    assert {(path.parent, path.suffix) for path in found} == {(Path(kind).parent, Path(kind).suffix) for kind in KINDS}


def test_undamaged_results_verify(whole, capsys):
    status = verify.main(["--profile", "smoke", "--results", str(whole.results), "--no-training"])
    said = capsys.readouterr().out
    assert (status, "all agree" in said) == (0, True), said


@pytest.mark.parametrize("damage", [truncated, flipped, os.unlink], ids=["truncated", "flipped", "missing"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file(whole, kind, damage, tmp_path, monkeypatch, capsys):
    layout = Layout(tmp_path / "results", "smoke")
    shutil.copytree(whole.results, layout.results, ignore=shutil.ignore_patterns(manifest.STATE))
    damage(layout.own / kind)
    monkeypatch.setattr(verify.verify, "verify_drawings", lambda *_: None)  # takes longer than all else together
    here = ["--profile", "smoke", "--results", str(layout.results)]
    status = verify.main([*here, "--no-training"])
    printed = capsys.readouterr()
    said = printed.out + printed.err
    assert status in (1, 2) and "all agree" not in said
    assert f"smoke/{kind}" in said or Path(kind).name in said
    assert "Traceback" not in said
