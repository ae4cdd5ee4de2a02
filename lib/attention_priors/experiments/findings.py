"""What was found, in a sentence each, from the metrics of the other experiments (the README opens with them)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from .. import evaluation
from ..positions.encodings import encoding
from . import tails
from .arms import FIXED, RIGHT, VARIED, WRONG, is_table
from .correlation import holm, spearman_permutation
from .experiment import Experiment
from .gate import hits_at, passing

COLUMNS = ["finding", "more", "measured", "value", "low", "high", "figure", "notebook"]
GOOD = 0.8  # the accuracy at which an encoding still answers
LEVEL = 0.05  # of a correlation that is certain
MASSES = {  # of `tails.QUANTITIES`, in a sentence
    "near": "the mass that the prior of a head has near the query",
    "both": "the smaller of that and of its mass beyond the training length",
    "far": "the mass beyond the training length alone",
}
SHORT = {  # what a finding says of the one that is certain, the first of these
    "both": "with a prior's mass near the query and beyond the training length",
    "near": "with a prior's mass near the query",
    "far": "with a prior's mass beyond the training length",
}
KNOWN = ("rope", "alibi", "t5", "nope")  # the encodings that readers look for first
MISSED = "Longer training, or another seed, may pass it; what does not decides nothing."
FARTHEST = 64  # times the training length: what all are asked


def label(name: str) -> str:
    return encoding(name).label


def who_reaches(counts: pd.DataFrame, masses: pd.DataFrame) -> list:
    """Which encodings still answer at the longest length that all were asked at, without SSMax.

    `masses` are those of `tails.tails`: what the ones that answer share.
    """
    kept, trained = passing(counts), int(counts["trained"].iloc[0])
    rows = [row for row in map(encoding, kept["encoding"].unique()) if row.trained_as is None]
    place = "encodings_accuracy", "passkeys"
    longest = max((n for n in set(kept["length"]) if n <= FARTHEST * trained), default=0)
    samples = kept.loc[kept["length"] == longest, "samples"].max()
    hits = {row.name: hits_at(kept[kept["encoding"] == row.name], longest) for row in rows}
    means = pd.Series({name: found.mean() / samples for name, found in hits.items()}, dtype=float)
    means = means.sort_values(ascending=False, kind="stable")
    scaled = means[[name for name in means.index if encoding(name).ssmax]]
    means = means.drop(scaled.index)
    if means.empty:
        return ["No encoding passed its gate.", MISSED, "accuracy", np.nan, np.nan, np.nan, *place]

    def interval(name: str) -> tuple[float, float]:
        return evaluation.share_interval(hits[name], [samples] * len(hits[name]))

    reach, rest = means[means >= GOOD], means[means < GOOD]
    last = (reach if len(reach) else means).index[-1]
    said = f"no encoding answers {GOOD}"
    if len(reach):
        said = f"{_forms(reach.index)} answer{'s' * (len(reach) == 1)} {_range(reach)}"
    said = f"Without SSMax {said} of the passkeys at {longest / trained:g} times their training length"
    if len(reach) and len(rest):
        known = [name for name in KNOWN if name in rest.index]
        among = f" ({_listed(known)} among them)" if known and len(known) < len(rest) else ""
        low, high = interval(rest.index[0])
        said += f", {len(rest)} other{'s' * (len(rest) > 1)}{among} at most {rest.iloc[0]:.2f} [{low:.2f}, {high:.2f}]"
    link, more = shared(masses) if len(reach) and len(rest) else ("", "")
    named = [_valued("These", reach)] if len(reach) else []
    others = f"The other{'s' * (len(rest) > 1)}"
    named.append(_valued(others, rest) if len(rest) else "No other encoding passed its gate.")
    named += [_valued("With SSMax", scaled)] if len(scaled) else []
    measured = f"lowest of these, {label(last)}" if len(reach) else f"accuracy of {label(last)}"
    return [f"{said}{link}.", f"{' '.join(named)}{more}", measured, means[last], *interval(last), *place]


def shared(masses: pd.DataFrame) -> tuple[str, str]:
    """Which mass of their priors goes with accuracy, in short and with all numbers; nothing where none does."""
    found = {name: tails.correlation(masses, name) for name in MASSES}
    ps = dict(zip(found, holm([each.p for each in found.values()]), strict=True))
    told = {name: f"{MASSES[name]} ({each.rho:.2f}, p = {ps[name]:.2g})" for name, each in found.items()}
    certain = [name for name in found if ps[name] <= LEVEL]
    rest = [told[name] for name in found if name not in certain]
    if not certain:
        return "", ""
    first = next(name for name in SHORT if name in certain)
    way = "goes" if found[first].rho > 0 else "falls"  # a mass that many have is no merit
    number, rho = found[first].n, found[first].rho
    return (
        f"; over {number} encodings, with SSMax or without, accuracy {way} {SHORT[first]} (ρ = {rho:.2f}, "
        f"p = {ps[first]:.2g})",
        f" Over {number} encodings (with a prior or no position, with SSMax or without) accuracy goes with "
        f"{' and with '.join(told[name] for name in certain)}{', not for certain with ' if rest else ''}"
        f"{' or '.join(rest)}, by rank correlation (p after Holm).",
    )


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
    low, high = evaluation.binomial_interval(none, others)
    p = stats.fisher_exact([[some, models - some], [none, others - none]]).pvalue
    said = (
        f"Of {models} models trained on prompts of {trained} tokens alone, {some} answer these and fail at shorter "
        f"ones: they learned where the key stands; of {others} trained at varied lengths {none or 'none'} "
        f"do{'es' * (none < 2)} (Fisher's exact test: p = {p:.2g})."
    )
    varied = f"At varied lengths: {none / others:.2f} [{low:.2f}, {high:.2f}]."
    low, high = evaluation.binomial_interval(some, models)
    share = "share that learned a table"
    more = f"A table: {RIGHT:g} or more at {trained} tokens, {WRONG:g} or less at a shorter length. {varied}"
    return [said, more, share, some / models, low, high, "passkey_confound", "passkeys"]


def older_priors(frame: pd.DataFrame) -> list:
    """BAM's prior against the ones it generalises, at the longest length."""
    far = frame[(frame["multiple"] == frame["multiple"].max()) & (frame["seeds"] > 0)]
    row = far[(far["ours"] == "bam") & (far["theirs"] == "kerple-power")]
    bare = far[(far["ours"] == "bam") & (far["theirs"] == "sandwich")]
    if row.empty or bare.empty:
        said = "BAM and the older priors that it is compared with did not all pass their gates."
        return [said, MISSED, "accuracy", np.nan, np.nan, np.nan, "encodings_differences", "passkeys"]
    one, two = row.iloc[0], bare.iloc[0]
    kerple, sandwich = "KERPLE power, its special case", "Sandwich, which trains nothing"
    apart = {
        (False, False): f"neither from that of {kerple}, nor from that of {sandwich}",
        (True, False): f"from that of {kerple}, and not from that of {sandwich}",
        (False, True): f"from that of {sandwich}, and not from that of {kerple}",
        (True, True): f"from that of {kerple}, and from that of {sandwich}",
    }[bool(one["differs"]), bool(two["differs"])]
    said = f"At {one['multiple']:g} times the training length the accuracy of BAM differs for certain {apart}."
    more = (
        f"KERPLE power is BAM with exponents between 0 and 2 (X-3). BAM less Sandwich: "
        f"{two['difference']:+.2f} [{two['low']:.2f}, {two['high']:.2f}]."
    )
    measured = "BAM less KERPLE power"
    return [said, more, measured, one["difference"], one["low"], one["high"], "encodings_differences", "passkeys"]


