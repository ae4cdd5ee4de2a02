"""Where the heads of a trained model look while they answer a passkey prompt."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from .. import runtime
from ..model import Transformer
from ..tasks import passkey
from .grid import Rows

FIGURE_FILLER = 768  # BAM Fig. 4: 32 + 25 + 768 + 16 = 841 tokens
FIGURE_LENGTH = passkey.SHORTEST + FIGURE_FILLER
RECENT = 32
PROMPTS = 8


@torch.no_grad()
def heads_and_maps(model: Transformer, seed: int) -> tuple[Rows, Rows]:
    """Per head: its prior, and how much attention the answering queries give to the key sentence and to what is near.

    The prompt is BAM's Fig. 4: the key sentence stands before 768 tokens of filler. Maps are means over the answering
    queries and over prompts with different keys; `passkey_lift` is the mass on the key sentence relative to uniform.
    """
    drawn = key_prompts(FIGURE_LENGTH, PROMPTS, seed)
    tokens = drawn.tokens[:, :-1].to(next(model.parameters()).device)
    start = int(drawn.starts[0])
    heads, maps = [], []
    for layer, weights in enumerate(model.attention_maps(tokens, passkey.DIGITS)):
        mean = weights.double().mean((0, 2)).cpu().numpy()  # [heads, length]
        prior, scale = model.blocks[layer].attention.prior, model.blocks[layer].attention.scale
        for head, row in enumerate(mean):
            mass = float(row[start : start + passkey.KEY_TOKENS].sum())
            own = {"seed": seed, "layer": layer, "head": head}
            heads.append(
                own
                | {
                    "theta_alpha": round(float(prior.theta_alpha[head]), 6),
                    "beta": round(float(prior.beta[head]), 6),
                    "scale": round(float(scale.scale[head]), 6),
                    "passkey_mass": round(mass, 7),
                    "passkey_lift": round(mass * len(row) / passkey.KEY_TOKENS, 5),
                    "recent_mass": round(float(row[-RECENT:].sum()), 7),
                    "entropy": round(float(-(row * np.log(np.maximum(row, 1e-300))).sum()), 6),
                }
            )
            maps += [own | {"key": key, "weight": round(float(weight), 8)} for key, weight in enumerate(row)]
    return heads, maps


@torch.no_grad()
def content_weights(
    model: Transformer, tokens: Int[Tensor, "batch length"], queries: int
) -> list[Float[Tensor, "batch heads queries length"]]:
    """What content alone attends to: a_i z_ij through softmax, for the last `queries` rows of every layer.

    A layer's priors become uniform (β = 0) for its own map alone; what the layer reads is as trained. For models with a
    prior of its own in each layer.
    """
    found = []
    for layer, block in enumerate(model.blocks):
        beta = block.attention.prior.theta_beta
        kept = beta.clone()
        beta.zero_()
        found.append(model.attention_maps(tokens, queries)[layer])
        beta.copy_(kept)
    return found


def key_prompts(length: int, samples: int, seed: int) -> passkey.Prompts:
    """Prompts of one length whose key sentence stands before all filler, as in BAM's Fig. 4."""
    return passkey.prompts(length, torch.zeros(samples), runtime.generator(seed, "learned"))


def content_masses(model: Transformer, seed: int) -> dict[tuple[int, int], float]:
    """The mass of `heads_and_maps` on the key sentence, by (layer, head), with the prior left out of it."""
    drawn = key_prompts(FIGURE_LENGTH, PROMPTS, seed)
    tokens, start = drawn.tokens[:, :-1].to(next(model.parameters()).device), int(drawn.starts[0])
    masses = {}
    for layer, weights in enumerate(content_weights(model, tokens, passkey.DIGITS)):
        means = weights[..., start : start + passkey.KEY_TOKENS].double().sum(-1).mean((0, 2))
        masses |= {(layer, head): mass for head, mass in enumerate(means.tolist())}
    return masses
