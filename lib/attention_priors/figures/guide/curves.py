"""Curves of the field guide: T5's buckets, decay under RoPE and xPos, a slope on keys in half precision, sinusoids."""

import numpy as np
import torch

from ...positions.absolute import Sinusoidal
from ...positions.rotary import rope, xpos
from ...theory.inference import printed_t5_bucket, t5_bucket
from ...theory.key_slope import key_slope, misplaced, split_key_slope
from ...theory.rotations import mean_score
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked

# T5's bucket of each causal lag
BUCKETS_LOOKS = {"code": (style.BLUE, style.SOLID, "None"), "printed formula": (style.ORANGE, (5, 1.5), "None")}


def rows_buckets(size: Size, seed: int, farthest=300) -> Frame:
    """Bucket by lag, one curve after the other."""
    lags = np.arange(farthest + 1)
    printed = [d if d < 16 else printed_t5_bucket(d) for d in lags]
    curves = {"code": t5_bucket(lags), "printed formula": printed}
    return stacked({"curve": name, "lag": lags, "bucket": values} for name, values in curves.items())


def draw_buckets(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.2)
    lines.plot(
        ax, frame.assign(place=frame["lag"] + 1), "place", "bucket", "curve", BUCKETS_LOOKS, drawstyle="steps-post"
    )
    first = _first_of_last(frame)
    lines.place(ax, first + 1)
    style.note(ax, f"lag {first}", (first + 1, 8))
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="bucket", ylim=(-1, 33))
    ax.legend(loc="upper left")
    return fig


def _first_of_last(frame: Frame) -> int:
    code = frame[frame["curve"] == "code"]
    return int(code.loc[code["bucket"] == code["bucket"].max(), "lag"].min())


def caption_buckets(frame: Frame) -> str:
    lags = frame[frame["curve"] == "printed formula"].set_index("lag")["bucket"]
    return (
        "Bucket of each causal lag in T5: as its code computes it and as the survey's formula has it. The formula "
        f"falls back to bucket {lags[16]:.0f} at lag 16 and reaches bucket {lags.iloc[-1]:.0f} at lag "
        f"{int(lags.index[-1]):,}. In the code all lags from {_first_of_last(frame)} on share the last bucket."
    )


BUCKETS = FigureSpec(
    "guide_buckets",
    draw_buckets,
    caption_buckets,
    notebook="field_guide",
    rows=rows_buckets,
    claims=("PE-T5", "PE-E-T5", "PE-E-T5b"),
    alt="Bucket by lag: the code's staircase rises to 31 at lag 113; the printed formula drops to 0 at lag 16.",
)


# Score of equal vectors by lag under RoPE and xPos
# colour, dashes, width
DECAY_LOOKS = {"RoPE": (style.GREEN, style.SOLID, 0.7), "xPos, scale 512": (style.ORANGE, style.SOLID, 1.1),
         "xPos, scale 1": (style.BLUE, (5, 1.5), 1.2)}  # fmt: skip


def rows_decay(size: Size, seed: int, points=500) -> Frame:
    """RoPE, xPos at its released scale of 512, and xPos with ζ for every token, at head width 64."""
    far = np.geomspace(64, 256 * size.length, points).round()
    lags = np.unique(np.concatenate([np.arange(64), far]).astype(int))
    curves = {"RoPE": rope(64), "xPos, scale 512": xpos(64), "xPos, scale 1": xpos(64, scale=1.0)}
    return stacked({"curve": name, "lag": lags, "score": mean_score(each, lags)} for name, each in curves.items())


def draw_decay(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.3)
    for name, part in frame.groupby("curve", sort=False):
        color, dashes, width = DECAY_LOOKS[name]
        ax.plot(part["lag"] + 1, part["score"], color=color, dashes=dashes, linewidth=width, label=name)
    ax.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="score / score at lag 0")
    ax.legend(loc="upper right")
    return fig


def caption_decay(frame: Frame) -> str:
    far = frame[frame["lag"] >= frame["lag"].max() / 2].groupby("curve")["score"].apply(lambda s: s.abs().max())
    return (
        "Score of two equal vectors by lag at head width 64. RoPE's turns for ever; xPos multiplies plane i by ζ_i for "
        "every 512 tokens (its released scale), or for every token. Largest size at the drawn lags of the far half "
        "(between them RoPE's is larger): " + ", ".join(f"{value:.2g} ({name})" for name, value in far.items()) + "."
    )


DECAY = FigureSpec(
    "guide_decay",
    draw_decay,
    caption_decay,
    notebook="field_guide",
    paper="survey, xPos figure",
    rows=rows_decay,
    claims=("PE-F4",),
    alt="Score by lag: RoPE's curve oscillates for ever, xPos at scale 512 follows it and settles late, xPos at scale "
    "1 falls smoothly to zero within a few dozen tokens.",
)


