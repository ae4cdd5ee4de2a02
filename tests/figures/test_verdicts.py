"""Figures of the ledger on made-up verdicts: every claim counted once, every bound on its own side."""

import pytest

from attention_priors import claims
from attention_priors.figures import NotCompared
from attention_priors.figures.verdicts import counts, forest


def ledger(**changes):
    """The register of today in which nothing has run, with `changes`: columns by claim."""
    frame = claims.frame(claims.gather("nowhere", "cpu")).set_index("id", drop=False).astype(object)
    for name, values in changes.items():
        for column, value in values.items():
            frame.at[name.replace("_", "-"), column] = value
    return frame.reset_index(drop=True)


FOUND = {"verdict": "scaled reproduction", "outcome": "agrees", "measured": 0.9, "relation": ">=",
         "expected_value": 0.8, "interval": (0.85, 0.95)}  # fmt: skip


def test_the_bars_have_every_claim_once_and_all_verdicts_a_look(legible):
    frame = ledger(BAM_D1={"verdict": "verified"}, BAM_D2={"verdict": "contradicted"})
    figure = counts.draw(frame)
    legible(figure)
    assert sum(bar.get_width() for bar in figure.axes[0].patches) == len(frame)
    assert set(counts.LOOKS) == set(claims.VERDICTS)
    assert "1 verified" in counts.caption(frame) and "1 contradicted" in counts.caption(frame)


def test_a_row_for_each_claim_with_a_number_and_a_finite_interval(legible):
    open_ended = FOUND | {"interval": (float("-inf"), 0.95)}
    frame = ledger(BAM_F2=FOUND, GOAT_F4=FOUND | {"outcome": "disagrees", "measured": -2.0, "interval": (-3.0, -1.0)},
                   PC_F1=open_ended, PC_F3=FOUND | {"measured": True})  # fmt: skip
    assert list(forest.comparable(frame)["id"]) == ["BAM-F2", "GOAT-F4"]
    figure = forest.draw(frame)
    legible(figure)
    ax, beside = figure.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["BAM-F2", "GOAT-F4"]
    means = [line.get_xdata()[0] for line in ax.get_lines() if line.get_label() == "_mean"]
    bounds = [line.get_xdata()[0] for line in ax.get_lines() if line.get_label() == "_bound"]
    assert means == pytest.approx([0.9 / 0.95, -2 / 3]) and bounds == pytest.approx([0.8 / 0.95, 0.8 / 3])
    written = {text.get_text() for text in beside.texts}
    assert {"0.9 [0.85, 0.95]", "−2 [−3, −1]", "≥ 0.8"} <= written
    assert "1 agree, 1 disagree, 0 are undecided" in forest.caption(frame)


def test_a_bound_that_we_chose_is_told_from_the_documents(monkeypatch):
    name = next(each for each in claims.register() if each in forest.CHECKS)
    finding = forest.Finding("A.", lambda frames: None, ">", 0.5, metrics=("m",), ours=True)
    check = type("Check", (), {"sentences": (finding,)})
    monkeypatch.setattr(forest, "CHECKS", {name: check})
    assert forest.ours(name, 0.5) and not forest.ours(name, 0.4) and not forest.ours("other", 0.5)


@pytest.mark.parametrize("told", [forest.draw, forest.caption])
def test_nothing_measured_is_not_drawn(told):
    with pytest.raises(NotCompared, match=r"^verdicts_forest: no claim was held against a run"):
        told(ledger())
