"""BAM's passkey protocol (BAM-D7) held against the generator and the scoring that all passkey runs use."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import torch
from torch import Tensor

from attention_priors import evaluation, runtime
from attention_priors.checks.printed import told
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.tasks import passkey

SAMPLES, FILLERS = 20, (0, 19, 768, 8000)
PRINTED = {"task": 32, "passkey": 25, "filler": 768, "question": 16, "context": 825, "prompt": 841}
SPOKEN = passkey.DIGITS - 1  # of the answer, the model also reads all digits but the last


@cache
def prompts(length: int, purpose: str) -> Tensor:
    """Prompts of a length with the key at 20 equidistant depths."""
    return passkey.prompts(length, passkey.equidistant(SAMPLES), runtime.generator(0, purpose)).tokens


def depth(sample: int, filler: int) -> int:
    """Tokens of filler before the key sentence of a sample."""
    words = passkey.decode(prompts(passkey.SHORTEST + filler, "depths")[sample])
    return len(words.split("the passkey is ", 1)[0].split()) - PRINTED["task"]


def tokens_of(part: str) -> int:
    """Of the printed example's length, in the generator."""
    drawn = passkey.prompts(PRINTED["prompt"] + SPOKEN, torch.tensor([0.0]), runtime.generator(0, "parts"))
    prompt = passkey.decode(drawn.tokens[0, : -passkey.DIGITS])
    description, rest = prompt.split("the passkey is ", 1)
    key, rest = rest.split("one and only passkey . ")
    filler, question = rest.split("what is the passkey ")
    parts = {"task": description, "passkey": f"the passkey is {key} one and only passkey .", "filler": filler}
    parts["context"] = " ".join(parts.values())
    parts |= {"question": f"what is the passkey {question}", "prompt": prompt}
    return len(parts[part].split())


def digits(sample: int) -> list[int]:
    """Lengths of the runs of one-character digits: key, copy and answer; none where they differ or "the passkey is :"
    does not stand before the answer."""
    words, runs, run = passkey.decode(prompts(200, "digits")[sample]).split(), [], []
    for word in [*words, "end"]:
        if word.isdigit() and len(word) == 1:
            run.append(word)
        elif run:
            runs, run = [*runs, run], []
    asked = words[-len(runs[-1]) - 4 : -len(runs[-1])] == ["the", "passkey", "is", ":"]
    return [len(each) for each in runs] if asked and all(each == runs[0] for each in runs) else []


def hits(answer: str) -> float:
    """Share of all guesses of five digits that match an answer."""
    guesses = torch.cartesian_prod(*[torch.arange(10)] * len(answer))
    return float((guesses == torch.tensor([int(digit) for digit in answer])).all(1).double().mean())


def tiny_model() -> Transformer:
    torch.manual_seed(runtime.seed_for(0, "untrained"))
    size = {"width": 16, "layers": 1, "heads": 2, "hidden": 16}
    return Transformer(ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding="bam-ssmax", **size)).eval()


@torch.inference_mode()
def all_right(model: Transformer, tokens: Tensor, needed: int = passkey.DIGITS) -> bool:
    """Teacher forcing: at least `needed` answer digits are the most likely token after the true ones before them."""
    guess = model(tokens[None, :-1], last=passkey.DIGITS).argmax(-1)[0]
    return int((guess == tokens[-passkey.DIGITS :]).sum()) >= needed


def accepted(says: int, sample: int, changed: int) -> tuple[bool, bool]:
    """Whether so many digits by teacher forcing accept the model's own answer with its first `changed` - 1 digits kept
    and the next one exchanged (none for 0), and whether free decoding gives that answer."""
    model, prompt = tiny_model(), prompts(96, "scoring")[sample][: -passkey.DIGITS]
    said = torch.tensor(evaluation.greedy_digits(model, prompt))
    answer = said.clone()
    if changed:
        answer[changed - 1] = (answer[changed - 1] + 1) % len(passkey.VOCABULARY)
    return all_right(model, torch.cat([prompt, answer]), says), bool((said == answer).all())


CHECKS = claims(
    claim(
        "BAM-D7",
        Law(
            "20 prompts hide the key after 0/19, 1/19, ..., 19/19 of the filler (to the nearest token).",
            lambda sample, filler: Fraction(sample * filler, 19),
            depth,
            [{"sample": k, "filler": n} for n, k in product(FILLERS, range(SAMPLES))],
            wrong=lambda sample, filler: Fraction(sample * filler, 20),
            tolerance=0.5,
        ),
        told(
            "32 tokens of task, 25 with the key, 768 of filler and 16 of question make a prompt of 841.",
            tokens_of,
            PRINTED,
            wrong={"filler": 767, "context": 824, "prompt": 840},
        ),
        told(
            "The printed counts add up: 32 + 25 + 768 = 825, and 16 more are 841.",
            lambda *parts: sum(parts),
            {(32, 25, 768): 825, (32, 25, 768, 16): 841},
            wrong=841,
        ),
        Law(
            "The key and the answer after <the passkey is :> are five digits, a token each.",
            [5, 5, 5],
            digits,
            grid(sample=range(SAMPLES)),
            wrong=[5, 5, 4],
        ),
        Law(
            "All five must match: a guesser has 1e-5.",
            1e-5,
            hits,
            grid(answer=("31415", "00000")),
            wrong=1e-4,
            tolerance=1e-15,
        ),
        Law(
            "Comparing each of 5 digits' most likely token given the true digits before it accepts what free decoding "
            "does.",
            5,
            accepted,
            grid(sample=(0, 6, 13, 19), changed=range(6)),
            wrong=4,
        ),
        practice="Teacher forcing answers all prompts of a length in one pass. Shares of right digits would not "
        "compare.",
    ),
)
