"""Passkey accuracy against length: what the figures share, six encodings, all, the farthest, and decoys."""

import numpy as np

from ... import evaluation
from ...experiments.gate import gated
from ...positions.encodings import ENCODINGS
from .. import panels, style
from ..curves import accuracy_axes, over_seeds, shares
from ..methods import (
    METHODS,
    OURS,
    UNTRAINED,
    alone,
    from_best,
    label,
    look,
    method,
    named,
    named_runs,
    named_seeds,
    numbered,
)
from ..spec import Figure, FigureSpec, Frame, rivals
from ..words import CHANCE, GOOD, bounded, prompts, times, tokens, trained_on

# Accuracy against length
NOTEBOOK = "passkeys"
CONTROLS = {"label": "Chance, untrained"}  # two lines at zero with one name: nobody could tell their ends apart


def shared(frame: Frame) -> Frame:
    """BAM's six encodings with SSMax, and the control: plain, at lengths that all were asked at."""
    rows = plain(frame)
    rows = rows[rows["encoding"].isin([*named(True), UNTRAINED])]
    return _asked_of_all(rivals(rows, "encoding", "passkeys", but=[UNTRAINED]))


def _asked_of_all(rows: Frame) -> Frame:
    """At the lengths of every encoding."""
    return rows[rows["length"].isin(set.intersection(*(set(own["length"]) for _, own in rows.groupby("encoding"))))]


def plain(frame: Frame) -> Frame:
    return frame[frame["form"] == "plain"]


def draw(frame: Frame) -> Figure:
    """A line with its interval for each encoding, a dot for each seed, the two controls.

    Tokens stand below, multiples of the training length above.
    """
    frame = shared(frame)
    fig, ax = style.figure(style.SINGLE, 2.7)
    for name in sorted(set(frame["encoding"]), key=lambda name: (_rank(name), name)):
        rows = frame[frame["encoding"] == name]
        drawn = look(name) | (CONTROLS if name == UNTRAINED else {}) | {"zorder": _rank(name) + 4}
        panels.add(ax, panels.over(rows, "accuracy", drawn, shares))
    lengths, trained = sorted(set(frame["length"])), trained_on(frame)
    ax.plot([lengths[0], lengths[-1]], [evaluation.CHANCE] * 2, **look("chance") | {"label": "_chance"}, zorder=0)
    accuracy_axes(ax, lengths, trained, most=10)
    top = ax.secondary_xaxis("top")
    top.set_xticks(kept := ax.get_xticks(), [times(tick, trained) for tick in kept])
    top.minorticks_off()
    top.tick_params(length=0, pad=1)
    top.spines[:].set_visible(False)
    style.direct_labels(ax)
    return fig


def _rank(name: str) -> int:
    """Drawing order: the control below, BAM on top."""
    return -1 if name == UNTRAINED else list(METHODS).index(method(name))


def last_and_trained(rows: Frame) -> tuple[int, int]:
    return int(rows["length"].max()), trained_on(rows)


def counts(frame: Frame) -> str:
    """How much stands behind a figure: prompts per model and length, and seeds."""
    rows = frame[frame["encoding"] != UNTRAINED]
    return f"{prompts(rows)}; {named_seeds(rows)}"


def missed_gates(rows: Frame) -> str:
    learned = gated(rows)
    missed = named_runs(learned[~learned["passed"]])
    return f" Missed their gate, shown all the same: {missed}." if missed else ""


def share(rows: Frame, length: int, name: str = OURS) -> str:
    """The mean accuracy of an encoding at a length, in words."""
    mean = rows[(rows["encoding"] == name) & (rows["length"] == length)]["accuracy"].mean()
    return "nothing" if np.isnan(mean) else f"{mean:.2f}"


