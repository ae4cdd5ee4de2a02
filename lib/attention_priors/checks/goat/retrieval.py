"""Goat on passkeys and needles (section 6, Fig. 3), and what it blames the uniform prior for (section 7).

Two forms speak for Goat: as the paper writes it, from the uniform prior, and as the authors' code has it, from ALiBi's
slopes and with a bump at key 0. A sentence of the paper about Goat has to hold of both. Beyond the training length T,
lengths from 2T to 16T count; the figures show more. Accuracy is the share of the digits of the answer, chance 0.1; a
prompt is one trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import BY_LENGTH, HIGH, MARGIN, PERFECT, RECIPE, Counts, Runs
from attention_priors.claims.finding import Estimate, Finding, Frames, lead, mean, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.arms import UNTRAINED
from attention_priors.tasks import passkey

COUNTS, HEADS, ANSWERS = "goat_passkey_counts", "goat_passkey_heads", "ruler_answers"
PAPER, CODE = "goat-composite", "goat-code"  # the code's form has one row for each training length
OTHERS = {"sinusoidal": "sinusoidal embeddings", "rope": "RoPE", "rope-dynamic-linear": "RoPE with interpolation"}
FORMS = {PAPER: "Goat", CODE: "Goat as in the authors' code"}
NEAR, FAR = 4, 16  # multiples of T: "well past" is at least the one; the other is the farthest the paper asks text at
NEEDLE = "single-1"
UNIFORM = ("sinusoidal", "rope")  # their prior over keys is uniform
NOPE = {"nope": "NoPE"}  # and so is that of no encoding


class Spans(Runs):
    """Digits of the answer in place of whole passkeys, after the gate, which asks for whole ones."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(frame)
        for row in frame.itertuples():
            self.runs[row.encoding, int(row.seed)][int(row.length)] = int(row.digits), int(row.samples)

    def counts(self, name: str, lengths: Iterable[int]) -> Counts:
        """As many prompts as the digits would fill, parts of one too, and prompts asked, by seed.

        Prompts are what is independent: the digits of one go together.
        """
        found = super().counts(name, lengths)
        return {seed: (digits / passkey.DIGITS, asked) for seed, (digits, asked) in found.items()}

    def row(self, form: str) -> str:
        """The encoding that stands for a form of Goat here."""
        return next((name for name, _ in self.runs if name.startswith(form)), form)

    def past(self, *names: str) -> list[int]:
        """Lengths that all of these were asked at, from 2T on."""
        return self.lengths(*names, least=2, most=FAR)


def spans(frames: Frames) -> Spans:
    return Spans(frames[COUNTS])


digits = measuring(COUNTS, read=spans)


class Needles(Runs):
    row = Spans.row


def needles(rows: pd.DataFrame) -> Needles:
    """The single needle; a whole answer is right or not."""
    rows = rows[(rows["task"] == NEEDLE) & (rows["encoding"] != UNTRAINED)]
    return Needles(rows.assign(correct=rows["right"], samples=rows["samples"] * rows["required"]))


def ahead(form: str, rival: str) -> Finding:
    """A lead in the mean over the lengths past T."""

    def estimate(data: Spans) -> Estimate:
        name = data.row(form)
        return data.lead(name, rival, data.past(name, rival))

    text = f"{FORMS[form]} is ahead of {OTHERS[rival]} (digits, mean from 2T to {FAR}T)"
    return digits(text, estimate, margin=MARGIN)


def perfect(form: str) -> Finding:
    """The lowest accuracy at any length up to NEAR times T."""
    text = f"{FORMS[form]} has {PERFECT} of the digits or more at every length up to {NEAR}T"
    return digits(text, lambda data: smallest(data.at_every(data.row(form), NEAR)), ">=", PERFECT, ours=True)


def needle(text: str, estimate: Callable[[Runs], Estimate], *bound: object, **more: object) -> Finding:
    """A sentence on needles; undecided in a profile that asks none of them."""

    def found(rows: pd.DataFrame) -> Estimate:
        return estimate(needles(rows)) if NEEDLE in set(rows["task"]) else unknown(f"the profile has no task {NEEDLE}")

    return measuring(ANSWERS)(text, found, *bound, **more)


def needles_up_to(most: int) -> Finding:
    return needle(
        f"Both forms of Goat find {PERFECT} of the single needles or more at every length up to {most}T (whole "
        f"answers)",
        lambda data: smallest({FORMS[form]: smallest(data.at_every(data.row(form), most)) for form in FORMS}),
        ">=",
        PERFECT,
        ours=True,
    )


def falls(data: Runs, name: str) -> Estimate:
    """Accuracy at T less that at the longest length up to FAR times T."""
    last = data.lengths(name, least=2, most=FAR)[-1:]
    found = lead(data.counts(name, [data.trained]), data.counts(name, last))
    return replace(found, note=data.why(name) or ("" if last else f"{name} not asked beyond T"))


