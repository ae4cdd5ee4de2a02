"""The power by which each prior falls around a lag; the border of local priors is 1."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.phase import LOOKS
from attention_priors.figures.phase.family import family
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.phase import octave_exponents

LOWEST = -3  # Sandwich, whose waves come back, falls to -1.5


def rows(size: Size, seed: int, farthest=None) -> Frame:
    """ρ(d) by octave up to lag `farthest`, else 256 times the length, for each prior of `family`."""
    lags = np.arange(2 * (farthest or 256 * size.length), dtype=np.float64)
    found = {name: octave_exponents(log_prior(lags)) for name, log_prior in family().items()}
    return stacked({"prior": name, "lag": d, "exponent": rho} for name, (d, rho) in found.items())


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.MIDDLE, 3.2)
    ax.axhspan(LOWEST, 1, color="#EFEFEF", zorder=0)
    ax.axhline(1, color=style.BLACK, linewidth=0.8, zorder=1)
    lines.plot(ax, frame, "lag", "exponent", "prior", LOOKS, markevery=2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("symlog", linthresh=1, linscale=1.2)
    ticks = [tick for tick in (2, 16, 128, 1024, 8192, 65536) if tick <= frame["lag"].max()]
    ax.set_xticks(ticks, [style.length_label(tick) for tick in ticks])
    ax.set_yticks([-1, 0, 0.5, 1, 10, 100, 1000], ["$-1$", "0", "1/2", "1", "10", "100", "1000"])
    ax.set(ylim=(LOWEST, 2000), xlabel="lag $d$", ylabel=r"local exponent $\rho(d)$")
    ax.text(
        0.01, 0.97, "falls faster than $1/d$: a window forms", transform=ax.transAxes, va="top", fontsize=style.SMALLEST
    )
    ax.text(0.3, 0.02, "falls slower: the far keys outweigh", transform=ax.transAxes, fontsize=style.SMALLEST)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["lag"] == frame["lag"].max()].set_index("prior")["exponent"]
    crossing = frame[frame["exponent"] > 1].groupby("prior", sort=False)["lag"].min()
    listed = ", ".join(f"{lag:.0f} ({name})" for name, lag in crossing.items())
    return (
        "Local exponent: the power of the distance by which a prior falls from one octave of lags to the next. A prior "
        "that stays above 1 is local, one that stays below (grey) gives the far keys nearly all mass. First octave "
        f"above 1: {listed}. At lag {int(frame['lag'].max()):,} below 1: {', '.join(final[final < 1].index)}."
    )


FIGURE = FigureSpec(
    "phase_exponents",
    draw,
    caption,
    notebook="phase_diagram",
    rows=rows,
    columns=("prior", "lag", "exponent"),
    claims=("X-10",),
    alt="Local exponent by lag for eleven priors: rising lines for ALiBi and the generalised Gaussian cross one, level "
    "lines for the logarithm, zero for uniform, T5 drops to zero beyond its last bucket, Sandwich below zero at the "
    "far end, where its waves come back.",
)
