"""Does a language model tell the order of neighbours? What it costs to swap two tokens just before the last one."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from .. import store
from ..config import Profile
from ..model import Transformer
from .documents import Reader

CONTEXT = 32  # tokens that are read; the last one asks, and stays
NEAR = (2, 1)  # lags of the two that are swapped
AT_ONCE = 256  # texts


def measured(reader: Reader, profile: Profile) -> list[dict[str, Any]]:
    """One row: mean loss as written and with the neighbours swapped, and how often the true order is the better one."""
    wanted, longest = profile.language, max(profile.language.lengths)
    pairs = profile.readings.pairs
    about = (pairs, wanted.documents, longest, wanted.domains[0], reader.run.spec.inputs, reader.local)

    def measure() -> list[dict[str, Any]]:
        chosen = texts(reader.texts(wanted.domains[0]), pairs)
        true, false = losses(reader.model, chosen, reader.local), losses(reader.model, swapped(chosen), reader.local)
        return [{"loss": round(float(true.mean()), 7), "swapped": round(float(false.mean()), 7),
                 "gap": round(float((false - true).mean()), 7), "preferred": float((false > true).double().mean()),
                 "pairs": len(chosen)}]  # fmt: skip

    code = store.fingerprint(losses, swapped, texts, Transformer)
    return reader.kept(f"order-{store.key(about, code, *reader.code)}", measure)


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


@torch.inference_mode()
def losses(model: Transformer, chosen: Int[Tensor, "count tokens"], local: int | None) -> Float[Tensor, " count"]:
    """Loss of the last token of each text (nats)."""
    device, parts = next(model.parameters()).device, []
    for some in chosen.split(AT_ONCE):
        some = some.to(device)
        logits = model(some[:, :-1], last=1, local=local)[:, -1]
        parts.append(F.cross_entropy(logits.float(), some[:, -1], reduction="none").double().cpu())
    return torch.cat(parts)