def perplexity_misleads(frame: pd.DataFrame) -> list:
    """Do encodings that read long texts well retrieve?"""
    multiple = 16.0 if 16.0 in set(frame["multiple"]) else frame["multiple"].max()
    kept = frame[(frame["multiple"] == multiple) & frame["decides"].astype(bool)].sort_values("perplexity")
    found = spearman_permutation(kept, "encoding", "perplexity", "accuracy")
    measured = "rank correlation of perplexity with accuracy"
    place = "perplexity_and_retrieval", "language_models"
    if np.isnan(found.rho):
        said = f"{len(kept)} encodings passed the gates of language and passkeys: too few to compare perplexities."
        return [said, MISSED, measured, np.nan, np.nan, np.nan, *place]
    tells = "does not tell for certain who retrieves"
    if found.p <= LEVEL:
        tells = "tells who retrieves" if found.rho < 0 else "misleads: the higher, the better is the retrieval"
    said = f"Perplexity at {multiple:g} times the training length {tells}"
    best = kept.iloc[0]["perplexity"]
    level = kept[kept["perplexity"] <= 1.2 * best]
    poor = level[level["accuracy"] < GOOD]
    if len(poor):
        said += (f", but {len(poor)} of the {len(level)} within a fifth of the best "
                 f"retrieve{'s' * (len(poor) == 1)} {_range(poor['accuracy'])}")  # fmt: skip
    named = [f"{label(row.encoding)} (perplexity {row.perplexity:.2f}, accuracy {row.accuracy:.2f})" for row in
             poor.itertuples()]  # fmt: skip
    more = (
        f"{len(kept)} encodings passed the gates of both tasks; perplexities are {kept['perplexity'].min():.2f} to "
        f"{kept['perplexity'].max():.2f} (p = {found.p:.2g}).{' Level and poor: ' * bool(named)}{'; '.join(named)}"
    )
    return [f"{said}.", more, measured, found.rho, found.low, found.high, *place]


def findings(
    counts: pd.DataFrame,
    masses: pd.DataFrame,
    confound: pd.DataFrame,
    differences: pd.DataFrame,
    both: pd.DataFrame,
) -> pd.DataFrame:
    """A row per finding: the sentence, what else there is to say, a number with its interval, and the figure."""
    rows = [who_reaches(counts, masses), tables(confound), older_priors(differences), perplexity_misleads(both)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _valued(head: str, means: pd.Series) -> str:
    return f"{head}: {'; '.join(f'{label(name)} {value:.2f}' for name, value in means.items())}."


def _forms(names: Iterable[str]) -> str:
    """Their labels; those of one encoding, told apart in parentheses, as how many forms of it."""
    bases = [label(name).partition(" (")[0] for name in names]
    forms = {base: bases.count(base) for base in dict.fromkeys(bases)}
    return _joined([f"{base} ({count} forms)" if count > 1 else base for base, count in forms.items()])


def _listed(names: Iterable[str]) -> str:
    return _joined([label(name) for name in names])


def _joined(labels: list[str]) -> str:
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
