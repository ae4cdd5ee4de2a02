"""What a pretrained model says to sentences of the documents: differences within a document, intervals over documents.

The sentences and their bounds were committed before the runs, but not blindly: a pilot on one text had shown the
direction of X-18, X-19 and X-21. How X-22 is decided, and how X-24 and X-25 are asked, was changed after first answers
had been seen (notebook 20 says how). Before X-27 there was a pilot of six prompts of 12,000 tokens: with all heads far
under the NTK-aware base five keys were found, with all in a window of 4,096 none, with the forty heads that fetch best
far one, with forty at random none; with these forty windowed, all others under YaRN, none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, wraps

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import ANY, SHARE, Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.evaluation import binomial_interval
from attention_priors.experiments.pretrained_words import ORDERS, label

LOSSES, EVICTION, HEADS, KEYS = "pretrained_losses", "pretrained_eviction", "pretrained_heads", "pretrained_keys"
HALF = 0.5  # of the attention: a head that gives the first key more is called a sink
SAME = 0.05  # total variation that makes no difference, ours
REST_SINK = 0.1  # of the attention: a head that gives the first key no more does not rest on it, ours
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


def loses(frame: pd.DataFrame, more: str, less: str, beyond: bool) -> Estimate:
    """How much more is lost under one way to read than under another, on the same tokens."""
    where = lengths(frame, beyond)
    return over(frame, by_document(frame, more, where) - by_document(frame, less, where))


def evicted(frame: pd.DataFrame, region: str, less: str) -> Estimate:
    """How much more is lost without some keys than without others, a mean over the thirds of the layers.

    Not in all layers at once, as this was first asked: a text whose first keys nobody sees in any layer is a text that
    begins after them, and its next token becomes the sink.
    """
    losses = (
        frame[(frame["layers"] != EVERY) | (frame["region"] == BASE)].groupby(["region", "document"])["loss"].mean()
    )
    return over(frame, losses[region] - losses[less])


def of_heads(
    frame: pd.DataFrame, number: Callable[[pd.DataFrame], float], within: tuple[float, float] = ANY
) -> Estimate:
    """A number of all heads in a document."""
    return over(frame, pd.Series({name: number(own) for name, own in frame.groupby("document")}, dtype=float), within)


def sink_ratio(own: pd.DataFrame, what: str = "key") -> float:
    """The median norm of the first key in the heads that sink, in units of the text's median key.

    A key that several heads of a layer share counts once.
    """
    return own[own["sink"] > HALF].drop_duplicates(["layer", f"{what}_ratio"])[f"{what}_ratio"].median()


def nearer(than: str, what: str) -> Callable[[pd.DataFrame], float]:
    """How much less attention differs from one prior than from another, in total variation, a mean over heads."""
    return lambda own: (own[than] - own[what]).mean()


def explained(own: pd.DataFrame) -> float:
    """What is left of 1 less the total variation from lag and first key, a mean over heads."""
    return 1 - own["by_lag"].mean()


def right(frame: pd.DataFrame, way: str, longest: bool = False) -> pd.Series:
    """Keys found, by prompt, at a length where readers of parts are compared: their shortest or their longest."""
    length = frame.loc[frame["way"] == "last", "length"].agg("max" if longest else "min")
    return by_prompt(frame[(frame["way"] == way) & (frame["length"] == length)])


def by_prompt(frame: pd.DataFrame) -> pd.Series:
    """Whether the key of each prompt was found."""
    return frame.set_index(["length", "prompt"])["correct"].astype(int)


def finds(frame: pd.DataFrame, more: str, less: str = "", longest: bool = False) -> Estimate:
    """How many more keys one way to read finds than another, or than none."""
    answers = [right(frame, way, longest) for way in (more, less) if way]
    note = f"{frame['model'].iloc[0]}, {len(answers[0])} prompts"
    if not all(len(each) for each in answers):
        return unknown(note)
    shortest = frame[frame["way"] == "as-is"].nsmallest(1, "length", keep="all")["correct"].mean()
    if shortest < GATE:
        return unknown(f"{note}; gate missed: as it is it finds {shortest:.2f} of the keys at the shortest length")
    return replace(paired(*answers) if less else found(int(answers[0].sum()), len(answers[0])), note=note)


def fewest(frame: pd.DataFrame) -> int:
    """The fewest heads that see far, of those that were asked."""
    return int(frame.loc[frame["far"] > 0, "far"].min())


def far_seeing(frame: pd.DataFrame, order: str, count: int) -> pd.Series:
    """Keys found, by prompt, at all lengths, with `count` heads of an order far."""
    return by_prompt(frame[(frame["order"] == order) & (frame["far"] == count)])


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


def leads(frame: pd.DataFrame, more: tuple[str, int | None], less: tuple[str, int | None]) -> Estimate:
    """How many more keys are found with the heads of one order and number far than with another's."""
    few, every = fewest(frame), int(frame["heads"].iloc[0])
    numbers = {FEW: few, ALL: every, REST: every - few, None: None}
    if more[1] is less[1] is None:
        return between(frame, more[0], less[0])
    ours, theirs = (far_seeing(frame, order, numbers[count]) for order, count in (more, less))
    note = f"{frame['model'].iloc[0]}, {min(len(ours), len(theirs))} prompts"
    return replace(paired(ours, theirs), note=note) if len(ours) and len(theirs) else unknown(note)