# Accuracy by length of six encodings, all with SSMax
def caption_by_length(frame: Frame) -> str:
    rows = shared(frame)
    last, trained = last_and_trained(rows)
    others = rows[(rows["length"] == last) & ~rows["encoding"].isin([OURS, UNTRAINED])]
    best = others.groupby("encoding")["accuracy"].mean()
    return (
        f"Share of passkeys retrieved by models trained on {trained} tokens, all with SSMax. At "
        f"{tokens(last, trained)} BAM SSMax retrieves {share(rows, last)}, the next by its mean "
        f"({label(best.idxmax())}) {best.max():.2f}. "
        "Line: mean over seeds; bars: 95 % interval of that mean over seeds and prompts; dots: seeds; dotted vertical "
        f"line: training length. Chance is {CHANCE}; the untrained control is BAM SSMax before its first step. "
        f"{counts(rows)}."
    )


BY_LENGTH = FigureSpec(
    "passkey_by_length",
    draw,
    caption_by_length,
    notebook=NOTEBOOK,
    paper="BAM, Fig. 2",
    claims=("BAM-C6", "BAM-C7", "BAM-C13", "BAM-F2"),
    alt="Lines of passkey accuracy against context length on a log axis for six encodings with SSMax, each with bars "
    "for its interval and dots for its seeds; chance and an untrained model lie at zero.",
)


# The main comparison
FARTHEST = 64  # times the training length: what all are asked
ACROSS = 5  # panels in a row


def shown(frame: Frame) -> Frame:
    """Own weights, plain task, lengths that all were asked at: all encodings without SSMax, and BAM with it."""
    rows = plain(frame)
    main = {name for name, row in ENCODINGS.items() if row.trained_as is None and (not row.ssmax or name == OURS)}
    return _asked_of_all(rivals(rows[rows["encoding"].isin(main)], "encoding", "passkey_main"))


def ranked(rows: Frame) -> list[str]:
    """From the best: by mean accuracy over the lengths above the training length."""
    return from_best(rows[rows["length"] > rows["trained"]])


def draw_main(frame: Frame) -> Figure:
    rows = shown(frame)
    made = {
        label(name): [
            *panels.behind(rows, "accuracy"),
            panels.over(rows[rows["encoding"] == name], "accuracy", alone(name), shares),
        ]
        for name in ranked(rows)
    }
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", across=ACROSS, **axis)[0]


def caption_main(frame: Frame) -> str:
    rows = shown(frame)
    last, trained, names = int(rows["length"].max()), trained_on(rows), ranked(rows)
    ends = {name: over_seeds(rows[rows["encoding"] == name], "accuracy", shares).loc[last] for name in names}
    each = "; ".join(f"{label(name)} {bounded(*ends[name][['mean', 'low', 'high']])}" for name in names)
    far = [label(name) for name in names if ends[name]["mean"] >= GOOD]
    return (
        f"Share of passkeys retrieved by {len(names)} encodings trained on texts of varied lengths up to {trained} "
        f"tokens. At {tokens(last, trained)}, {', '.join(far) or 'none'} still answer{'s' * (len(far) == 1)} {GOOD} or "
        f"more on average. Dots: seeds; bars: 95 % interval of their mean, over seeds and prompts; grey: the other "
        f"encodings; dotted: the training length. At the longest length: {each}. {prompts(rows)}; {named_seeds(rows)}. "
        f"Chance is {CHANCE}.{missed_gates(rows)}"
    )


MAIN = FigureSpec(
    "passkey_by_length",
    draw_main,
    caption_main,
    notebook=NOTEBOOK,
    paper="BAM, Fig. 13",
    claims=("X-11", "BAM-C6", "BAM-C7", "BAM-C13", "BAM-F13"),
    alt="Small panels, one for each encoding from the best to the worst, of passkey accuracy against context length up "
    "to 64 times the training length, with seeds as dots and interval bars, the other encodings in grey behind.",
)


# Out to 500 times the training length


def _far(frame: Frame) -> Frame:
    """The plain answers of the encodings that were asked beyond 64 times the training length, from that length on."""
    rows = plain(frame)
    rows = rows[(rows["length"] >= rows["trained"]) & (rows["encoding"] != UNTRAINED)]
    asked = set(rows["encoding"][rows["length"] > FARTHEST * rows["trained"]])
    return rivals(rows[rows["encoding"].isin(asked)], "encoding", "passkey_far")


