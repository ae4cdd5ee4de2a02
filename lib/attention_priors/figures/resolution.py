"""Resolution: accuracy on finer grids than that of training, and the learned prior as a picture."""

from typing import Any

import matplotlib as mpl

from ..corpora import images
from ..corpora.images.files import Digits, Folder
from ..corpora.images.glyphs import Glyphs
from ..experiments.arms import UNTRAINED
from ..experiments.gate import gated
from ..experiments.resolution import COUNTED, NEAR, STRETCHED, near_mass
from ..positions.grids import GRIDS
from . import lines, panels, style
from .curves import shares
from .heat_maps import bare, color_bar
from .spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from .words import bounded, listed, times, trained_on

# What the figures of resolution share
NOTEBOOK = "genomes_and_images"
# colour, dashes, marker; Goat's ladders share a colour
LOOKS: dict[str, tuple[str, tuple, str]] = {
    "nope-2d": (style.DARK, (1, 1), "X"),
    "learned-2d": (style.BLUE, (5, 1.5), "s"),
    "sinusoidal-2d": (style.PINK, (2, 1, 1, 1), "D"),
    "rope-2d": (style.GREEN, (3, 1), "^"),
    "goat-2d": (style.RED, style.SOLID, "*"),
    "goat-2d-wide": (style.lighten(style.RED, 0.25), (6, 1, 1, 1), "P"),
    "goat-2d-split": (style.lighten(style.RED, 0.45), (4, 2), "d"),
    "goat-2d-round": (style.darken(style.RED, 0.35), (2, 2), "o"),
}


def drawn(name: str) -> dict[str, Any]:
    if name == UNTRAINED:
        return dict(style.CONTROLS[UNTRAINED])
    return lines.look(*LOOKS[name], GRIDS[name].label)


def label(name: str) -> str:
    return drawn(name)["label"]


# Accuracy by resolution, with patches counted and with the grid stretched over the picture
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


def _pictures(frame: Frame) -> str:
    return PICTURES[images.kind(frame["images"].iloc[0])]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    trained, last = trained_on(rows), int(rows["side"].max())
    names = [name for name in dict.fromkeys(rows["encoding"]) if name in TOLD]
    means = rows[rows["side"] == last].groupby(["encoding", "places"])["accuracy"].mean()
    ways = {name: [f"{means[name, places]:.2f}" for places in TITLES] for name in names}
    said = ", ".join(f"{label(name)} {' and '.join(each)}" for name, each in ways.items())
    gates, needed = gates_of(rows), f"the gate of {rows['gate'].iloc[0]:g}"
    missed = gates[~gates["passed"].astype(bool)]
    runs = (f"{label(name)} (seed {listed(own['seed'])})" for name, own in missed.groupby("encoding", sort=False))
    lacking = f" Below {needed}: {', '.join(runs)}." if len(missed) else f" All pass {needed}."
    return (
        f"Held-out pictures, {_pictures(rows)}; models trained at {trained} pixels. At {last} pixels, "
        f"patches counted and grid stretched: {said}. A learned table is always stretched. Models without a class "
        f"token; untrained: one before training.{lacking} Bars: 95 % interval of the mean over seeds "
        f"{listed(rows['seed'])}; dots: seeds; {int(rows['samples'].max())} pictures."
    )


def gates_of(rows: Frame) -> Frame:
    """Which runs are at the gate or above it at the resolution of training."""
    counted = rows[(rows["places"] == COUNTED) & (rows["encoding"] != UNTRAINED)]
    return gated(counted.rename(columns={"side": "length"}))


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
                mean = (at["correct"] / at["samples"]).mean()
                cells[f"{side} px ({times(side, trained)})"] = bounded(mean, *shares(at))
            row = {"encoding": label(name), "class token": "yes" if token else "no", "places": places}
            made.append(row | {"passed": f"{int(passed.sum())} of {len(passed)}"} | cells)
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
ACCURACY = FigureSpec(
    "resolution_answers", draw, caption, ALT, NOTEBOOK, paper="Goat, Fig. 5", claims=("GOAT-F5", "GOAT-C-9")
)
TABLE = TableSpec("resolution_answers", build, caption_table, NOTEBOOK, paper="Goat, Fig. 5")
DIGITS = FigureSpec(
    "digits_answers",
    draw,
    caption,
    ALT.replace("accuracy", "accuracy on digits", 1),
    NOTEBOOK,
)
DIGITS_TABLE = TableSpec("digits_answers", build, caption_table, NOTEBOOK)


