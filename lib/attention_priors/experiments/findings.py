"""What was found, in a sentence each, from the metrics of the other experiments (the README opens with them)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .. import evaluation
from ..positions.encodings import encoding
from . import tails
from .arms import FIXED, OURS, VARIED, is_table
from .correlation import holm, spearman_permutation
from .experiment import Experiment
from .gate import hits_at, passing

COLUMNS = ["finding", "measured", "value", "low", "high", "figure", "notebook"]
GOOD = 0.8  # the accuracy at which an encoding still answers
LEVEL = 0.05  # of a correlation that is certain
MASSES = {  # of `tails.QUANTITIES`, in a sentence
    "near": "the mass that the prior of a head has near the query",
    "both": "the smaller of that and of its mass beyond the training length",
    "far": "the latter alone",
}
FARTHEST = 64  # times the training length: what all are asked


def label(name: str) -> str:
    return encoding(name).label


def who_reaches(counts: pd.DataFrame, masses: pd.DataFrame) -> list:
    """Which encodings still answer at the longest length that all were asked at: without SSMax, and BAM with it.

    `masses` are those of `tails.tails`: what the ones that answer share.
    """
    kept = passing(counts)
    rows = [encoding(name) for name in kept["encoding"].unique()]
    own = [row.name for row in rows if row.trained_as is None and (not row.ssmax or row.name == OURS)]
    kept, trained = kept[kept["encoding"].isin(own)], int(counts["trained"].iloc[0])
    if kept.empty:
        return ["No encoding passed its gate.", "accuracy", np.nan, np.nan, np.nan, "passkey_main", "passkeys"]
    longest = max(length for length in set(kept["length"]) if length <= FARTHEST * trained)
    samples = int(kept.loc[kept["length"] == longest, "samples"].max())
    hits = {name: hits_at(rows, longest) for name, rows in kept.groupby("encoding")}
    means = pd.Series({name: found.mean() / samples for name, found in hits.items()})
    means = means.sort_values(ascending=False, kind="stable")
    reach, rest = means[means >= GOOD], means[means < GOOD]
    last = (reach if len(reach) else means).index[-1]
    low, high = evaluation.share_interval(hits[last], [samples] * len(hits[last]))
    times = f"{longest / trained:g} times the length that they were trained on"
    said = f"{_listed(reach.index)} answer{'s' * (len(reach) == 1)} {_range(reach)} of the prompts at {times}" if (
        len(reach)
    ) else f"No encoding answers {GOOD} of the prompts at {times}"  # fmt: skip
    others = f"; the others ({_listed(rest.index)}) {_range(rest)}" if len(rest) else ""
    measured = f"accuracy of {label(last)}" + ", the lowest of those that still answer" * bool(len(reach))
    said = f"{said}{others}.{shared(masses) if len(reach) and len(rest) else ''}"
    return [said, measured, means[last], low, high, "passkey_main", "passkeys"]


def shared(masses: pd.DataFrame) -> str:
    """Which mass of their priors goes with accuracy: nothing is said where none does for certain."""
    found = {words: tails.correlation(masses, name) for name, words in MASSES.items()}
    ps = dict(zip(found, holm([each.p for each in found.values()]), strict=True))
    told = {words: f"{words} ({each.rho:.2f}, p = {ps[words]:.2g})" for words, each in found.items()}
    certain = [told[words] for words in found if ps[words] <= LEVEL]
    rest = [told[words] for words in found if not ps[words] <= LEVEL]
    if not certain:
        return ""
    some = f" Over {found[next(iter(found))].n} encodings accuracy goes with {' and with '.join(certain)}"
    return f"{some}{', not for certain with ' if rest else ''}{' or '.join(rest)}, by rank correlation (p after Holm)."


def _range(shares: pd.Series) -> str:
    low, high = f"{shares.min():.2f}", f"{shares.max():.2f}"
    return low if low == high else f"{low} to {high}"


def tables(frame: pd.DataFrame) -> list:
    """How many models of one training length have learned a table, and how many of varied lengths."""
    trained, found = int(frame["trained"].iloc[0]), {}
    for way in (FIXED, VARIED):
        models = [own.set_index("length")["accuracy"] for _, own in
                  frame[frame["training"] == way].groupby(["encoding", "seed"])]  # fmt: skip
        found[way] = sum(is_table(own, trained) for own in models), len(models)
    (some, models), (none, others) = found[FIXED], found[VARIED]
    said = (
        f"Of {models} models trained on prompts of {trained} tokens alone, {some} answer these and fail at some "
        f"shorter length: they know where the key stands instead of looking for it. Of {others} trained at varied "
        f"lengths, {none or 'none'} do{'es' * (none < 2)}."
    )
    low, high = evaluation.binomial_interval(some, models)
    return [said, "share of models that learned a table", some / models, low, high, "passkey_confound", "passkeys"]


def older_priors(frame: pd.DataFrame) -> list:
    """BAM's prior against the ones it generalises, at the longest length."""
    far = frame[(frame["multiple"] == frame["multiple"].max()) & (frame["seeds"] > 0)]
    row = far[(far["ours"] == "bam") & (far["theirs"] == "kerple-power")]
    bare = far[(far["ours"] == "bam") & (far["theirs"] == "sandwich")]
    if row.empty or bare.empty:
        said = "BAM and the older priors that it is compared with did not all pass their gates."
        return [said, "accuracy", np.nan, np.nan, np.nan, "encodings_differences", "passkeys"]
    one, two = row.iloc[0], bare.iloc[0]

    def apart(each: pd.Series) -> str:
        return f"{each['difference']:+.2f} [{each['low']:.2f}, {each['high']:.2f}]"

    known = [name for name, each in (("the first", one), ("the second", two)) if each["differs"]]
    said = (
        f"At {one['multiple']:g} times the training length the accuracy of BAM less that of KERPLE power, which is BAM "
        f"with exponents between 0 and 2 (X-3), is {apart(one)}, and less that of Sandwich, which trains nothing, "
        f"{apart(two)}: {' and '.join(known) or 'neither'} differ{'s' * (len(known) < 2)} from 0 for certain."
    )
    measured = "accuracy of BAM less that of KERPLE power"
    return [said, measured, one["difference"], one["low"], one["high"], "encodings_differences", "passkeys"]


