"""Tail mass by window, and the band that content of a bounded range can move it within."""

import numpy as np

from attention_priors.figures import panels
from attention_priors.figures.phase import LOOKS
from attention_priors.figures.phase.family import power
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.bands import band
from attention_priors.theory.generalised_gaussian import laplace, tails


def rows(size: Size, seed: int, omega=2.0) -> Frame:
    """P(lag > D) by window D, with the least and the largest value that content of range omega can give it."""
    chosen = {"ALiBi, m = 1/16": laplace(1 / 16), "KERPLE-log, r₁ = 1.5": power(1.5), "uniform": laplace(0.0)}
    length, parts = 8 * size.length, []
    windows = sorted({round(d) for d in np.geomspace(1, length / 2, 40)})
    for name, log_prior in chosen.items():
        tail = tails(log_prior, [length], windows)[0]
        low, high = band(np.minimum(tail, 1.0), omega)
        own = {"prior": name, "window": windows, "tail": tail, "low": low, "high": high}
        parts.append(own | {"omega": omega, "keys": length})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    made = {}
    for name, own in frame.groupby("prior", sort=False):
        color, dashes, _ = LOOKS[name]
        look = {"color": color, "dashes": dashes, "label": name}
        made[name] = [panels.Line(own["window"], own["tail"], look, own["low"], own["high"], band=True)]
    axis = {"base": 10, "levels": [0.5], "ylim": (-0.02, 1.02)}
    return panels.draw(made, "window $D$", "$P$(lag > $D$)", height=1.5, **axis)[0]


def caption(frame: Frame) -> str:
    near = frame[frame["high"] <= 0.5].groupby("prior")["window"].min()
    listed = ", ".join(f"{name}: {near.get(name, 'none')}" for name in frame["prior"].unique())
    return (
        f"Tail mass by window over {int(frame['keys'].iloc[0]):,} keys: prior alone (line), and every value that "
        f"content of range {frame['omega'].iloc[0]:g} can give it (band; both edges are attained). First window drawn "
        f"that keeps at least half of the weight whatever the content: {listed}."
    )


FIGURE = FigureSpec(
    "phase_content",
    draw,
    caption,
    notebook="phase_diagram",
    rows=rows,
    claims=("X-13",),
    columns=("prior", "window", "tail", "low", "high", "omega", "keys"),
    alt="Three panels of tail mass by window with bands: ALiBi's band closes at a hundred lags, the power law's has "
    "nearly closed at the longest window, half of the context, where the uniform prior's is still open.",
)
