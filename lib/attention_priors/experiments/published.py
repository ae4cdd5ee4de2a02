"""Do small models predict large ones? Pairs of encodings that a published table ranks, and what ours say of each.

Of printed tables only BAM's Tables 3 and 4 (needles, 120M and 1B parameters) were at hand; those of KERPLE, FIRE, DAPE
and CABLE were not. Rule, written before it was applied: a pair is ranked where the printed accuracies, mean over the
lengths beyond a table's shortest, differ by CLEAR or more. Ours predict the one that leads in the mean over lengths
beyond T, up to as many times T as the table reaches, where the 95 % interval over seeds excludes 0; otherwise nothing.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from .. import config
from ..evaluation import seed_interval
from .experiment import Experiment
from .gate import passing

TABLES = {"BAM, Table 3": ("bam_table3", "120M"), "BAM, Table 4": ("bam_table4", "1B")}
CLEAR = 0.1  # of accuracy: two standard errors of a difference of shares near 0 or 1 at 50 prompts
SAME, OPPOSITE, NOTHING, MISSING = "same", "opposite", "no prediction", "not measured"
COLUMNS = ["table", "size", "task", "first", "second", "printed", "reach", "predictor", "lead", "low", "high", "says"]


def ranked() -> pd.DataFrame:
    """A row per table, task and ranked pair, the better one first; `reach`: the longest length over the shortest."""
    rows = []
    for title, (name, size) in TABLES.items():
        frame = pd.read_csv(config.ROOT / "data" / "printed" / f"{name}.csv", dtype={"length": str})
        frame["tokens"] = [_tokens(text) for text in frame["length"]]
        shortest, longest = frame["tokens"].min(), frame["tokens"].max()
        beyond = frame[frame["tokens"] > shortest]
        for task, own in beyond.groupby("task", sort=False):
            means = own.groupby("encoding", sort=False)["accuracy"].mean()
            for pair in itertools.combinations(means.index, 2):
                first, second = sorted(pair, key=lambda each, means=means: -means[each])
                lead = means[first] - means[second]
                if round(lead, 9) >= CLEAR:
                    rows.append([title, size, task, first, second, lead, longest / shortest])
    return pd.DataFrame(rows, columns=COLUMNS[:7])


def _tokens(text: str) -> float:
    return 1000 * float(text[:-1]) if text.endswith("K") else float(text)


def predicted(counts: pd.DataFrame, perplexity: pd.DataFrame) -> pd.DataFrame:
    """`ranked` with the lead of its first encoding in passkeys answered and in nats of text: two rows a pair."""
    kept = passing(counts)
    passkeys = kept.assign(score=kept["correct"] / kept["samples"])
    bounds = {"passkeys": 1.0, "text": np.inf}
    texts = perplexity[(perplexity["times"] == 1) & perplexity["trained_on"].astype(bool) & perplexity["passed"]]
    rows = []
    for pair in ranked().to_dict("records"):
        for predictor, frame in (("passkeys", passkeys), ("text", texts.assign(score=-texts["loss"]))):
            found = _lead(frame, pair["first"], pair["second"], pair["reach"])
            ends = {"low": max(found["low"], -bounds[predictor]), "high": min(found["high"], bounds[predictor])}
            rows.append(pair | {"predictor": predictor} | found | ends)
    return pd.DataFrame(rows, columns=COLUMNS)


def _lead(frame: pd.DataFrame, first: str, second: str, reach: float) -> dict:
    """Of the first, within the seeds of both, over the lengths that both were asked."""
    multiple = frame["length"] / frame["trained"]
    far = frame[(multiple > 1) & (multiple <= reach)]
    wide = far[far["encoding"].isin([first, second])].pivot(
        index=["seed", "length"], columns="encoding", values="score"
    )
    both = wide.reindex(columns=[first, second]).dropna()
    by_seed = (both[first] - both[second]).groupby(level="seed").mean()
    if by_seed.empty:
        return {"lead": np.nan, "low": np.nan, "high": np.nan, "says": MISSING}
    low, high = seed_interval(by_seed)
    says = SAME if low > 0 else OPPOSITE if high < 0 else NOTHING
    return {"lead": float(by_seed.mean()), "low": low, "high": high, "says": says}


EXPERIMENT = Experiment(
    name="published",
    sections=("passkey", "language"),
    needs=("encodings_counts", "language_perplexity"),
    derive={"published_pairs": (("encodings_counts", "language_perplexity"), predicted)},
)
