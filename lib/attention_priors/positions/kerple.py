"""KERPLE's log-priors: minus a learned power or logarithm of the distance (Chi et al. 2022)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .priors import ClosedForm

EDGE = 40.0  # sigmoid(40) is 1 in float64: the exponent 2 has a finite logit


class KerplePower(ClosedForm):
    """log π(lag) = -r1 |lag|^r2, r1 > 0, 0 < r2 <= 2 (Chi et al. 2022, eq. 5: the power variant).

    r1 = exp(θ_1) and r2 = 2 sigmoid(θ_2) keep training inside the domain; at the edge r2 = 2 the exponent has no
    gradient. r2 = 1 is ALiBi with slope r1, r2 = 2 a Gaussian; it is the generalised Gaussian of scale r1^(-1/r2)
    without location. Conditionally positive definite exactly for these r2.
    """

    headwise = True

    def __init__(self, r1: Iterable[float] | Tensor, r2: Iterable[float] | Tensor, trainable: bool = True) -> None:
        """One r1 and one r2 per head. ValueError outside the domain."""
        super().__init__()
        first, second = _per_head(r1=r1, r2=r2)
        if not (second <= 2).all():
            raise ValueError(f"r2 = {second.tolist()}, but a power of the distance needs 0 < r2 <= 2 in every head")
        self.heads = len(first)
        self.log_r1 = nn.Parameter(first.log().float(), requires_grad=trainable)
        self.logit_r2 = nn.Parameter((second / 2).logit().clamp(max=EDGE).float(), requires_grad=trainable)

    @property
    def r1(self) -> Float[Tensor, " heads"]:
        return self.log_r1.double().exp()

    @property
    def r2(self) -> Float[Tensor, " heads"]:
        return 2 * self.logit_r2.double().sigmoid()

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return -self.r1[:, None] * lags.double().abs().pow(self.r2[:, None])


class KerpleLog(ClosedForm):
    """log π(lag) = -r1 log(1 + r2 |lag|), r1, r2 > 0 (Chi et al. 2022, eq. 5: the logarithmic variant).

    π(lag) = (1 + r2 |lag|)^(-r1): a power law of exponent r1 beyond the lag 1/r2. Its normaliser over all lags d >= 0
    is r2^(-r1) ζ(r1, 1/r2) (Hurwitz) for r1 > 1; for r1 <= 1 it grows without bound with the context. r1 = exp(θ_1),
    r2 = exp(θ_2).
    """

    headwise = True

    def __init__(self, r1: Iterable[float] | Tensor, r2: Iterable[float] | Tensor, trainable: bool = True) -> None:
        """One r1 and one r2 per head. ValueError outside the domain."""
        super().__init__()
        first, second = _per_head(r1=r1, r2=r2)
        self.heads = len(first)
        self.log_r1 = nn.Parameter(first.log().float(), requires_grad=trainable)
        self.log_r2 = nn.Parameter(second.log().float(), requires_grad=trainable)

    @property
    def r1(self) -> Float[Tensor, " heads"]:
        return self.log_r1.double().exp()

    @property
    def r2(self) -> Float[Tensor, " heads"]:
        return self.log_r2.double().exp()

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return -self.r1[:, None] * (self.r2[:, None] * lags.double().abs()).log1p()


def _per_head(**values: Iterable[float] | Tensor) -> list[Float[Tensor, " heads"]]:
    given = [v if isinstance(v, Tensor) else torch.tensor(list(v), dtype=torch.float64) for v in values.values()]
    tensors = [tensor.detach().double() for tensor in given]
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) != 1 or tensors[0].ndim != 1 or not len(tensors[0]):
        listed = ", ".join(f"{name} {list(t.shape)}" for name, t in zip(values, tensors, strict=True))
        raise ValueError(f"shapes are {listed}, but all must be [heads] with at least one head")
    for name, tensor in zip(values, tensors, strict=True):
        if not all(math.isfinite(value) and value > 0 for value in tensor.tolist()):
            raise ValueError(f"{name} = {tensor.tolist()}, but it must be finite and above 0 in every head")
    return tensors
