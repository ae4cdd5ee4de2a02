"""Does a language model know word order? What it costs to exchange two neighbours, or to shuffle all that is read.

A model that loses nothing cannot say anything about encodings of order: this is the gate of language models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from .. import runtime
from ..config import Profile
from ..model import Transformer
from .experiment import Question
from .grid import Rows

if TYPE_CHECKING:  # documents measures order too
    from .documents import Reader

CONTEXT = 32  # tokens that are read; the last one asks, and stays
NEAR = (2, 1)  # lags of the two that are swapped
AT_ONCE = 256  # texts
ORDER = Question("order")


def measured(reader: Reader, profile: Profile) -> Rows:
    """One row: mean loss of texts as written, what `swap` and `bag` add to it, and how often a swap costs something."""
    wanted, longest = profile.language, max(profile.language.lengths)
    pairs = wanted.pairs
    about = (pairs, wanted.documents, longest, wanted.domains[0], reader.run.spec.inputs, reader.local)

    def measure() -> Rows:
        chosen = texts(reader.texts(wanted.domains[0]), pairs)
        true, swap, bag = (losses(reader.model, each, reader.local) for each in (chosen, swapped(chosen), bags(chosen)))
        return [
            {
                "order_loss": round(float(true.mean()), 7),
                "swap": round(float((swap - true).mean()), 7),
                "bag": round(float((bag - true).mean()), 7),
                "preferred": float((swap > true).double().mean()),
                "pairs": len(chosen),
            }
        ]

    return ORDER.put(reader.run, (about, reader.extension), measure)


def texts(documents: Int[Tensor, "documents tokens"], count: int) -> Int[Tensor, "count context+1"]:
    """At most `count` pieces of CONTEXT + 1 tokens, evenly spaced, whose two neighbours differ.

    ValueError where there is none.
    """
    size = CONTEXT + 1
    pieces = documents[:, : documents.shape[1] // size * size].reshape(-1, size)
    first, second = (pieces[:, CONTEXT - 1 - lag] for lag in NEAR)
    pieces = pieces[first != second]
    if not len(pieces):
        raise ValueError(f"no piece of {size} tokens has two neighbours that differ; give more or longer documents")
    return pieces[torch.linspace(0, len(pieces) - 1, min(count, len(pieces))).round().long()]


def swapped(chosen: Int[Tensor, "count tokens"]) -> Int[Tensor, "count tokens"]:
    """The same with the tokens at the two lags of NEAR before the asking one exchanged."""
    places = [CONTEXT - 1 - lag for lag in NEAR]
    made = chosen.clone()
    made[:, places] = chosen[:, places[::-1]]
    return made


def bags(chosen: Int[Tensor, "count tokens"]) -> Int[Tensor, "count tokens"]:
    """The same with all tokens before the asking one in random order, another in each text, alike for all models."""
    generator, before = runtime.generator(0, "bags"), CONTEXT - 1
    orders = torch.rand(len(chosen), before, generator=generator).argsort(1)
    return torch.cat([chosen[:, :before].gather(1, orders), chosen[:, before:]], 1)


@torch.inference_mode()
def losses(model: Transformer, chosen: Int[Tensor, "count tokens"], local: int | None) -> Float[Tensor, " count"]:
    """Loss of the last token of each text (nats)."""
    device, parts = next(model.parameters()).device, []
    for some in chosen.split(AT_ONCE):
        some = some.to(device)
        logits = model(some[:, :-1], last=1, local=local)[:, -1]
        parts.append(F.cross_entropy(logits.float(), some[:, -1], reduction="none").double().cpu())
    return torch.cat(parts)