# A slope on keys in half precision
SLOPES = (0.5, 0.25, 0.0625, 0.00390625)
ROUNDING_LOOKS = dict(
    zip(SLOPES, ((style.BLUE, "s"), (style.ORANGE, "o"), (style.GREEN, "^"), (style.PINK, "D")), strict=True)
)
LENGTHS = tuple(2**k for k in range(6, 18))


def rows_rounding(size: Size, seed: int, slopes=SLOPES, lengths=LENGTHS) -> Rows:
    """Weight on the wrong keys by storage, number of coordinates, slope and context."""
    return [
        {"dtype": dtype, "lanes": lanes, "slope": m, "keys": n, "misplaced": misplaced(coordinates(m, n, dtype), m)}
        for dtype in ("bf16", "fp16")
        for lanes, coordinates in ((1, key_slope), (2, split_key_slope))
        for m in slopes
        for n in lengths
    ]


def draw_rounding(frame: Frame) -> Figure:
    made = {}
    for dtype, part in frame.groupby("dtype", sort=False):
        made[dtype] = []
        for (lanes, slope), own in part.groupby(["lanes", "slope"], sort=False):
            (color, marker), dashes = ROUNDING_LOOKS[slope], style.SOLID if lanes == 1 else (2, 1)
            name = rf"$m = 2^{{{int(np.log2(slope))}}}$" + ", two coordinates" * (lanes > 1)
            look = lines.look(color, dashes, marker, name)
            made[dtype].append(panels.Line(own["keys"], own["misplaced"], look))
    axis = panels.lengths(frame["keys"], most=6) | {"ylim": (-0.03, 1.03), "legend": "above"}
    return panels.draw(made, "visible keys", "weight on the wrong keys", height=1.7, ncols=4, **axis)[0]


def caption_rounding(frame: Frame) -> str:
    bf16 = frame[frame["dtype"] == "bf16"]
    one = bf16[bf16["lanes"] == 1].set_index(["slope", "keys"])["misplaced"]
    two = bf16[(bf16["lanes"] == 2) & (bf16["keys"] <= 65_536)]["misplaced"].max()
    middle = 2048 if (0.5, 2048) in one.index else int(frame["keys"].max())
    listed = ", ".join(f"{one[slope, middle]:.3f} (m = {slope:g})" for slope in SLOPES if (slope, middle) in one.index)
    return (
        f"ALiBi's weights written as a slope m j in one coordinate of the keys: total variation to the exact weights "
        f"for the last query after rounding the coordinate. Content is equal. In bf16 with {middle:,} keys: {listed}. "
        f"Lines that end have overflowed. Dashed: two coordinates, j = N a + b with N = 256 (bf16) or 2048 (fp16); in "
        f"bf16 at most {two:.1e} up to 65,536 keys."
    )


ROUNDING = FigureSpec(
    "key_slope_rounding",
    draw_rounding,
    caption_rounding,
    notebook="field_guide",
    paper="Goat, Proposition F.6",
    rows=rows_rounding,
    claims=("GOAT-E6",),
    alt="Weight on the wrong keys by context length for four slopes in bf16 and fp16: zero up to 256 or 2048 keys, "
    "then rising towards one, earlier for steeper slopes; with two coordinates zero until much later.",
)


# The survey's heat map of the sinusoidal table
def rows_sinusoids(size: Size, seed: int, width=64) -> Rows:
    """The table PE(pos, column)."""
    positions = size.length // 4
    table = Sinusoidal(width)(torch.arange(positions)).numpy()
    places = np.ndindex(positions, width)
    return [{"position": p, "column": c, "value": round(float(table[p, c]), 4)} for p, c in places]


def draw_sinusoids(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    table = frame.pivot(index="position", columns="column", values="value").to_numpy()
    image = ax.imshow(table, aspect="auto", interpolation="nearest", vmin=-1, vmax=1)
    ax.grid(False)
    ax.set(xlabel="column $c$ (even: sine, odd: cosine)", ylabel="position")
    fig.colorbar(image, ax=ax, ticks=(-1, 0, 1), label="PE(pos, c)")
    return fig


def caption_sinusoids(frame: Frame) -> str:
    positions, width = frame["position"].nunique(), frame["column"].nunique()
    slow = frame.groupby("column")["value"].agg(lambda x: np.sign(x[np.abs(x) > 1e-9]).nunique() == 1).sum()
    return (
        f"The sinusoidal table for {positions} positions and {width} columns. Wavelengths grow from 2π on the left to "
        f"2π · 10000^(1 - 2/{width}) on the right; {int(slow)} of the columns never change sign within these "
        "positions, and the last of them hardly move."
    )


SINUSOIDS = FigureSpec(
    "rotation_sinusoids",
    draw_sinusoids,
    caption_sinusoids,
    notebook="field_guide",
    rows=rows_sinusoids,
    claims=("PE-F1",),
    alt="Heat map of sines and cosines by position and column: curved waves on the left; on the right vertical "
    "stripes, sines near zero beside cosines near one, that hardly change with the position.",
)
