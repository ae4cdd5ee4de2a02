"""`make encoding` at the smallest size: good files, one trained before, one with SSMax, slow and wrong ones."""

from pathlib import Path

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.commands.encoding import main
from attention_priors.publish import own
from attention_priors.publish.own import laws, runs
from test_bad_inputs import GOOD, HEAD, ROW

SMOKE = config.profile("smoke").model_copy(update={"workers": 1})
TURNED = """
from functools import partial
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.rotary import Rotary, rope
ENCODINGS["mine"] = Encoding("mine", "Mine", rotary=lambda width, base: Rotary(rope(width, 500.0)))
"""
SINK = """
import torch
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.priors import Laplace
from attention_priors.positions.spectral import Sink
def both(heads):
    return Laplace([0.1] * heads) * Sink(torch.zeros(heads))
ENCODINGS["mine"] = Encoding("mine", "Mine", prior=both, whole=True)
"""


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Profile smoke in this process, and a cache of its own."""
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(config, "profile", lambda name: SMOKE)
    monkeypatch.setenv("ATTENTION_PRIORS_HEADLESS", "1")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(text)
    return path


def test_a_card_and_beside_it_the_form_with_ssmax(tmp_path: Path, capsys) -> None:
    path = str(written(tmp_path, HEAD + GOOD + ROW))
    arguments = [path, "--results", str(tmp_path / "results"), "--into", str(tmp_path / "cards")]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.out.endswith("report.md\n") and "8 laws hold" in said.err
    folder = tmp_path / "cards" / "mine"
    names = {each.name for each in folder.iterdir()}
    assert names == {"report.md", "figure.pdf", "figure.png", "summary.csv", "accuracy.csv"}
    accuracy = pd.read_csv(folder / "accuracy.csv")
    assert set(accuracy["length"]) == {112, 128, 256, 512} and set(accuracy["seed"]) == {0, 1}
    text = (folder / "report.md").read_text()
    assert "2 seeds trained and asked" in text and "`SSMAX=1` asks Mine SSMax" in text and "missed the gate" in text
    assert main([*arguments, "--ssmax"]) == 0
    summary = pd.read_csv(tmp_path / "cards" / "mine-ssmax" / "summary.csv")
    assert set(summary["encoding"]) == {"mine", "mine-ssmax"}


def test_nothing_is_done_twice_and_a_run_depends_on_the_code_of_the_file(tmp_path: Path, monkeypatch) -> None:
    read, store = own.read(written(tmp_path, HEAD + GOOD + ROW)), tmp_path / "runs"
    whole = runs.asked(read, "mine", SMOKE, store, 1.0)
    assert len(whole.records) == len(whole.masses) == 2 and len(whole.counts) == 8
    monkeypatch.setattr("attention_priors.experiments.answers.passkey_samples", lambda *_: pytest.fail("asked twice"))
    again = runs.asked(read, "mine", SMOKE, store, 1.0)
    assert again.records == whole.records and again.counts == whole.counts
    before, changed = runs.spec_of(read, "mine", SMOKE, 0), own.read(written(tmp_path, TURNED))
    assert runs.spec_of(changed, "mine", SMOKE, 0).key() != before.key()


def test_parameters_that_leave_the_domain_are_named(tmp_path: Path) -> None:
    body = "        return -(self.scale[:, None] - 0.9999).sqrt() * lags.abs()\n"
    read = own.read(written(tmp_path, HEAD + body + ROW))
    laws.hold(read, SMOKE, 512)
    with pytest.raises(own.Wrong, match=r"mine\.py.*passkey/mine/0: .*nan.*keep them in it, as with scale\.exp\(\)"):
        runs.asked(read, "mine", SMOKE, tmp_path / "runs", 1.0)


def test_parameters_without_a_gradient_are_named_before_training(tmp_path: Path, capsys) -> None:
    read = own.read(written(tmp_path, HEAD + "        return (-self.scale[:, None] * lags.abs()).detach()\n" + ROW))
    laws.hold(read, SMOKE, 512)
    assert "mine: no gradient reaches scale; is it detached?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "law"), [(TURNED, "decode equals prefill"), (SINK, "a prior says what it depends on")]
)
def test_other_kinds_of_encodings_have_their_laws(text: str, law: str, tmp_path: Path) -> None:
    held = laws.hold(own.read(written(tmp_path, text)), SMOKE, 512)
    assert law in {each.law for each in held}


def test_the_price_of_a_slow_prior_is_seen(tmp_path: Path, monkeypatch) -> None:
    text = HEAD + "        __import__('time').sleep(0.2)\n" + GOOD + ROW
    read = own.read(written(tmp_path, text))
    assert laws.price(read, "mine", SMOKE)[1] > 1.5
    monkeypatch.setattr(laws, "PATIENCE", 0.6)
    with pytest.raises(own.Wrong, match=r"mine\.py, line 11: a training step .* 3 steps from checkpoint to checkpoint"):
        laws.price(read, "mine", SMOKE)
