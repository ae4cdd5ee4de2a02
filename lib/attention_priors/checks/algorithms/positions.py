"""The survey on randomised positions and on no positions at all.

Accuracies beyond the training length are means over strings of every length tested there; differences are taken within
seeds. What lags behind its partner on the lengths of training is a lower bound: what it lacks further out may be lack
of training. Losses are in nats; what counts of them is the gain over token frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, unknown
from attention_priors.claims.law import claim, claims

ACCURACY, MODELS = "algorithms_accuracy", "nope_models"
TRAINED, BEYOND = "trained", "beyond"
DRAWN, UNTRAINED = "-randomised", "untrained"
GAINING = ("copy", "reverse", "bucket-sort")  # of our tasks, those that gain in the paper's table
HARD = "parity"  # and the one that stays at chance in every column of it
MARGIN = 0.05  # the paper's mean gain is twelve points
LAG = 0.1  # accuracy on the lengths of training by which one lags behind another
NEAR = 0.1  # above chance
KNOWN = 0.95  # accuracy on the lengths of training: below, a task is not learned, and its longer strings say nothing
LEARNED = 0.5  # nats over token frequencies: below, a model has learned nothing
KEPT, LOST = 0.8, 0.5  # share of that gain that is left without an encoding
SEEN = 0.02  # R² below which a probe has found nothing
ROUNDING = 1e-3


def by_seed(frame: pd.DataFrame, **where: str) -> pd.Series:
    """The column `accuracy` by seed where other columns have these values."""
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame.set_index("seed")["accuracy"]


def best(frame: pd.DataFrame) -> pd.Series:
    """By task, the accuracy within the training lengths of the encoding that learned it best."""
    rows = frame[(frame["part"] == TRAINED) & (frame["encoding"] != UNTRAINED)]
    return rows.groupby(["task", "encoding"])["accuracy"].mean().groupby("task").max()


def gain(*tasks: str) -> Callable[[pd.DataFrame], Estimate]:
    """Randomised less plain positions beyond the training length, mean over tasks and encodings.

    Without tasks: those that some encoding has learned.

    Where one side lags within training, its interval is open towards it: a lower bound.
    """

    def estimate(frame: pd.DataFrame) -> Estimate:
        names = set(frame["encoding"])
        pairs = [(name, name.partition(DRAWN)[0]) for name in sorted(names) if DRAWN in name]
        pairs = [(drawn, plain) for drawn, plain in pairs if plain in names]
        asked, known = list(dict.fromkeys(frame["task"])), best(frame)
        chosen = [task for task in tasks or known.index[known >= KNOWN] if task in asked]
        if not pairs or not chosen:
            return unknown(
                f"no pair of encodings, or no such task learned in this profile: {', '.join(tasks) or 'any'}"
            )

        def gains(part: str) -> pd.Series:
            each = [
                by_seed(frame, task=task, encoding=drawn, part=part)
                - by_seed(frame, task=task, encoding=plain, part=part)
                for task in chosen
                for drawn, plain in pairs
            ]
            return (sum(each) / len(each)).dropna()

        found, within = mean(gains(BEYOND).to_dict()), gains(TRAINED).mean()
        note = f"{len(chosen)} of {len(asked)} tasks learned: {', '.join(chosen)}; {len(pairs)} encodings"
        note = "" if tasks else note
        if abs(within) <= LAG:
            return replace(found, note=note)
        behind = "plain" if within > 0 else "randomised"

        def interval(level: float) -> tuple[float, float]:
            low, high = found.interval(level)
            return (-math.inf, high) if within > 0 else (low, math.inf)

        lag = f"{behind} positions lag within training by {abs(within):.2f}, so that theirs is a lower bound"
        return replace(found, interval=interval, note="; ".join(filter(None, (note, lag))))

    return estimate


def unlearned(*tasks: str) -> Callable[[Frames], str]:
    """Which of the tasks (all, if none is named) no encoding has learned within the training lengths, in words."""

    def lacks(frames: Frames) -> str:
        known = best(frames[ACCURACY])
        missed = sorted(task for task in known.index[known < KNOWN] if not tasks or task in tasks)
        return f"no encoding answers {KNOWN} of {', '.join(missed)} within the training lengths" if missed else ""

    return lacks


def unsolved(frame: pd.DataFrame) -> Estimate:
    """How far above chance the best encoding is on longer strings of the hard task."""
    rows = frame[(frame["task"] == HARD) & (frame["encoding"] != UNTRAINED)]
    above = rows.assign(accuracy=rows["accuracy"] - rows["chance"])
    found = {
        str(name): mean(by_seed(above, encoding=name, part=BEYOND).to_dict()) for name in rows["encoding"].unique()
    }
    return largest(found) if found else unknown(f"not in this profile: {HARD}")


class Models:
    """nope_models: causal and masked language models, without an encoding and with, where these learned something."""

    def __init__(self, frame: pd.DataFrame, kind: str) -> None:
        self.rows = frame[frame["kind"] == kind]
        losses = self.rows[(self.rows["quantity"] == "loss") & ~self.rows["encoding"].isin(["nope", UNTRAINED])]
        self.best = str(losses.groupby("encoding")["value"].mean().idxmin()) if len(losses) else ""
        reference = self.of(self.best, "loss", "reference")
        self.without, self.beside = (self.gain(reference, name) for name in ("nope", self.best))
        self.learned = set(self.beside.index[self.beside >= LEARNED])

    def of(self, name: str, quantity: str, column: str = "value") -> pd.Series:
        """Values by seed; of quantities that have layers the largest and the last are asked for apart."""
        own = self.rows[(self.rows["encoding"] == name) & (self.rows["quantity"] == quantity)]
        return own.set_index("seed")[column]

    def gain(self, reference: pd.Series, name: str) -> pd.Series:
        return (reference - self.of(name, "loss")).dropna()

    def told(self, values: pd.Series) -> Estimate:
        """The mean over the seeds whose best model learned something."""
        kept = values[values.index.isin(self.learned)].dropna()
        why = f"no model with an encoding is {LEARNED} nats better than token frequencies"
        return mean(kept.to_dict()) if len(kept) else unknown(why)

    def probe(self, last: bool) -> pd.Series:
        """R² of a linear probe of NoPE for the position, in the last layer or the largest of all."""
        own = self.rows[(self.rows["encoding"] == "nope") & (self.rows["quantity"] == "probe")].sort_values("layer")
        layers = own.groupby("seed")["value"]
        return layers.last() if last else layers.max()


def of_kind(kind: str) -> Callable[..., Finding]:
    """Makes findings about the models of one kind, whose estimates are values by seed."""
    made = measuring(MODELS, read=lambda frames: Models(frames[MODELS], kind))
    return lambda text, values, *bound, **more: made(text, lambda data: data.told(values(data)), *bound, **more)


accuracy, causal, masked = measuring(ACCURACY), of_kind("causal"), of_kind("masked")


CHECKS = claims(
    claim(
        "PE-RAND-E",
        accuracy(
            "Randomised positions raise the accuracy beyond training, mean over learned tasks and encodings",
            gain(),
            margin=MARGIN,
        ),
        missing="the size, 12 points; eleven of the 15 tasks",
        recipe="algorithms",
    ),
    claim(
        "PE-F5",
        *(
            accuracy(
                f"Randomised positions help to {task}, beyond training",
                gain(task),
                margin=MARGIN,
                beyond=unlearned(task),
            )
            for task in GAINING
        ),
        accuracy(
            f"No encoding computes the {HARD} of longer strings: at most {NEAR} above chance",
            unsolved,
            "<=",
            NEAR,
            ours=True,
            beyond=unlearned(HARD),
        ),
        recipe="algorithms",
    ),
    claim(
        "PE-NOPE",
        causal(
            "Without an encoding a causal model is worse than the best with one, in nats",
            lambda data: data.beside - data.without,
        ),
        causal(
            f"It keeps at least {KEPT} of that model's gain over token frequencies",
            lambda data: data.without / data.beside,
            ">=",
            KEPT,
            ours=True,
        ),
        masked(
            f"A masked model keeps at most {LOST} of the gain of the best: it does not converge",
            lambda data: data.without / data.beside,
            "<=",
            LOST,
            ours=True,
        ),
        causal(
            "The causal mask supplies the position: R² of a linear probe in the last layer",
            lambda data: data.probe(last=True),
            ">",
            SEEN,
            ours=True,
        ),
        masked(
            "A masked model has none: largest R² in any layer",
            lambda data: data.probe(last=False),
            "<=",
            SEEN,
            ours=True,
        ),
        masked(
            "Permuting its inputs only permutes its outputs: largest relative difference",
            lambda data: data.of("nope", "reordering"),
            "<=",
            ROUNDING,
            ours=True,
        ),
        recipe="nope",
    ),
)
