"""FlexAttention's score_mod, run eagerly, against our priors: 2e-6 absolute in float32, 1e-12 in float64."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attention_priors.attention import attention, causal, documents, window
from attention_priors.positions.priors import GeneralizedGaussian, KerpleLog, Laplace

HEADS, LENGTH, WIDTH = 4, 40, 8
IDS = torch.tensor([[0] * 13 + [1] * 27, [0] * 30 + [1] * 4 + [2] * 6])
THETA = torch.tensor([[0.2, -0.5, 0.4, 0.0], [0.7, 1.3, -0.3, 0.5], [0.0, 0.3, -0.4, 0.1]])
SLOPES = torch.tensor([0.5, 0.1, 1.0, 0.02])


def gaussian(score, b, h, i, j):
    alpha, beta, mu = THETA.to(score.dtype)
    return score - alpha[h].exp() * ((i - j + 2 * mu[h].sinh()).abs() + 1e-5) ** beta[h]


PRIORS = {
    "gaussian": (lambda: GeneralizedGaussian(*THETA), gaussian),
    "laplace": (lambda: Laplace(SLOPES), lambda score, b, h, i, j: score - SLOPES[h] * (i - j).abs()),
    "kerple": (
        lambda: KerpleLog(SLOPES, 2 * SLOPES),
        lambda score, b, h, i, j: score - SLOPES[h] * torch.log1p(2 * SLOPES[h] * (i - j).abs()),
    ),
}
MASKS = {
    "causal": (lambda: causal(LENGTH), lambda b, h, i, j: i >= j),
    "window": (lambda: window(LENGTH, 7), lambda b, h, i, j: (i >= j) & (i - j < 7)),
    "packed": (lambda: causal(LENGTH) & documents(IDS), lambda b, h, i, j: (i >= j) & (IDS[b, i] == IDS[b, j])),
}


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", PRIORS)
@torch.no_grad()
def test_a_prior_is_a_score_mod(name, mask, backend):
    generator = torch.Generator().manual_seed(3)
    (prior, modify), (visible, sees) = PRIORS[name], MASKS[mask]
    blocks = create_block_mask(sees, 2, HEADS, LENGTH, LENGTH, device="cpu")
    for dtype, allowed in ((torch.float32, 2e-6), (torch.float64, 1e-12 if name == "gaussian" else 1e-7)):
        q, k, v = (torch.randn(2, HEADS, LENGTH, WIDTH, generator=generator).to(dtype) for _ in range(3))
        wanted = flex_attention(q, k, v, score_mod=modify, block_mask=blocks)
        found = attention(q, k, v, prior=prior().to(dtype), visible=visible(), backend=backend)
        torch.testing.assert_close(found, wanted, rtol=0, atol=allowed)
