"""What a model of a genome writes after a beginning, and whether it is as rich in G and C as what follows there."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .. import runtime
from ..corpora.genome import BASES
from ..model import Cache, Transformer
from ..positions.priors import KeyPrior, Product
from .grid import Rows

DRAWS = 2000
GC = tuple(BASES.index(letter) for letter in "GC")


class AtLength(KeyPrior):
    """A prior over keys as it is in a text of a fixed length, however many keys there are so far."""

    def __init__(self, prior: KeyPrior, length: int) -> None:
        super().__init__()
        self.prior, self.heads, self.length = prior, prior.heads, length

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        return self.prior.log_prior(keys, self.length)


def fixed(model: Transformer, length: int) -> Transformer:
    """A copy of the model whose priors over keys are those of a text of `length`, as in training.

    Only so is a text written base by base what the same model makes of all of it at once.
    """
    made = copy.deepcopy(model)
    for module in made.modules():
        if isinstance(module, Product):
            module.factors = nn.ModuleList(
                AtLength(factor, length) if isinstance(factor, KeyPrior) else factor for factor in module.factors
            )
    return made


@torch.inference_mode()
def written(model: Transformer, beginnings: Int[Tensor, "texts length"], count: int, seed: int) -> Tensor:
    """`count` bases after each beginning, drawn one by one from what the model says: [texts, count].

    Every model draws with the same random numbers.
    """
    device = next(model.parameters()).device
    drawn = torch.rand(count, len(beginnings), 1, generator=runtime.generator(seed, "continuations")).to(device)
    cache, tokens, made = Cache(), beginnings.to(device), []
    for chance in drawn:
        shares = model(tokens, last=1, cache=cache)[:, -1].double().softmax(-1).cumsum(-1)
        tokens = (shares < chance).sum(-1, keepdim=True).clamp(max=shares.shape[-1] - 1)
        made.append(tokens)
    return torch.cat(made, 1).cpu()


def content(bases: Int[Tensor, "texts length"], piece: int) -> Float[np.ndarray, "texts pieces"]:
    """The share of G and C in each piece of `piece` bases."""
    return torch.isin(bases, torch.tensor(GC)).unflatten(1, (-1, piece)).double().mean(-1).numpy()


def correlation(written: np.ndarray, true: np.ndarray) -> float:
    """Pearson's r of the G and C of all pieces, [texts, pieces] each; NaN where one of them does not vary."""
    if min(np.ptp(written), np.ptp(true)) == 0:
        return float("nan")
    return float(np.corrcoef(written.ravel(), true.ravel())[0, 1])


def resampled(texts: int, size: int | None = None) -> Int[np.ndarray, "draws size"]:
    """Which texts stand in each of DRAWS samples: drawn with replacement, or `size` of them without.

    Pieces of one text are not independent, so that whole texts are drawn. The same samples for all models.
    """
    generator = np.random.default_rng(runtime.seed_for(0, f"resampled {texts}/{size}"))
    if size is None:
        return generator.integers(texts, size=(DRAWS, texts))
    return generator.random((DRAWS, texts)).argsort(1)[:, :size]


def spread(
    written: np.ndarray, true: np.ndarray, samples: Int[np.ndarray, "draws size"]
) -> Float[np.ndarray, " draws"]:
    """r in each sample of texts; NaN where it is not defined."""
    x, y = (values[samples].reshape(len(samples), -1) for values in (written, true))
    x, y = (values - values.mean(1, keepdims=True) for values in (x, y))
    with np.errstate(invalid="ignore"):
        return (x * y).sum(1) / np.sqrt((x**2).sum(1) * (y**2).sum(1))


def rows(made: np.ndarray, true: np.ndarray, before: np.ndarray, **about: Any) -> Rows:
    """A row per text and piece: G and C of what was written, of what follows there, and of the beginning."""
    return [
        about
        | {
            "text": text,
            "piece": piece,
            "written": round(float(made[text, piece]), 6),
            "true": round(float(true[text, piece]), 6),
            "before": round(float(before[text]), 6),
        }
        for text in range(made.shape[0])
        for piece in range(made.shape[1])
    ]