def found(hits: int, asked: int) -> Estimate:
    """A share of prompts with its exact interval."""
    return Estimate(hits / asked, lambda level: binomial_interval(hits, asked, level))


def paired(ours: pd.Series, theirs: pd.Series) -> Estimate:
    """A difference of two shares of the same prompts, with an interval from those on which the two differ.

    It joins the exact intervals of how many differ and of whom these favour, each at (1 + level) / 2, so that it covers
    no less than it says (after McNemar 1947). ValueError where the prompts are not the same.
    """
    if not ours.index.sort_values().equals(theirs.index.sort_values()):
        raise ValueError("the two were asked different prompts; ask both the same ones")
    gap = ours - theirs
    for_us, differ, asked = int((gap > 0).sum()), int((gap != 0).sum()), len(gap)

    def interval(level: float) -> tuple[float, float]:
        each = (1 + level) / 2
        shares = binomial_interval(differ, asked, each)
        sides = [2 * end - 1 for end in binomial_interval(for_us, differ, each)] if differ else (-1.0, 1.0)
        ends = [share * side for share in shares for side in sides]
        return min(ends), max(ends)

    return Estimate(float(gap.mean()), interval)


# Findings


def within(text: str, more: str, less: str, *bound: object, longest: bool = False, **how: object) -> Finding:
    """How much more is lost under one way to read than under another, within the trained length."""
    return measuring(LOSSES)(text, partial(loses, more=more, less=less, beyond=longest), *bound, **how)


beyond = partial(within, longest=True)  # at the longest length


def heads(
    text: str,
    number: Callable[[pd.DataFrame], float],
    *bound: object,
    within: tuple[float, float] = ANY,
    **how: object,
) -> Finding:
    """A number of all heads in a document."""
    return measuring(HEADS)(text, partial(of_heads, number=number, within=within), *bound, **how)


def keys(text: str, more: str, less: str = "", *bound: object, longest: bool = False, **how: object) -> Finding:
    """How many more keys one way to read finds than another, or than none."""
    return measuring(KEYS)(text, partial(finds, more=more, less=less, longest=longest), *bound, **how)


eviction, far = measuring(EVICTION), measuring(FAR)

SINK_BY_NORM = heads(
    "Heads with more than half of their attention on the first key form this sink by a key of larger norm than the "
    "text's median",
    sink_ratio,
    ">",
    1.0,
)

claim = partial(claim, recipe=RECIPE)

READERS = (("more keys than the last window", "last", ">"), ("no fewer than the whole text", "as-is", ">="))

