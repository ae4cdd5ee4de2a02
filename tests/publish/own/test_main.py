"""`make encoding` at the smallest size: a good file, a slow one, one that was stopped, and its form with SSMax."""

import time
from pathlib import Path

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.commands.encoding import MINUTES, limit, main
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.publish import own
from attention_priors.publish.own import laws, runs
from test_bad_inputs import GOOD, HEAD, ROW

SMOKE = config.profile("smoke").model_copy(update={"workers": 1})
SLOW = HEAD + "        return torch.stack([-self.scale * abs(float(lag)) for lag in lags], 1)\n" + ROW
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
    """Profile smoke in this process, a cache of its own, and ENCODINGS as it was before."""
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(config, "profile", lambda name: SMOKE)
    monkeypatch.setenv("ATTENTION_PRIORS_HEADLESS", "1")
    before = dict(ENCODINGS)
    yield
    for name in [name for name in ENCODINGS if name not in before]:
        del ENCODINGS[name]


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


def test_what_time_ran_out_on_is_taken_up_again(tmp_path: Path, monkeypatch, capsys) -> None:
    read, store = own.read(written(tmp_path, SLOW)), tmp_path / "runs"
    monkeypatch.setattr("attention_priors.runtime.HEARTBEAT_SECONDS", -1.0)
    late = runs.asked(read, "mine", SMOKE, store, time.time() - 1, 1, 1.0)
    assert late.records == [] and [each.partition(" ")[0] for each in late.waiting] == [
        "passkey/mine/0",
        "passkey/mine/1",
    ]
    trained = runs.asked(read, "mine", SMOKE, store, time.time() + 12, 1, 1.0)  # a fifth of the minute is for asking
    assert len(trained.records) + len(trained.waiting) == 2
    whole = runs.asked(read, "mine", SMOKE, store, time.time() + 600, 1, 1.0)
    assert len(whole.records) == 2 and whole.waiting == [] and len(whole.counts) == 8 and len(whole.masses) == 2
    began = [record["seconds"] for record in whole.records]
    again = runs.asked(read, "mine", SMOKE, store, time.time() + 600, 1, 1.0)
    assert [record["seconds"] for record in again.records] == began and again.counts == whole.counts, (
        "nothing is done twice"
    )
    slow, changed = runs.spec_of(read, "mine", SMOKE, 0), own.read(written(tmp_path, HEAD + GOOD + ROW))
    assert runs.spec_of(changed, "mine", SMOKE, 0).key() != slow.key(), "the key holds the file's code"


def test_what_is_not_finished_is_said_with_how_to_go_on(tmp_path: Path, monkeypatch, capsys) -> None:
    late = runs.Seed(waiting=["passkey/mine/0 step 40/2000"])
    monkeypatch.setattr(runs, "asked", lambda *_: late)
    path, cards = str(written(tmp_path, HEAD + GOOD + ROW)), str(tmp_path / "cards")
    assert main([path, "--results", str(tmp_path), "--into", cards, "--minutes", "7"]) == 0
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("not finished within 7 min: passkey/mine/0 step 40/2000. Run the same command again")


def test_the_time_limit_suits_the_machine() -> None:
    cpu = SMOKE.model_copy(update={"seeds": (0, 1, 2), "workers": 2})
    steps = cpu.passkey.recipe.steps
    assert limit(cpu, 0.0) == MINUTES
    assert limit(cpu, 60 / steps) == MINUTES == 5 and limit(cpu, 600 / steps) == 50


def test_parameters_that_leave_the_domain_are_named(tmp_path: Path) -> None:
    body = "        return -(self.scale[:, None] - 0.9999).sqrt() * lags.abs()\n"
    read = own.read(written(tmp_path, HEAD + body + ROW))
    laws.hold(read, SMOKE, 512)
    with pytest.raises(own.Wrong, match=r"mine\.py.*passkey/mine/0: .*nan.*keep them in it, as with scale\.exp\(\)"):
        runs.asked(read, "mine", SMOKE, tmp_path / "runs", time.time() + 600, 1, 1.0)


@pytest.mark.parametrize(
    ("text", "law"), [(TURNED, "decode equals prefill"), (SINK, "a prior says what it depends on")]
)
def test_other_kinds_of_encodings_have_their_laws(text: str, law: str, tmp_path: Path) -> None:
    held = laws.hold(own.read(written(tmp_path, text)), SMOKE, 512)
    assert law in {each.law for each in held}


def test_the_price_of_a_slow_prior_is_seen(tmp_path: Path) -> None:
    text = HEAD + "        __import__('time').sleep(0.2)\n" + GOOD + ROW
    read = own.read(written(tmp_path, text))
    assert laws.price(read, "mine", SMOKE, 1.0)[1] > 1.5
    with pytest.raises(own.Wrong, match=r"mine\.py, line 11: a training step .* less than the 3 steps"):
        laws.price(read, "mine", SMOKE, 0.01)