# The priors that were learned on a grid, as pictures
FIRST, SECOND = "goat-2d", "goat-2d-split"
DEPTH = 8.0  # nats below the largest value, from where on a key hardly counts
MOST = 12  # maps
TITLE = 1.0  # inches of one


def one(frame: Frame) -> Frame:
    """The first seed of Goat, and of the split ladder where it is trained. NotCompared where neither is."""
    rows = frame[frame["encoding"].isin((FIRST, SECOND))]
    if rows.empty:
        raise NotCompared("resolution_prior: no prior over a grid is trained under this profile; a larger one has some")
    return rows[rows["seed"] == rows["seed"].min()]


def maps(rows: Frame) -> list[tuple[str, Frame]]:
    """(title, table of κ by row and column of the lag), by encoding, layer and head."""
    each = rows.groupby(["encoding", "layer", "head"], sort=False)
    return [
        (
            f"{panels.broken(label(name), TITLE)}\nlayer {layer}, head {head}",
            own.pivot(index="down", columns="across", values="value"),
        )
        for (name, layer, head), own in each
    ]


def draw_prior(frame: Frame) -> Figure:
    found = maps(one(frame))[:MOST]
    across = min(4, len(found))
    down = -(-len(found) // across)
    fig, axes = style.figure(
        style.MIDDLE, 0.6 + 1.7 * down, nrows=down, ncols=across, squeeze=False, sharex=True, sharey=True
    )
    for ax, (title, table) in zip(style.panels(axes, len(found)), found, strict=True):
        rows, columns = table.index.to_numpy(), table.columns.to_numpy()
        mesh = ax.pcolormesh(columns, rows, table.to_numpy(), vmin=-DEPTH, vmax=0, shading="nearest", rasterized=True)
        ax.add_patch(mpl.patches.Circle((0, 0), NEAR, fill=False, color="white", linewidth=0.7, linestyle=":"))
        bare(ax)
        ends = [rows.max() // 2 * sign for sign in (-1, 0, 1)]
        ax.set(aspect="equal", title=title, ylim=(rows.max() + 0.5, rows.min() - 0.5), xticks=ends, yticks=ends)
    fig.supxlabel("columns from the key to the query (patches)")
    fig.supylabel("rows from the key to the query")
    color_bar(mesh, axes, label="log-prior less its largest value", shrink=0.8)
    return fig


def caption_prior(frame: Frame) -> str:
    rows = one(frame)
    shares = {
        name: [near_mass(table.to_numpy()) for _, table in maps(own)]
        for name, own in rows.groupby("encoding", sort=False)
    }
    said = "; ".join(f"{label(name)} {sum(near for near, _ in each) / len(each):.2f}" for name, each in shares.items())
    uniform = next(iter(shares.values()))[0][1]
    return (
        f"The priors of one model (seed {int(rows['seed'].iloc[0])}) over the lags of its grid, started from uniform; "
        f"the query stands in the middle. Share of the prior's mass within {NEAR:g} patches (circle), mean over heads: "
        f"{said}; a uniform prior has {uniform:.2f}."
    )


PRIOR = FigureSpec(
    "resolution_priors",
    draw_prior,
    caption_prior,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 5",
    claims=("GOAT-F5",),
    alt="Heat maps of the learned log-prior over row and column lags, one for each layer and head, the query in the "
    "middle and a circle of two patches around it.",
)
