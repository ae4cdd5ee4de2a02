"""Goat on text (Fig. 2a, section 6): losses at the training length T and up to 16T, of the models that know word order.

Both forms of Goat (`retrieval.FORMS`) have to do as the paper says. All losses are of the same tokens, in nats; pairs
are compared within seeds. The paper's 1.55 points of perplexity are those of another model on another text: here the
sign counts.
"""

from __future__ import annotations

from collections.abc import Callable

from attention_priors.checks.goat.retrieval import FAR, FORMS
from attention_priors.checks.language.losses import CLOSE, DIVERGES, LEVEL, RECIPE, Losses
from attention_priors.claims.finding import Estimate, Finding, Frames, largest
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import encoding

PERPLEXITY = "goat_language_perplexity"
RIVALS = ("rope", "alibi")  # those of the paper


def losses(frames: Frames) -> Losses:
    """Text of the kind trained on."""
    frame = frames[PERPLEXITY]
    return Losses(frame[frame["trained_on"].astype(bool)])


def row(data: Losses, form: str) -> str:
    """The encoding that stands for a form of Goat here."""
    return next((name for name in data.frame["encoding"] if name.startswith(form)), form)


def finding(text: str, estimate: Callable[[Losses], Estimate], relation: str, bound: float, **more) -> Finding:
    return Finding(text, lambda frames: estimate(losses(frames)), relation, bound, metrics=(PERPLEXITY,), **more)


def below_alibi(form: str) -> Finding:
    return finding(f"{FORMS[form]} has a lower loss at T than ALiBi",
                   lambda data: data.gap("alibi", row(data, form), "loss", data.trained), ">", 0.0)  # fmt: skip


def holds(form: str) -> Finding:
    return finding(f"The loss of {FORMS[form]} grows by at most {LEVEL} nats at every length up to {FAR}T",
                   lambda data: data.grows(row(data, form), FAR), "<=", LEVEL, ours=True)  # fmt: skip


def close(form: str) -> Finding:
    def estimate(data: Losses) -> Estimate:
        name = row(data, form)
        return largest({encoding(rival).label: data.gap(name, rival, "loss", data.trained) for rival in RIVALS})

    text = f"At T {FORMS[form]} is at most {CLOSE} nats above RoPE and ALiBi"
    return finding(text, estimate, "<=", CLOSE, ours=True)


CHECKS = claims(
    claim(
        "GOAT-F2a",
        *map(below_alibi, FORMS),
        finding(f"RoPE breaks down: its loss grows by more than {DIVERGES} nats at {FAR}T",
                lambda data: data.end("rope", FAR), ">", DIVERGES, ours=True),
        *map(holds, FORMS),
        practice="u is a function of j/L: whether L is the current length or that of training decides what its network "
        "is asked beyond T.",
        recipe=RECIPE,
    ),
    claim("GOAT-C-6", *map(close, FORMS), *map(holds, FORMS), recipe=RECIPE),
)  # fmt: skip
