"""BAM's prior as ablations need it: other starts, fixed signs, bounded exponents, a formula read by another one."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .priors import ClosedForm, GeneralizedGaussian, Power, alibi_slopes

SIGNS = ("negative", "positive", "mixed")
LARGEST = 2.0  # exponent of a power of the distance that is conditionally positive definite
NEARLY_UNIFORM = 0.01  # |θ_β| has no gradient at BAM's own start, 0


def unlogged(heads: int, trainable: Iterable[str] = ("theta_alpha", "theta_beta")) -> GeneralizedGaussian:
    """θ_β = 1 and θ_α = m_h: ALiBi's slopes where their logarithms belong (a version of BAM's released code).

    The slopes that training starts from are exp(m_h), between 1 and e: every head is more local than ALiBi's most
    local one. ValueError for less than one head.
    """
    return GeneralizedGaussian(torch.tensor(alibi_slopes(heads)), torch.ones(heads), trainable=trainable)


def signed(heads: int, sign: str) -> GeneralizedGaussian:
    """|θ_β| = h / H for h = 1..H, fixed; θ_α = 0, trained. `sign` "mixed": negative for odd h, positive for even h.

    ValueError for another sign.
    """
    if sign not in SIGNS:
        raise ValueError(f"sign = {sign!r}; choose one of {', '.join(SIGNS)}")
    steps = torch.arange(1, heads + 1)
    signs = {"negative": -torch.ones(heads), "positive": torch.ones(heads), "mixed": 1.0 - 2 * (steps % 2)}[sign]
    return GeneralizedGaussian(torch.zeros(heads), signs * steps / heads, trainable=("theta_alpha",))


class Bounded(ClosedForm):
    """log π(lag) = -exp(θ_α) (|lag| + ε)^β with β = min(|θ_β|, 2): BAM without negative exponents and location.

    These are KERPLE's powers (BAM's at 0 < β <= 2 and μ = 0), but from BAM's start and with BAM's θ_α, so that what
    sets it apart from BAM is the sign of the exponent alone.
    """

    headwise = True

    def __init__(self, heads: int, epsilon: float = 1e-5) -> None:
        """θ_α = 0 and θ_β = 0.01: training starts next to NoPE, as BAM's does. ValueError for less than one head."""
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        self.heads, self.epsilon = heads, epsilon
        self.theta_alpha = nn.Parameter(torch.zeros(heads))
        self.theta_beta = nn.Parameter(torch.full((heads,), NEARLY_UNIFORM))

    @property
    def beta(self) -> Float[Tensor, " heads"]:
        """Exponent min(|θ_β|, 2)."""
        return self.theta_beta.abs().clamp(max=LARGEST)

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        distance = lags.double().abs() + self.epsilon
        return -self.theta_alpha.double().exp()[:, None] * distance.pow(self.beta.double()[:, None])

    def power(self) -> Power:
        return Power(self.theta_alpha, self.beta, torch.zeros_like(self.theta_beta), self.epsilon, exponential=True)


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
