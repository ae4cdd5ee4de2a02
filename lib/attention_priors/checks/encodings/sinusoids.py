"""The survey on sinusoidal embeddings: the table and where it is added.

Independent evidence: transformers' tables and its XLM.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from attention_priors.claims.law import Law, claim, claims
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.positions.absolute import Sinusoidal

WIDTHS = (2, 8, 64)
TABLES = [
    {"table": name, "width": d, "position": p}
    for name in ("RoFormer", "ours")
    for d in WIDTHS
    for p in (0, 1, 2, 7, 39)
]


def row(width: int, position: int, first: Callable = math.sin, second: Callable = math.cos) -> np.ndarray:
    """PE(position, 2i) = first(position / 10000^(2i/width)), PE(position, 2i + 1) = second of the same."""
    angles = [position / 10_000 ** (2 * i / width) for i in range(width // 2)]
    return np.array([f(angle) for angle in angles for f in (first, second)])


def tabled(table: str, width: int, position: int) -> np.ndarray:
    """A row of transformers' RoFormer (sines, then cosines) or of our module, both float32."""
    return _table(table, width)[position]


@functools.cache
def _table(table: str, width: int) -> np.ndarray:
    from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding as Table

    if table == "ours":
        return Sinusoidal(width)(torch.arange(40)).double().numpy()
    halves = Table(40, width).create_weight().double().numpy()
    return np.stack([halves[:, : width // 2], halves[:, width // 2 :]], axis=-1).reshape(40, width)


def with_additions(says: Sequence[int], model: str) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of three layers: positions taken away and the formula's rows added below the layers said; as they are."""
    tokens, rows = torch.arange(1, 13)[None], torch.tensor(np.stack([row(8, p) for p in range(12)]))
    with torch.no_grad():
        network, remove, inputs = MODELS[model]()
        actual = network(tokens)[0]
        remove()
        for layer in says:
            inputs[layer].register_forward_hook(lambda module, given, out: out + rows)
        return network(tokens)[0].numpy(), actual.numpy()


def xlm() -> tuple[torch.nn.Module, Callable, list[torch.nn.Module]]:
    """XLM of transformers, what takes its positions away, the modules whose outputs enter layer 0, 1, 2."""
    from transformers import XLMConfig, XLMModel

    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "emb_dim": 8, "n_layers": 3, "n_heads": 2, "max_position_embeddings": 32}
    found = XLMModel(XLMConfig(sinusoidal_embeddings=True, embed_init_std=1.0, pad_index=0, **sizes)).double().eval()
    return found, found.position_embeddings.weight.zero_, [found.embeddings, *found.layer_norm2]


def ours() -> tuple[torch.nn.Module, Callable, list[torch.nn.Module]]:
    torch.manual_seed(0)
    sizes = {"vocabulary": 16, "width": 8, "layers": 3, "heads": 2, "hidden": 16}
    found = Transformer(ModelConfig(encoding="sinusoidal", **sizes)).double()
    return found, lambda: setattr(found, "absolute", None), [found.embedding, *found.blocks]


MODELS = {"XLM": xlm, "ours": ours}


CHECKS = claims(
    claim(
        "PE-SIN",
        Law(
            "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same.",
            row,
            tabled,
            TABLES,
            wrong=lambda width, position: row(width, position, math.cos, math.sin),
            tolerance=1e-6,
        ),
        Law(
            "It is added to the embeddings once, below the first layer.",
            (0,),
            with_additions,
            [{"model": "XLM"}, {"model": "ours"}],
            wrong=(0, 1, 2),
            tolerance=1e-5,
        ),
        practice="The formula needs an even width; the printed code fails at an odd one, where sine has a column more "
        "than cosine. The exponent belongs in float64 for long contexts.",
    ),
)
