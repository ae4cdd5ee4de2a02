"""What a pretrained model says to sentences of the documents: differences within a document, intervals over documents.

The sentences and their bounds were committed before the runs, but not blindly: a pilot on one text had shown the
direction of X-18, X-19 and X-21. How X-22 is decided, and how X-24 and X-25 are asked, was changed after first answers
had been seen (notebook 20 says how). Before X-27 there was a pilot of six prompts of 12,000 tokens: with all heads far
under the NTK-aware base five keys were found, with all in a window of 4,096 none, with the forty heads that fetch best
far one, with forty at random none; with these forty windowed, all others under YaRN, none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.claims.finding import ANY, SHARE, Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.evaluation import binomial_interval
from attention_priors.experiments.pretrained_words import ORDERS, label

LOSSES, EVICTION, HEADS, KEYS = "pretrained_losses", "pretrained_eviction", "pretrained_heads", "pretrained_keys"
HALF = 0.5  # of the attention: a head that gives the first key more is called a sink
SAME = 0.05  # total variation that makes no difference, ours
GATE = 0.75  # of the keys that the model as it is must find in the shortest texts, ours
FAR, FETCHING, DYNAMIC = "pretrained_far", "pretrained_fetching", "pretrained_dynamic"
EVERY, BASE = "all layers", "nothing"  # of pretrained_losses, which is not imported: it needs transformers
RECIPE = "pretrained"
FEW, ALL, REST = -1, -2, -3  # heads that see far: the fewest asked, all, and all but the fewest


def over(frame: pd.DataFrame, values: pd.Series, within: tuple[float, float] = ANY) -> Estimate:
    """The mean over documents with a t interval, saying whose answers these are."""
    found, model = values.dropna(), frame["model"].iloc[0]
    if not len(found):
        return unknown(f"{model} was not asked in this profile")
    return replace(mean(dict(enumerate(found)), within), seeds=(), note=f"{model}, {len(found)} documents")


def by_document(frame: pd.DataFrame, way: str, lengths: Iterable[int]) -> pd.Series:
    """The loss under a way to read, a mean over lengths."""
    return frame[(frame["way"] == way) & frame["length"].isin(lengths)].groupby("document")["loss"].mean()


def lengths(frame: pd.DataFrame, beyond: bool) -> list[int]:
    """The longest of all, or all up to the trained length."""
    every = sorted(set(frame["length"]))
    return every[-1:] if beyond else [length for length in every if length <= frame["trained"].iloc[0]]


def loses(frames: Frames, more: str, less: str, beyond: bool) -> Estimate:
    """How much more is lost under one way to read than under another, on the same tokens."""
    frame = frames[LOSSES]
    where = lengths(frame, beyond)
    return over(frame, by_document(frame, more, where) - by_document(frame, less, where))


def evicted(frames: Frames, region: str, less: str) -> Estimate:
    """How much more is lost without some keys than without others, a mean over the thirds of the layers.

    Not in all layers at once, as this was first asked: a text whose first keys nobody sees in any layer is a text that
    begins after them, and its next token becomes the sink.
    """
    frame = frames[EVICTION]
    losses = (
        frame[(frame["layers"] != EVERY) | (frame["region"] == BASE)].groupby(["region", "document"])["loss"].mean()
    )
    return over(frame, losses[region] - losses[less])


def of_heads(frames: Frames, number: Callable[[pd.DataFrame], float], within: tuple[float, float] = ANY) -> Estimate:
    """A number of all heads in a document."""
    frame = frames[HEADS]
    return over(frame, pd.Series({name: number(own) for name, own in frame.groupby("document")}, dtype=float), within)


def sink_ratio(own: pd.DataFrame, what: str = "key") -> float:
    """The median norm of the first key in the heads that sink, in units of the text's median key."""
    return own.loc[own["sink"] > HALF, f"{what}_ratio"].median()


def nearer(frames: Frames, than: str, what: str) -> Estimate:
    """How much less attention differs from one prior than from another, in total variation, a mean over heads."""
    return of_heads(frames, lambda own: (own[than] - own[what]).mean())


