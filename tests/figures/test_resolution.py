"""The figures of resolution: looks, and captions of pictures that no committed profile has."""

import numpy as np
import pandas as pd

from attention_priors.experiments import resolution
from attention_priors.experiments.arms import UNTRAINED
from attention_priors.experiments.resolution import BARE, COUNTED, STRETCHED
from attention_priors.figures import FIGURES, TABLES
from attention_priors.figures.resolution import LOOKS, drawn
from attention_priors.positions.grids import GRIDS

FEW = ("nope-2d", "learned-2d", "rope-2d", "goat-2d")
SIDES, T = (32, 40, 48, 64, 96), 32


def share(name, ratio, places):
    """Goat stands where the grid is stretched, falls where patches are counted; the table falls more slowly."""
    if name == UNTRAINED:
        return 0.1
    fall = {"learned-2d": 0.3, "nope-2d": 0.4}.get(name, 0.02 if places == STRETCHED else 0.4)
    return max(0.1, 0.98 - fall * (ratio - 1))


def world(names=FEW, rule=share, seeds=3, tokens=(False,), slope=-0.3):
    """Metrics in which a share rule(name, side / T, places) of 200 pictures is right; κ falls by `slope` a patch."""
    answers, priors = [], []
    for name in (*names, UNTRAINED):
        prior = name in GRIDS and GRIDS[name].prior is not None
        for token in tokens:
            for seed in range(seeds):
                ways = (
                    (COUNTED,) if name == UNTRAINED else (COUNTED, STRETCHED, BARE) if prior else (COUNTED, STRETCHED)
                )
                answers += [
                    {
                        "encoding": name,
                        "token": token,
                        "seed": seed,
                        "places": places,
                        "side": side,
                        "correct": round(200 * rule(name, side / T, places)) - seed % 2,
                        "samples": 200,
                        "steps": 10,
                        "run": "r",
                        "trained": T,
                        "images": "glyphs",
                        "classes": 10,
                        "gate": 0.95,
                    }
                    for places in ways
                    for side in SIDES
                ]
        if prior:
            priors += [
                {
                    "encoding": name,
                    "seed": seed,
                    "layer": 1,
                    "head": head,
                    "down": down,
                    "across": across,
                    "value": round(slope * head * float(np.hypot(down, across)) - 0.01 * seed, 4),
                }
                for seed in range(seeds)
                for head in (1, 2)
                for down in range(-7, 8)
                for across in range(-7, 8)
            ]
    columns = ["encoding", "seed", "layer", "head", "down", "across", "value"]
    made = {"resolution_answers": pd.DataFrame(answers), "resolution_priors": pd.DataFrame(priors, columns=columns)}
    made |= {"digits_answers": made["resolution_answers"].assign(images="digits")}
    return made | {"resolution_locality": resolution.locality(made["resolution_priors"])}


def test_every_row_has_a_look_of_its_own() -> None:
    assert set(LOOKS) == set(GRIDS)
    assert len({(look[1], look[2]) for look in LOOKS.values()}) == len(LOOKS)
    assert {drawn(name)["label"] for name in GRIDS} == {row.label for row in GRIDS.values()}


def test_captions_say_which_pictures_were_asked() -> None:
    made = world()
    photos = made["resolution_answers"].assign(images="folder:photos", classes=1000, gate=0.85)
    said = FIGURES["resolution_accuracy"].caption(photos)
    assert "photos resized" in said and "All pass the gate of 0.85." in said
    assert "Chance is 0.001." in TABLES["resolution"].caption(photos)
    said = FIGURES["resolution_prior"].caption(world(slope=-50.0)["resolution_priors"])
    assert "Goat 2-D 1.00" in said and "a uniform prior has 0.17" in said
