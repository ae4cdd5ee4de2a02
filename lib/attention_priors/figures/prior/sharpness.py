"""What the shape does to the prior while its scale stays fixed (BAM, appendix A)."""

import numpy as np

from attention_priors.figures import panels
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory import generalised_gaussian as gaussian

SHAPES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
HIGHEST = 2.3  # where the axis ends: smaller differences are what the statistics are about


def rows(size: Size, seed: int, alpha=10.0, keys=2**16) -> Rows:
    """Weight of the own key, root mean square lag, entropy and tail beyond 2 alpha by shape."""
    found, lags = [], np.arange(keys, dtype=np.float64)
    for beta in SHAPES:
        p = gaussian.row(gaussian.printed(alpha, beta), keys)
        seen = p[p > 0]
        own = {"beta": beta, "own key": float(p[0]), "rms lag": float(np.sqrt(p @ lags**2))}
        own["entropy"] = float(-(seen @ np.log(seen)))
        found.append(own | {"beyond 2 alpha": float(p[lags > 2 * alpha].sum())})
    return found


def draw(frame: Frame) -> Figure:
    ratios = frame.set_index("beta")
    tall = (ratios / ratios.loc[1.0]).melt(ignore_index=False).reset_index()
    made = panels.series(tall, "beta", "value", "variable", label=lambda name: name.replace("alpha", r"$\alpha$"))
    ticks = {0.5: "1/2", 1: "1", 2: "2", 4: "4", 8: "8", 16: "16"}
    axis = {"base": 2, "xticks": ticks, "xlim": (0.45, 18), "ylim": (-0.05, HIGHEST), "legend": "upper right"}
    return panels.draw({"": made}, r"shape $\beta$ at a fixed scale", r"relative to $\beta = 1$", height=1.65, **axis)[
        0
    ]


def caption(frame: Frame) -> str:
    own, spread = frame.loc[frame["own key"].idxmax()], frame.loc[frame["rms lag"].idxmin()]
    half = (frame / frame.set_index("beta").loc[1.0]).drop(columns="beta")[frame["beta"] == 0.5].iloc[0]
    above = ", ".join(f"{name.replace('alpha', 'α')} ({ratio:.2g})" for name, ratio in half.items() if ratio > HIGHEST)
    return (
        "What the shape does while the scale stays fixed, each statistic relative to its value at β = 1. Tail and "
        f"entropy fall throughout. The weight of the query's own key is largest at β = {own['beta']:g} and the root "
        f"mean square lag smallest at β = {spread['beta']:g}, by little: larger shapes approach a flat window. At "
        f"β = 1/2 above the panel: {above or 'nothing'}."
    )


FIGURE = FigureSpec(
    "prior_sharpness",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, appendix A",
    rows=rows,
    columns=("beta", "own key", "rms lag", "entropy", "beyond 2 alpha"),
    claims=("BAM-C-BETA",),
    alt="Four statistics by shape: tail and entropy fall, the weight of the query's own key rises to a maximum near "
    "shape 2 and falls again.",
)
