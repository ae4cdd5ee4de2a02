"""Readings of what heads learned: within layers, by the sign of β, and edits that break the task."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks.learned import heads as checks
from attention_priors.experiments import learned
from checks.committed import frame, frames, notes, outcomes


def test_an_edit_that_breaks_the_task_does_not_steer_the_reach():
    edits = frame("learned_edits")
    edits = edits.assign(accuracy=0.95 - 0.001 * edits["seed"])
    broken = edits["edit"] == "negative to uniform"
    given = {"learned_edits": edits.assign(accuracy=edits["accuracy"].mask(broken, 0.2 + 0.01 * edits["seed"]))}
    assert outcomes("BAM-C21", frames("BAM-C21", **given)) == ["disagrees", "agrees", "disagrees"]


def test_one_steep_head_does_not_rule_c8_and_the_note_says_how_steep_it_is():
    heads = frame("learned_heads")
    steep = frames("BAM-C8", learned_heads=heads.assign(beta=heads["beta"].mask(heads.index == 0, -30.0)))
    assert (
        outcomes("BAM-C8", steep)[0] == "agrees" and "of 5 seeds lies between −30.00 and −" in notes("BAM-C8", steep)[0]
    )
    none = frames("BAM-C8", learned_heads=pd.concat([heads.assign(beta=heads["beta"].abs())] * 10))
    assert outcomes("BAM-C8", none) == ["disagrees", "undecided", "undecided"]


def test_within_layers_a_layer_that_looks_at_the_key_adds_nothing():
    heads = pd.DataFrame([(0, layer, head) for layer in (0, 1) for head in range(4)], columns=["seed", "layer", "head"])
    layer, head = heads["layer"], heads["head"]
    made = heads.assign(beta=-layer + 0.1 * head, passkey_mass=layer + 0.1 * head, content_mass=0.1 * head * layer)
    found = learned.correlations(made).set_index("reading")["rho"]
    assert found["attention on the key, all heads"] < 0 < found["attention on the key, within layers"]
    assert found["attention on the key, within layers"] == pytest.approx(1.0)
    assert 0 < found["content alone on the key, within layers"] < 1
    assert learned.correlations(made.assign(beta=0.0))["rho"].isna().all()


def test_which_heads_come_first_is_counted_within_layers():
    layers = pd.DataFrame({"layer": [0, 0, 0, 1, 1], "beta": [-1, -1, 1, -1, -1], "passkey_mass": [3, 1, 2, 9, 9]})
    assert checks.before_the_others(layers) == 0.5 and np.isnan(checks.before_the_others(layers[3:]))


def test_heads_for_the_figure_are_picked_by_beta_alone():
    heads = frame("learned_heads")
    maps = heads[["seed", "layer", "head"]].assign(key=0, weight=0.1)
    chosen = learned.chosen_maps(heads, maps, seed=2)
    own = heads[heads["seed"] == 2]["beta"]
    assert list(chosen["panel"]) == list(learned.PANELS) and chosen["beta"].iloc[0] == own.min()
    with pytest.raises(ValueError, match="seed 9 has 0 heads"):
        learned.chosen_maps(heads, maps, seed=9)
