"""Passkey retrieval: five digits hidden in filler text, asked for at the end (Mohtashami & Jaggi 2023; BAM §3.1).

A prompt is description (32 tokens) + filler + key sentence (25) + filler + question (16): at 768 tokens of filler, the
841 tokens of BAM's Fig. 4. A token is a word, a digit or a punctuation mark. The key stands twice in its sentence.
The `hard` form hides it among sentences that hold other digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import runtime
from ..config import Gate, Varied

Form = Literal["plain", "hard"]
DIGITS = 5
KEY = "#"  # stands for the five digits in the key sentence
DIGIT = "%"  # stands for a random digit in a decoy sentence
DESCRIPTION = (
    "there is a passkey hidden inside a long tedious text . find it and keep it in mind . "
    "you will have to tell it when the text ends . here :"
)
KEY_SENTENCE = f"the passkey is {KEY} . please remember it . {KEY} is the one and only passkey ."
QUESTION = "what is the passkey that you were asked to remember above ? the passkey is :"
FILLER = "the grass is green . the sky is blue . the sun is yellow . here we go . there and back again ."
DECOYS = (
    f"the house has {DIGIT} doors and {DIGIT} {DIGIT} windows .",
    f"we saw {DIGIT} {DIGIT} {DIGIT} birds in the blue sky .",
    "the sun is long above the green grass .",
    f"the number of the road is {DIGIT} {DIGIT} {DIGIT} {DIGIT} {DIGIT} .",
    f"at {DIGIT} we go back to the house .",
    "the text is tedious and the road is long .",
    f"you asked {DIGIT} {DIGIT} times and we saw it .",
)


def _vocabulary() -> tuple[str, ...]:
    text = " ".join((DESCRIPTION, KEY_SENTENCE, QUESTION, FILLER, *DECOYS))
    words = sorted(set(text.split()) - {KEY, DIGIT})
    return (*(str(digit) for digit in range(10)), *words)


VOCABULARY = _vocabulary()
IDS = {word: index for index, word in enumerate(VOCABULARY)}
DESCRIPTION_TOKENS, KEY_TOKENS, QUESTION_TOKENS = 32, 25, 16
SECOND_MENTION = 13  # tokens of the key sentence before the key's second mention
SHORTEST = DESCRIPTION_TOKENS + KEY_TOKENS + QUESTION_TOKENS + DIGITS - 1


@dataclass(frozen=True)
class Prompts:
    """A batch of prompts with their answers."""

    tokens: Tensor  # [samples, length + 1]; the last five are the answer
    depths: Tensor  # [samples] share of the filler that stands before the key sentence
    starts: Tensor  # [samples] index of the key sentence's first token

    def part(self, start: int, stop: int) -> Prompts:
        """Some of the samples."""
        return Prompts(self.tokens[start:stop], self.depths[start:stop], self.starts[start:stop])


def prompts(
    length: int,
    depths: Tensor,
    generator: torch.Generator,
    form: Form = "plain",
    cut: Tensor | None = None,
) -> Prompts:
    """Prompts of which a model reads `length` tokens: text, question and the answer's first four digits.

    One sample for each of `depths` (shares in [0, 1]). `cut` [samples] leaves out so many of the description's first
    tokens and has as much more filler. ValueError where the length cannot hold key and question.
    """
    filler = length - SHORTEST
    if filler < 0:
        raise ValueError(f"length = {length}, but a passkey prompt needs at least {SHORTEST} tokens; use a longer one")
    if form not in ("plain", "hard"):
        raise ValueError(f"form = {form!r}; choose 'plain' or 'hard'")
    if depths.ndim != 1 or not len(depths) or not bool(((depths >= 0) & (depths <= 1)).all()):
        raise ValueError(f"depths = {depths.tolist()}, but a non-empty list of shares between 0 and 1 is needed")
    samples = len(depths)
    digits = torch.randint(10, (samples, DIGITS), generator=generator)
    sentence = _encode(KEY_SENTENCE).expand(samples, -1).clone()
    sentence[sentence < 0] = digits.repeat(1, 2).flatten()
    spare = 0 if cut is None else DESCRIPTION_TOKENS  # filler that only cut prompts need
    cut = torch.zeros(samples, dtype=torch.long) if cut is None else cut
    hay = _filler(filler + spare, samples, generator, form)
    # One row: description, filler, question, answer. Each sample begins at its cut and leaves out what is spare; then
    # the key sentence is inserted at its depth.
    description = _encode(DESCRIPTION).expand(samples, -1)
    fixed = torch.cat([description, hay, _encode(QUESTION).expand(samples, -1), digits], 1)
    starts = DESCRIPTION_TOKENS - cut + (depths.double() * (filler + cut)).round().long()
    index = torch.arange(length + 1).expand(samples, -1)
    inside = index - starts[:, None]
    source = torch.where(inside < 0, index, index - KEY_TOKENS).clamp(min=0)
    source = torch.where(source < DESCRIPTION_TOKENS + filler, source + cut[:, None], source + spare)
    in_key = (inside >= 0) & (inside < KEY_TOKENS)
    tokens = torch.where(in_key, sentence.gather(1, inside.clamp(0, KEY_TOKENS - 1)), fixed.gather(1, source))
    return Prompts(tokens, depths, starts)


def equidistant(samples: int) -> Tensor:
    """The depths 0, 1/(samples - 1), ..., 1 of BAM §3.1. ValueError for less than one sample."""
    if samples < 1:
        raise ValueError(f"samples = {samples}, but at least 1 is needed")
    return torch.linspace(0, 1, samples, dtype=torch.float64) if samples > 1 else torch.tensor([0.5]).double()


def training_batch(
    length: int, batch: int, generator: torch.Generator, form: Form = "plain", varied: Varied | None = None
) -> tuple[Tensor, Tensor]:
    """Tokens [batch, length + 1] with random keys and depths, and a mask of the targets that can be retrieved.

    These are the answer's digits and those of the key's second mention in its own sentence, a few tokens after the
    first: the short copy teaches the heads that the long one needs. `varied`: the length is the longest; all texts of
    a batch have one, drawn from the shortest on, some begin inside the description, and some hold neither key nor
    question. A model that has seen one length alone can learn where the key stands in it instead of looking for it.
    """
    cut = keyless = None
    if varied is not None:
        length = int(torch.randint(varied.shortest, length + 1, (), generator=generator))
        parts = torch.randint(DESCRIPTION_TOKENS + 1, (batch,), generator=generator)
        cut = torch.where(torch.rand(batch, generator=generator) < varied.cut, parts, 0)
        keyless = torch.rand(batch, generator=generator) < varied.keyless
    drawn = prompts(length, torch.rand(batch, generator=generator, dtype=torch.float64), generator, form, cut)
    tokens, retrievable = drawn.tokens, torch.zeros(batch, length, dtype=torch.bool)
    retrievable[:, -DIGITS:] = True
    digits = torch.arange(DIGITS)
    retrievable.scatter_(1, drawn.starts[:, None] + SECOND_MENTION - 1 + digits, True)  # targets are one token ahead
    if keyless is not None:
        whole = torch.cat([_encode(DESCRIPTION).expand(batch, -1), _filler(length + 1, batch, generator, form)], 1)
        bare = whole.gather(1, cut[:, None] + torch.arange(length + 1))
        tokens = torch.where(keyless[:, None], bare, tokens)
        retrievable &= ~keyless[:, None]
    return tokens, retrievable


@torch.inference_mode()
def right_digits(model: nn.Module, drawn: Prompts, **how: Any) -> list[int]:
    """Digits of each answer that a model predicts, each from the true ones before it; `how`: the model's keywords."""
    tokens = drawn.tokens.to(next(model.parameters()).device)
    guess = model(tokens[:, :-1], last=DIGITS, **how).argmax(-1)
    return (guess == tokens[:, -DIGITS:]).sum(1).tolist()


