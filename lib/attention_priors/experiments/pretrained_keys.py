"""Passkeys in real prose, asked of a pretrained model: the whole text, and readers that take less of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from .. import runtime, store
from ..corpora import manuals
from ..integrations.pretrained import Pretrained
from ..parallel.baselines import last_window
from ..parallel.chunks import Options, chunk_size, split
from ..parallel.hf import HuggingFace
from ..parallel.read import condense
from ..parallel.select import lexical, overlapping
from ..tasks.needle_text import NOISE
from .grid import Rows
from .pretrained import FILLER, Far, Keys
from .pretrained_answers import CHANGES, Answers, Change, changed
from .pretrained_words import READERS, label

DIGITS = 5
KEY = " The pass key is {key}. Remember it. {key} is the pass key. "
QUESTION = (
    "\nThe pass key is"  # of three wordings the one that was answered best at 700 tokens, a length not asked below
)
KEEP = 3  # chunks of ParallelComp


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
