"""Readings of what heads learned: each answers differently when the numbers are reversed, and is undecided on noise."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks.bam_learned import CHECKS
from attention_priors.experiments import learned


def frames(seeds=4, spread=0.05, slope=-1.0):
    """Heads whose attention to the key falls with β, and edits that cost accuracy."""
    noise = np.random.default_rng(0)
    heads, edits = [], []
    for seed in range(seeds):
        for head, beta in enumerate(np.linspace(-1.5, 1.0, 12)):
            mass = 0.3 * np.exp(slope * beta) + noise.normal(0, 0.001)
            heads.append({"seed": seed, "layer": head // 4, "head": head % 4, "beta": beta, "passkey_mass": mass,
                          "passkey_lift": mass * 845 / 25})  # fmt: skip
        for edit, mean in (("as trained", 0.9), ("negative to uniform", 0.4), ("all uniform", 0.0)):
            for length in (128, 1024, 4096):
                accuracy = mean + noise.normal(0, spread)
                edits.append({"seed": seed, "edit": edit, "length": length, "samples": 10, "accuracy": accuracy})
    return {"learned_heads": pd.DataFrame(heads), "learned_edits": pd.DataFrame(edits)}


@pytest.mark.parametrize("claim", sorted(CHECKS))
def test_agrees_on_what_is_claimed_and_flips_with_the_numbers(claim):
    check, made = CHECKS[claim], frames()
    found = check.judge(made)
    assert found.outcome == "agrees"
    assert found.interval[0] <= found.measured <= found.interval[1]
    assert check.judge(check.flip(made)).outcome == "disagrees"


def test_noise_is_undecided():
    made = frames()
    edits = made["learned_edits"]
    edits["accuracy"] = np.random.default_rng(1).normal(0.5, 0.2, len(edits))
    assert CHECKS["BAM-C21"].judge(made).outcome == "undecided"
    heads = made["learned_heads"]
    heads["passkey_mass"] = np.random.default_rng(2).random(len(heads))
    assert CHECKS["BAM-F4"].judge(made).outcome == "undecided"


def test_one_seed_decides_nothing():
    made = {name: frame[frame["seed"] == 0] for name, frame in frames().items()}
    assert {check.judge(made).outcome for check in CHECKS.values()} == {"undecided"}


def test_no_negative_head_anywhere_disagrees_with_c8():
    made = frames()
    made["learned_heads"]["beta"] = made["learned_heads"]["beta"].abs()
    assert CHECKS["BAM-C8"].judge(made).outcome == "disagrees"


def test_heads_for_the_figure_are_picked_by_beta_alone():
    heads = frames()["learned_heads"]
    maps = heads[["seed", "layer", "head"]].assign(key=0, weight=0.1)
    chosen = learned.chosen_maps(heads, maps, seed=2)
    assert list(chosen["panel"]) == list(learned.PANELS)
    own = heads[heads["seed"] == 2]["beta"]
    assert chosen["beta"].iloc[0] == own.min()
    assert abs(chosen["beta"].iloc[2] - 1) == pytest.approx((own - 1).abs().min())
    with pytest.raises(ValueError, match="seed 9 has 0 heads"):
        learned.chosen_maps(heads, maps, seed=9)