def perplexity_misleads(frame: pd.DataFrame) -> list:
    """Do encodings that read long texts well retrieve?"""
    multiple = 16.0 if 16.0 in set(frame["multiple"]) else frame["multiple"].max()
    kept = frame[(frame["multiple"] == multiple) & frame["decides"].astype(bool)].sort_values("perplexity")
    found = spearman_permutation(kept, "encoding", "perplexity", "accuracy")
    said = f"At {multiple:g} times the training length, {len(kept)} encodings passed the gates of both tasks"
    if len(kept) > 1:
        best, second = kept.iloc[0]["perplexity"], kept[kept["accuracy"] < GOOD]
        level = second[second["perplexity"] <= 1.2 * best]
        said += f"; perplexities are {kept['perplexity'].min():.2f} to {kept['perplexity'].max():.2f}"
        if len(level):
            one = level.iloc[0]
            said += (f", and {label(one['encoding'])}, within a fifth of the best ({one['perplexity']:.2f} against "
                     f"{best:.2f}), retrieves {one['accuracy']:.2f}")  # fmt: skip
    if not np.isnan(found.rho):
        said += f" (rank correlation of perplexity with accuracy {found.rho:.2f}, p = {found.p:.2g})"
    known = (found.rho, found.low, found.high) if not np.isnan(found.rho) else (np.nan, np.nan, np.nan)
    return [f"{said}.", "rank correlation of perplexity with accuracy", *known, "perplexity_and_retrieval",
            "language_models"]  # fmt: skip


def findings(
    counts: pd.DataFrame,
    masses: pd.DataFrame,
    confound: pd.DataFrame,
    differences: pd.DataFrame,
    both: pd.DataFrame,
) -> pd.DataFrame:
    """A row per finding: the sentence, what the number beside it is, the number with its interval, and the figure."""
    rows = [who_reaches(counts, masses), tables(confound), older_priors(differences), perplexity_misleads(both)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _listed(names: pd.Index) -> str:
    labels = [label(name) for name in names]
    return ", ".join(labels[:-1]) + f" and {labels[-1]}" if len(labels) > 1 else "".join(labels)


NEEDS = ("encodings_counts", "encodings_tails", "passkey_confound", "encodings_differences", "perplexity_and_retrieval")
EXPERIMENT = Experiment(
    name="findings",
    sections=("passkey", "confound", "benchmark", "language"),
    recipe=lambda profile: profile.passkey.recipe.name,
    measure=lambda profile, runs, cache: {},
    frames=(),
    needs=NEEDS,
    derive={"findings": (NEEDS, findings)},
    code=(findings,),
)
