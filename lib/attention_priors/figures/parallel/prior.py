"""The prior of shared positions: weight by true distance, and the mass of each chunk (ParallelComp, Fig. 4)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attention_priors.figures import lines, panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.inference import softmax
from attention_priors.theory.parallel import reused_lags

POSITIONS = {
    "true": (style.BLUE, (4, 1.5), "None", "true positions"),
    "shared": (style.ORANGE, style.SOLID, "None", "shared positions"),
}


def weights(chunks: int, size: int, slope: float) -> Frame:
    """Weight without content of each key for the first query token, relative to the uniform share, by true distance.

    Bias -slope * lag: with the true positions, and with positions that the chunks share. Columns positions, distance,
    chunk, share; chunk counts from the oldest, 0 is the query itself.
    """
    distance = chunks * size - np.arange(chunks * size + 1)
    places = {"distance": distance, "chunk": np.append(np.repeat(np.arange(1, chunks + 1), size), 0)}
    return stacked(
        {"positions": name, **places, "share": softmax(-slope * lags) * len(lags)}
        for name, lags in (("true", distance), ("shared", reused_lags(chunks, size)))
    )


def rows(size: Size, seed: int, chunks=6, slope=0.05) -> Frame:
    """Chunks of an eighth of the length."""
    return weights(chunks, size.length // 8, slope)


def _curves(ax: Axes, frame: Frame) -> None:
    """Weight by true distance; chunks are separated by dotted lines."""
    lines.plot(ax, frame.sort_values("distance", kind="stable"), "distance", "share", "positions", POSITIONS)
    for distance in frame[frame["chunk"] > 0].groupby("chunk")["distance"].min():
        ax.axvline(distance, color=style.PALE, linewidth=0.6, linestyle=":", zorder=0)
    ax.set(xlabel="true distance to the query", ylabel="weight / uniform share", yscale="log")
    ax.set_ylim(max(1e-4, frame["share"].min() / 2), 2 * frame["share"].max())


def _masses(frame: Frame) -> pd.Series:
    """Mass by positions and chunk."""
    return frame.groupby(["positions", "chunk"])["share"].sum() / frame.groupby("positions")["share"].sum()


def draw(frame: Frame) -> Figure:
    fig, (curves, masses) = style.figure(style.MIDDLE, 2.2, ncols=2, width_ratios=(3, 2))
    _curves(curves, frame)
    curves.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    mass, chunks = _masses(frame), sorted(set(frame["chunk"]) - {0})
    for shift, (positions, (color, dashes, *_)) in zip((-0.2, 0.2), POSITIONS.items(), strict=True):
        hatch = "" if dashes is style.SOLID else "////"
        heights = [mass[positions, chunk] for chunk in (*chunks, 0)]
        masses.bar(np.arange(len(heights)) + shift, heights, 0.38, color=color, hatch=hatch, ec="white", lw=0)
    masses.axhline(1 / len(chunks), color=style.GREY, linewidth=0.8, linestyle="--")
    masses.annotate(
        "$1/C$", (-0.5, 1 / len(chunks)), xytext=(0, 2), textcoords="offset points", fontsize=style.SMALLEST
    )
    masses.set_xticks(range(len(chunks) + 1), [*map(str, chunks), "q"])
    masses.set(xlabel="chunk, oldest first (q: own key)", ylabel="mass without content")
    masses.grid(axis="x", visible=False)
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    mass, chunks = _masses(frame), int(frame["chunk"].max())
    size = int((frame[frame["positions"] == "true"]["chunk"] == 1).sum())
    return (
        f"ALiBi without content over {chunks} chunks of {size} keys. Panel a: with true positions (dashed) weight "
        "decays over the whole context; where chunks share their positions (solid) the same decay starts again in "
        f"every chunk. Panel b: the oldest chunk holds {mass['true', 1]:.1e} of the mass with true positions and "
        f"{mass['shared', 1]:.3f} with shared ones, as much as any other; 1/C is {1 / chunks:.3f}. q: the query's own "
        "key."
    )


def explore(size: int, chunks: int, slope: float) -> Figure:
    """Both priors of one setting, by distance to the query."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    frame = weights(chunks, size, slope)
    _curves(ax, frame)
    recent = frame[frame["distance"] <= size].groupby("positions")["share"].sum()
    total = frame.groupby("positions")["share"].sum()
    shown = ", ".join(f"{recent[name] / total[name]:.2f} ({name})" for name in POSITIONS)
    ax.set_title(f"mass of the last {size} keys: {shown}")
    return lines.once(fig)


FIGURE = FigureSpec(
    "parallel_prior",
    draw,
    caption,
    notebook="parallel_attention",
    paper="ParallelComp, Fig. 4",
    rows=rows,
    columns=("positions", "distance", "chunk", "share"),
    claims=("PC-PRIOR",),
    alt="Panel a: a line that falls over the whole context and a saw-tooth that restarts in each chunk. Panel b: bars "
    "of chunk mass, concentrated on the newest chunk with true positions, equal with shared ones.",
)
