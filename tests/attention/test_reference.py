"""The specification against its formula, written as loops over single numbers."""

import math

import pytest
import torch

from attention_priors.attention import Visible, attention
from attention_priors.positions.priors import GeneralizedGaussian

HEADS, QUERIES, KEYS, WIDTH = 4, 3, 5, 2


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_is_the_formula() -> None:
    """p_ij ∝ exp(a_i <q_i, k_j> / sqrt(d) + b_i log π(i - j)), grouped queries, arbitrary positions, uneven windows."""
    q, k, v = drawn(2, HEADS, QUERIES, WIDTH), drawn(2, 2, KEYS, WIDTH, seed=1), drawn(2, 2, KEYS, WIDTH, seed=2)
    a, b = drawn(HEADS, QUERIES, seed=3), drawn(2, HEADS, QUERIES, seed=4)
    prior = GeneralizedGaussian([0.1, -0.5, 0.3, 0.0], [0.5, 1.2, -0.3, 2.0], [0.0, 0.4, -0.2, 0.1]).double()
    q_positions, k_positions = torch.tensor([9, 2, 50]), torch.tensor([0, 2, 2, 7, 30])
    visible = Visible(torch.tensor([0, 2, 1]), torch.tensor([4, 2, 3]))
    found = attention(
        q,
        k,
        v,
        prior=prior,
        logit_scale=a,
        prior_scale=b,
        visible=visible,
        positions=(q_positions, k_positions),
        backend="reference",
    )
    for n in range(2):
        for h in range(HEADS):
            alpha, beta, mu = (p[h].item() for p in (prior.theta_alpha, prior.theta_beta, prior.theta_mu))
            for i in range(QUERIES):
                scores = {}
                for j in range(int(visible.first[i]), int(visible.last[i]) + 1):
                    lag = int(q_positions[i] - k_positions[j])
                    log_prior = -math.exp(alpha) * (abs(lag + 2 * math.sinh(mu)) + prior.epsilon) ** beta
                    dot = sum(q[n, h, i, c].item() * k[n, h // 2, j, c].item() for c in range(WIDTH))
                    scores[j] = a[h, i].item() * dot / math.sqrt(WIDTH) + b[n, h, i].item() * log_prior
                powers = {j: math.exp(score - max(scores.values())) for j, score in scores.items()}
                for c in range(WIDTH):
                    mixed = sum(power * v[n, h // 2, j, c].item() for j, power in powers.items())
                    assert found[n, h, i, c].item() == pytest.approx(mixed / sum(powers.values()), rel=1e-9, abs=1e-12)
