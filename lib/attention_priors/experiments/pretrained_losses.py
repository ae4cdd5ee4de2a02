"""Losses of a pretrained model: by position under each extension, and without some of the keys."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from .. import store
from ..corpora import manuals
from ..integrations import extending
from ..integrations.extending import Sight
from ..integrations.pretrained import check_memory
from .grid import Rows
from .pretrained import Dynamic, Eviction, Losses
from .pretrained_answers import CHANGES, SINKS, Answers, Change, changed, document
from .pretrained_words import label

EVERY = "all layers"
THIRDS = ("first third", "middle third", "last third")
BASE = "nothing"
REGIONS: dict[str, Sight] = {  # what a query does not see any more
    "first keys": Sight(skipped=SINKS),
    "nearest keys": Sight(gap=SINKS),
    "all between": Sight(window=256, sinks=SINKS),
}


@torch.inference_mode()
def losses(model: PreTrainedModel, tokens: Tensor, lengths: Iterable[int], scored: int) -> list[float]:
    """The mean loss (nats) of the `scored` tokens before each length, in one pass."""
    hidden = model.base_model(tokens[None], use_cache=False).last_hidden_state[0]
    out = []
    for length in lengths:
        logits = model.lm_head(hidden[length - scored - 1 : length - 1]).float()
        out.append(float(F.cross_entropy(logits, tokens[length - scored : length])))
    return out


def under(model: PreTrainedModel, change: Change, *asked: Any) -> list[float]:
    """`losses` of a model under a change."""
    with changed(model, change) as read:
        return losses(read, *asked)


def by_position(answers: Answers, documents: Iterable[str], settings: Losses) -> Rows:
    """A row per document, way and length."""
    found, longest, rows = answers.found, max(settings.lengths), []
    check_memory(found, longest)
    lengths, scored = list(settings.lengths), settings.scored
    for name in documents:
        tokens = document(found, name, longest)
        for way in settings.ways:
            given = {"way": way, "tokens": store.key(tokens.tolist()), "lengths": lengths, "scored": scored}
            ask = partial(under, found.model, CHANGES[way], tokens, lengths, scored)
            values = answers.put("losses", given, f" reads {name}: {label(way)}", ask)
            rows += [
                {"document": name, "kind": manuals.known()[name].kind, "way": way, "length": length, "loss": loss}
                for length, loss in zip(lengths, values, strict=True)
            ]
    return rows


def without_keys(answers: Answers, documents: Iterable[str], settings: Eviction) -> Rows:
    """A row per document, region and layers; BASE is the model as it is."""
    found, rows = answers.found, []
    count = found.model.config.num_hidden_layers
    edges = [round(third * count / 3) for third in range(4)]
    blocks = {EVERY: range(count)} | {name: range(edges[k], edges[k + 1]) for k, name in enumerate(THIRDS)}
    asked = [(BASE, EVERY), *((region, block) for region in REGIONS for block in blocks)]
    for name in documents:
        tokens = document(found, name, settings.length)
        for region, block in asked:
            given = {"region": region, "block": block, "tokens": store.key(tokens.tolist()), "scored": settings.scored}
            ask = partial(_without, found.model, tokens, region, blocks[block], settings.scored)
            loss = answers.put("eviction", given, f" reads {name} without {region}, {block}", ask)
            rows.append({"document": name, "region": region, "layers": block, "loss": loss})
    return rows


def _without(model: PreTrainedModel, tokens: Tensor, region: str, layers: range, scored: int) -> float:
    sight = REGIONS.get(region, Sight())
    return under(model, lambda model, _: extending.see(model, sight, layers=layers), tokens, [len(tokens)], scored)[0]


@torch.inference_mode()
def decoded(model: PreTrainedModel, tokens: Tensor, start: int) -> float:
    """The mean loss of the tokens from `start` on: the text before is read at once, they one by one with a cache."""
    read = model(tokens[None, :start], use_cache=True, logits_to_keep=1)
    total = 0.0
    for at in range(start, len(tokens)):
        total += float(F.cross_entropy(read.logits[0].float(), tokens[at : at + 1]))
        read = model(tokens[None, at : at + 1], past_key_values=read.past_key_values, use_cache=True)
    return total / (len(tokens) - start)


def with_cache(answers: Answers, documents: Iterable[str], settings: Dynamic) -> Rows:
    """Rows per document: dynamic NTK in one pass over the text, and as it is decoded; and the model as it is."""
    rows, length, start = [], settings.length, settings.trained
    for name in list(documents)[: settings.documents]:
        tokens = document(answers.found, name, length)
        given = {"tokens": store.key(tokens.tolist()), "trained": start}
        ask = partial(_dynamic, answers.found.model, tokens, start)
        found = answers.put("dynamic", given, f" reads {name}: dynamic NTK at once and with a cache", ask)
        rows += [
            {"document": name, "how": how, "length": length, "start": start, "loss": loss}
            for how, loss in found.items()
        ]
    return rows


def _dynamic(model: PreTrainedModel, tokens: Tensor, start: int) -> dict[str, float]:
    asked = tokens, [len(tokens)], len(tokens) - start
    plain = under(model, CHANGES["as-is"], *asked)[0]
    with changed(model, lambda model, _: extending.dynamic_ntk(model, trained=start)) as read:
        return {
            "as it is": plain,
            "one pass": losses(read, *asked)[0],
            "with a cache": decoded(read, tokens, start),
        }