def told_by_position(frames: Frames) -> Estimate:
    """What is left of 1 less the total variation from lag and first key alone, a mean over heads."""
    return of_heads(frames, lambda own: 1 - own["by_lag"].mean(), SHARE)


def right(frame: pd.DataFrame, way: str, longest: bool = False) -> tuple[int, int]:
    """Keys found and asked for at a length where readers of parts are compared: their shortest or their longest."""
    length = frame.loc[frame["way"] == "last", "length"].agg("max" if longest else "min")
    own = frame[(frame["way"] == way) & (frame["length"] == length)]
    return int(own["correct"].sum()), len(own)


def finds(frames: Frames, more: str, less: str = "", longest: bool = False) -> Estimate:
    """How many more keys one way to read finds than another, or than none."""
    frame = frames[KEYS]
    counts = [right(frame, way, longest) for way in (more, less) if way]
    note = f"{frame['model'].iloc[0]}, {counts[0][1]} prompts"
    if not all(asked for _, asked in counts):
        return unknown(note)
    shortest = frame[frame["way"] == "as-is"].nsmallest(1, "length", keep="all")["correct"].mean()
    if shortest < GATE:
        return unknown(f"{note}; gate missed: as it is it finds {shortest:.2f} of the keys at the shortest length")
    ours, *theirs = (found(*each) for each in counts)
    return replace(ours - theirs[0] if theirs else ours, note=note)


def fewest(frame: pd.DataFrame) -> int:
    """The fewest heads that see far, of those that were asked."""
    return int(frame.loc[frame["far"] > 0, "far"].min())


def far_seeing(frame: pd.DataFrame, order: str, count: int) -> tuple[int, int]:
    """Keys found and asked for at all lengths, with `count` heads of an order far."""
    own = frame[(frame["order"] == order) & (frame["far"] == count)]
    return int(own["correct"].sum()), len(own)


def between(frame: pd.DataFrame, order: str, other: str) -> Estimate:
    """How many more keys one order finds than another, over every number of heads between none and all.

    A prompt is asked with each number, so that prompts are what the interval is over.
    """
    own = frame[frame["far"].between(1, frame["heads"] - 1)]
    ours, theirs = (
        own[own["order"] == name].groupby(["length", "prompt"])["correct"].mean() for name in (order, other)
    )
    gap = (ours - theirs).dropna()
    note = f"{frame['model'].iloc[0]}, {len(gap)} prompts, one random order"
    return replace(mean(dict(enumerate(gap)), (-1.0, 1.0)), seeds=(), note=note) if len(gap) else unknown(note)


def leads(frames: Frames, more: tuple[str, int | None], less: tuple[str, int | None]) -> Estimate:
    """How many more keys are found with the heads of one order and number far than with another's."""
    frame = frames[FAR]
    few, every = fewest(frame), int(frame["heads"].iloc[0])
    numbers = {FEW: few, ALL: every, REST: every - few, None: None}
    if more[1] is less[1] is None:
        return between(frame, more[0], less[0])
    ours, theirs = (far_seeing(frame, order, numbers[count]) for order, count in (more, less))
    note = f"{frame['model'].iloc[0]}, {min(ours[1], theirs[1])} prompts"
    return replace(found(*ours) - found(*theirs), note=note) if ours[1] and theirs[1] else unknown(note)


def found(hits: int, asked: int) -> Estimate:
    """A share of prompts with its exact interval."""
    return Estimate(hits / asked, lambda level: binomial_interval(hits, asked, level))


def finding(
    text: str, estimate: Callable[[Frames], Estimate], relation: str, bound: float, metric: str, **more: bool
) -> Finding:
    return Finding(text, estimate, relation, bound, metrics=(metric,), **more)


def loss(text: str, more: str, less: str, beyond: bool) -> Finding:
    return finding(text, partial(loses, more=more, less=less, beyond=beyond), ">", 0.0, LOSSES)


