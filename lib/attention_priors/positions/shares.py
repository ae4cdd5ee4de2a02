"""A prior as some of its heads have it: what heads need that attend by themselves."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from .priors import KeyPrior, Prior, Product, RelativePrior


class RelativeShare(RelativePrior):
    """log π(lag) of the heads start .. stop - 1 of a relative prior, whose parameters it shares."""

    def __init__(self, whole: RelativePrior, start: int, stop: int) -> None:
        super().__init__()
        self.whole, self.start, self.stop, self.heads = whole, start, stop, stop - start

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return self.whole.log_prior(lags)[self.start : self.stop]

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return self.whole.exact(lags)[self.start : self.stop]

    def power(self) -> tuple[Float[Tensor, "3 heads"], float] | None:
        if (power := self.whole.power()) is None:
            return None
        return power[0][:, self.start : self.stop], power[1]


class KeyShare(KeyPrior):
    """log π(key) of the heads start .. stop - 1 of a prior over keys, whose parameters it shares."""

    def __init__(self, whole: KeyPrior, start: int, stop: int) -> None:
        super().__init__()
        self.whole, self.start, self.stop, self.heads = whole, start, stop, stop - start

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        return self.whole.log_prior(keys, length)[self.start : self.stop]


def share(prior: Prior, start: int, stop: int) -> Product:
    """The prior of the heads start .. stop - 1. ValueError where it has no such heads."""
    if not 0 <= start < stop <= prior.heads:
        raise ValueError(f"heads {start} to {stop} of {prior.heads}; give 0 <= start < stop <= {prior.heads}")
    relative, keys = prior.split()
    return Product(*(RelativeShare(factor, start, stop) for factor in relative),
                   *(KeyShare(factor, start, stop) for factor in keys))  # fmt: skip
