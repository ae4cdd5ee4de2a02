"""What was found, in a sentence each, from the metrics of the other experiments (the README opens with them).

A finding names whom it is about, how many they are and its exceptions. A test leaves out each encoding and each seed in
turn of what is committed: all findings stand. A correlation over a handful of encodings is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from ..evaluation import binomial_interval, seed_interval, share_interval
from ..positions.encodings import encoding, still
from . import pretrained_words
from .arms import FIXED, RIGHT, VARIED, WRONG, is_table
from .correlation import spearman_permutation
from .experiment import Experiment
from .gate import hits_at, passing

GOOD = 0.8  # the accuracy at which an encoding still answers
LEVEL = 1.2  # times the best perplexity: who reads a long text about as well
KNOWN = ("rope", "alibi", "nope")  # the encodings that readers look for first
GROWS = 0.1  # nats: 10 % more perplexity
MISSED = "Longer training, or another seed, may pass it; what does not decides nothing."
SAME = 0.05  # of accuracy: a difference that is none, frozen before the runs of one length
ARMS = {"larger": "larger models"}  # of `robustness`, in a sentence
PREDICTED = range(5, 10)  # seeds of one length whose outcome was frozen in a commit before their runs
FARTHEST = 64  # times the training length: what all are asked
# nothing is trained
MENDS = {"sinks": "a window with four sinks", "yarn": "YaRN", "ntk": "the NTK-aware base", "rerope": "ReRoPE"}


class Finding(NamedTuple):
    """A sentence, what else there is to say, and a number with its interval."""

    finding: str
    more: str = MISSED
    measured: str = ""
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan


COLUMNS = [*Finding._fields, "figure", "notebook"]


def label(name: str) -> str:
    return encoding(name).label


def share(hits: int, asked: int) -> tuple[float, float, float]:
    """A fraction of models with its exact interval."""
    return hits / asked, *binomial_interval(hits, asked)


def layouts(names: Iterable[str]) -> dict[str, str]:
    """Of compositions that treat some heads apart: what these have, a rotation, a window or both; "" for others.

    Heads or layers that rotate without a window count where the same ones with a window are there.
    """
    rows = {name: encoding(name) for name in names}
    apart = {name: (row.rotated_layers, row.rotated_heads) for name, row in rows.items() if row.rotary}
    windowed = {apart[name] for name in apart if rows[name].window}
    found = dict.fromkeys(rows, "")
    for name, own in apart.items():
        if own in windowed:
            row = rows[name]
            found[name] = "rotation" if row.window is None else "window" if row.rotary is still else "both"
    return found


def pairs(models: pd.DataFrame) -> pd.DataFrame:
    """The seeds whose passkey model passed: `layout`, far `passkeys`, near `addresses`, and if `both` are GOOD."""
    kept = models[models["passed"].astype(bool)]
    passkeys = kept["at_longest_correct"] / kept["at_longest_samples"]
    addresses = kept["near_longest_correct"] / kept["near_longest_samples"]
    layout = kept["encoding"].map(layouts(models["encoding"].unique()))
    both = (passkeys >= GOOD) & (addresses >= GOOD)
    return kept.assign(passkeys=passkeys, addresses=addresses, both=both, layout=layout)


def doing_both(kept: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """By layout, how many pairs do both, and of how many."""
    return {name: (int(own["both"].sum()), len(own)) for name, own in kept.groupby("layout")}


def dividing(models: pd.DataFrame) -> Finding:
    """Which compositions retrieve far and tell places: some heads or layers with a rotation, a window, or both.

    A row is a seed: its model of passkeys, and its model of addresses.
    """
    which, kept = layouts(models["encoding"].unique()), pairs(models)
    passkeys, counts = kept["passkeys"], doing_both(kept)
    if not {"both", "rotation", "window"} <= counts.keys():
        return Finding("Not every composition has a model that passed its gate.", measured="share")
    (good, models_of), (bare, unwindowed), (still_good, unrotated) = (
        counts[name] for name in ("both", "rotation", "window")
    )
    trained = kept["trained"].iloc[0]
    far, texts = kept["longest"].iloc[0] / trained, kept["longest_address"].iloc[0] / trained
    ours = kept[kept["layout"] == "both"]
    begun = int((models["encoding"].map(which) == "both").sum())
    beyond = ours["beyond_longest_correct"].sum() / ours["beyond_longest_samples"].sum()
    places, rest = anywhere(ours), kept[kept["layout"] != "both"]
    mean, whole = places.mean(), int(((places >= GOOD) & (ours["passkeys"] >= GOOD)).sum())
    layers = any(encoding(name).rotated_layers for name in ours["encoding"].unique())
    others, alone, names = kept[kept["layout"] == ""], kept["layout"] == "window", ours["encoding"].nunique()
    doing = rest[(anywhere(rest) >= GOOD) & (rest["passkeys"] >= GOOD)]["encoding"].value_counts()
    said = (
        f"Where half of the heads{', or all layers but the last,' * layers} rotate within a window of T/4, {good} of "
        f"{models_of} pairs of models, one for each task ({names} encoding{'s' * (names > 1)}), answer at least "
        f'{GOOD:g} both of the passkeys at {far:g} T and of "which symbol stood k < T/4 places back?" at {texts:g} T; '
        f"without the window {bare} of {unwindowed} do, without the rotation {still_good} of {unrotated}, of all "
        f"others {int(others['both'].sum())} of {len(others)}. Near is what the window sees: of all places asked, to "
        f"T/2, they answer {mean:.2f}, and {whole or 'none'} of the {models_of} do{'es' * (whole < 2)} "
        f"both{_best(doing, rest)}."
    )
    more = (
        f"A pair is one of a seed whose passkey model passed its gate ({models_of} of {begun}), asked for "
        f"{int(ours['at_longest_samples'].max())} passkeys. That one model does both is not shown. {_matched(kept)} "
        f"Places of T/4 and more are answered by chance, 1 in 32 ({beyond:.2f}){_listing(doing)}. "
        f"These: {_listed(ours['encoding'].unique())}; priors are on "
        f"all heads. The window is there in training too. "
        f"Without the rotation it is the addresses that fail: {int((alone & (passkeys >= GOOD)).sum())} of {unrotated} "
        f"find the passkeys. The others rotate all heads, no head, or {'one layer' if layers else 'whole layers'}; "
        f"those that do both{_exceptions(others)}. The hypothesis written before the first runs, that the place of the "
        "copying decides, is wrong as it stood (the figure)"
        f"{'; the layers, and heads without rotation, were added after these runs' * layers}."
    )
    return Finding(said, more, "share, pairs taken as independent", *share(good, models_of))


def anywhere(kept: pd.DataFrame) -> pd.Series:
    """The share of all addresses that are answered in the longest texts, near and far."""
    of = {part: kept[f"near_longest_{part}"] + kept[f"beyond_longest_{part}"] for part in ("correct", "samples")}
    return of["correct"] / of["samples"]


def _best(doing: pd.Series, rest: pd.DataFrame) -> str:
    """Which of the others most often finds passkeys and all places: a clause, or nothing."""
    if doing.empty:
        return ""
    asked = rest["encoding"].value_counts()[doing.index]
    name = (doing / asked).idxmax()
    return f"; {label(name)} does in {doing[name]} of {asked[name]}"


def _listing(doing: pd.Series) -> str:
    """Which others find passkeys and all places: a clause, or nothing."""
    told = joined([f"{label(name)} {count}" for name, count in doing.items()])
    return f"; of the others these do both, all places counted: {told}" if told else ""


def _exceptions(kept: pd.DataFrame) -> str:
    counts = kept.groupby("encoding")["both"].agg(["sum", "size"])
    told = [f"{label(name)} {own['sum']} of {own['size']}" for name, own in counts[counts["sum"] > 0].iterrows()]
    return f": {joined(told)}" if told else ": none"


def _matched(kept: pd.DataFrame) -> str:
    """The counts with and without the window where the same heads, or the same layers, are rotated."""
    layers = kept["encoding"].map(lambda name: bool(encoding(name).rotated_layers))
    told = []
    for apart, words in ((False, "half of the heads"), (True, "layers")):
        own = kept[layers == apart].groupby("layout")["both"].agg(["sum", "size"])
        if {"both", "rotation"} <= set(own.index):
            (good, of), (bare, rest) = own.loc["both"], own.loc["rotation"]
            told.append(f"{words} {good} of {of} with the window, {bare} of {rest} without")
    return f"By what rotates: {'; '.join(told)}."


class Far(NamedTuple):
    """What the seeds that learned the task find at the longest length that all were asked at, by trained encoding."""

    length: int
    samples: int
    hits: dict[str, np.ndarray]  # of each seed
    means: pd.Series  # from the best

    def bounds(self, name: str) -> tuple[float, float]:
        return share_interval(self.hits[name], [self.samples] * len(self.hits[name]))


def far(counts: pd.DataFrame) -> Far:
    kept, trained = passing(counts), int(counts["trained"].iloc[0])
    names = [row.name for row in map(encoding, kept["encoding"].unique()) if row.trained_as is None]
    longest = max((n for n in set(kept["length"]) if n <= FARTHEST * trained), default=0)
    samples = kept.loc[kept["length"] == longest, "samples"].max()
    hits = {name: hits_at(kept[kept["encoding"] == name], longest) for name in names}
    means = pd.Series({name: found.mean() / samples for name, found in hits.items()}, dtype=float)
    return Far(longest, samples, hits, means.sort_values(ascending=False, kind="stable"))


def who_reaches(counts: pd.DataFrame) -> Finding:
    """Which encodings without SSMax still answer at the longest length that all were asked at, by whole intervals."""
    kept, trained, found = passing(counts), int(counts["trained"].iloc[0]), far(counts)
    longest, samples, hits, means = found
    scaled = means[[name for name in means.index if encoding(name).ssmax]]
    means = means.drop(scaled.index)
    if means.empty:
        return Finding("No encoding passed its gate.", measured="accuracy")
    bounds = {name: found.bounds(name) for name in means.index}
    reach, fewer, undecided = standing(means, bounds)
    said = (
        f"Of {len(means)} encodings without SSMax {len(reach) or 'none'} find{'s' * (len(reach) < 2)} at least "
        f"{GOOD:g} of the passkeys at {longest / trained:g} T by {'its' if len(reach) < 2 else 'their'} whole interval"
    )
    said += f": {_forms(reach.index)}" if len(reach) else ""
    if len(fewer):
        known = [name for name in KNOWN if name in fewer.index]
        among = f", {_listed(known)} among them" if known and len(known) < len(fewer) else ""
        said += f"; {len(fewer)} find{'s' * (len(fewer) == 1)} at most {fewer.iloc[0]:.2f}{among}"
        said += _window(kept, longest, samples)
    said += f"; {len(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided" if len(undecided) else ""
    named = [_valued(head, each) for head, each in (("These", reach), ("Fewer", fewer)) if len(each)]
    if len(undecided):
        told = (
            f"{label(name)} {undecided[name]:.2f} [{bounds[name][0]:.2f}, {bounds[name][1]:.2f}]"
            + ", one seed" * (len(hits[name]) == 1)
            for name in undecided.index
        )
        named.append(f"Undecided: {'; '.join(told)}.")
    named += [_valued("With SSMax", scaled)] if len(scaled) else []
    named.append(
        f"All rows of the benchmark with a training of their own that learn the task at up to {trained} tokens"
        f"{_read(kept, longest, samples)}; the line, {GOOD:g}, is ours. A seed without a hit at several lengths in a "
        "row is asked no farther and counts as 0; the figure averages all seeds, these numbers those that learned the "
        "task. An interval of three perfect seeds knows of prompts only."
    )
    last = (reach if len(reach) else means).index[-1]
    measured = f"lowest of those that find them, {label(last)}" if len(reach) > 1 else f"accuracy of {label(last)}"
    return Finding(f"{said}.", " ".join(named), measured, means[last], *bounds[last])


def _window(kept: pd.DataFrame, longest: int, samples: int) -> str:
    """What is found with a window of T in each layer, where that was asked."""
    own = kept[kept["encoding"] == "rope-local"]
    return f" (a window of T finds {hits_at(own, longest).mean() / samples:.2f})" if len(own) else ""


def _read(kept: pd.DataFrame, longest: int, samples: int) -> str:
    """How many ways to read the weights of another encoding are left out, and the best of them."""
    names = [name for name in kept["encoding"].unique() if encoding(name).trained_as]
    means = {name: hits_at(kept[kept["encoding"] == name], longest).mean() / samples for name in names}
    if not means:
        return ""
    best = max(means, key=means.__getitem__)
    left = "1 way to read trained weights is" if len(means) == 1 else f"{len(means)} ways to read trained weights are"
    return f" ({left} left out; the best, {label(best)}, finds {means[best]:.2f})"


def standing(means: pd.Series, bounds: dict[str, tuple[float, float]]) -> tuple[pd.Series, pd.Series, pd.Series]:
    """The means of those that find GOOD by their whole interval, of those that find fewer, and of the undecided."""
    sides = pd.Series({name: int(low >= GOOD) - int(high < GOOD) for name, (low, high) in bounds.items()}, dtype=int)
    return tuple(means[sides[means.index] == side] for side in (1, -1, 0))


def _range(shares: pd.Series, form: str = ".2f") -> str:
    low, high = f"{shares.min():{form}}", f"{shares.max():{form}}"
    return low if low == high else f"{low} to {high}"


def one_length(frame: pd.DataFrame) -> Finding:
    """What training at one length alone costs at shorter ones, by encoding.

    Certain is a cost whose interval stays above 0 whichever seed is left out; one that needs all seeds is frail.
    """
    trained = int(frame["trained"].iloc[0])
    shorter = frame[frame["length"] < trained].groupby(["encoding", "seed", "training"])["accuracy"].mean().unstack()
    lost = dict(iter((shorter[VARIED] - shorter[FIXED]).dropna().groupby("encoding")))
    bounds = {name: (own.mean(), *seed_interval(own)) for name, own in lost.items()}
    level = [name for name in bounds if max(map(abs, bounds[name])) <= SAME]
    costly = [name for name in bounds if bounds[name][1] > 0 and name not in level]
    costly.sort(key=lambda name: bounds[name][0])
    gaining = [name for name in bounds if bounds[name][2] < 0 and name not in level]
    certain = [name for name in costly if _without_any(lost[name])]
    told = {name: f"{label(name)} {mean:.2f} [{low:.2f}, {high:.2f}]" for name, (mean, low, high) in bounds.items()}
    spread = [f"{told[name]}, by seed {_range(lost[name])}" if name in certain else told[name] for name in told]
    seeds = _range(pd.Series([len(own) for own in lost.values()]), "d")
    lengths = _range(frame.loc[frame["length"] < trained, "length"], "d")
    more = (
        f"{seeds} seeds of each; the same seeds trained at varied lengths. Difference at the shorter lengths: "
        f"{'; '.join(spread)}. Models that answer {RIGHT:g} of the prompts of {trained} tokens and at most "
        f"{WRONG:g} at a shorter length: {_tables(frame, FIXED)} trained at one, {_tables(frame, VARIED)} at many."
    )
    most = max(bounds, key=lambda name: bounds[name][0])
    if certain:
        most, one = certain[0], len(certain) == 1
        said = (
            f"Trained on prompts of exactly {trained} tokens, {_listed(certain)} lose{'s' * one} "
            f"{joined([f'{bounds[name][0]:.2f}' for name in certain])} of the passkeys at {lengths} tokens, against "
            f"training on varied lengths, cut texts and texts without a key ({seeds} seeds{_spared(lost, certain)})"
        )
    else:
        said = f"Training on prompts of {trained} tokens alone costs no encoding for certain anything at shorter ones"
    by_length = frame[(frame["length"] < trained) & (frame["encoding"] == most)]
    by_length = by_length.groupby(["length", "training"])["accuracy"].mean().unstack()
    cost = ", ".join(f"{length} {loss:.2f}" for length, loss in (by_length[VARIED] - by_length[FIXED]).items())
    more += f" What {label(most)} loses, by length: {cost}."
    for names, what in (
        ([told[name] for name in costly if name not in certain], "certain only with all seeds: {}"),
        ([label(name) for name in level], f"{{}} at most {SAME:g}"),
        ([label(name) for name in gaining], "more for {}"),
        ([label(name) for name in bounds if name not in {*costly, *level, *gaining}], "undecided for {}"),
    ):
        said += f"; {what.format(joined(names))}" if names else ""
    ahead = lost[most][lost[most].index.isin(PREDICTED, level="seed")]
    number = f"lost by {label(most)}"
    if len(ahead) > 2:
        low, high = seed_interval(ahead)
        more += (
            f" Over the {len(ahead)} seeds whose sign was predicted, {label(most)}: {ahead.mean():.2f} [{low:.2f}, "
            f"{high:.2f}]."
        )
    return Finding(f"{said}.", more, number, *bounds[most])


def _spared(lost: dict[str, pd.Series], names: list[str]) -> str:
    """How many seeds lose little where the mean loses much: an end of a parenthesis."""
    few = {name: int((lost[name] < 1 - GOOD).sum()) for name in names}
    told = [f"{count} of {label(name)}'s less than {1 - GOOD:.1f}" for name, count in few.items() if count]
    return "".join(f"; {each}" for each in told)


def _without_any(by_seed: pd.Series) -> bool:
    """Whether the interval of the mean stays above 0 whichever seed is left out."""
    return len(by_seed) > 2 and all(seed_interval(by_seed.drop(seed))[0] > 0 for seed in by_seed.index)


def _tables(frame: pd.DataFrame, training: str) -> str:
    """How many models have learned one length."""
    trained = int(frame["trained"].iloc[0])
    models = [
        own.set_index("length")["accuracy"]
        for _, own in frame[frame["training"] == training].groupby(["encoding", "seed"])
    ]
    return f"{sum(is_table(own, trained) for own in models)} of {len(models)}"


def pretrained(losses: pd.DataFrame, keys: pd.DataFrame | None = None) -> Finding:
    """What a trained RoPE loses beyond its training length, and what a window with sinks or another rotation mends.

    `keys`: passkeys by way and length, where any were asked.
    """
    trained, longest = int(losses["trained"].iloc[0]), int(losses["length"].max())
    far = losses[losses["length"] == longest].pivot(index="document", columns="way", values="loss")
    (name, _, bits), broken = losses["model"].iloc[0].partition(", "), far["as-is"]
    near = losses.loc[losses["length"] <= trained, "length"].max()  # the longest that it was trained to read
    read = losses[(losses["length"] <= trained) & (losses["way"] == "as-is")]
    at_near = losses[losses["length"] == near].groupby("way")["loss"].mean()
    mended = [way for way in MENDS if way in far]
    if longest <= trained or not mended or len(broken) < 2 or read.empty:
        return Finding(f"{name} was not read beyond its training length.", measured="loss")
    gains = {way: broken - far[way] for way in far.columns if way != "as-is"}
    surest = max(mended, key=lambda way: seed_interval(gains[way])[0])
    said = (
        f"{name} ({f'{bits}, ' * bool(bits)}RoPE, trained to {trained:,} tokens) has a loss of {broken.mean():.2f} "
        f"nats a token at {longest:,}, and {far[surest].mean():.2f} under {MENDS[surest]}, without training "
        f"({len(broken)} documents){_fetched(keys, surest)}."
    )
    gained = [
        f"{MENDS[way]} {far[way].mean():.2f} (gains by document {gain.min():.2f} to {gain.max():.2f})"
        for way, gain in ((way, gains[way]) for way in mended)
    ]
    more = (
        f"The loss up to {trained:,} tokens is {_range(read.groupby('length')['loss'].mean())}; at {near:,} it is "
        f"{at_near['as-is']:.2f}, under {MENDS[surest]} {at_near[surest]:.2f}. At {longest:,}: {'; '.join(gained)}. "
        f"The surest of these is told{_surer(gains, surest)}."
    )
    sources = gains[surest].index.astype(str).str.replace(r"-\d+$", "", regex=True)
    whole = gains[surest].groupby(sources).mean()
    if 1 < len(whole) < len(broken):
        low, high = seed_interval(whole)
        more += f" With parts of a document as one: {whole.mean():.2f} [{low:.2f}, {high:.2f}], {len(whole)} documents."
    number = gains[surest].mean(), *seed_interval(gains[surest])
    return Finding(said, more, f"gain by {MENDS[surest]}", *number)


def _surer(gains: dict[str, pd.Series], told: str) -> str:
    """Which of all ways has a higher lower bound than the one that is told."""
    lows = {way: seed_interval(gain)[0] for way, gain in gains.items()}
    best = max(lows, key=lows.__getitem__)
    return (
        f"; of all {len(gains)} ways {pretrained_words.label(best)} has the highest lower bound, {lows[best]:.2f}"
        if lows[best] > lows[told]
        else ""
    )


def _fetched(keys: pd.DataFrame | None, way: str) -> str:
    """How many passkeys a way finds at the longest length, and the model as it is: an end of the sentence."""
    if keys is None or keys.empty:
        return ""
    length = keys["length"].max()
    counts = keys[keys["length"] == length].groupby("way")["correct"].agg(["sum", "size"])
    if not {way, "as-is"} <= set(counts.index):
        return ""
    (found, asked), (bare, of) = counts.loc[way], counts.loc["as-is"]
    decided = fisher_exact([[found, asked - found], [bare, of - bare]]).pvalue < 0.05
    told = f"{found} of {asked} passkeys at {length:,} against {bare}"
    return f"; it finds {told}" if decided else f"; whether it finds passkeys there is undecided ({told})"


def perplexity_tells(frame: pd.DataFrame) -> Finding:
    """Does perplexity go with retrieval among encodings that see the whole text, and does a level curve?"""
    multiple = 16.0 if 16.0 in set(frame["multiple"]) else frame["multiple"].max()
    kept = frame[frame["decides"].astype(bool)]
    local = np.array([encoding(name).local for name in kept["encoding"]], dtype=bool)
    at, blind = (rows[rows["multiple"] == multiple].sort_values("perplexity") for rows in (kept[~local], kept[local]))
    found = spearman_permutation(at, "encoding", "perplexity", "accuracy")
    if np.isnan(found.rho):
        said = f"{len(at)} encodings passed the gates of language and passkeys: too few to compare perplexities."
        return Finding(said, measured="rank correlation")
    goes = "goes" if found.high < 0 else "does not for certain go"
    families = at.assign(family=[encoding(name).base for name in at["encoding"]])
    means = families.groupby("family", as_index=False)[["perplexity", "accuracy"]].mean()
    said = (
        f"Over {found.n} encodings of {len(means)} families, which see the whole text, lower perplexity at "
        f"{multiple:g} T {goes} with retrieval"
    )
    more = [f"Rank correlation of the families' means: {means['perplexity'].corr(means['accuracy'], 'spearman'):.2f}."]
    near = at[at["perplexity"] <= LEVEL * at["perplexity"].min()]
    close = spearman_permutation(near, "encoding", "perplexity", "accuracy")
    if not np.isnan(close.rho):
        undecided = close.low <= 0 <= close.high
        more.append(
            f"Over the {close.n} within a fifth of the best perplexity, {at['perplexity'].min():.2f}: "
            f"{close.rho:.2f} [{close.low:.2f}, {close.high:.2f}]{', undecided' * undecided}."
        )
    if len(blind):
        one, behind = len(blind) == 1, int((at["perplexity"] > blind["perplexity"].max()).sum())
        both = spearman_permutation(pd.concat([at, blind]), "encoding", "perplexity", "accuracy")
        more.append(
            f"{_listed(blind['encoding'])}, which see{'s' * one} a window only, {'has' if one else 'have'} a lower "
            f"perplexity than {behind} of the {found.n} and find{'s' * one} {_range(blind['accuracy'])} of the "
            f"passkeys; with {'it' if one else 'them'} {both.rho:.2f} [{both.low:.2f}, {both.high:.2f}]."
        )
    measured = "rank correlation, encodings taken as independent"
    return Finding(f"{said}{_level(kept[~local])}.", " ".join(more), measured, found.rho, found.low, found.high)


def _level(kept: pd.DataFrame) -> str:
    """Who keeps the loss of a few times T as far as was asked, and retrieves little there: an end of the sentence."""
    first, last = kept["multiple"].min(), kept["multiple"].max()
    wide = kept.pivot(index="encoding", columns="multiple", values=["perplexity", "accuracy"]).dropna()
    growth = np.log(wide["perplexity"][last] / wide["perplexity"][first])
    level = wide[growth <= GROWS]
    poor = level[level["accuracy"][last] < GOOD]
    if first == last or level.empty:
        return ""
    told = [f"{label(name)} {row['accuracy', last]:.2f}" for name, row in poor.iterrows()]
    said = f"the {len(level)} whose loss grows by at most {GROWS:g} nats from {first:g} T to {last:g} T"
    if not told:
        return f"; {said} find at least {GOOD:g} of the passkeys at {last:g} T in the mean"
    return (
        f"; but a level curve proves none: of {said}, {len(poor)} find{'s' * (len(poor) == 1)} less than {GOOD:g} of "
        f"the passkeys at {last:g} T in the mean ({joined(told)})"
    )


def other_recipes(order: pd.DataFrame) -> tuple[str, str]:
    """How many pairs of encodings other recipes turn, and how many they keep: a row per arm of `robustness.order`."""
    turned, pairs = int(order["turned"].sum()), int(order["pairs"].max())
    arms = joined([ARMS.get(arm, arm) for arm in order["arm"]])
    of = f"{pairs} pairs that differ among the {int(order['encodings'].max())} of the main comparison"
    said = f"None of the {of} changes order under any of {len(order)} other recipes."
    if turned:
        said = f"Of the {of} {order['turned'].max()} change order under one of {len(order)} other recipes, at most."
    more = (
        f"Of these pairs, by means from 2 T to 16 T, they keep {_range(order['kept'].astype(int), 'd')} for certain "
        f"({arms}; Kendall's τ {_range(order['tau'])})."
    )
    return said, more


def findings(
    models: pd.DataFrame,
    counts: pd.DataFrame,
    losses: pd.DataFrame,
    keys: pd.DataFrame,
    both: pd.DataFrame,
    confound: pd.DataFrame,
    order: pd.DataFrame,
) -> pd.DataFrame:
    """A row per finding: the sentence, what else there is to say, a number with its interval, and the figure.

    `models`, `losses`, `keys` and `order` are empty where a profile leaves their experiment out.
    """
    reached = who_reaches(counts)
    if len(order) and order["tau"].notna().any():
        turned, kept = other_recipes(order)
        reached = reached._replace(more=f"{reached.more} {turned} {kept}")
    told = {
        ("division_models", "dividing_the_work"): dividing(models) if len(models) else None,
        ("encodings_far", "passkeys"): reached,
        ("pretrained_losses", "pretrained_model"): pretrained(losses, keys) if len(losses) else None,
        ("perplexity_and_retrieval", "language_models"): perplexity_tells(both),
        ("passkey_confound", "passkeys"): one_length(confound),
    }
    return pd.DataFrame([[*found, *place] for place, found in told.items() if found], columns=COLUMNS)


def _valued(head: str, means: pd.Series) -> str:
    return f"{head}: {'; '.join(f'{label(name)} {value:.2f}' for name, value in means.items())}."


def _forms(names: Iterable[str]) -> str:
    """Their labels; those of one encoding, told apart in parentheses, as how many forms of it; windows last."""
    names = list(names)
    windowed = [name for name in names if encoding(name).window]
    few = len(windowed) < 2
    bases = [label(name).partition(" (")[0] for name in names if few or name not in windowed]
    forms = {base: bases.count(base) for base in dict.fromkeys(bases)}
    told = [f"{base} ({count} forms)" if count > 1 else base for base, count in forms.items()]
    return joined([*told, *([] if few else [f"{len(windowed)} with a window on some heads or layers"])])


def _listed(names: Iterable[str]) -> str:
    return joined([label(name) for name in names])


def joined(labels: list[str]) -> str:
    return ", ".join(labels[:-1]) + f" and {labels[-1]}" if len(labels) > 1 else "".join(labels)


NEEDS = (
    "division_models",
    "encodings_counts",
    "pretrained_losses",
    "pretrained_keys",
    "perplexity_and_retrieval",
    "passkey_confound",
    "robustness_order",
)
EXPERIMENT = Experiment(
    name="findings",
    sections=("passkey", "confound", "benchmark", "language"),
    needs=NEEDS,
    optional=("division_models", "pretrained_losses", "pretrained_keys", "robustness_order"),
    derive={"findings": (NEEDS, findings)},
    version=12,
)
