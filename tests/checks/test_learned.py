"""Readings of what heads learned: each answers differently when the numbers are reversed, and is undecided on noise."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.learned import heads as checks
from attention_priors.experiments import learned
from attention_priors.experiments.gate import gated

IDS = ("BAM-C21", "BAM-C8", "BAM-F4")
LENGTHS = (96, 128, 1024, 4096)


def frames(seeds=4, spread=0.02, slope=-1.0, missed=()):
    """Heads whose attention to the key falls with β, and edits that cost accuracy at long lengths."""
    noise = np.random.default_rng(0)
    heads, edits, asked = [], [], []
    for seed in range(seeds):
        for head, beta in enumerate(np.linspace(-1.5, 1.0, 12)):
            mass = 0.3 * np.exp(slope * beta) + noise.normal(0, 0.001)
            heads.append(
                {
                    "seed": seed,
                    "layer": head % 3,
                    "head": head // 3,
                    "beta": beta,
                    "passkey_mass": mass,
                    "passkey_lift": mass * 845 / 25,
                    "content_mass": mass / 2,
                    "recent_mass": 0.5 - mass,
                }
            )
        for edit, mean in (("as trained", 0.95), ("negative to uniform", 0.4), ("random to uniform", 0.8)):
            for length in LENGTHS[1:]:
                accuracy = (mean if length > 128 else 0.95) + noise.normal(0, spread)
                edits.append({"seed": seed, "edit": edit, "length": length, "trained": 128, "accuracy": accuracy})
        for length in LENGTHS:
            asked.append(
                {
                    "form": "plain",
                    "encoding": "bam-ssmax",
                    "seed": seed,
                    "length": length,
                    "samples": 20,
                    "correct": 20 * (seed not in missed or length != 96),
                    "trained": 128,
                }
            )
    made = pd.DataFrame(heads)
    return {
        "learned_heads": made,
        "learned_correlations": learned.correlations(made),
        "learned_edits": pd.DataFrame(edits),
        "passkey_gate": gated(pd.DataFrame(asked)),
    }


def outcome(claim, made):
    return CHECKS[claim].verdict("cpu", made).outcome


@pytest.mark.parametrize("claim", IDS)
def test_agrees_on_what_is_claimed_and_disagrees_with_other_numbers(claim):
    made, other = frames(), frames(slope=1.0)
    assert outcome(claim, made) == "agrees"
    other["learned_heads"]["passkey_lift"] = 0.5
    names = {"as trained": "negative to uniform", "negative to uniform": "as trained"}
    other["learned_edits"] = other["learned_edits"].replace({"edit": names})
    assert outcome(claim, other) == "disagrees"


def test_noise_is_undecided():
    made = frames()
    made["learned_edits"]["accuracy"] = np.random.default_rng(1).normal(0.5, 0.2, len(made["learned_edits"]))
    for column in ("passkey_mass", "recent_mass"):
        made["learned_heads"][column] = np.random.default_rng(2).random(len(made["learned_heads"]))
    made["learned_correlations"] = learned.correlations(made["learned_heads"])
    assert outcome("BAM-C21", made) == outcome("BAM-F4", made) == outcome("BAM-C8", made) == "undecided"


def test_one_seed_and_runs_that_missed_their_gate_decide_nothing():
    one = {name: frame[frame["seed"] == 0] for name, frame in frames().items()}
    none = frames(missed=range(4))
    assert {outcome(claim, made) for claim in IDS for made in (one, none)} == {"undecided"}
    assert CHECKS["BAM-F4"].verdict("cpu", frames(missed=(2,))).seeds == [0, 1, 3]
    assert CHECKS["BAM-F4"].frame(none)["note"].str.contains("its gate missed").all()


def test_no_negative_head_anywhere_disagrees_with_c8():
    made = frames()
    made["learned_heads"] = pd.concat([made["learned_heads"]] * 10).assign(beta=lambda rows: rows["beta"].abs())
    assert outcome("BAM-C8", made) == "disagrees"


def test_one_steep_head_does_not_rule_c8_and_the_note_says_how_steep_it_is():
    made = frames()
    heads = made["learned_heads"]
    heads.loc[heads.index[0], "beta"] = -30.0
    said = CHECKS["BAM-C8"].frame(made).iloc[0]
    assert said["found"] == "agrees" and "of 4 seeds lies between −30.00 and −1.50" in said["note"]


def test_an_edit_that_breaks_the_task_does_not_steer_the_reach():
    made = frames()
    edits = made["learned_edits"]
    at = (edits["edit"] == "negative to uniform") & (edits["length"] == 128)
    edits.loc[at, "accuracy"] = 0.2 + 0.01 * edits.loc[at, "seed"]
    assert CHECKS["BAM-C21"].frame(made)["found"].tolist() == ["disagrees", "agrees", "disagrees"]
    control = edits["edit"] == "random to uniform"
    edits.loc[control, "accuracy"] = edits.loc[edits["edit"] == "negative to uniform", "accuracy"].to_numpy()
    assert CHECKS["BAM-C21"].frame(made)["found"].iloc[1] != "agrees", "random heads cost as much"


def test_within_layers_a_layer_that_looks_at_the_key_adds_nothing():
    rows = [
        {
            "seed": 0,
            "layer": layer,
            "head": head,
            "beta": -layer + 0.1 * head,
            "passkey_mass": layer + 0.1 * head,
            "content_mass": 0.1 * head if layer else 0.0,
        }
        for layer in (0, 1)
        for head in range(4)
    ]
    found = learned.correlations(pd.DataFrame(rows)).set_index("reading")["rho"]
    assert found["attention on the key, all heads"] < 0 < found["attention on the key, within layers"]
    assert found["attention on the key, within layers"] == pytest.approx(1.0)
    assert 0 < found["content alone on the key, within layers"] < 1
    alike = pd.DataFrame(rows).assign(beta=0.0)
    assert learned.correlations(alike)["rho"].isna().all()


def test_which_heads_come_first_is_counted_within_layers():
    layers = pd.DataFrame({"layer": [0, 0, 0, 1, 1], "beta": [-1, -1, 1, -1, -1], "passkey_mass": [3, 1, 2, 9, 9]})
    assert checks.before_the_others(layers) == 0.5 and np.isnan(checks.before_the_others(layers[3:]))


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
