"""What a prior puts near and far, and what its model retrieves (X-11)."""

import math

from attention_priors.experiments.tails import NEAR, QUANTITIES, correlation
from attention_priors.figures import forest
from attention_priors.figures.encodings.families import FAMILIES
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import bounded, trained_on
from attention_priors.positions.encodings import encoding


def shown(frame: Frame) -> Frame:
    return rivals(frame[frame["passed"].astype(bool)], "encoding", "encodings_tails")


def draw(frame: Frame) -> Figure:
    """A row for each encoding, the most accurate on top; accuracy beside the quantities, with seeds."""
    rows = shown(frame)
    order = rows.groupby("encoding")["accuracy"].mean().sort_values(ascending=False, kind="stable").index
    trained = trained_on(rows)
    where = (f"lags below {trained // NEAR}", f"lags above {trained}", "of near and far")
    titles = {"accuracy": f"passkeys at {int(rows['length'].iloc[0]):,} tokens"}
    titles |= {name: f"{words},\n{lags}" for (name, words), lags in zip(QUANTITIES.items(), where, strict=True)}
    made = []
    for name in order:
        own = rows[rows["encoding"] == name]
        cells = {title: forest.Cell(list(own[column]), own[column].mean(), own[column].min(), own[column].max())
                 for column, title in titles.items()}  # fmt: skip
        drawn = FAMILIES[encoding(name).family]
        made.append(forest.Row(label(name), cells, drawn[1], drawn[2], hollow=not encoding(name).ssmax))
    return forest.draw(made, list(titles.values()), "share of prompts; share of the prior's mass", above=0.9)[0]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    found = {words: correlation(frame, name) for name, words in QUANTITIES.items()}
    said = "; ".join(f"{words} {bounded(each.rho, each.low, each.high)}, p = {each.p:.2g}"
                     for words, each in found.items() if not math.isnan(each.rho))  # fmt: skip
    missed = sorted({label(name) for name in frame["encoding"]} - {label(name) for name in rows["encoding"]})
    trained = trained_on(rows)
    return (
        f"What a prior allows and what its model does: the most that one head's prior alone puts on lags below "
        f"{trained // NEAR} and on lags above {trained}, the training length; and the share of passkeys retrieved. At "
        f"a query that sees {int(rows['length'].iloc[0]):,} keys. Marks: means over seeds, "
        f"filled with SSMax; bars: extremes over seeds; dots above: seeds. Spearman's "
        f"correlation over {rows['encoding'].nunique()} encodings, p by permuting them: "
        f"{said or 'not defined here'}. Rotations and embeddings have no prior"
        f"{'; no seed passed the gate of ' + ', '.join(missed) if missed else ''}."
    )


FIGURE = FigureSpec(
    "encodings_tails", draw, caption, notebook="passkeys", claims=("X-11",),
    columns=("encoding", "length", "trained", *QUANTITIES, "accuracy", "passed"),
    alt="Rows of encodings that have a log-prior or none, from the one that retrieves most: passkeys retrieved, beside "
    "the prior's near mass, its far mass and the smaller of both.",
)  # fmt: skip
