"""Goat's mixture of copies: what is measured of a head whose prior is known."""

import math

import pandas as pd
import torch

from attention_priors.experiments import copying as experiment
from attention_priors.experiments.induced import induced, sides
from attention_priors.positions.composite import Bump
from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import Laplace, Product
from attention_priors.positions.spectral import Fourier, Sink, geometric


def sink(height=9.0, slope=0.0):
    """Two heads with a bump of that height at the first key and a slope."""
    bump = Bump(2)
    with torch.no_grad():
        bump.height.fill_(height)
    return Product(Fourier.uniform(2, geometric(2)), Sink(torch.full((2,), slope)), bump)


def test_the_induced_prior_is_the_softmax_over_visible_keys():
    pi = induced(Laplace([0.5]), 1, 6)
    weights = torch.tensor([math.exp(-0.5 * (4 - j)) for j in range(5)], dtype=torch.float64)
    torch.testing.assert_close(pi[0, 4, :5], weights / weights.sum(), rtol=0, atol=1e-6)
    assert not pi[0, 4, 5:].any()
    uniform = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3], dtype=torch.float64)
    torch.testing.assert_close(induced(None, 2, 3)[1], uniform)


def test_a_line_leaves_u_for_kappa_and_the_induced_prior_stays():
    prior = sink(slope=0.25)
    kappa, u = sides(prior, 2, 40)
    plain, level = sides(sink(), 2, 40)
    torch.testing.assert_close(u, level, rtol=0, atol=1e-5)
    slope = (kappa - plain).diff(dim=-1)
    torch.testing.assert_close(slope, torch.full_like(slope, -0.25), rtol=0, atol=1e-5)
    lags = torch.arange(40)[:, None] - torch.arange(40)
    logits = (kappa[:, lags.clamp(min=0)] + u[:, None]).masked_fill(lags < 0, -torch.inf)
    torch.testing.assert_close(logits.softmax(-1), induced(prior, 2, 40), rtol=0, atol=1e-6)
    assert u.argmax(-1).tolist() == [0, 0]


def test_heads_say_where_their_priors_are_peaked():
    maps = induced(None, 2, 20)
    (row, _) = experiment._heads(sink(), maps, 20)
    assert row["prior_first"] > 0.99 > row["attention_first"] and row["prior_previous"] < 0.01 and row["u_peak"] == 0
    previous = encoding("lag-table").prior(1)
    with torch.no_grad():
        previous.values[:, 1] = 12.0
    (row,) = experiment._heads(previous, maps[:1], 20)
    assert row["prior_previous"] > 0.99 and row["kappa_peak"] == 1 and row["below"] == 1.0


def test_the_parts_are_the_logits_of_attention():
    """Content is what attention has over the prior: of attention that is the prior it is nothing."""
    prior = sink(2.0)
    weights = induced(prior, 2, 12).expand(3, 2, 12, 12)
    rows = pd.DataFrame(experiment._parts(prior, weights, 12))
    assert rows["content"].abs().max() < 1e-4 and len(rows) == 2 * 12 * 13 // 2
    assert set(rows[rows["key"] > 0]["sink"].round(2)) < set(rows["sink"].round(2))
