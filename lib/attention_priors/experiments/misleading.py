"""Does perplexity tell who retrieves? Losses of language models beside the passkeys that the same encodings find.

BAM argues that it misleads (section 3.1): a level curve says that a model is not disturbed by a long text, not that it
uses it. Nothing is trained here. Both tasks have their gates; an encoding that misses one is kept and decides nothing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..evaluation import seed_interval, share_interval
from .experiment import Experiment
from .gate import gated

BENCHMARK, PLAIN = "benchmark", "plain"  # parts of language_readings and of passkey_by_length
COLUMNS = [
    "encoding",
    "multiple",
    "seeds",
    "perplexity",
    "low",
    "high",
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "prompt_seeds",
    "prompts",
    "learned",
    "retrieves",
    "decides",
]


def measured(
    perplexity: pd.DataFrame, readings: pd.DataFrame, answers: pd.DataFrame, counts: pd.DataFrame
) -> pd.DataFrame:
    """`both` of every encoding that was read on text and asked for passkeys by the common recipes, wherever."""
    texts = [perplexity, readings[readings["part"] == BENCHMARK].assign(times=1, trained_on=True)]
    plain = [answers[answers["form"] == PLAIN], counts.assign(form=PLAIN)]
    once = ["encoding", "seed", "length"]
    return both(
        pd.concat(texts).drop_duplicates([*once, "domain", "times"]), pd.concat(plain).drop_duplicates([*once, "form"])
    )


def both(perplexity: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """A row per encoding that has both, and per multiple of T beyond 1 at which both were asked.

    Perplexity is that of equal tokens on text of the kind trained on, at the mean loss over seeds with its t interval;
    accuracy is that of the plain passkey task with `share_interval`. Of the seeds those that passed; of an encoding
    without one, all (`learned` or `retrieves` is false).
    """
    texts = perplexity[(perplexity["times"] == 1) & perplexity["trained_on"].astype(bool)]
    plain = answers[answers["form"] == PLAIN]
    passed = gated(plain)[["encoding", "seed", "passed"]]
    plain = plain.merge(passed, on=["encoding", "seed"])
    texts, plain = (frame.assign(multiple=frame["length"] / frame["trained"]) for frame in (texts, plain))
    common = sorted(set(texts["multiple"]) & set(plain["multiple"]) - {1.0})
    rows = []
    for name in texts["encoding"].unique():
        for multiple in common:
            read, asked = (_at(frame, name, multiple) for frame in (texts, plain))
            if read.empty or asked.empty:
                continue
            perplexities = [np.exp(loss) for loss in (read["loss"].mean(), *seed_interval(read["loss"]))]
            accuracy = (asked["correct"] / asked["samples"]).mean()
            shares = accuracy, *share_interval(asked["correct"], asked["samples"])
            learned, retrieves = bool(read["passed"].all()), bool(asked["passed"].all())
            prompts, gates = (len(asked), int(asked["samples"].iloc[0])), (learned, retrieves, learned and retrieves)
            rows.append([name, multiple, len(read), *perplexities, *shares, *prompts, *gates])
    return pd.DataFrame(rows, columns=COLUMNS)


def _at(frame: pd.DataFrame, name: str, multiple: float) -> pd.DataFrame:
    """The rows of an encoding that passed, or all where none did."""
    own = frame[(frame["encoding"] == name) & (frame["multiple"] == multiple)]
    passed = own["passed"].astype(bool)
    return own[passed] if passed.any() else own


SOURCES = ("language_perplexity", "language_readings", "passkey_by_length", "encodings_counts")
EXPERIMENT = Experiment(
    name="misleading",
    sections=("language", "passkey"),
    trained=("language", "passkey"),
    needs=SOURCES,
    derive={"perplexity_and_retrieval": (SOURCES, measured)},
)
