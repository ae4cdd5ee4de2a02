"""Backend "sdpa_once": the numbers of "sdpa", also where a checkpoint computes the forward pass again."""

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import CheckpointError, checkpoint

from attention_priors.attention import attention, sdpa, window
from attention_priors.positions.priors import GeneralizedGaussian
from attention_priors.positions.spectral import Sink

HEADS, LENGTH = 4, 40


def results(backend: str, again: bool) -> list[Tensor]:
    """The output, and the gradients of q, k, v, a scale and the prior."""
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, n, LENGTH, 8, generator=draw).requires_grad_() for n in (HEADS, 2, 2))
    theta = torch.linspace(-0.5, 0.5, HEADS)
    prior = GeneralizedGaussian(theta, 0.5 + theta) * Sink(theta)
    scale = (1 + torch.rand(HEADS, LENGTH, generator=draw)).requires_grad_()

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        given = {"prior": prior, "logit_scale": scale, "prior_scale": scale, "visible": window(LENGTH, 30)}
        return attention(q, k, v, backend=backend, **given)

    out = checkpoint(attend, q, k, v, use_reentrant=False) if again else attend(q, k, v)
    learned = [q, k, v, scale, *(own for own in prior.parameters() if own.requires_grad)]
    return [out.detach(), *torch.autograd.grad(out.sin().sum(), learned)]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("whole", [256, 0])
def test_the_numbers_of_sdpa(whole: int, again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("WHOLE", whole), ("BLOCK_QUERIES", 8), ("BLOCK_KEYS", 16)):
        monkeypatch.setattr(sdpa, name, size)
    for found, wanted in zip(results("sdpa_once", again), results("sdpa", False), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


def test_why_it_is_there() -> None:
    """When this fails, "sdpa" can be computed again itself and "sdpa_once" can go."""
    with pytest.raises(CheckpointError, match="unpacked once"):
        results("sdpa", True)
