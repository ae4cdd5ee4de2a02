"""A slope fitted by waves on a window, carried on past it."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.figures.spectra import LADDERS
from attention_priors.theory import spectra

SHOWN = 12  # windows


def rows(size: Size, seed: int, modes=4, multiple=64) -> Frame:
    """The slope and its minimax fits by lag, up to `multiple` windows."""
    length = size.length
    log_prior, lags = spectra.targets(length)["slope"], np.unique(np.geomspace(1, multiple * length, 1200).round())
    inside, parts = log_prior(np.arange(float(length))), []
    for ladder, omegas in spectra.LADDERS.items():
        known = {"window": length, "modes": modes, "frequencies": ladder, "lag": lags.astype(int)}
        fit = spectra.minimax(inside, omegas(modes, length))
        parts.append(known | {"target": log_prior(lags), "fit": fit(lags)})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    """Both axes even: the lag in windows, up to where the first waves have turned, and nats."""
    fig, ax = style.figure(style.SINGLE, 2.3)
    window = int(frame["window"].iloc[0])
    shown = frame[frame["lag"] <= SHOWN * window].sort_values("lag")
    ax.axvspan(0, 1, color="#EFEFEF", zorder=0)
    target = shown.drop_duplicates("lag")
    ax.plot(target["lag"] / window, target["target"], color=style.PALE, linewidth=2.4, label="slope")
    for ladder, part in shown.groupby("frequencies", sort=False):
        color, dashes, _ = LADDERS[ladder]
        ax.plot(part["lag"] / window, part["fit"], color=color, dashes=dashes, label=ladder, linewidth=1.0)
    spare = 0.06 * (shown["fit"].max() - target["target"].min())
    ax.set(xlabel="lag / window", ylabel="log-prior (nats)", xlim=(0, None),
           ylim=(target["target"].min() - spare, max(shown["fit"].max(), 0) + spare))  # fmt: skip
    style.direct_labels(ax)
    return fig


def caption(frame: Frame) -> str:
    window, modes = int(frame["window"].iloc[0]), int(frame["modes"].iloc[0])
    off = frame[(frame["lag"] > window) & ((frame["fit"] - frame["target"]).abs() > 1)]
    first = off.groupby("frequencies", sort=False)["lag"].min()
    listed = ", ".join(f"{name} {lag / window:.1f}" for name, lag in first.items()) or "none"
    return (
        f"A slope fitted by {modes} waves on the shaded window and carried on, drawn for {SHOWN} windows. Inside, "
        f"the fits coincide with it. First lag at which they are off by more than one nat, in windows: "
        f"{listed}. A sum of waves must come back: far keys look near again."
    )


FIGURE = FigureSpec(
    "spectra_beyond", draw, caption, notebook="spectra_and_sinks", rows=rows, claims=("X-16",),
    columns=("window", "modes", "frequencies", "lag", "target", "fit"),
    alt="A falling line and three fits by lag in windows: all agree inside the first window; beyond it they turn back "
    "up at different lags, the slope goes on falling.",
)  # fmt: skip
