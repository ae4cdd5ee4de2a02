"""The figures and the table of genomes on made-up models, at every profile's shape."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import genomes as experiment
from attention_priors.experiments.continuations import rows
from attention_priors.experiments.cost import WAYS
from attention_priors.figures import FIGURES
from attention_priors.figures.genomes import drawn


def frames(profile, names=None):
    """Models of every encoding and seed: each a little better than the one before it."""
    settings, generator = profile.genomes, np.random.default_rng(0)
    names = settings.encodings if names is None else names
    chains = pd.DataFrame(
        {
            "order": order,
            "windows": part,
            "count": 10,
            "strength": 1.0,
            "bits": 2 - 0.02 * order,
            "scored": 24,
            "trained": 48,
        }
        for part in ("new", "all")
        for order in range(settings.order + 1)
    )
    losses = pd.DataFrame(
        {
            "encoding": name,
            "seed": seed,
            "window": window,
            "new": window < 10,
            "passed": place > 0,
            "bits": 1.95 - 0.02 * place + 0.002 * seed,
        }
        for place, name in enumerate(names)
        for seed in settings.seeds
        for window in range(14)
    )
    true, texts = generator.random((settings.texts, settings.pieces)), []
    for name in names:
        for seed in settings.seeds:
            made = 0.5 * true + 0.5 * generator.random(true.shape)
            texts += rows(made, true, true.mean(1), encoding=name, seed=seed)
    costs = pd.DataFrame(
        {
            "way": way,
            "length": length,
            "round": turn,
            "milliseconds": (place + 1) * length + turn,
            "memory": (place + 1) * length,
        }
        for length in settings.lengths
        for turn in range(3)
        for place, way in enumerate(WAYS)
    )
    both = experiment.beside(losses, chains)
    written = pd.DataFrame(texts).assign(bases=settings.piece, beginning=settings.beginning)
    return {
        "genomes_bits": both,
        "genomes_models": experiment.over_models(both),
        "genomes_cost": costs,
        "genomes_texts": written,
    }


@pytest.mark.parametrize("profile", ["full", "paper"])
def test_every_encoding_of_a_profile_has_its_own_look(profile):
    names = set(config.profile(profile).genomes.encodings)
    looks = {(drawn(name)["color"], drawn(name)["marker"]) for name in names}
    assert len(looks) == len(names)


def test_captions_are_computed_from_what_is_drawn():
    made = frames(config.profile("cpu"))
    said = FIGURES["genomes_bits"].caption(made["genomes_bits"])
    assert "Goat composite 1.952, RoPE 1.932" in said and "order 3 (1.940)" in said and "3 of 6 do)" in said
    said = FIGURES["genomes_cost"].caption(made["genomes_cost"])
    assert "2.00 times RoPE's memory and 2.00 times its time" in said and "stored bias 1.5 times" in said
    said = FIGURES["genomes_texts"].caption(made["genomes_texts"])
    assert "over 50 texts" in said and "seeds 0, 1, 2" in said