def sinks_with_depth(rows: pd.DataFrame) -> Estimate:
    """Digits of keys in the first half of the filler less those in the second, past T: the smallest of the others."""
    data, found = Spans(rows), {}
    for name in OTHERS:
        own = rows[(rows["encoding"] == name) & rows["seed"].isin(data.seeds(name))]
        own = own[own["length"].isin(data.past(name))]
        early, late = {}, {}
        for seed, group in own.groupby("seed"):
            digits, first, asked, all_asked = (
                int(group[part].sum()) for part in ("digits", "early_digits", "early", "samples")
            )
            early[int(seed)] = first / passkey.DIGITS, asked
            late[int(seed)] = (digits - first) / passkey.DIGITS, all_asked - asked
        found[name] = replace(lead(early, late), note=data.why(name))
    return smallest(found)


def heads(form: str, part: str) -> Callable[[Frames], Estimate]:
    """A share of the priors' mass above that of the uniform prior: mean over heads, by seed that passed its gate."""

    def estimate(frames: Frames) -> Estimate:
        data, rows = spans(frames), frames[HEADS]
        name = data.row(form)
        own = rows[(rows["encoding"] == name) & rows["seed"].isin(data.seeds(name))]
        by_seed = (own[part] - own[f"{part}_uniform"]).groupby(own["seed"]).mean()
        return replace(mean(by_seed.to_dict()), note=data.why(name))

    return estimate


def drawn(form: str) -> list[Finding]:
    """What Fig. 3b shows of one head, as a mean over heads."""
    texts = {
        "ahead": "without a mask its heads' priors put more mass on later keys than the uniform prior does",
        "recent": "renormalised over the causal keys, more on the nearest eighth of the lags",
    }
    return [
        measuring(COUNTS, HEADS)(f"{FORMS[form]}: {text} (mean over heads)", heads(form, part))
        for part, text in texts.items()
    ]


def keeps(data: Spans) -> Estimate:
    """The lower of both forms at FAR times T."""
    return smallest({FORMS[form]: data.at(data.row(form), FAR * data.trained) for form in FORMS})


def over_nope(data: Spans) -> Estimate:
    """The smaller lead of both forms of Goat over NoPE past T."""
    leads = {FORMS[form]: data.lead(data.row(form), "nope", data.past(data.row(form), "nope")) for form in FORMS}
    return smallest(leads)


def helped(data: Runs) -> Estimate:
    """The lead of NoPE with SSMax over NoPE beyond T, in whole passkeys: both have the uniform prior."""
    return data.lead("nope-ssmax", "nope", data.lengths("nope-ssmax", "nope", least=2, most=FAR))


claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "GOAT-F3a",
        *(ahead(form, rival) for form in FORMS for rival in OTHERS),
        practice="Give rivals the same temperature: logits that are not divided by √d make another model of the same "
        "encoding.",
    ),
    claim("GOAT-F3b", *(each for form in FORMS for each in drawn(form))),
    claim(
        "GOAT-F3c",
        needles_up_to(FAR),
        needle(
            f"The others lose accuracy with length: {', '.join(UNIFORM)} at T less that at the longest up to {FAR}T",
            lambda data: smallest({name: falls(data, name) for name in UNIFORM}),
            margin=MARGIN,
        ),
        measuring(COUNTS)(
            "They lose it with depth: digits of keys in the first half less those in the second, past T "
            "(passkeys stand for needles)",
            sinks_with_depth,
            margin=MARGIN,
            beyond="the depth of needles was not recorded; passkeys stand for them",
        ),
    ),
    claim("GOAT-C-7", *map(perfect, FORMS), needles_up_to(NEAR)),
    claim(
        "GOAT-C-10",
        digits(
            f"With the uniform prior passkeys are lost past T: digits at T less those at {FAR}T",
            lambda data: smallest({(OTHERS | NOPE)[name]: falls(data, name) for name in (*UNIFORM, *NOPE)}),
            margin=MARGIN,
        ),
        digits(
            f"Another prior alone helps: Goat is ahead of NoPE, whose prior is uniform (digits, mean from 2T to "
            f"{FAR}T)",
            over_nope,
            margin=MARGIN,
        ),
        digits(
            f"With a learned prior passkeys are kept: both forms of Goat have {HIGH} of the digits at {FAR}T",
            keeps,
            ">=",
            HIGH,
            ours=True,
            decides=False,
        ),
        measuring(BY_LENGTH, read=lambda frames: Runs(frames[BY_LENGTH]))(
            "Without another prior nothing helps: NoPE with SSMax, whose prior is uniform too, is no more than "
            f"{MARGIN} ahead of NoPE (mean from 2T to {FAR}T)",
            helped,
            "<=",
            MARGIN,
            ours=True,
        ),
        missing="how much a learned prior keeps (GOAT-C-7, GOAT-F3a), sinks (GOAT-C-4, GOAT-CSINK), and perplexity "
        "beyond T (GOAT-F2a)",
        practice="A cause is shown by what happens when it stays and something else changes, as SSMax does with the "
        "uniform prior.",
    ),
)