class PasskeyBatches:
    """A source of training batches: prompts of the form that the task names; step and seed determine them."""

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        self.spec, self.form = spec, "hard" if spec.task.endswith("hard") else "plain"

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        """No documents."""
        recipe = self.spec.recipe
        generator = runtime.generator(self.spec.seed, f"passkey/{step}")
        tokens, answer = training_batch(recipe.length, recipe.batch, generator, self.form, recipe.varied)
        return tokens[:, :-1], tokens[:, 1:], answer, None

    def accuracy(self, model: nn.Module, gate: Gate) -> float:
        """Share of held-out prompts answered, over the gate's lengths; their stream is used nowhere else."""
        right = []
        for length in gate.lengths:
            generator = runtime.generator(self.spec.seed, f"passkey/gate/{length}")
            drawn = prompts(length, equidistant(gate.samples), generator, self.form)
            right += [digits == DIGITS for digits in right_digits(model, drawn)]
        return sum(right) / len(right)


def decode(tokens: Tensor) -> str:
    """The text of a row of tokens."""
    return " ".join(VOCABULARY[token] for token in tokens.tolist())


def _encode(text: str) -> Tensor:
    words = text.replace(KEY, " ".join([KEY] * DIGITS)).split()
    return torch.tensor([IDS.get(word, -1) for word in words])


def _filler(count: int, samples: int, generator: torch.Generator, form: Form) -> Tensor:
    if form == "plain":
        once = _encode(FILLER)
        return once.repeat(-(-count // len(once)))[:count].expand(samples, -1)
    longest = max(len(sentence.split()) for sentence in DECOYS)
    rows = torch.full((len(DECOYS), longest), -2)
    for row, sentence in zip(rows, DECOYS, strict=True):
        row[: len(sentence.split())] = _encode(sentence)
    result = torch.empty(samples, count, dtype=torch.long)
    shortest = min(len(sentence.split()) for sentence in DECOYS)
    for sample in range(samples):
        picks = torch.randint(len(DECOYS), (count // shortest + 1,), generator=generator)
        flat = rows[picks].flatten()
        flat = flat[flat != -2][:count]
        holes = flat == -1
        flat[holes] = torch.randint(10, (int(holes.sum()),), generator=generator)
        result[sample] = flat
    return result
