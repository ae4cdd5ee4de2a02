"""A slope on keys in half precision: the weight that rounding puts on the wrong keys."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.key_slope import key_slope, misplaced, split_key_slope

SLOPES = (0.5, 0.25, 0.0625, 0.00390625)
LOOKS = dict(zip(SLOPES, ((style.BLUE, "s"), (style.ORANGE, "o"), (style.GREEN, "^"), (style.PINK, "D")), strict=True))
LENGTHS = tuple(2**k for k in range(6, 18))


def rows(size: Size, seed: int, slopes=SLOPES, lengths=LENGTHS) -> Rows:
    """Weight on the wrong keys by storage, number of coordinates, slope and context."""
    return [
        {"dtype": dtype, "lanes": lanes, "slope": m, "keys": n, "misplaced": misplaced(coordinates(m, n, dtype), m)}
        for dtype in ("bf16", "fp16")
        for lanes, coordinates in ((1, key_slope), (2, split_key_slope))
        for m in slopes
        for n in lengths
    ]


def draw(frame: Frame) -> Figure:
    made = {}
    for dtype, part in frame.groupby("dtype", sort=False):
        made[dtype] = []
        for (lanes, slope), own in part.groupby(["lanes", "slope"], sort=False):
            look = {
                "color": LOOKS[slope][0],
                "marker": LOOKS[slope][1],
                "dashes": style.SOLID if lanes == 1 else (2, 1),
            }
            look["label"] = rf"$m = 2^{{{int(np.log2(slope))}}}$" + ", two coordinates" * (lanes > 1)
            made[dtype].append(panels.Line(own["keys"], own["misplaced"], look))
    axis = panels.lengths(frame["keys"], most=6) | {"ylim": (-0.03, 1.03), "legend": "above"}
    return panels.draw(made, "visible keys", "weight on the wrong keys", height=1.7, ncols=4, **axis)[0]


def caption(frame: Frame) -> str:
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


FIGURE = FigureSpec(
    "key_slope_rounding",
    draw,
    caption,
    notebook="field_guide",
    paper="Goat, Proposition F.6",
    rows=rows,
    columns=("dtype", "lanes", "slope", "keys", "misplaced"),
    claims=("GOAT-E6",),
    alt="Weight on the wrong keys by context length for four slopes in bf16 and fp16: zero up to 256 or 2048 keys, "
    "then rising towards one, earlier for steeper slopes; with two coordinates zero until much later.",
)
