"""The figures of learned priors from frames made up here: titles and captions say no more than what is drawn."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from attention_priors.figures.learned import edits, maps
from attention_priors.figures.passkey import by_length


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def weights(*betas):
    panels = ("β ≤ 0", "0 < β < 1", "β ≈ 1")
    return pd.DataFrame(
        {"seed": 0, "layer": 2, "head": head, "key": key, "weight": 0.0 if key else 1.0, "panel": panel, "beta": beta}
        for head, (panel, beta) in enumerate(zip(panels, betas, strict=True)) for key in range(9)
    )  # fmt: skip


def test_a_head_is_titled_by_its_own_exponent():
    axes = maps.draw(weights(-1.33, 0.47, -0.21)).axes
    assert [ax.get_title().splitlines()[0] for ax in axes] == ["β = −1.33", "β = 0.47", "β = −0.21"]
    assert axes[0].get_title().endswith("(layer 3, head 1)")
    caption = maps.caption(weights(-1.33, 0.47, -0.21))
    assert "of the remaining ones, those nearest to 1/2 and then to 1" in caption and "below 1e-08" in caption


def test_accuracy_is_named_alike_in_both_passkey_notebooks():
    rows = [{"edit": edit, "length": length, "seed": seed, "accuracy": 0.5, "samples": 10}
            for edit in edits.LOOKS for length in (128, 256) for seed in (0, 1)]  # fmt: skip
    edited = edits.draw(pd.DataFrame(rows))
    plain = pd.DataFrame(rows[:4]).assign(form="plain", encoding="bam-ssmax", trained=128, correct=5)
    both = [edited, by_length.FIGURE.draw(plain)]
    assert [figure.axes[0].get_ylabel() for figure in both] == ["share with all five digits right"] * 2
