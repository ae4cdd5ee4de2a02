"""SSMax on content alone or on the prior too: what becomes of a head near and of a head far (BAM, section 2.5)."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.generalised_gaussian import coded
from attention_priors.theory.inference import softmax

LENGTHS = tuple(2**k for k in range(5, 20, 2))


def rows(size: Size, seed: int, lengths=LENGTHS) -> Rows:
    """SSMax with s = 1: mean lag for beta = 1/2, keys p(d = 1) for beta = -1/2."""
    found = []
    for keys in lengths:
        lags = np.arange(keys, dtype=np.float64)
        for reading, scale in (("content only", 1.0), ("content and prior", float(np.log(keys)))):
            near, far = (softmax(scale * coded(0.0, beta)(lags)) for beta in (0.5, -0.5))
            own = {"mean lag": float(near @ lags), "lag 1 share": float(keys * far[1])}
            found.append({"reading": reading, "keys": keys, **own})
    return found


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.SINGLE, 3.6, nrows=2, sharex=True)
    panels = (("mean lag", r"$\beta = 1/2$", "mean lag (keys)"),
              ("lag 1 share", r"$\beta = -1/2$", "weight at lag 1 / uniform"))  # fmt: skip
    for ax, (column, title, unit) in zip(axes, panels, strict=True):
        lines.plot(ax, frame, "keys", column, "reading")
        ax.set(xscale="log", yscale="log", ylabel=unit, title=title)
    axes[1].set_xlabel("context length $n$")
    axes[0].legend(loc="lower left")
    return fig


def caption(frame: Frame) -> str:
    by = frame[frame["keys"] == frame["keys"].max()].set_index("reading")
    one, both = by.loc["content only"], by.loc["content and prior"]
    return (
        "SSMax with s = 1 and θ_α = 0, on content alone or on content and prior. Left: a head with β = 1/2 "
        f"keeps its mean lag ({one['mean lag']:.2f}) or collapses onto itself ({both['mean lag']:.1e} at "
        f"{int(frame['keys'].max()):,} keys). Right: with β = -1/2 the share of the key at lag 1, relative to "
        f"uniform, stays at {one['lag 1 share']:.2f} or falls to {both['lag 1 share']:.1e}."
    )


FIGURE = FigureSpec(
    "prior_scaled", draw, caption, notebook="generalised_gaussian", paper="BAM, section 2.5", rows=rows,
    columns=("reading", "keys", "mean lag", "lag 1 share"), claims=("BAM-E13", "BAM-D6"),
    alt="Two panels by context length. With the prior scaled, the mean lag at shape one half and the weight of lag 1 "
    "at shape minus one half fall as power laws; with content scaled alone both stay level.",
)  # fmt: skip