CHECKS = claims(
    claim(
        "X-18",
        beyond("At the longest length the model as it is loses more than with the NTK-aware base", "as-is", "ntk"),
        beyond("... than with YaRN", "as-is", "yarn"),
        beyond("... than with a window and four sinks", "as-is", "sinks"),
        practice="A model with RoPE must not be given more than it was trained on as it is; each of these three is one "
        "line (integrations.extending), and none trains anything.",
    ),
    claim(
        "X-19",
        within("Within the trained length interpolation loses more than the NTK-aware base", "pi", "ntk"),
        beyond("At the longest length it does, too", "pi", "ntk"),
        practice="Without fine-tuning take the NTK-aware base or YaRN, not interpolation.",
    ),
    claim(
        "X-20",
        *(
            within(f"Within the trained length {name} loses more than the model as it is", way, "as-is")
            for way, name in (("pi", "interpolation"), ("ntk", "the NTK-aware base"), ("yarn", "YaRN"))
        ),
        practice="Set an extension by a fixed factor only for texts that need it: short ones pay for interpolation.",
    ),
    claim("X-21", SINK_BY_NORM, practice="A sink is found by its weight, not by the length of its key."),
    claim(
        "X-22",
        eviction(
            "Without the first four keys more is lost than with all", partial(evicted, region="first keys", less=BASE)
        ),
        eviction("... than without the four nearest", partial(evicted, region="first keys", less="nearest keys")),
        eviction(
            "Without the keys between the first four and the nearest 256 more is lost than with all",
            partial(evicted, region="all between", less=BASE),
        ),
        practice="A cache that drops keys keeps the latest ones; whether it keeps the first matters where some layers "
        "see them and others do not.",
    ),
    claim(
        "X-23",
        heads(
            "The mean logit by lag, with a bias for the first key, is nearer to the heads' attention than the uniform "
            "prior",
            nearer("by_nothing", "by_lag"),
        ),
        heads(
            "A generalised Gaussian in its place is no further from it than 0.05 of total variation",
            nearer("by_ggd", "by_lag"),
            "<=",
            SAME,
            ours=True,
        ),
        heads(
            "Position alone tells where more than half of the attention goes",
            explained,
            ">",
            HALF,
            within=SHARE,
            ours=True,
        ),
        *(
            heads(
                f"{said}, of heads that give the first key at most {REST_SINK:g}",
                lambda own, number=number: number(own[own["sink"] <= REST_SINK]),
                relation,
                bound,
                ours=True,
                decides=False,
            )
            for said, number, relation, bound in (
                ("The same as in the second sentence", nearer("by_ggd", "by_lag"), "<=", SAME),
                ("As in the third", explained, ">", HALF),
            )
        ),
        practice="What a prior would have to carry in a model with RoPE can be read from its logits.",
    ),
    claim(
        "X-24",
        *(
            keys(f"Beyond T ParallelComp finds {text}", "parallel", less, relation, longest=True)
            for text, less, relation in READERS
        ),
        *(
            keys(f"Within T it finds {text}", "parallel", less, relation, decides=False)
            for text, less, relation in READERS
        ),
    ),
    claim(
        "X-25",
        keys(
            "ParallelComp's self-information finds more keys than BM25, which needs no model",
            "parallel",
            "lexical",
            beyond="three chunks are read against BM25's one, so that choice and reading are not told apart",
        ),
        practice="Try BM25 and one chunk before a model ranks several.",
    ),
    claim(
        "X-27",
        far(
            "With all heads far more keys are found than with the fewest that fetch them best far (forty), the "
            "others in a window",
            partial(leads, more=("fetching", ALL), less=("fetching", FEW)),
        ),
        far("... and than with all but these", partial(leads, more=("fetching", ALL), less=("others", REST))),
        far(
            "Between none and all, heads in the order of their fetching find more keys than the same number in a "
            "random order",
            partial(leads, more=("fetching", None), less=("random-0", None)),
        ),
        practice="Before a cache keeps only some heads whole, ask it for keys.",
    ),
)


# What notebook 20 says of each frame in words; "" of one that was not measured


def of(metric: str) -> Callable[[Callable[[pd.DataFrame], str]], Callable[[Frames], str]]:
    """What a function says of one frame, said of all frames."""
    return lambda tell: wraps(tell)(lambda frames: tell(frames[metric]) if metric in frames else "")


def who(frame: pd.DataFrame) -> str:
    """The model and its documents."""
    return f"{frame['model'].iloc[0]}, {frame['document'].nunique()} documents"


def shown(found: Estimate, form: str = ".2f", sign: int = 1) -> str:
    """A value with its 95 % interval."""
    low, high = sorted(sign * end for end in found.interval(0.95))
    plain = form.removeprefix("+")
    return f"{sign * found.value:{form}} [{low:{plain}}, {high:{plain}}]"


@of(LOSSES)
def told(frame: pd.DataFrame) -> str:
    """What the losses say, in words."""
    longest, ways = max(frame["length"]), list(dict.fromkeys(frame["way"]))
    at = {way: by_document(frame, way, [longest]).mean() for way in ways}
    mended = {way: loses(frame, "as-is", way, True) for way in at if way != "as-is"}
    up_to = max(lengths(frame, False))
    cost = {way: loses(frame, way, "as-is", False) for way in ways if way != "as-is"}
    best = min(at, key=at.__getitem__)
    close = [way for way in ways if way != best and loses(frame, way, best, True).interval(0.95)[0] <= 0]
    lines = [
        f"**{who(frame)}.** At {longest:,} tokens the model as it is "
        f"loses {at['as-is']:.2f} nats; least is lost by *{label(best)}*, {at[best]:.2f}"
        + ("; not certainly more by " + ", ".join(f"*{label(way)}* {at[way]:.2f}" for way in close)) * bool(close)
        + "."
    ]
    against = "against the model as it is on the same tokens"
    for way, found in cost.items():
        at_end, within = shown(mended[way], "+.2f", -1), shown(found, "+.2f")
        lines.append(f"- *{label(way)}*: {at_end} at {longest:,} tokens, {within} up to {up_to:,}, {against}.")
    return "\n".join([lines[0], "", *lines[1:]])


