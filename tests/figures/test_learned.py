"""The figures of learned priors: titles and captions say no more than what is drawn."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors.figures import learned
from attention_priors.positions.priors import GeneralizedGaussian
from figures.committed import frame


def weights(*betas):
    panels = ("β ≤ 0", "0 < β < 1", "β ≈ 1")
    return pd.DataFrame(
        {"seed": 0, "layer": 2, "head": head, "key": key, "weight": 0.0 if key else 1.0, "panel": panel, "beta": beta}
        for head, (panel, beta) in enumerate(zip(panels, betas, strict=True))
        for key in range(9)
    )


def test_a_head_is_titled_by_its_own_exponent():
    axes = learned.draw_maps(weights(-1.33, 0.47, -0.21)).axes
    assert [ax.get_title().splitlines()[0] for ax in axes] == ["β = −1.33", "β = 0.47", "β = −0.21"]
    assert axes[0].get_title().endswith("(layer 3, head 1)")
    caption = learned.caption_maps(weights(-1.33, 0.47, -0.21))
    assert "of the remaining ones, those nearest to 1/2 and then to 1" in caption and "below 1e-08" in caption


def test_the_caption_of_the_edits_says_what_they_do_where_the_model_was_trained():
    edits = frame("learned_edits")
    caption, at = learned.caption_edits, edits["length"] == edits["trained"]
    assert "there the edit costs more than 0.1 with 4 of 5 seeds" in caption(edits)
    whole = caption(edits.assign(accuracy=edits["accuracy"].mask(at, 1.0)))
    assert "there the edit costs more than 0.1 with 0 of 5 seeds" in whole
    assert "At 128" not in caption(edits[edits["edit"] != "random to uniform"])


@pytest.mark.parametrize("scale", [1.0, 0.2, -0.1])
def test_the_curves_are_the_librarys_prior_under_ssmax(scale):
    prior = GeneralizedGaussian([0.3, -0.2], [-0.5, 0.7])
    table = scale * np.log(learned.KEYS) * prior.log_prior(torch.arange(learned.KEYS)).detach().double()
    expected = learned.KEYS * torch.softmax(table, -1).numpy()
    for head, (alpha, beta) in enumerate(((0.3, -0.5), (-0.2, 0.7))):
        assert np.allclose(learned.ratio(alpha, beta, scale), expected[head], rtol=1e-3, atol=1e-9)
    assert np.allclose(learned.ratio(1.0, 0.0, scale), 1.0)