CHECKS = claims(
    claim(
        "X-18",
        loss("At the longest length the model as it is loses more than with the NTK-aware base", "as-is", "ntk", True),
        loss("... than with YaRN", "as-is", "yarn", True),
        loss("... than with a window and four sinks", "as-is", "sinks", True),
        recipe=RECIPE,
        practice="A model with RoPE must not be given more than it was trained on as it is; each of these three is one "
        "line (integrations.extending), and none trains anything.",
    ),
    claim(
        "X-19",
        loss("Within the trained length interpolation loses more than the NTK-aware base", "pi", "ntk", False),
        loss("At the longest length it does, too", "pi", "ntk", True),
        recipe=RECIPE,
        practice="Without fine-tuning take the NTK-aware base or YaRN, not interpolation.",
    ),
    claim(
        "X-20",
        *(
            loss(f"Within the trained length {name} loses more than the model as it is", way, "as-is", False)
            for way, name in (("pi", "interpolation"), ("ntk", "the NTK-aware base"), ("yarn", "YaRN"))
        ),
        recipe=RECIPE,
        practice="Set an extension by a fixed factor only for texts that need it: short ones pay for it.",
    ),
    claim(
        "X-21",
        finding(
            "Heads with more than half of their attention on the first key form this sink by a key of larger norm "
            "than the text's median",
            lambda frames: of_heads(frames, sink_ratio),
            ">",
            1.0,
            HEADS,
        ),
        recipe=RECIPE,
        practice="A sink is found by its weight, not by the length of its key.",
    ),
    claim(
        "X-22",
        finding(
            "Without the first four keys more is lost than with all",
            partial(evicted, region="first keys", less=BASE),
            ">",
            0.0,
            EVICTION,
        ),
        finding(
            "... than without the four nearest",
            partial(evicted, region="first keys", less="nearest keys"),
            ">",
            0.0,
            EVICTION,
        ),
        finding(
            "Without the keys between the first four and the nearest 256 more is lost than with all",
            partial(evicted, region="all between", less=BASE),
            ">",
            0.0,
            EVICTION,
        ),
        recipe=RECIPE,
        practice="A cache that drops old keys keeps the first ones.",
    ),
    claim(
        "X-23",
        finding(
            "The mean logit by lag, with a bias for the first key, is nearer to the heads' attention than the "
            "uniform prior",
            partial(nearer, than="by_nothing", what="by_lag"),
            ">",
            0.0,
            HEADS,
        ),
        finding(
            "A generalised Gaussian in its place is no further from it than 0.05 of total variation",
            partial(nearer, than="by_ggd", what="by_lag"),
            "<=",
            SAME,
            HEADS,
            ours=True,
        ),
        finding(
            "Position alone tells where more than half of the attention goes",
            told_by_position,
            ">",
            HALF,
            HEADS,
            ours=True,
        ),
        recipe=RECIPE,
        practice="What a prior would have to carry in a model with RoPE can be read from its logits.",
    ),
    claim(
        "X-24",
        finding(
            "ParallelComp finds more keys than the last window",
            partial(finds, more="parallel", less="last"),
            ">",
            0.0,
            KEYS,
        ),
        finding(
            "... and no fewer than the model that reads the whole text",
            partial(finds, more="parallel", less="as-is"),
            ">=",
            0.0,
            KEYS,
        ),
        *(
            finding(
                f"Beyond T it finds {text}",
                partial(finds, more="parallel", less=less, longest=True),
                relation,
                0.0,
                KEYS,
                decides=False,
            )
            for text, less, relation in (
                ("more than the last window", "last", ">"),
                ("no fewer than the whole text", "as-is", ">="),
            )
        ),
        recipe=RECIPE,
    ),
    claim(
        "X-25",
        finding(
            "ParallelComp's self-information finds more keys than BM25, which needs no model",
            partial(finds, more="parallel", less="lexical"),
            ">",
            0.0,
            KEYS,
        ),
        recipe=RECIPE,
        practice="Try BM25 before a model ranks chunks.",
    ),
    claim(
        "X-27",
        finding(
            "With all heads far more keys are found than with the fewest that fetch them best far (forty), the "
            "others in a window",
            partial(leads, more=("fetching", ALL), less=("fetching", FEW)),
            ">",
            0.0,
            FAR,
        ),
        finding(
            "... and than with all but these",
            partial(leads, more=("fetching", ALL), less=("others", REST)),
            ">",
            0.0,
            FAR,
        ),
        finding(
            "Between none and all, heads in the order of their fetching find more keys than the same number in a "
            "random order",
            partial(leads, more=("fetching", None), less=("random-0", None)),
            ">",
            0.0,
            FAR,
        ),
        recipe=RECIPE,
        practice="Before a cache keeps only some heads whole, ask it for keys.",
    ),
)


