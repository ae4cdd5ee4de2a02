"""Growth of the loss with the context, of all encodings as language models: figure and table."""

import math

import numpy as np
import pandas as pd

from attention_priors.experiments.arms import OWN
from attention_priors.figures import heat_maps
from attention_priors.figures.encodings.families import FAMILIES, compared, draw_map, whose
from attention_priors.figures.language.rows import MISSED
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes, trained_on

NOTEBOOK = "language_models"
TOP = 0.5  # nats at which the colours end: 65 % more perplexity
MULTIPLES = (4, 16, 64)


def ranked(frame: Frame) -> list[str]:
    """Encodings from the most level: by mean growth over the lengths above the training length that all are read at."""
    common = frame[frame["length"].isin(compared(frame))]
    order = common.groupby("encoding", sort=False)["growth"].mean().fillna(math.inf)
    return list(order.sort_values(kind="stable").index)


def missed(frame: Frame) -> set[str]:
    """Encodings of which no seed passed the gate of word order."""
    return set(frame.loc[frame["passed"] == 0, "encoding"])


def draw(frame: Frame) -> Figure:
    """Rows are encodings, cells nats."""
    rivals(frame, "encoding", "growth of the loss")
    labels = {name: label(name) + MISSED * (name in missed(frame)) for name in ranked(frame)}
    mesh = draw_map(
        frame,
        "growth",
        labels,
        {"undefined": "n/a", "left out": ""},
        "{:z.2f}".format,
        lambda value: value >= TOP / 2,
        vmin=0,
        vmax=TOP,
        cmap="cividis_r",
    )
    ax, right = mesh.axes, frame["length"].nunique() + 0.12
    first = frame.drop_duplicates("encoding").set_index("encoding").loc[list(labels)]
    for row, found in enumerate(first.itertuples()):
        own = f"{math.exp(found.loss_at):.1f}" if found.borrows == OWN else "*"
        heat_maps.write(ax, right, row + 0.52, own, ha="left")
    heat_maps.write(ax, right, -0.15, "perplexity\nat 1×", ha="left", va="bottom")
    heat_maps.color_bar(
        mesh, ax, ticks=[0, 0.1, 0.3, TOP], aspect=40, pad=0.1, extend="max", label="growth of the loss (nats)"
    )
    return mesh.figure


def caption(frame: Frame) -> str:
    trained = trained_on(frame)
    wide = (frame["high"] - frame["low"])[(frame["state"] == "read") & (frame["length"] > trained)]
    half = f" Intervals are in the table; half of them are wider than {wide.median():.2f}."
    spread = "" if np.isinf(wide).any() else half
    first = frame.iloc[0]
    told = f"{MISSED}: no seed passed the gate of word order." if missed(frame) else ""
    return (
        f"{len(ranked(frame))} encodings and extensions as language models: loss on the last {first['scored']} tokens "
        f"of {first['documents']} held-out documents above that at the training length ({trained} tokens). Mean of "
        f"{extremes(frame['seeds'])} seeds; 0.1 nats are 10 % more perplexity. Right: "
        "perplexity at the training length; *: the weights of another row (RoPE's, SSMax or not), which was not "
        "trained for this reading, and the growth is over that row's loss. Ordered by the mean growth over the lengths "
        f"that all are read at. Empty: not read; n/a: the encoding ends before.{told}{spread} Colours end at "
        f"{TOP} nats."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding, the most level first."""
    trained, made = trained_on(frame), []
    for name in ranked(frame):
        own = frame[frame["encoding"] == name].set_index("length")
        first = own.iloc[0]
        cells = {
            f"growth at {n}× (nats)": _cell(own.loc[n * trained]) if n * trained in own.index else "–"
            for n in MULTIPLES
        }
        at = np.exp(first[["loss_at", "low_at", "high_at"]].astype(float))
        made.append(
            {
                "encoding": whose(name, first["borrows"]),
                "position": FAMILIES[first["family"]][0],
                "seeds": first["seeds"],
                "that know order": first["passed"],
                "perplexity at 1×": bounded(*at, digits=1),
                **cells,
            }
        )
    return Frame(made)


def _cell(row: pd.Series) -> str:
    return bounded(row["growth"], row["low"], row["high"]) if row["state"] == "read" else "–"


def caption_table(frame: Frame) -> str:
    first = frame.iloc[0]
    return (
        f"{frame['encoding'].nunique()} encodings and extensions as language models, one recipe, "
        f"{first['trained']} tokens of training: perplexity at the training length, and the growth of the loss from "
        f"there to multiples of it, on the same {first['scored']} tokens of {first['documents']} held-out documents "
        "(mean over seeds [95 % t interval over seeds; none for one seed]). For weights of another row the growth is "
        "over that row's loss at the training length. –: not read at that length, or the encoding ends before."
    )


COLUMNS = (
    "encoding",
    "family",
    "borrows",
    "seeds",
    "passed",
    "length",
    "trained",
    "growth",
    "low",
    "high",
    "loss_at",
    "state",
    "scored",
    "documents",
)
FIGURE = FigureSpec(
    "encodings_perplexity",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("BAM-C5", "OPG-18", "PE-BIAS", "PE-C2", "PE-C3", "PE-C4", "PE-C5", "PE-F3", "PE-F6", "PE-KERPLE-E"),
    columns=COLUMNS,
    alt="Heat map with a row for each encoding and a column for each context length, cells with the growth of the loss "
    "in nats; a marker at each row tells how position enters, a number on the right the perplexity at the training "
    "length.",
)
TABLE = TableSpec("encodings_perplexity", build, caption_table, NOTEBOOK, (*COLUMNS, "low_at", "high_at"))
