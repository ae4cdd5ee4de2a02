"""BAM's prior as ablations need it: other starts, fixed signs, and a formula that reads what another one trained."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .priors import ClosedForm, GeneralizedGaussian, alibi_slopes

SIGNS = ("negative", "positive", "mixed")


def unlogged(heads: int, trainable: Iterable[str] = ("theta_alpha", "theta_beta")) -> GeneralizedGaussian:
    """θ_β = 1 and θ_α = m_h: ALiBi's slopes where their logarithms belong (a version of BAM's released code).

    The slopes that training starts from are exp(m_h), between 1 and e: every head is more local than ALiBi's most
    local one.
    """
    return GeneralizedGaussian(torch.tensor(alibi_slopes(heads)), torch.ones(heads), trainable=trainable)


def signed(heads: int, sign: str) -> GeneralizedGaussian:
    """|θ_β| = h / H for h = 1..H, fixed; θ_α = 0, trained. `sign` "mixed": negative for odd h, positive for even h."""
    if sign not in SIGNS:
        raise ValueError(f"sign = {sign!r}; choose one of {', '.join(SIGNS)}")
    steps = torch.arange(1, heads + 1)
    signs = {"negative": -torch.ones(heads), "positive": torch.ones(heads), "mixed": 1.0 - 2 * (steps % 2)}[sign]
    return GeneralizedGaussian(torch.zeros(heads), signs * steps / heads, trainable=("theta_alpha",))


class Misread(ClosedForm):
    """log π(lag) = -(exp(θ_α) |lag| + ε)^θ_β: what BAM's code evaluated, for a while, in models without SSMax.

    Training had exp(θ_α) (|lag| + ε)^θ_β. Up to ε the scale exp(θ_α) becomes exp(θ_α θ_β): the two agree at θ_β = 1.
    """

    def __init__(self, trained: GeneralizedGaussian) -> None:
        super().__init__()
        self.heads, self.trained = trained.heads, trained

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        prior = self.trained
        distance = (lags.double() + prior.mu.double()[:, None]).abs() * prior.theta_alpha.double().exp()[:, None]
        return -(distance + prior.epsilon).pow(prior.theta_beta.double()[:, None])
