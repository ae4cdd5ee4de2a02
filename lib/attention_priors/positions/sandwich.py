"""Sandwich's log-prior: the scalar product of two sinusoidal embeddings (Chi et al. 2023)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .priors import ClosedForm


class Sandwich(ClosedForm):
    """log π(lag) = (1/r_h) Σ_{i=0}^{w/2-1} cos(lag ω_i), ω_i = B^(-2i/w), r_h = 8 h / H for h = 1..H.

    w = `width` is a free number, not the head's width (128 in Chi et al. 2023); the sum is <p_m, p_n> of two sinusoidal
    embeddings, so that the kernel is positive definite and has rank <= w. Averaged over lags it falls like
    (w/2) (1 - (ln lag + γ) / ln B), a power law of exponent w / (2 r_h ln B) below the lag B. Nothing is learned.
    """

    def __init__(self, heads: int, width: int = 128, base: float = 10_000.0) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads = {heads}, but at least 1 is needed")
        if width < 2 or width % 2:
            raise ValueError(f"width = {width}, but sines and cosines come in pairs: give an even width of at least 2")
        if not base > 1 or not math.isfinite(base):
            raise ValueError(f"base = {base}, but it must be finite and above 1")
        self.heads = heads
        self.omega = tuple(base ** (-2 * i / width) for i in range(width // 2))
        self.ratios = tuple(8 * h / heads for h in range(1, heads + 1))

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        shared = torch.zeros(lags.shape, dtype=torch.float64, device=lags.device)
        for omega in self.omega:  # a sum in place: the table [lags planes] of a long context would not fit
            shared += (lags.double() * omega).cos()
        ratios = torch.tensor(self.ratios, dtype=torch.float64, device=lags.device)
        return shared / ratios[:, None]