@of(HEADS)
def told_of_heads(frame: pd.DataFrame) -> str:
    """What the heads say, in words."""
    sinks = of_heads(frame, lambda own: (own["sink"] > HALF).mean(), SHARE)
    key, value = of_heads(frame, sink_ratio), of_heads(frame, partial(sink_ratio, what="value"))
    left = {
        way: of_heads(frame, lambda own, way=way: own[way].mean(), SHARE) for way in ("by_nothing", "by_lag", "by_ggd")
    }
    count = len(frame[["layer", "head"]].drop_duplicates())
    lines = [
        f"**{who(frame)}, {count} heads.** {shown(sinks)} of the heads give the first key more than half of their "
        "attention."
    ]
    if pd.notna(key.value):
        lines.append(
            f"In these its key is {shown(key)} times as long as the text's median key, its value {shown(value)}."
        )
    lines.append(
        f"Attention is {left['by_nothing'].value:.2f} (total variation) from uniform, "
        f"{shown(left['by_lag'])} from what lag and first key alone give, {shown(left['by_ggd'])} from a generalised "
        "Gaussian in place of any function of the lag."
    )
    return " ".join(lines)


@of(KEYS)
def told_of_keys(frame: pd.DataFrame) -> str:
    """What retrieval says, in words."""
    own = frame[frame["way"] == "as-is"].groupby("length")["correct"].agg(["sum", "size"])
    whole = ", ".join(f"{row['sum']} of {row['size']} at {length:,} tokens" for length, row in own.iterrows())
    said = f"**{frame['model'].iloc[0]}.** Reading the whole text it finds {whole}."
    for length in sorted(set(frame.loc[frame["way"] == "last", "length"])):
        each = frame[frame["length"] == length].groupby("way", sort=False)["correct"].agg(["sum", "size"])
        parts = ", ".join(f"*{label(way)}* {row['sum']} of {row['size']}" for way, row in each.iterrows())
        said += f" At {length:,} tokens: {parts}."
    return said


@of(EVICTION)
def told_of_eviction(frame: pd.DataFrame) -> str:
    """What eviction says, in words."""
    regions = [region for region in dict.fromkeys(frame["region"]) if region != BASE]
    costs = {region: evicted(frame, region, BASE) for region in regions}
    parts = "; ".join(f"*{region}* {shown(found, '+.2f')}" for region, found in costs.items())
    return f"**{who(frame)}.** Nats lost without the {parts}, a mean over the thirds of the layers."


@of(LOSSES)
def told_of_scaling(frame: pd.DataFrame) -> str:
    """What scalable softmax and a longer base do at the longest length, in words; "" where they were not asked."""
    ways = {way: base for way, base in (("ssmax", "as-is"), ("ntk-ssmax", "ntk"), ("base-50", "as-is"))}
    if not {*ways} <= set(frame["way"]):
        return ""
    parts = []
    for way, base in ways.items():
        far, near = (shown(loses(frame, way, base, beyond), "+.2f") for beyond in (True, False))
        parts.append(
            f"- *{label(way)}* against *{label(base)}*: {far} at {max(frame['length']):,} tokens, {near} up to "
            f"{max(lengths(frame, False)):,}."
        )
    return "\n".join([f"**{who(frame)}.** Nats, on the same tokens:", "", *parts])


def told_of_far(frames: Frames) -> str:
    """How many heads must see far, in words."""
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
            f"{own_keys.sum()} of {len(own_keys)} with {count} heads far, {ORDERS[order]}"
            for order in ("fetching", "distance", "random-0")
            if order in set(own["order"])
            for count in sorted(set(own.loc[own["order"] == order, "far"]) - {0, every})
            for own_keys in [far_seeing(own, order, count)]
        ]
        none, all_ = far_seeing(own, "fetching", 0), far_seeing(own, "fetching", every)
        said += [
            f"{rest.sum()} of {len(rest)} with all but the {few} that fetch best"
            for rest in [far_seeing(own, "others", every - few)]
            if len(rest)
        ]
        lines.append(
            f"- At {length:,} tokens, {label(own['way'].iloc[0])}, keys are found in {all_.sum()} of {len(all_)} "
            f"prompts with all heads far and in {none.sum()} with none; " + "; ".join(said) + "."
        )
    return "\n".join([lines[0], "", *lines[1:]])


@of(DYNAMIC)
def told_of_cache(frame: pd.DataFrame) -> str:
    """What decoding with a cache changes under dynamic NTK, in words."""
    loss_of = {how: own.set_index("document")["loss"] for how, own in frame.groupby("how")}
    more = shown(over(frame, loss_of["with a cache"] - loss_of["one pass"]), "+.4f")
    price = shown(over(frame, loss_of["one pass"] - loss_of["as it is"]), "+.4f")
    return (
        f"**{who(frame)}.** With a factor that grows from token {frame['start'].iloc[0]:,} to "
        f"{frame['length'].iloc[0]:,}, decoding with a cache loses {more} nats against one pass over the same text, "
        f"which itself loses {price} against the model as it is."
    )
