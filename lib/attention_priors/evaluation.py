"""What trained models can do: passkey accuracy and perplexity at any context length, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import stats

from . import runtime
from .attention.sdpa_skip import sdpa_skip
from .corpora import packing
from .model import Cache, Transformer
from .tasks import passkey

TOKENS_AT_ONCE = 8192
CHANCE = 10.0**-passkey.DIGITS


def reader(model: Transformer) -> str:
    """The backend that reads long contexts fastest where the model is."""
    pairs = any(getattr(block.attention, "pairs", None) is not None for block in getattr(model, "blocks", ()))
    return sdpa_skip.__name__ if next(model.parameters()).device.type == "cpu" and not pairs else "auto"


@torch.inference_mode()
def passkey_samples(
    model: Transformer, length: int, samples: int, seed: int, form: passkey.Form = "plain", local: int | None = None
) -> list[dict[str, Any]]:
    """One row per equidistant depth: were all five digits right, and how many.

    The digits are predicted at once, each from the true ones before it; where all five are right, greedy decoding gives
    the same five. The prompts depend on (seed, length, form) alone: every model answers the same ones.
    """
    generator = runtime.generator(seed, f"prompts/{form}/{length}")
    drawn = passkey.prompts(length, passkey.equidistant(samples), generator, form)
    step = max(1, TOKENS_AT_ONCE // length)
    rows = []
    for start in range(0, samples, step):
        part = drawn.part(start, start + step)
        right = passkey.right_digits(model, part, local=local, backend=reader(model))
        for depth, digits in zip(part.depths.tolist(), right, strict=True):
            rows.append({"depth": round(depth, 6), "digits": digits, "correct": int(digits == passkey.DIGITS)})
    return rows


@torch.inference_mode()
def greedy_digits(model: Transformer, prompt: torch.Tensor) -> list[int]:
    """Five digits decoded freely from a prompt [length], with a key-value cache."""
    cache = Cache()
    logits = model(prompt[None], last=1, cache=cache)
    digits = [int(logits[0, -1].argmax())]
    while len(digits) < passkey.DIGITS:
        logits = model(torch.tensor([[digits[-1]]], device=prompt.device), cache=cache)
        digits.append(int(logits[0, -1].argmax()))
    return digits


@torch.inference_mode()
def document_losses(
    model: Transformer, documents: torch.Tensor, lengths: Sequence[int], scored: int, local: int | None = None
) -> list[dict[str, Any]]:
    """Mean loss (nats) of the same last `scored` tokens of each document, given a context of each length.

    documents: [documents, longest + 1]. The scored targets never change; only how much text before them is read.
    """
    if not lengths or scored < 1:
        raise ValueError(f"lengths {list(lengths)} with {scored} scored tokens: at least one of both is needed")
    if max(lengths) >= documents.shape[1] or min(lengths) < scored:
        raise ValueError(
            f"lengths {list(lengths)} with {scored} scored tokens need documents of {max(lengths) + 1} tokens and "
            f"every length >= {scored}; documents have {documents.shape[1]}"
        )
    device = next(model.parameters()).device
    rows = []
    for length in lengths:
        step = max(1, TOKENS_AT_ONCE // length)
        for start in range(0, len(documents), step):
            tokens = documents[start : start + step, -length - 1 :].to(device)
            logits = model(tokens[:, :-1], last=scored, local=local, backend=reader(model))
            targets = tokens[:, -scored:]
            losses = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="none")
            for index, loss in enumerate(losses.view(targets.shape).double().mean(1).tolist()):
                rows.append({"length": length, "document": start + index, "loss": round(loss, 7)})
    return rows


def language_documents(path: str, domain: str, longest: int, limit: int) -> torch.Tensor:
    """Validation documents of a packed corpus cut to `longest` + 1 tokens: [documents, longest + 1]."""
    return packing.long_documents(packing.PackedCorpus.read(path), "validation", domain, longest, limit)


def binomial_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact (Clopper-Pearson) interval of a share: 20 of 20 right means 83 % to 100 %."""
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"successes = {successes} of trials = {trials}; need 0 <= successes <= trials and trials >= 1")
    _check(confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(stats.beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(stats.beta.ppf(1 - tail, successes + 1, trials - successes))
    return low, high


def seed_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Student's t interval of the mean over seeds; the whole line for one seed, which tells nothing of the spread."""
    _check(confidence)
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return -np.inf, np.inf
    half = stats.t.ppf((1 + confidence) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def crossed_interval(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a mean over documents and seeds, both of them samples; values: [documents, seeds].

    The variance of the mean is at most that of the means of documents and that of the means of seeds together, each
    over its number: their own parts once, what documents and seeds do together twice. Student's t with the degrees of
    freedom of that sum (Satterthwaite 1946). The whole line for one document or one seed.
    """
    _check(confidence)
    values = np.asarray(values, dtype=float)
    if min(values.shape) < 2:
        return -np.inf, np.inf
    variances = np.array([values.mean(1 - axis).var(ddof=1) / values.shape[axis] for axis in (0, 1)])
    total = variances.sum()
    if total == 0:
        return float(values.mean()), float(values.mean())
    freedom = total**2 / (variances**2 / (np.array(values.shape) - 1)).sum()
    half = stats.t.ppf((1 + confidence) / 2, freedom) * np.sqrt(total)
    return float(values.mean() - half), float(values.mean() + half)


def share_interval(successes: Sequence[int], trials: Sequence[int], confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a mean share over seeds, from each seed's counts: the hull of two, within [0, 1].

    Student's t over seeds alone is a point when all seeds are perfect; the exact binomial interval of all trials
    together ignores that seeds differ. One seed tells nothing of the spread: [0, 1].
    """
    if len(successes) != len(trials) or not len(trials):
        raise ValueError(f"{len(successes)} successes and {len(trials)} trials; give one of each for every seed")
    successes, trials = np.asarray(successes), np.asarray(trials)
    over_seeds = seed_interval(successes / trials, confidence)
    pooled = binomial_interval(int(successes.sum()), int(trials.sum()), confidence)
    return max(0.0, min(over_seeds[0], pooled[0])), min(1.0, max(over_seeds[1], pooled[1]))


def difference_interval(
    successes: Sequence[int],
    trials: Sequence[int],
    other_successes: Sequence[int],
    other_trials: Sequence[int],
    confidence: float = 0.95,
) -> tuple[float, float]:
    """The interval of the mean difference of two shares over the same seeds, in order: the hull of two, in [-1, 1].

    Student's t of the differences within seeds; and square-and-add (Newcombe 1998) of the exact binomial intervals of
    all trials together, since equal differences in all seeds would make the first a point.
    """
    if len(successes) != len(other_successes):
        raise ValueError(f"{len(successes)} and {len(other_successes)} seeds; give the same seeds of both in order")
    counts = [np.asarray(each) for each in (successes, trials, other_successes, other_trials)]
    over_seeds = seed_interval(counts[0] / counts[1] - counts[2] / counts[3], confidence)
    right, asked, other_right, other_asked = (int(each.sum()) for each in counts)
    (a, b), (c, d) = (binomial_interval(*of, confidence) for of in ((right, asked), (other_right, other_asked)))
    p, q = right / asked, other_right / other_asked
    low, high = p - q - np.hypot(p - a, d - q), p - q + np.hypot(b - p, q - c)
    return max(-1.0, min(over_seeds[0], float(low))), min(1.0, max(over_seeds[1], float(high)))


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence}, but it must lie between 0 and 1, such as 0.95")
