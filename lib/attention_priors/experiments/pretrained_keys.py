"""Passkeys in real prose, asked of a pretrained model: whole, of readers that take less, with heads that see far.

Heads are ranked; the first of a ranking see the whole text, all others the four first and the nearest keys. They are
ranked by how much they fetch: their weight on the key's digits when the answer is due, in prompts of a length at which
nothing else is asked, with keys of their own; by the weight that they give lags from FAR on in the documents; or not at
all, in a random order. Beyond the trained length all heads read under the NTK-aware base.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from .. import runtime, store
from ..corpora import manuals
from ..integrations import extending
from ..integrations.pretrained import Pretrained
from ..parallel.baselines import last_window
from ..parallel.chunks import Options, chunk_size, split
from ..parallel.hf import HuggingFace
from ..parallel.read import condense
from ..parallel.select import lexical, overlapping
from ..tasks.needle_text import NOISE
from .grid import Rows
from .pretrained import FILLER, Far, Keys
from .pretrained_answers import CHANGES, SINKS, Answers, Change, changed
from .pretrained_words import READERS, label

DIGITS = 5
KEY = " The pass key is {key}. Remember it. {key} is the pass key. "
QUESTION = (
    "\nThe pass key is"  # of three wordings the one that was answered best at 700 tokens, a length not asked below
)
KEEP = 3  # chunks of ParallelComp
Head = tuple[int, int]  # layer, and head in it


@dataclass(frozen=True)
class Prompt:
    """Tokens of a text with its key, of the question and of the answer; `wanted`: where the key stands."""

    text: Tensor
    question: Tensor
    answer: Tensor
    wanted: tuple[int, int]
    depth: float

    @property
    def given(self) -> dict[str, str]:
        """What an answer depends on."""
        return {"tokens": store.key(self.text.tolist(), self.question.tolist(), self.answer.tolist())}


def prompt(found: Pretrained, settings: Keys | Far, length: int, number: int) -> Prompt:
    """The `number`th of a length; text, question and answer have `length` tokens together."""
    draw = runtime.generator(0, f"pretrained/keys/{length}/{number}")
    key = "".join(str(int(digit)) for digit in torch.randint(10, (DIGITS,), generator=draw))
    encode = found.words.encode
    needle, question, answer = encode(KEY.format(key=key)), encode(QUESTION), encode(f" {key}")
    text = f"{NOISE} " * (length // 16 + 1) if settings.document == FILLER else manuals.text(settings.document)
    hay = encode(text)[: length - len(needle) - len(question) - len(answer)]
    depth = (number + 0.5) / settings.prompts
    at = round(depth * len(hay))
    text = [*hay[:at], *needle, *hay[at:]]
    tokens = (torch.tensor(part, device=found.model.device) for part in (text, question, answer))
    return Prompt(*tokens, (at, at + len(needle)), depth)


@torch.inference_mode()
def whole(found: Pretrained, asked: Prompt, change: Change) -> bool:
    """Whether greedy decoding gives the key: every token of the answer is the likeliest after those before it."""
    tokens = torch.cat([asked.text, asked.question, asked.answer[:-1]])
    with changed(found.model, change) as model:
        logits = model(tokens[None], use_cache=False, logits_to_keep=len(asked.answer)).logits[0]
    return bool((logits.argmax(-1) == asked.answer).all())


def in_parts(found: Pretrained, asked: Prompt, reader: str, window: int) -> bool:
    """The same of a reader that takes parts of the text."""
    how = Options(window=window, reserve=len(asked.answer), keep=KEEP if reader == "parallel" else 1, at_once=1)
    by = HuggingFace(found.model)
    if reader == "last":
        session = last_window(by, asked.text, asked.question, how)
    else:
        spans = split(len(asked.text), chunk_size(len(asked.text), len(asked.question), how), 0)
        choose = {"lexical": lexical, "oracle": overlapping(spans, asked.wanted)}.get(reader)
        session = condense(by, asked.text, asked.question, replace(how, choose=choose))
    logits = session.feed(torch.cat([asked.question, asked.answer[:-1]]))[-len(asked.answer) :]
    return bool((logits.argmax(-1) == asked.answer).all())


def retrieved(answers: Answers, settings: Keys) -> Rows:
    """A row per way of reading, length and prompt."""
    found, rows = answers.found, []
    asked = [("as-is", length) for length in settings.lengths]
    asked += [(way, length) for way, lengths in settings.beyond.items() for length in lengths]
    for way, length in sorted(asked, key=lambda each: each[1]):
        for number in range(settings.prompts):
            made = prompt(found, settings, length, number)
            given = {"way": way} | made.given
            if way in READERS:
                given |= {"window": settings.window}
                ask = partial(in_parts, found, made, way, settings.window)
            else:
                ask = partial(whole, found, made, CHANGES[way])
            right = answers.put("keys", given, f" is asked for a key among {length} tokens: {label(way)}", ask)
            about = {"way": way, "length": length, "prompt": number, "depth": made.depth}
            rows.append(about | {"correct": int(right)})
    return rows


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
                    about = {"order": name, "far": count, "heads": len(known), "length": length, "way": way}
                    about |= {"window": settings.window, "prompt": number, "depth": made.depth}
                    rows.append(about | {"correct": int(correct)})
    return rows
