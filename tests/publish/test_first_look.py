"""`make first-look`: runs that `make reproduce` does not train again, a figure that says how little it is."""

from pathlib import Path

import pandas as pd
import pytest

from attention_priors import config, runtime, store
from attention_priors.commands import first_look as command
from attention_priors.experiments import EXPERIMENTS, unread
from attention_priors.publish import first_look
from attention_priors.publish.first_look import HERE, SIX, THERE, planned, wanted
from attention_priors.publish.report import Report
from attention_priors.store.layout import Layout

CPU, RESULTS = config.profile("cpu"), config.ROOT / "results"
LENGTHS = {length: each.samples for each in wanted(CPU) for length in each.lengths}


def world(here=lambda name, n: 1.0, there=lambda name, n: 1.0, committed: bool = True) -> pd.DataFrame:
    """A frame in which an encoding answers so many prompts of a length here, and in the committed results."""
    rows = []
    for source, share, seeds in ((HERE, here, 2), (THERE, there, 3))[: 1 + committed]:
        for name in SIX:
            rows += [
                (source, name, seed, n, round(share(name, n) * asked), asked, 128)
                for seed in range(seeds)
                for n, asked in LENGTHS.items()
            ]
    return pd.DataFrame(rows, columns=first_look.COLUMNS)


def test_the_runs_are_those_of_the_profile() -> None:
    plan = EXPERIMENTS["passkeys"].plan(CPU, unread(CPU))
    found = planned(CPU)
    assert len(found) == 12 and len(set(found)) == 12
    assert all(plan[spec.name].key() == spec.key() for spec in found)


def test_what_is_asked_is_asked_in_the_profile_too() -> None:
    usual = {length for each in (CPU.passkey.evaluation, CPU.passkey.far) for length in each.lengths}
    assert set(LENGTHS) < usual and max(LENGTHS) == 64 * 128 and 160 not in LENGTHS
    assert all(LENGTHS[n] < each.samples for each in CPU.passkey.asked("bam") for n in each.lengths if n in LENGTHS)


def test_the_caption_says_what_it_is_and_how_it_agrees() -> None:
    said = first_look.caption(world(there=lambda name, n: 1.0 if name == "bam" or n < 512 else 0.0))
    assert "seeds 0, 1; 10 prompts at each length and seed, 6 at 8,192" in said and "seeds 0, 1, 2" in said
    assert "RoPE 1.00 (0.00)" in said and "BAM 1.00 (1.00)" in said and "decide nothing" in said
    wrong = 5 * sum(n >= 512 for n in LENGTHS)
    assert f"{6 * len(LENGTHS) - wrong} of {6 * len(LENGTHS)} means lie within" in said and "Missed" not in said
    said = first_look.caption(world(here=lambda name, n: float(name != "t5" or n != 112), committed=False))
    assert "Missed their gate: T5 buckets (seed 0), T5 buckets (seed 1)" in said and "committed" not in said


@pytest.mark.parametrize("committed", [True, False])
def test_the_figure_has_a_panel_an_encoding(committed: bool) -> None:
    figure = first_look.draw(world(committed=committed))
    assert [ax.get_title() for ax in figure.axes] == ["RoPE", "ALiBi", "T5 buckets", "Sandwich", "KERPLE power", "BAM"]
    grey = [[line for line in ax.lines if line.get_label() == "_committed"] for ax in figure.axes]
    assert [len(each) for each in grey] == [int(committed)] * 6
    assert first_look.page(world(committed=committed)).count("\n| ") == 2 + 6 * (1 + committed)


def test_the_committed_rows_are_those_of_the_same_lengths() -> None:
    frame = first_look.committed(Report(Layout(RESULTS, "cpu"), "passkeys"), set(LENGTHS))
    assert set(frame["encoding"]) == set(SIX) and set(frame["length"]) == set(LENGTHS) and set(frame["from"]) == {THERE}
    assert first_look.committed(Report(Layout(Path("nowhere"), "cpu"), "passkeys"), set(LENGTHS)).empty


def test_once_trained_it_only_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    smoke = config.profile("smoke").model_copy(update={"workers": 1})
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(config, "profile", lambda name: smoke)
    monkeypatch.setattr(first_look, "SIX", ("rope", "bam"))
    monkeypatch.setattr(command, "draw", lambda frame: first_look.style.figure()[0])
    monkeypatch.setenv("ATTENTION_PRIORS_HEADLESS", "1")
    arguments = ["--profile", "smoke", "--results", str(tmp_path / "none"), "--into", str(tmp_path / "build")]
    assert command.main(arguments) == 0
    said = capsys.readouterr()
    assert "4 models, 0 of them trained already; about" in said.err and "passkey.md" in said.out
    names = {each.name for each in (tmp_path / "build").iterdir()}
    assert names == {"passkey.pdf", "passkey.png", "passkey.md", "passkey.csv"}
    first = pd.read_csv(tmp_path / "build" / "passkey.csv")
    records = {path: path.read_bytes() for path in (tmp_path / "cache" / "runs").glob("*/record.json")}
    assert len(records) == 4 and first.groupby("encoding")["seed"].nunique().eq(2).all()
    assert command.main(arguments) == 0
    assert "4 of them trained already" in capsys.readouterr().err
    assert all(path.read_bytes() == before for path, before in records.items())
    assert pd.read_csv(tmp_path / "build" / "passkey.csv").equals(first)
    keys = {store.read_json(path)["key"] for path in records}
    assert keys == {spec.key(runtime.device("cpu").type) for spec in planned(smoke)}
