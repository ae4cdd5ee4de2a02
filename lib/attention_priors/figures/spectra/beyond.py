"""A slope fitted by waves on a window, carried on past it."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.figures.spectra import LADDERS
from attention_priors.theory import spectra


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
    fig, ax = style.figure(style.SINGLE, 2.5)
    window = int(frame["window"].iloc[0])
    target = frame.drop_duplicates("lag").sort_values("lag")
    ax.plot(target["lag"] / window, target["target"], color=style.BLACK, linewidth=2.4, alpha=0.3, label="slope")
    for ladder, part in frame.groupby("frequencies", sort=False):
        color, dashes, _ = LADDERS[ladder]
        ax.plot(part["lag"] / window, part["fit"], color=color, dashes=dashes, label=ladder, linewidth=1.0)
    ax.axvspan(0, 1, color="#EFEFEF", zorder=0)
    ax.set_yscale("symlog", linthresh=10)
    ax.set(xscale="log", xlabel="lag / window", ylabel="log-prior (nats)", xlim=(0.1, None))
    ax.set_ylim(1.5 * frame["target"].min(), max(2 * frame["fit"].max(), 10))
    ax.minorticks_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return fig


def caption(frame: Frame) -> str:
    window, modes = int(frame["window"].iloc[0]), int(frame["modes"].iloc[0])
    off = frame[(frame["lag"] > window) & ((frame["fit"] - frame["target"]).abs() > 1)]
    first = off.groupby("frequencies", sort=False)["lag"].min()
    listed = ", ".join(f"{name} {lag / window:.1f}" for name, lag in first.items()) or "none"
    return (
        f"A slope fitted by {modes} waves on the shaded window and carried on. Inside, the fits coincide with it. "
        f"First lag at which they are off by more than one nat, in windows: {listed}. A sum of waves "
        "must come back: far keys look near again."
    )


FIGURE = FigureSpec(
    "spectra_beyond", draw, caption, notebook="spectra_and_sinks", rows=rows, claims=("X-16",),
    columns=("window", "modes", "frequencies", "lag", "target", "fit"),
    alt="A falling line and three fits by lag in windows: all agree inside the first window; beyond it they turn back "
    "up at different lags.",
)  # fmt: skip
