"""BAM's passkey protocol (BAM-D7) held against the generator and the scoring that all passkey runs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import torch
from torch import Tensor

from attention_priors import evaluation, runtime
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.tasks import passkey

SAMPLES = 20
PRINTED = {"task": 32, "passkey": 25, "filler": 768, "question": 16, "context": 825, "prompt": 841}
SPOKEN = passkey.DIGITS - 1  # of the answer, the model also reads all digits but the last


def check_depths(depth: Callable[[int, int], Fraction]) -> Evidence:
    """`depth(k, L)`: how many of L filler tokens stand before the key sentence of sample k. Worst error."""
    worst = Fraction(0)
    for filler in (0, 19, 768, 8000):
        drawn = passkey.prompts(passkey.SHORTEST + filler, passkey.equidistant(SAMPLES), runtime.generator(0, "depths"))
        for k, row in enumerate(drawn.tokens):
            before = passkey.decode(row).split("the passkey is ", 1)[0].split()
            worst = max(worst, abs(len(before) - PRINTED["task"] - depth(k, filler)))
    return compare(float(worst), "<=", 0.5, detail="tokens between the key sentence and where it should start")


def check_parts(printed: Mapping[str, int]) -> Evidence:
    """Sums of the printed counts, and the same counts in a prompt with that much filler."""
    length = printed["prompt"] + SPOKEN
    drawn = passkey.prompts(length, torch.tensor([0.0]), runtime.generator(0, "parts"))
    prompt = passkey.decode(drawn.tokens[0, : -passkey.DIGITS])
    description, rest = prompt.split("the passkey is ", 1)
    key, rest = rest.split("one and only passkey . ")
    filler, question = rest.split("what is the passkey ")
    found = {
        "task": len(description.split()),
        "passkey": len(f"the passkey is {key} one and only passkey .".split()),
        "filler": len(filler.split()),
        "question": len(f"what is the passkey {question}".split()),
        "prompt": len(prompt.split()),
    }
    found["context"] = found["task"] + found["passkey"] + found["filler"]
    sums = printed["task"] + printed["passkey"] + printed["filler"] == printed["context"]
    sums = sums and printed["context"] + printed["question"] == printed["prompt"]
    off = sum(abs(found[name] - count) for name, count in printed.items()) + (not sums)
    return compare(off, "==", 0, 0, detail=f"in the generator: {found}")


def check_digits(digits: int) -> Evidence:
    """Runs of one-character digits in prompts: key, its copy and the answer must be the same `digits` tokens."""
    drawn = passkey.prompts(200, passkey.equidistant(SAMPLES), runtime.generator(0, "digits"))
    wrong = 0
    for row in drawn.tokens:
        words = passkey.decode(row).split()
        runs, run = [], []
        for word in [*words, "end"]:
            if word.isdigit():
                run.append(word)
            elif run:
                runs, run = [*runs, run], []
        single = all(len(word) == 1 for found in runs for word in found)
        wrong += not (single and len(runs) == 3 and runs[0] == runs[1] == runs[2] and len(runs[0]) == digits)
        wrong += words[-digits - 4 : -digits] != ["the", "passkey", "is", ":"]
    return compare(wrong, "==", 0, 0, detail=f"prompts of {SAMPLES} without key, key and answer of {digits} tokens")


def check_chance(chance: float) -> Evidence:
    """All guesses of five digits against one answer."""
    guesses = torch.cartesian_prod(*[torch.arange(10)] * passkey.DIGITS)
    hits = int((guesses == torch.tensor([3, 1, 4, 1, 5])).all(1).sum())
    return compare(hits / len(guesses), "==", chance, 1e-15, detail=f"{hits} of {len(guesses)} guesses")


def tiny_model() -> Transformer:
    torch.manual_seed(runtime.seed_for(0, "untrained"))
    size = {"width": 16, "layers": 1, "heads": 2, "hidden": 16}
    return Transformer(ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding="bam-ssmax", **size)).eval()


@torch.inference_mode()
def all_right(model: Transformer, tokens: Tensor, needed: int = passkey.DIGITS) -> bool:
    """Teacher forcing: at least `needed` answer digits are the most likely token after the true ones before them."""
    guess = model(tokens[None, :-1], last=passkey.DIGITS).argmax(-1)[0]
    return int((guess == tokens[-passkey.DIGITS :]).sum()) >= needed


def check_scoring(exact: Callable[[Transformer, Tensor], bool]) -> Evidence:
    """`exact(model, tokens)` against free decoding: on the model's own answers, and on those changed in one place."""
    model, wrong, tried = tiny_model(), 0, 0
    drawn = passkey.prompts(96, passkey.equidistant(4), runtime.generator(0, "scoring"))
    for row in drawn.tokens:
        prompt = row[: -passkey.DIGITS]
        said = torch.tensor(evaluation.greedy_digits(model, prompt))
        for place in range(-1, passkey.DIGITS):
            answer = said.clone()
            if place >= 0:
                answer[place] = (answer[place] + 1) % len(passkey.VOCABULARY)
            wrong += exact(model, torch.cat([prompt, answer])) != bool((said == answer).all())
            tried += 1
    return compare(wrong, "==", 0, 0, detail=f"of {tried} answers judged otherwise than by free decoding")


PROTOCOL = Check(
    "BAM-D7",
    printed=(
        Part(
            "20 prompts hide the key after 0/19, 1/19, ..., 19/19 of the filler (to the nearest token)",
            lambda k, filler: Fraction(k * filler, SAMPLES - 1),
            check_depths,
            false=lambda k, filler: Fraction(k * filler, SAMPLES),
        ),
        Part(
            "32 + 25 + 768 = 825 tokens of context and 16 of question make a prompt of 841",
            PRINTED,
            check_parts,
            false={**PRINTED, "filler": 767, "prompt": 840},
        ),
        Part("The key and the answer after <the passkey is :> are five digits, a token each", 5, check_digits, false=4),
        Part("All five must match: a guesser has 1e-5", 1e-5, check_chance, false=1e-4),
        Part(
            "Comparing each digit's most likely token given the true digits before it accepts what free decoding does",
            all_right,
            check_scoring,
            false=lambda model, tokens: all_right(model, tokens, passkey.DIGITS - 1),
        ),
    ),
    practice="Teacher forcing answers all prompts of a length in one pass. Shares of right digits would not compare.",
)

CHECKS = {PROTOCOL.id: PROTOCOL}
