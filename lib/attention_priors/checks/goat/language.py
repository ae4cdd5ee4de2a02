"""Goat on text (Fig. 2a, section 6): losses at the training length T and up to 16T, of the models that know word order.

Goat is the paper's form, with u of j over the current length. All losses are of the same tokens, in nats; pairs are
compared within seeds. The paper's 1.55 points of perplexity are those of another model on another text: here the
sign counts.

App. E.3: does a rotation of the content add nothing where the prior is expressive enough? On passkeys and text, with
their usual gates. On addresses ("which symbol stood k from the end?") no prior is: they are shown, and decide nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd

from attention_priors.checks.goat.retrieval import CODE, COUNTS, FAR, PAPER, Spans, spans
from attention_priors.checks.language.losses import CLOSE, DIVERGES, LEVEL, RECIPE, Losses
from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey import runs
from attention_priors.checks.passkey.runs import MARGIN, Counts
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, lead, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import encoding

PERPLEXITY = "goat_language_perplexity"
RIVALS = ("rope", "alibi")  # those of the paper
TOTALS = "goat_offset_totals"
ROTATED = "goat-rope"
LEARNED = 0.9  # of the addresses at T
NATS = 0.02  # of loss: less is none


def losses(frames: Frames) -> Losses:
    """Text of the kind trained on."""
    frame = frames[PERPLEXITY]
    return Losses(frame[frame["trained_on"].astype(bool)])


finding = measuring(PERPLEXITY, read=losses)


def above(data: Losses) -> Estimate:
    """How far Goat's loss at T lies above the higher one of its rivals'."""
    return largest({encoding(rival).label: data.gap(PAPER, rival, "loss", data.trained) for rival in RIVALS})


def flat(whose: str, form: str, **more: bool) -> Finding:
    """The loss of a form of Goat stays level."""
    text = f"{whose} grows by at most {LEVEL} nats at every length up to {FAR}T"
    return finding(text, lambda data: data.grows(form, FAR), "<=", LEVEL, ours=True, **more)


FLAT = flat("Its loss", PAPER)
CODED = flat("The loss of Goat as in the authors' code", CODE, decides=False)


def counts(rows: pd.DataFrame, name: str, times: float) -> Counts:
    """Right and asked by seed at that multiple of T."""
    rows = rows[(rows["encoding"] == name) & (rows["length"] == round(times * rows["trained"].iloc[0]))]
    return {int(row.seed): (int(row.correct), int(row.samples)) for row in rows.itertuples()}


def addresses(times: int) -> Finding:
    """The lead of the rotated form."""

    def estimate(rows: pd.DataFrame) -> Estimate:
        own = {name: counts(rows, name, 1) for name in (PAPER, ROTATED)}
        if absent := [name for name, each in own.items() if not each]:
            return unknown(f"not in this profile: {', '.join(absent)}")
        if max(right / asked for each in own.values() for right, asked in each.values()) < LEARNED:
            return unknown("no run learned the task")
        found = lead(counts(rows, ROTATED, times), counts(rows, PAPER, times))
        return replace(found, note=f"not asked at {times}T" if math.isnan(found.value) else "")

    where = "at T" if times == 1 else f"in texts of {times}T"
    text = f"Nor where a query names an offset (our task: no prior over positions expresses it), {where}"
    return measuring(TOTALS)(text, estimate, "<=", 0.0, decides=False)


def passkeys(data: Spans) -> Estimate:
    return data.lead(ROTATED, PAPER, [data.trained, *data.past(ROTATED, PAPER)])


def text(data: Losses) -> Estimate:
    """How much lower the rotated form's loss is at T."""
    return data.gap(PAPER, ROTATED, "loss", data.trained)


CHECKS = claims(
    claim(
        "GOAT-F2a",
        finding("Goat has a lower loss at T than ALiBi", lambda data: data.gap("alibi", PAPER, "loss", data.trained)),
        finding(
            f"RoPE breaks down: its loss grows by more than {DIVERGES} nats at {FAR}T",
            lambda data: data.end("rope", FAR),
            ">",
            DIVERGES,
            ours=True,
        ),
        FLAT,
        CODED,
        practice="u is a function of j/L: whether L is the current length (as here) or that of training (as in the "
        "authors' code) decides what its network is asked beyond T; the figure has both.",
        recipe=RECIPE,
    ),
    claim(
        "GOAT-C-6",
        finding(f"At T Goat is at most {CLOSE} nats above RoPE and ALiBi", above, "<=", CLOSE, ours=True),
        FLAT,
        CODED,
        recipe=RECIPE,
    ),
    claim(
        "GOAT-E.3",
        measuring(COUNTS, read=spans)(
            f"A rotation adds nothing on passkeys: at most {MARGIN} ahead (digits, mean over T and from 2T to {FAR}T)",
            passkeys,
            "<=",
            MARGIN,
            ours=True,
        ),
        finding(f"Nor on text: a loss at T that is lower by at most {NATS} nats", text, "<=", NATS, ours=True),
        addresses(1),
        addresses(4),
        practice="A prior adds the same to every query. What a query names takes a rotation, or layers that pass "
        "places on.",
        recipe=runs.RECIPE,
    ),
)
