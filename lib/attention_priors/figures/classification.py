"""Coordinates that relative priors need inside one attention call, and a slope on keys in half precision."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec

BLACK, GREEN, PINK, BLUE, ORANGE, SKY = "#000000", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#3FA3DB"
# colour, dashes, marker; blue and green: finite rank, orange and pink: infinite but smooth, black: a table
PRIORS = {
    "ALiBi": (BLUE, style.SOLID, "s"),
    "damped mode": (SKY, (5, 1.5), "v"),
    "BAM, beta = 2": (BLUE, (1, 1), "x"),
    "Goat, 2 modes": (GREEN, style.SOLID, "^"),
    "Sandwich": (GREEN, (3, 1, 1, 1), "D"),
    "KERPLE, logarithm": (ORANGE, style.SOLID, "o"),
    "KERPLE, square root": (PINK, (3, 1), "P"),
    "BAM, beta = -1/5": (ORANGE, (1, 1), "h"),
    "T5": (BLACK, (5, 1, 1, 1), "*"),
}
SHOWN = 1e-6  # nats; below lies rounding
SLOPES = {0.5: (BLUE, "s"), 0.25: (ORANGE, "o"), 0.0625: (GREEN, "^"), 0.00390625: (PINK, "D")}


def draw_ranks(frame: pd.DataFrame) -> Figure:
    """Columns panel, prior, x, value: coordinates by keys; largest logit error by coordinates."""
    fig, (rank, error) = style.figure(style.DOUBLE, 2.7, ncols=2, width_ratios=(1, 1.1))
    for name, (color, dashes, marker) in PRIORS.items():
        label = _written(name)
        rows = frame[(frame["panel"] == "rank") & (frame["prior"] == name)]
        rank.plot(rows["x"], rows["value"], color=color, dashes=dashes, marker=marker, label=label)
        rows = frame[(frame["panel"] == "error") & (frame["prior"] == name)]
        shown = rows[(rows["value"] > SHOWN).shift(fill_value=True)]  # down to the floor, and no further
        error.plot(shown["x"], shown["value"].clip(lower=SHOWN), color=color, dashes=dashes, marker=marker,
                   markersize=3, label=label)  # fmt: skip
    keys = frame.loc[frame["panel"] == "rank", "x"].astype(int)
    style.length_axis(rank, keys, most=8)
    rank.set_yscale("log", base=2)
    ticks = [1, 2, 4, 8, 16, 32, 64, 128]
    rank.set_yticks(ticks, [str(tick) for tick in ticks])
    rank.set(xlabel="visible keys $n$", ylabel="coordinates of query and key", title="exactly")
    error.set(yscale="log", ylim=(SHOWN / 2, None))
    error.set_xlim(-0.6, frame.loc[frame["panel"] == "error", "x"].max() + 0.6)
    error.axhline(0.01, color="#7F7F7F", linewidth=0.7, linestyle=":")
    error.set(xlabel="coordinates of query and key", ylabel="largest error of a logit (nats)",
              title=f"approximately, $n = {keys.max()}$")  # fmt: skip
    handles, labels = rank.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5)
    return fig


def _written(name: str) -> str:
    return name.replace("beta", "β")


def caption_ranks(frame: pd.DataFrame) -> str:
    last = frame[(frame["panel"] == "rank") & (frame["x"] == frame.loc[frame["panel"] == "rank", "x"].max())]
    exact = last.set_index("prior")["value"].astype(int)
    error = frame[frame["panel"] == "error"]
    enough = error[error["value"] <= 0.01].groupby("prior")["x"].min().astype(int)
    listed = ", ".join(f"{exact[name]} ({_written(name)})" for name in PRIORS)
    close = ", ".join(
        f"{enough[name]} ({_written(name)})" for name in PRIORS if name in enough and enough[name] < exact[name]
    )
    waves = frame[(frame["panel"] == "rank") & (frame["prior"] == "Sandwich")].sort_values("x")["value"]
    when = "beyond what is drawn" if waves.iloc[-1] > waves.iloc[-2] else "late"
    return (
        f"Left: coordinates that queries and keys need to carry a relative prior through plain attention, n queries "
        f"seeing n keys, up to a row constant (singular values above 1e-12 of the largest). At n = "
        f"{int(last['x'].iloc[0])}: {listed}. Finite ranks level off, Sandwich's 64 cosines {when}; powers "
        f"and logarithms grow like ln n; T5's table grows up to its last bucket. Right: largest error of a logit if "
        f"fewer coordinates are used; errors below {SHOWN:g} are drawn there. Within 0.01 nats (dotted): {close}."
    )


def draw_rounding(frame: pd.DataFrame) -> Figure:
    """Columns dtype, lanes, slope, keys, misplaced: weight on the wrong keys by context length."""
    dtypes = list(dict.fromkeys(frame["dtype"]))
    fig, axes = style.figure(style.DOUBLE, 2.3, ncols=len(dtypes), sharey=True)
    for ax, dtype in zip(np.atleast_1d(axes), dtypes, strict=True):
        for (lanes, slope), rows in frame[frame["dtype"] == dtype].groupby(["lanes", "slope"], sort=False):
            color, marker = SLOPES[slope]
            dashes = style.SOLID if lanes == 1 else (2, 1)
            label = rf"$m = 2^{{{int(np.log2(slope))}}}$" if lanes == 1 else "_two"
            ax.plot(rows["keys"], rows["misplaced"], color=color, dashes=dashes, marker=marker, label=label)
        style.length_axis(ax, frame["keys"], most=6)
        ax.set(xlabel="visible keys", title=dtype, ylim=(-0.03, 1.03))
    axes[0].set_ylabel("weight on the wrong keys")
    axes[0].plot([], [], color="#7F7F7F", dashes=(2, 1), label="two coordinates")
    axes[0].legend(loc="upper left")
    return fig


def caption_rounding(frame: pd.DataFrame) -> str:
    one = frame[(frame["dtype"] == "bf16") & (frame["lanes"] == 1)].set_index(["slope", "keys"])["misplaced"]
    two = frame[(frame["dtype"] == "bf16") & (frame["lanes"] == 2) & (frame["keys"] <= 65_536)]["misplaced"].max()
    longest = int(frame["keys"].max())
    middle = 2048 if (0.5, 2048) in one.index else longest
    listed = ", ".join(f"{one[slope, middle]:.3f} (m = {slope:g})" for slope in SLOPES if (slope, middle) in one.index)
    return (
        f"ALiBi's weights written as a slope m j in one coordinate of the keys: total variation to the exact weights "
        f"for the last query, equal content, after rounding the coordinate. bf16 with {middle:,} keys: {listed}. Lines "
        f"that end have overflowed. Dashed: two coordinates, j = N a + b with N = 256 (bf16) or 2048 (fp16); in "
        f"bf16 at most {two:.1e} up to 65,536 keys."
    )


FIGURES = {
    "classification_rank": FigureSpec(
        metrics="classification_rank",
        draw=draw_ranks,
        caption=caption_ranks,
        alt="Left, coordinates by number of keys on logarithmic axes: four lines level off at once, three rise slowly, "
        "Sandwich's and T5's rise steeply, the latter to about a hundred. Right, error by number of coordinates: "
        "straight falls for powers and logarithms, sudden drops for small ranks, no gain for Sandwich and T5.",
        paper="Goat, Theorem 2",
        notebook="02_one_parameter_groups",
    ),
    "key_slope_rounding": FigureSpec(
        metrics="key_slope_rounding",
        draw=draw_rounding,
        caption=caption_rounding,
        alt="Weight on the wrong keys by context length for four slopes in bf16 and fp16: zero up to 256 or 2048 keys, "
        "then rising towards one, earlier for steeper slopes; with two coordinates zero until much later.",
        paper="Goat, Proposition F.6",
        notebook="03_field_guide",
    ),
}