def draw_far(frame: Frame) -> Figure:
    rows, made = _far(frame), {}
    for name in from_best(rows):
        made[label(name)] = [panels.over(rows[rows["encoding"] == name], "accuracy", alone(name), shares)]
    axis = panels.multiples(rows["length"], trained_on(rows)) | {"levels": [GOOD], "across": 4} | panels.SHARES
    axis["xticks"] = dict(list(axis["xticks"].items())[::2])  # names of more would touch
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", **axis)[0]


def caption_far(frame: Frame) -> str:
    rows = _far(frame)
    last, trained = last_and_trained(rows)
    ends = rows[rows["length"] == last].groupby("encoding")["accuracy"].mean().sort_values(ascending=False)
    return (
        f"Encodings of this section that are asked beyond {FARTHEST} times their training length of {trained} tokens, "
        f"out to {times(last, trained)[:-1]} times. Line: mean over seeds; bars: 95 % interval of that mean over seeds "
        f"and prompts; dots: seeds; dotted lines: the training length, and {GOOD}. Mean at {last:,} tokens: "
        f"{numbered(ends)}. Chance is {CHANCE}. "
        f"{counts(rows)}."
    )


FAR = FigureSpec(
    "passkey_by_length",
    draw_far,
    caption_far,
    notebook=NOTEBOOK,
    paper="BAM, Fig. 3",
    claims=("BAM-C1", "BAM-F3"),
    alt="Panels, one for each encoding that is asked furthest: passkey accuracy against context length up to 500 times "
    "the training length, with seeds as dots and interval bars.",
)


# Accuracy where the key stands among decoy digits, beside the plain form
def _decoys(frame: Frame) -> Frame:
    """The harder form, and the plain one of the same encodings at its lengths, from the training length on."""
    hard = rivals(frame[frame["form"] == "hard"], "encoding", "passkey_hard", but=[UNTRAINED])
    chosen = frame["encoding"].isin(set(hard["encoding"]) - {UNTRAINED}) & frame["length"].isin(set(hard["length"]))
    return frame[chosen & (frame["length"] >= frame["trained"])]


def draw_hard(frame: Frame) -> Figure:
    rows, made = _decoys(frame), {}
    for name in from_best(rows[rows["form"] == "hard"]):
        hard, plain = (rows[(rows["encoding"] == name) & (rows["form"] == form)] for form in ("hard", "plain"))
        mean = plain.groupby("length")["accuracy"].mean()
        without = {"color": style.PALE, "dashes": (3, 1), "label": "plain form"}
        made[label(name)] = [
            panels.over(hard, "accuracy", alone(name) | {"label": "with decoys"}, shares),
            *[panels.Line(mean.index, mean, without)] * (len(plain) > 0),
        ]
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", legend="above", **axis)[0]


def caption_hard(frame: Frame) -> str:
    rows = _decoys(frame)
    last, trained = last_and_trained(rows)
    hard = rows[rows["form"] == "hard"]
    easy = share(plain(rows), last)
    return (
        f"The harder form, trained on {trained} tokens: the key stands among sentences that hold other digits. At "
        f"{tokens(last, trained)} {label(OURS)} retrieves {share(hard, last)}; in the plain form {easy}. "
        f"Line: mean over seeds; bars: 95 % interval of that mean over seeds and prompts; dots: seeds; grey: the mean "
        f"of models trained and asked in the plain form. {prompts(hard)}; {named_seeds(hard)}. Chance is {CHANCE}."
    )


HARD = FigureSpec(
    "passkey_by_length",
    draw_hard,
    caption_hard,
    notebook=NOTEBOOK,
    alt="Panels, one for each encoding, of passkey accuracy against context length for the form with decoy digits, "
    "with interval bars and seeds, and the plain form in grey behind.",
)
