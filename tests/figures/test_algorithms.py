"""The figures and the table of the algorithmic tasks on made-up models, at every profile's shape."""

import itertools

import numpy as np
import pandas as pd

from attention_priors import config
from attention_priors.experiments import algorithms as experiment
from attention_priors.figures import FIGURES, TABLES, algorithms


def accuracies(profile, right=0.9):
    """Every model has a share `right` of all symbols within training and half of it beyond."""
    settings, rows = profile.algorithms, []
    grid = itertools.product(settings.tasks, (*settings.encodings, "untrained"), profile.seeds, settings.lengths)
    for task, name, seed, length in grid:
        share = right if length <= settings.recipe.length else right / 2
        symbols = 100 * (1 if task == "parity" else length)
        rows.append(
            {
                "task": task,
                "encoding": name,
                "seed": seed,
                "length": length,
                "samples": 100,
                "right": round(symbols * share) + seed,
                "symbols": symbols,
                "whole": 10,
            }
        )
    return experiment.accuracy(pd.DataFrame(rows).assign(trained=settings.recipe.length))


def models(profile):
    rows = []
    for kind, name, seed in itertools.product(("causal", "masked"), profile.nope.encodings, profile.seeds):
        common = {"kind": kind, "encoding": name, "seed": seed, "trained": 32}
        value = 5.0 + 0.1 * seed + (name == "nope")
        rows.append(common | {"quantity": "loss", "layer": np.nan, "value": value, "reference": 7.0})
        rows.append(common | {"quantity": "reordering", "layer": np.nan, "value": 0.0, "reference": 0.0})
        rows += [
            common | {"quantity": "probe", "layer": layer, "value": 0.1 * layer * (kind == "causal"), "reference": 0.0}
            for layer in range(profile.nope.size.layers + 1)
        ]
    control = [row | {"encoding": "untrained"} for row in rows if (row["kind"], row["encoding"]) == ("causal", "nope")]
    return pd.DataFrame(rows + [row for row in control if row["quantity"] == "probe"])


def both():
    """Profile cpu with both bases and both kinds of positions, whichever of them it trains."""
    profile = config.profile("cpu")
    names = ("sinusoidal", "sinusoidal-randomised-128", "rope", "rope-randomised-128")
    return profile.model_copy(update={"algorithms": profile.algorithms.model_copy(update={"encodings": names})})


def test_the_caption_of_accuracies_prints_what_it_shows():
    caption = FIGURES["algorithm_accuracy"].caption(accuracies(both()))
    for part in (
        "up to 10 symbols",
        "15 lengths beyond with 100 strings",
        "3 seeds",
        "below 128",
        "Sinusoidal 0.45, randomised 0.45",
        "RoPE 0.45, randomised 0.45",
    ):
        assert part in caption, part


def test_the_caption_of_positions_prints_what_it_shows():
    caption = FIGURES["nope_position"].caption(models(config.profile("cpu")))
    for part in (
        "NoPE causal 0.20",
        "NoPE masked 0.00",
        "Untrained causal 0.20",
        "32 tokens",
        "3 seeds",
        "causal NoPE gains 0.90 nats over token frequencies, RoPE 1.90",
    ):
        assert part in caption, part


def test_rows_stand_beside_their_plain_form_and_the_control_last():
    frame = accuracies(both()).sample(frac=1, random_state=0)
    assert algorithms.listed(frame) == [
        "sinusoidal",
        "sinusoidal-randomised-128",
        "rope",
        "rope-randomised-128",
        "untrained",
    ]


def test_the_table_has_a_row_for_each_task_and_encoding():
    profile = both()
    frame = accuracies(profile, right=0.8)
    table = TABLES["algorithms"].build(frame)
    assert len(table) == len(profile.algorithms.tasks) * (len(profile.algorithms.encodings) + 1)
    own = table[(table["task"] == "copy") & (table["encoding"] == "RoPE")].iloc[0]
    assert own["1–10 symbols"].startswith("0.80 [") and own["11–25 symbols"].startswith("0.40 [")
    assert own["chance"] == "0.50" and own["whole strings beyond"].startswith("0.10")
    one = TABLES["algorithms"].build(frame[frame["seed"] == 0])
    assert set(one["seeds"]) == {1} and "[" not in one["1–10 symbols"].iloc[0], "one seed has no interval"
    assert "up to 10" in TABLES["algorithms"].caption(frame)
