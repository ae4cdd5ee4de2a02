"""Accuracy by resolution, with patches counted and with the grid stretched over the picture: figures and tables.

Two of each: of drawn pictures, and of written digits.
"""

from attention_priors.corpora import images
from attention_priors.corpora.images.files import Digits, Folder
from attention_priors.corpora.images.glyphs import Glyphs
from attention_priors.evaluation import share_interval
from attention_priors.experiments.arms import UNTRAINED
from attention_priors.experiments.gate import gated
from attention_priors.experiments.resolution import COUNTED, STRETCHED
from attention_priors.figures import panels, style
from attention_priors.figures.curves import shares
from attention_priors.figures.resolution.looks import NOTEBOOK, drawn, label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, listed, times, trained_on

COLUMNS = ("encoding", "token", "seed", "places", "side", "correct", "samples", "trained", "images", "classes", "gate")
TITLES = {COUNTED: "patches counted", STRETCHED: "grid stretched over the picture"}
TOLD = ("learned-2d", "rope-2d", "goat-2d")  # of which the caption gives numbers
PICTURES = {  # what kind of source makes of a picture at another resolution
    Glyphs: "drawn anew at each resolution",
    Digits: "handwritten digits resized from MNIST's 28 pixels",
    Folder: "photos resized to each resolution",
}


def shown(frame: Frame) -> Frame:
    """The models without a class token, or those with one where there are no others."""
    rows = frame[frame["token"] == frame["token"].min()]
    return rivals(rows.assign(accuracy=rows["correct"] / rows["samples"]), "encoding", "resolution", but=[UNTRAINED])


def draw(frame: Frame) -> Figure:
    """A panel for each way to lay the grid; a line for each encoding, its interval, its seeds."""
    rows, made = shown(frame), {}
    for places, title in TITLES.items():
        here = rows[(rows["places"] == places) | (rows["encoding"] == UNTRAINED)]
        made[title] = [
            panels.over(own, "accuracy", drawn(name), shares, by="side")
            for name, own in here.groupby("encoding", sort=False)
        ]
    sides = sorted(set(rows["side"]))
    axis = {"base": 2, "xticks": {side: f"{side}" for side in sides}, "dotted": [trained_on(rows)], **panels.SHARES}
    room = (sides[0] / 1.1, sides[-1] * 1.1)  # for the points that stand beside their place
    fig, axes = panels.draw(made, "pixels on a side", "share of pictures right", height=2.15, xlim=room, **axis)
    style.direct_labels(axes[1])
    return fig


def _mean(rows: Frame, name: str, places: str, side: int) -> float:
    own = rows[(rows["encoding"] == name) & (rows["places"] == places) & (rows["side"] == side)]
    return float(own["accuracy"].mean())


def _pictures(frame: Frame) -> str:
    return PICTURES[images.kind(frame["images"].iloc[0])]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    trained, last = trained_on(rows), int(rows["side"].max())
    names = [name for name in dict.fromkeys(rows["encoding"]) if name in TOLD]
    ways = {name: [f"{_mean(rows, name, places, last):.2f}" for places in TITLES] for name in names}
    said = ", ".join(f"{label(name)} {' and '.join(each)}" for name, each in ways.items())
    gates, needed = gates_of(rows), f"the gate of {rows['gate'].iloc[0]:g}"
    missed = gates[~gates["passed"].astype(bool)]
    lacking = f" Below {needed}: {_missed(missed)}." if len(missed) else f" All pass {needed}."
    return (
        f"Held-out pictures, {_pictures(rows)}; models trained at {trained} pixels. At {last} pixels, "
        f"patches counted and grid stretched: {said}. A learned table is always stretched.{lacking} Bars: 95 % "
        f"interval of the mean over seeds {listed(rows['seed'])}; dots: seeds; {int(rows['samples'].max())} pictures."
    )


def gates_of(rows: Frame) -> Frame:
    """Which runs are at the gate or above it at the resolution of training."""
    counted = rows[(rows["places"] == COUNTED) & (rows["encoding"] != UNTRAINED)]
    return gated(counted.rename(columns={"side": "length"}))


def _missed(gates: Frame) -> str:
    return ", ".join(
        f"{label(name)} (seed {listed(own['seed'])})" for name, own in gates.groupby("encoding", sort=False)
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding, with a class token and without, and each way to lay the grid."""
    rivals(frame, "encoding", "resolution", but=[UNTRAINED])
    made, trained = [], trained_on(frame)
    for (name, token), rows in frame.groupby(["encoding", "token"], sort=False):
        if name == UNTRAINED:
            continue
        passed = gates_of(rows)["passed"].astype(bool)
        for places in dict.fromkeys(rows["places"]):
            own, cells = rows[rows["places"] == places], {}
            for side in sorted(set(rows["side"])):
                at = own[own["side"] == side]
                low, high = share_interval(at["correct"], at["samples"])
                cells[f"{side} px ({times(side, trained)})"] = bounded(
                    (at["correct"] / at["samples"]).mean(), low, high
                )
            made.append(
                {
                    "encoding": label(name),
                    "class token": "yes" if token else "no",
                    "places": places,
                    "passed": f"{int(passed.sum())} of {len(passed)}",
                }
                | cells
            )
    return Frame(made)


def caption_table(frame: Frame) -> str:
    return (
        f"Models trained at {trained_on(frame)} pixels: share of held-out pictures ({_pictures(frame)}) right, mean "
        f"over seeds {listed(frame['seed'])} [95 % interval]. Passed: runs at {frame['gate'].iloc[0]:g} or more at the "
        f"resolution of training; others decide nothing. Chance is {1 / frame['classes'].iloc[0]:g}."
    )


ALT = (
    "Two panels of accuracy against resolution, patches counted in a and the grid stretched in b; a "
    "line with bars for each encoding, dots for seeds, a dotted line at the resolution of training."
)
FIGURE = FigureSpec(
    "resolution_answers", draw, caption, ALT, NOTEBOOK, COLUMNS, paper="Goat, Fig. 5", claims=("GOAT-F5", "GOAT-C-9")
)
TABLE = TableSpec("resolution_answers", build, caption_table, NOTEBOOK, COLUMNS, paper="Goat, Fig. 5")
DIGITS = FigureSpec(
    "digits_answers",
    draw,
    caption,
    ALT.replace("accuracy", "accuracy on digits", 1),
    NOTEBOOK,
    COLUMNS,
)
DIGITS_TABLE = TableSpec("digits_answers", build, caption_table, NOTEBOOK, COLUMNS)