def told(frames: Mapping[str, pd.DataFrame]) -> str:
    """What the losses say, in words; "" where they were not measured."""
    if LOSSES not in frames:
        return ""
    frame = frames[LOSSES]
    longest, ways = max(frame["length"]), list(dict.fromkeys(frame["way"]))
    at = {way: by_document(frame, way, [longest]).mean() for way in ways}
    mended = {way: loses(frames, "as-is", way, True) for way in at if way != "as-is"}
    up_to = max(lengths(frame, False))
    cost = {way: loses(frames, way, "as-is", False) for way in ways if way != "as-is"}
    best = min(at, key=at.__getitem__)
    lines = [
        f"**{frame['model'].iloc[0]}, {frame['document'].nunique()} documents.** At {longest:,} tokens the model as it "
        f"is loses {at['as-is']:.2f} nats; least is lost by *{label(best)}*, {at[best]:.2f}."
    ]
    against = "against the model as it is on the same tokens"
    for way, found in cost.items():
        far = f"{-mended[way].value:+.2f} {ends(mended[way], -1)} at {longest:,} tokens, "
        lines.append(f"- *{label(way)}*: {far}{found.value:+.2f} {ends(found)} up to {up_to:,}, {against}.")
    return "\n".join([lines[0], "", *lines[1:]])


def told_of_heads(frames: Mapping[str, pd.DataFrame]) -> str:
    """What the heads say, in words; "" where they were not measured."""
    if HEADS not in frames:
        return ""
    frame = frames[HEADS]
    sinks = of_heads(frames, lambda own: (own["sink"] > HALF).mean(), SHARE)
    key, value = of_heads(frames, sink_ratio), of_heads(frames, partial(sink_ratio, what="value"))
    left = {
        way: of_heads(frames, lambda own, way=way: own[way].mean(), SHARE) for way in ("by_nothing", "by_lag", "by_ggd")
    }
    count = len(frame[["layer", "head"]].drop_duplicates())
    lines = [
        f"**{frame['model'].iloc[0]}, {frame['document'].nunique()} documents, {count} heads.** {sinks.value:.2f} "
        f"{ends(sinks)} of the heads give the first key more than half of their attention."
    ]
    if pd.notna(key.value):
        lines.append(
            f"In these its key is {key.value:.2f} {ends(key)} times as long as the text's median key, its value "
            f"{value.value:.2f} {ends(value)}."
        )
    lines.append(
        f"Attention is {left['by_nothing'].value:.2f} (total variation) from uniform, "
        f"{left['by_lag'].value:.2f} {ends(left['by_lag'])} from what lag and first key alone give, "
        f"{left['by_ggd'].value:.2f} {ends(left['by_ggd'])} from a generalised Gaussian in place "
        "of any function of the lag."
    )
    return " ".join(lines)


def told_of_keys(frames: Mapping[str, pd.DataFrame]) -> str:
    """What retrieval says, in words; "" where it was not measured."""
    if KEYS not in frames:
        return ""
    frame = frames[KEYS]
    own = frame[frame["way"] == "as-is"].groupby("length")["correct"].agg(["sum", "size"])
    whole = ", ".join(f"{row['sum']} of {row['size']} at {length:,} tokens" for length, row in own.iterrows())
    said = f"**{frame['model'].iloc[0]}.** Reading the whole text it finds {whole}."
    for length in sorted(set(frame.loc[frame["way"] == "last", "length"])):
        each = frame[frame["length"] == length].groupby("way", sort=False)["correct"].agg(["sum", "size"])
        parts = ", ".join(f"*{label(way)}* {row['sum']} of {row['size']}" for way, row in each.iterrows())
        said += f" At {length:,} tokens: {parts}."
    return said


