"""The lead that gives one far key half of the weight, in chunks that reuse positions and on one line."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.inference import truncated_geometric
from attention_priors.theory.margins import chunk_prior

SLOPES = ((style.BLUE, "o"), (style.ORANGE, "s"), (style.GREEN, "^"))
CHUNKS = tuple(2**k for k in range(8))


def rows(size: Size, seed: int, width=64, chunks=CHUNKS, slopes=(0.0, 0.03, 0.1)) -> Rows:
    """Margin for weight 1/2 of the oldest chunk's middle key by number of chunks of `width`.

    Chunks that reuse positions, or one line of all keys, under ALiBi with this slope (0 is the uniform prior). On one
    line the prior is kept as a logarithm: e^-2000 is no float64.
    """
    found, lag = [], width // 2
    for slope in slopes:
        for c in chunks:
            total = c * width if slope == 0 else np.expm1(-slope * c * width) / np.expm1(-slope)
            reused = np.log(chunk_prior(truncated_geometric(slope, width), c)[lag])
            line = -slope * ((c - 1) * width + lag) - np.log(total)
            for layout, log_pi in (("reused positions", reused), ("one line", line)):
                value = float(np.log1p(-np.exp(log_pi)) - log_pi)
                found.append({"layout": layout, "slope": slope, "chunks": c, "margin": value})
    return found


def _lines(slope: float) -> tuple[str, ...]:
    """Layouts drawn for a slope: between chunks, reused positions are the uniform prior, where both are one line."""
    return ("reused positions",) if slope == 0 else ("reused positions", "one line")


def draw(frame: Frame) -> Figure:
    looks = {}
    for (color, marker), slope in zip(SLOPES, sorted(frame["slope"].unique()), strict=False):
        said = "uniform" if slope == 0 else f"slope {slope:g}"
        for layout, dashes in zip(_lines(slope), (style.SOLID, (2, 1)), strict=False):
            looks[slope, layout] = (
                color,
                dashes,
                marker,
                f"{said}, {'one line' if layout == 'one line' else 'reused'}",
            )
    shown = frame.assign(series=list(zip(frame["slope"], frame["layout"], strict=True)))
    made = panels.series(shown[shown["series"].isin(looks)], "chunks", "margin", "series", looks)
    axis = {"base": 2, "xticks": {n: f"{n}" for n in sorted(frame["chunks"].unique())[::2]}, "yscale": "log"}
    fig, (ax,) = panels.draw(
        {"": made}, "chunks $C$", "lead for half of the weight (nats)", height=1.75, legend="upper left", **axis
    )
    ax.set_yticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    return fig


def caption(frame: Frame) -> str:
    first, last = frame["chunks"].min(), frame["chunks"].max()
    table = frame.set_index(["layout", "slope", "chunks"])["margin"]
    words = [
        f"{layout}, slope {slope:g}: {table[layout, slope, last] - table[layout, slope, first]:+.2f}"
        for slope in sorted(frame["slope"].unique())
        for layout in _lines(slope)
    ]
    return (
        "Lead in content that gives the middle key of the farthest chunk half of the weight against equal others, "
        f"under ALiBi priors, from {first} to {last} chunks. Chunks that reuse positions (solid) pay ln C; one line of "
        "all keys (dashed) pays the slope times the distance. Added lead: " + "; ".join(words) + "."
    )


FIGURE = FigureSpec(
    "parallel_margin",
    draw,
    caption,
    notebook="parallel_attention",
    paper="ParallelComp, section 3.1",
    rows=rows,
    columns=("layout", "slope", "chunks", "margin"),
    claims=("X-15",),
    alt="Lead by number of chunks, both logarithmic. Solid lines of reused positions rise slowly and in parallel; "
    "dashed lines of one long row rise in proportion to the number of chunks.",
)
