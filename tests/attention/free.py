"""Priors of which every number is a parameter: their gradients are those of the table and of the keys."""

from torch import Tensor, nn

from attention_priors.positions.priors import KeyPrior, RelativePrior


class Free(RelativePrior):
    """One number per head and lag, `values` [heads, lags] from the lag `lowest` on."""

    def __init__(self, values: Tensor, lowest: int) -> None:
        super().__init__()
        self.heads, self.lowest, self.values = len(values), lowest, nn.Parameter(values)

    def log_prior(self, lags: Tensor) -> Tensor:
        return self.values[:, lags - self.lowest]


class FreeKeys(KeyPrior):
    """One number per head and key, `values` [heads, keys]."""

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        self.heads, self.values = len(values), nn.Parameter(values)

    def log_prior(self, keys: Tensor, length: int) -> Tensor:
        return self.values[:, keys]


class FirstKey(KeyPrior):
    """A number per head, `u` [heads], for the first key; 0 for the others."""

    def __init__(self, u: Tensor, trainable: bool = True) -> None:
        super().__init__()
        self.heads, self.u = len(u), nn.Parameter(u, requires_grad=trainable)

    def log_prior(self, keys: Tensor, length: int) -> Tensor:
        return self.u[:, None] * (keys == 0)
