"""Goat's App. E.3: does a rotation of the content add nothing once the prior is learned?

On addresses ("which symbol stood k from the end?") learning the task is what is compared, so that no gate is asked of
Goat; if neither form learns it, nothing is decided. Passkeys and text have their usual gates.
"""

from __future__ import annotations

import math
from dataclasses import replace

from attention_priors.checks.goat import language, retrieval
from attention_priors.checks.goat.retrieval import FAR, PAPER
from attention_priors.checks.passkey.runs import MARGIN, RECIPE, Counts
from attention_priors.claims.finding import Estimate, Finding, Frames, lead, unknown
from attention_priors.claims.law import claim, claims

TOTALS = "goat_offset_totals"
ROTATED = "goat-rope"
LEARNED = 0.9  # of the addresses at T
NATS = 0.02  # of loss: less is none


def counts(frames: Frames, name: str, times: float) -> Counts:
    """Right and asked by seed at that multiple of T."""
    rows = frames[TOTALS]
    rows = rows[(rows["encoding"] == name) & (rows["length"] == round(times * rows["trained"].iloc[0]))]
    return {int(row.seed): (int(row.correct), int(row.samples)) for row in rows.itertuples()}


def addresses(times: int) -> Finding:
    """The lead of the rotated form."""

    def estimate(frames: Frames) -> Estimate:
        own = {name: counts(frames, name, 1) for name in (PAPER, ROTATED)}
        if absent := [name for name, each in own.items() if not each]:
            return unknown(f"not in this profile: {', '.join(absent)}")
        if max(right / asked for each in own.values() for right, asked in each.values()) < LEARNED:
            return unknown("no run learned the task")
        found = lead(counts(frames, ROTATED, times), counts(frames, PAPER, times))
        return replace(found, note=f"not asked at {times}T" if math.isnan(found.value) else "")

    where = "at T" if times == 1 else f"in texts of {times}T"
    return Finding(f"The rotation adds nothing where a query names an offset, {where}", estimate, "<=", 0.0,
                   metrics=(TOTALS,))  # fmt: skip


def passkeys(frames: Frames) -> Estimate:
    data = retrieval.spans(frames)
    return data.lead(ROTATED, PAPER, [data.trained, *data.past(ROTATED, PAPER)])


def text(frames: Frames) -> Estimate:
    """How much lower the rotated form's loss is at T."""
    data = language.losses(frames)
    return data.gap(PAPER, ROTATED, "loss", data.trained)


CHECKS = claims(
    claim(
        "GOAT-E.3",
        addresses(1),
        addresses(4),
        Finding(f"Nor on passkeys: no more than {MARGIN} ahead (digits, mean from T to {FAR}T)", passkeys, "<=", MARGIN,
                metrics=(retrieval.COUNTS,), ours=True),
        Finding(f"Nor on text: a loss at T that is lower by at most {NATS} nats", text, "<=", NATS,
                metrics=(language.PERPLEXITY,), ours=True),
        practice="A prior adds the same to every query. What a query names takes a rotation, or layers that pass "
        "places on.",
        recipe=RECIPE,
    ),
)  # fmt: skip