def told_of_eviction(frames: Mapping[str, pd.DataFrame]) -> str:
    """What eviction says, in words; "" where it was not measured."""
    if EVICTION not in frames:
        return ""
    frame = frames[EVICTION]
    regions = [region for region in dict.fromkeys(frame["region"]) if region != BASE]
    costs = {region: evicted(frames, region, BASE) for region in regions}
    parts = "; ".join(f"*{region}* {found.value:+.2f} {ends(found)}" for region, found in costs.items())
    who = f"**{frame['model'].iloc[0]}, {frame['document'].nunique()} documents.**"
    return f"{who} Nats lost without the {parts}, a mean over the thirds of the layers."


def ends(found: Estimate, sign: int = 1, digits: int = 2) -> str:
    """The 95 % interval."""
    low, high = sorted(sign * end for end in found.interval(0.95))
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def told_of_scaling(frames: Mapping[str, pd.DataFrame]) -> str:
    """What scalable softmax and a longer base do at the longest length, in words; "" where they were not asked."""
    ways = {way: base for way, base in (("ssmax", "as-is"), ("ntk-ssmax", "ntk"), ("base-50", "as-is"))}
    if LOSSES not in frames or not {*ways} <= set(frames[LOSSES]["way"]):
        return ""
    frame = frames[LOSSES]
    parts = []
    for way, base in ways.items():
        more = {beyond: loses(frames, way, base, beyond) for beyond in (True, False)}
        parts.append(
            f"- *{label(way)}* against *{label(base)}*: {more[True].value:+.2f} {ends(more[True])} at "
            f"{max(frame['length']):,} tokens, {more[False].value:+.2f} {ends(more[False])} up to "
            f"{max(lengths(frame, False)):,}."
        )
    who = f"**{frame['model'].iloc[0]}, {frame['document'].nunique()} documents.** Nats, on the same tokens:"
    return "\n".join([who, "", *parts])


def told_of_far(frames: Mapping[str, pd.DataFrame]) -> str:
    """How many heads must see far, in words; "" where it was not asked."""
    if FAR not in frames:
        return ""
    frame, weights = frames[FAR], frames[FETCHING]["weight"].sort_values(ascending=False)
    few, every = fewest(frame), int(frame["heads"].iloc[0])
    lines = [
        f"**{frame['model'].iloc[0]}.** Of {every} heads the one that fetches most gives the key's digits "
        f"{weights.iloc[0]:.2f} of its attention when the answer is due, the last of the best {few} "
        f"{weights.iloc[few - 1]:.2f}, the median head {weights.median():.3f}."
    ]
    for length, own in frame.groupby("length"):
        said = [
            f"{hits} of {asked} with {count} heads far, {ORDERS[order]}"
            for order in ("fetching", "distance", "random-0")
            if order in set(own["order"])
            for count in sorted(set(own.loc[own["order"] == order, "far"]) - {0, every})
            for hits, asked in [far_seeing(own, order, count)]
        ]
        none, all_ = far_seeing(own, "fetching", 0), far_seeing(own, "fetching", every)
        said += [
            f"{hits} of {asked} with all but the {few} that fetch best"
            for hits, asked in [far_seeing(own, "others", every - few)]
            if asked
        ]
        lines.append(
            f"- At {length:,} tokens, {label(own['way'].iloc[0])}, keys are found in {all_[0]} of {all_[1]} "
            f"prompts with all heads far and in {none[0]} with none; " + "; ".join(said) + "."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def told_of_cache(frames: Mapping[str, pd.DataFrame]) -> str:
    """What decoding with a cache changes under dynamic NTK, in words; "" where it was not asked."""
    if DYNAMIC not in frames:
        return ""
    frame = frames[DYNAMIC]
    loss_of = {how: own.set_index("document")["loss"] for how, own in frame.groupby("how")}
    more = over(frame, loss_of["with a cache"] - loss_of["one pass"])
    price = over(frame, loss_of["one pass"] - loss_of["as it is"])
    return (
        f"**{frame['model'].iloc[0]}, {frame['document'].nunique()} documents.** With a factor that grows from token "
        f"{frame['start'].iloc[0]:,} to {frame['length'].iloc[0]:,}, decoding with a cache loses {more.value:+.4f} "
        f"{ends(more, digits=4)} nats against one pass over the same text, which itself loses {price.value:+.4f} "
        f"{ends(price, digits=4)} against the model as it is."
    )
