"""Properties of encodings found by tests on models, not read off definitions (the survey's summary table)."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import torch

from ..config import ModelConfig
from ..model import Transformer
from ..positions.encodings import encoding
from ..positions.rotary import Undivided

LENGTH = 48  # more than FIRE's threshold
SIZE = {"vocabulary": 5, "width": 32, "layers": 3, "heads": 4, "hidden": 8}
CLOSE = 1e-9


def model(name: str) -> Transformer:
    """A small model in float64 whose position parameters have moved: at their start many encodings coincide."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    made = Transformer(ModelConfig(encoding=name, **SIZE)).double().eval()
    made.trained = 4 * LENGTH  # a window, the fourth part of it at least, then holds the text, and no weight is 0
    with torch.no_grad():
        for parameter in position_parameters(made):
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return made


def inside(made: Transformer) -> list[list[torch.nn.Module]]:
    """What knows positions in each layer; a sink beside a rotation, and a factor of the queries, do not."""
    found = []
    for own in (block.attention for block in made.blocks):
        turn = own.rotary.inner if isinstance(own.rotary, Undivided) else own.rotary
        parts = turn, own.prior, own.forget, own.rotary or own.pairs
        found.append([part for part in parts if part is not None and not isinstance(part, Undivided)])
    return found


def position_parameters(made: Transformer) -> list[torch.nn.Parameter]:
    """The trainable parameters of the embedding and of what is inside the layers, each once."""
    owners = [made.absolute, *(part for parts in inside(made) for part in parts)]
    found = {id(p): p for owner in owners if owner is not None for p in owner.parameters() if p.requires_grad}
    return list(found.values())


def scores(made: Transformer) -> torch.Tensor:
    """Logarithms of the first layer's weights for one and the same token everywhere: [heads, queries, keys].

    These are the scores less a constant of each row.
    """
    return made.attention_maps(torch.zeros(1, LENGTH, dtype=torch.int64), LENGTH)[0][0].log()


def is_relative(found: torch.Tensor) -> bool:
    """Toeplitz up to a constant of the row: what softmax sees of (i, j) depends on i - j alone.

    Only keys count that are visible and have a weight.
    """
    steps = found.diff(dim=-1)
    along = steps[:, 1:, 1:] - steps[:, :-1, :-1]
    along = along[:, torch.ones(along.shape[1:]).tril(-1).bool()]
    return bool(along[along.isfinite()].abs().max() < CLOSE)


def properties(names: Iterable[str]) -> pd.DataFrame:
    """A row for each encoding: relative, trainable, each_layer (position enters every layer, not the input alone)."""
    rows = []
    for name in names:
        made = model(name)
        rows.append(
            {
                "encoding": name,
                "label": encoding(name).label,
                "relative": is_relative(scores(made)),
                "trainable": len(position_parameters(made)) > 0,
                "each_layer": all(inside(made)),
            }
        )
    return pd.DataFrame(rows)
