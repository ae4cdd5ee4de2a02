"""The figures of learned priors from frames made up here: titles and captions say no more than what is drawn."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors.experiments.learned import CORRELATED
from attention_priors.figures import learned
from attention_priors.figures.passkey import lines
from attention_priors.positions.priors import GeneralizedGaussian


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


def test_accuracy_is_named_alike_in_both_passkey_notebooks():
    rows = [
        {"edit": edit, "length": length, "seed": seed, "accuracy": 0.5, "samples": 10, "trained": 128}
        for edit in learned.EDITS
        for length in (128, 256)
        for seed in (0, 1)
    ]
    edited = learned.draw_edits(pd.DataFrame(rows))
    plain = pd.DataFrame(rows[:4]).assign(form="plain", trained=128, correct=5)
    two = pd.concat([plain.assign(encoding=name) for name in ("bam-ssmax", "alibi-ssmax")])
    named = edited.get_supxlabel(), lines.BY_LENGTH.draw(two).axes[0].get_ylabel()
    assert named == ("share with all five digits right",) * 2
    assert [tick.get_text() for tick in edited.axes[0].get_yticklabels()] == list(learned.EDITS)


def edited(at_training, control=0.9):
    """Accuracy 0.9 as trained and 0.2 for the edit at twice the training length."""
    rows = []
    for seed in (0, 1):
        for edit, near, far in (
            ("as trained", 1.0, 0.9),
            ("negative to uniform", at_training, 0.2),
            ("random to uniform", control, control),
        ):
            rows += [
                {"edit": edit, "seed": seed, "length": length, "accuracy": accuracy, "samples": 10, "trained": 128}
                for length, accuracy in ((128, near), (256, far))
            ]
    return pd.DataFrame(rows)


def test_the_caption_of_the_edits_says_what_they_do_where_the_model_was_trained():
    broken, kept = (learned.caption_edits(edited(share)) for share in (0.3, 0.95))
    assert (
        "At 128 tokens: as trained 1.00, negative to uniform 0.30, random to uniform 0.90; the edit fails at the"
        in (broken)
    )
    assert "breaks the task" in broken and "leaves the task as it was" in kept
    assert "At 2×: 0.20 edited, 0.90 the control." in kept
    without = edited(0.3)
    assert "At 128" not in learned.caption_edits(without[without["edit"] != "random to uniform"])


def test_correlations_have_a_row_for_each_reading():
    rows = [
        {"seed": seed, "reading": reading, "rho": -0.5 + 0.1 * seed, "heads": 12}
        for reading in CORRELATED
        for seed in (0, 1)
    ]
    built = learned.build_correlations(pd.DataFrame(rows))
    assert list(built["β against"]) == list(CORRELATED) and list(built["seed 1"]) == ["-0.40"] * len(CORRELATED)
    assert built["mean [95 %]"].iloc[0].startswith("-0.45 [")
    assert learned.build_correlations(pd.DataFrame(rows).assign(rho=float("nan")))["mean [95 %]"].iloc[0] == "–"
    assert "2 seeds, 12 heads each" in learned.caption_correlations(pd.DataFrame(rows))


def test_learned_priors_as_curves_have_a_line_for_each_head(legible):
    heads = pd.DataFrame(
        {"seed": seed, "layer": layer, "head": head, "beta": beta, "theta_alpha": 0.0, "scale": scale}
        for seed in (0, 1)
        for layer in (0, 1, 2)
        for head, (beta, scale) in enumerate(((-0.5, 0.2), (0.0, 0.2), (1.0, 0.2), (-2.0, -0.1)))
    )
    figure = learned.draw_curves(heads)
    legible(figure)
    assert len(figure.axes) == 6
    assert all(sum("β" in line.get_label() for line in ax.get_lines()) == 4 for ax in figure.axes)
    caption = learned.caption_curves(heads)
    assert "Of 24 heads 6 have β > 0.05 and 12 β < −0.05. Of the latter 6 hide the first key, 0 of them" in caption
    assert "In 6 of all heads SSMax's s is negative" in caption


@pytest.mark.parametrize("scale", [1.0, 0.2, -0.1])
def test_the_curves_are_the_librarys_prior_under_ssmax(scale):
    prior = GeneralizedGaussian([0.3, -0.2], [-0.5, 0.7])
    table = scale * np.log(learned.KEYS) * prior.log_prior(torch.arange(learned.KEYS)).detach().double()
    expected = learned.KEYS * torch.softmax(table, -1).numpy()
    for head, (alpha, beta) in enumerate(((0.3, -0.5), (-0.2, 0.7))):
        assert np.allclose(learned.ratio(alpha, beta, scale), expected[head], rtol=1e-3, atol=1e-9)
    assert np.allclose(learned.ratio(1.0, 0.0, scale), 1.0)
