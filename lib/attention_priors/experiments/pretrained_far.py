"""How many heads must see far for a key to be found.

Heads are ranked; the first of a ranking see the whole text, all others the four first and the nearest keys. They are
ranked by how much they fetch: their weight on the key's digits when the answer is due, in prompts of a length at which
nothing else is asked, with keys of their own; by the weight that they give lags from FAR on in the documents; or not at
all, in a random order. Beyond the trained length all heads read under the NTK-aware base.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from .. import runtime, store
from ..integrations import extending
from ..integrations.pretrained import Pretrained
from ..parallel.hf import HuggingFace
from .grid import Rows
from .pretrained import Far
from .pretrained_answers import CHANGES, SINKS, Answers, Change
from .pretrained_keys import Prompt, prompt, whole

Head = tuple[int, int]  # layer, and head in it


@torch.inference_mode()
def on_digits(found: Pretrained, asked: Prompt) -> Float[Tensor, "layers heads"]:
    """Each head's weight on the digits of the key in the text, a mean over the queries that an answer token follows."""
    tokens = torch.cat([asked.text, asked.question, asked.answer[:-1]])
    due, keys = len(asked.answer), torch.arange(len(tokens), device=tokens.device)
    start, stop = asked.wanted
    digits = [at for at in range(start, stop) if any(map(str.isdigit, found.words.decode([int(tokens[at])])))]
    seen = keys <= keys[-due:, None]
    rows = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        weights = (q[0, :, -due:] @ k[0].mT * factor).masked_fill(~seen, -torch.inf).softmax(-1)
        rows.append(weights[..., digits].sum(-1).mean(-1))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=factor)

    HuggingFace(found.model).run(tokens[None], keys, attend, 1)
    return torch.stack(rows).cpu()


def fetching(answers: Answers, settings: Far) -> Rows:
    """A row per layer and head: `weight` on the key's digits, a mean over the prompts that heads are ranked on."""
    found, told = answers.found, f": which heads fetch a key among {settings.ranked} tokens"

    def weights(number: int) -> Tensor:
        made = prompt(found, settings, settings.ranked, number)
        return torch.tensor(answers.put("fetching", made.given, told, lambda: on_digits(found, made).tolist()))

    mean = torch.stack([weights(number) for number in range(settings.prompts)]).mean(0)
    return [
        {"layer": layer, "head": head, "weight": float(weight)}
        for layer, own in enumerate(mean)
        for head, weight in enumerate(own)
    ]


def ranked(name: str, heads: dict[Head, dict[str, float]]) -> list[Head]:
    """Heads in the order of a name; "others": those that fetch least first; "random-0": with seed 0."""
    if name.startswith("random-"):
        draw = runtime.generator(int(name.removeprefix("random-")), "pretrained/far")
        return [sorted(heads)[number] for number in torch.randperm(len(heads), generator=draw)]
    by = "far" if name == "distance" else "weight"
    found = sorted(heads, key=lambda head: (-heads[head][by], head))
    return found[::-1] if name == "others" else found


def seeing(way: str, far: Collection[Head], every: Collection[Head], window: int) -> Change:
    """A way to read in which all heads but `far` see a window and the sinks."""
    near: dict[int, list[int]] = {}
    for layer, head in sorted(set(every) - set(far)):
        near.setdefault(layer, []).append(head)

    def change(model: PreTrainedModel, trained: int) -> PreTrainedModel:
        model = CHANGES[way](model, trained)
        return extending.window(model, window, SINKS, heads=near if far else None) if near else model

    return change


def by_count(
    answers: Answers, settings: Far, weights: Iterable[dict[str, Any]], heads: Iterable[dict[str, Any]]
) -> Rows:
    """A row per order, number of far-seeing heads, length and prompt.

    `weights`: of `fetching`; `heads`: of pretrained_heads, whose `far` is meant over documents. No head and all heads
    are asked once, and stand in every order but "others", which is asked for all but as many as the fewest.
    """
    found, rows = answers.found, []
    known: dict[Head, dict[str, float]] = {
        (row["layer"], row["head"]): {"weight": row["weight"], "far": 0.0} for row in weights
    }
    for row in heads:
        known[row["layer"], row["head"]]["far"] += row["far"]
    between = [count for count in settings.counts if 0 < count < len(known)]
    for length in settings.lengths:
        way = "as-is" if length <= extending.trained_length(found.model) else "ntk"
        for name in settings.orders:
            order = ranked(name, known)
            counts = [len(known) - min(between)] if name == "others" else [0, *between, len(known)]
            for count in counts:
                for number in range(settings.prompts):
                    made = prompt(found, settings, length, number)
                    far = sorted(order[:count])
                    window = settings.window if count < len(known) else 0
                    given = {"way": way, "window": window, "far": store.key(far)} | made.given
                    ask = partial(whole, found, made, seeing(way, far, known, settings.window))
                    told = f" is asked for a key among {length} tokens, {len(far)} heads see far"
                    correct = answers.put("far", given, told, ask)
                    rows.append(
                        {
                            "order": name,
                            "far": count,
                            "heads": len(known),
                            "length": length,
                            "way": way,
                            "window": settings.window,
                            "prompt": number,
                            "depth": made.depth,
                            "correct": int(correct),
                        }
                    )
    return rows
