"""Spectra and sinks: the posterior band, sinks by length, kinds of noise, and what a sum of waves can say."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.theory import spectra

NOTEBOOK = "05_spectra_and_sinks"
BLACK, GREEN, PINK, BLUE, ORANGE, GREY = "#000000", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#7F7F7F"
LADDERS = {
    "RoPE's ladder": (BLUE, (5, 1.5), "s"), "harmonics": (ORANGE, style.SOLID, "o"), "slow waves": (GREEN, (3, 1), "^"),
    "free": (PINK, (1, 1), "D"),
}  # fmt: skip
NATS = ("kl", "kl x2", "kl x4", "kl x16")


def draw_band(frame: pd.DataFrame) -> Figure:
    """Columns kind, omega, prior, posterior, and the four ends: one panel per omega, random rows as dots."""
    bands, draws = frame[frame["kind"] == "band"], frame[frame["kind"] == "draw"]
    omegas = sorted(bands["omega"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.5, ncols=len(omegas), sharey=True)
    for ax, omega in zip(axes, omegas, strict=True):
        rows, dots = bands[bands["omega"] == omega], draws[draws["omega"] == omega]
        ax.fill_between(rows["prior"], rows["sharp low"], rows["sharp high"], color=BLUE, alpha=0.15, linewidth=0)
        for end in ("low", "high"):
            ax.plot(rows["prior"], rows[f"sharp {end}"], color=BLUE, label="sharp" if end == "low" else "_")
            ax.plot(rows["prior"], rows[f"printed {end}"], color=ORANGE, dashes=(3, 1.5),
                    label="printed" if end == "low" else "_")  # fmt: skip
        ax.plot(dots["prior"], dots["posterior"], ".", color=BLACK, markersize=1.8, markeredgewidth=0, alpha=0.6,
                label="random rows")  # fmt: skip
        ax.set(xlim=(0, 1), ylim=(0, 1.25), xlabel=r"prior $\pi$", title=rf"$\omega = {omega:g}$")
        ax.axhline(1, color=GREY, linewidth=0.7, linestyle=":")
    axes[0].set_ylabel("posterior $p$")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, markerscale=3)
    return fig


def caption_band(frame: pd.DataFrame) -> str:
    bands = frame[(frame["kind"] == "band")]
    middle = bands[(bands["prior"] - 0.5).abs() < 1e-9].set_index("omega")
    omega = float(middle.index.max())
    at = middle.loc[omega]
    count = int((frame["kind"] == "draw").sum())
    return (
        "Posterior against prior mass of one key when the content scores of its row span at most ω. Shaded: the "
        "sharp band, logit p within ω of logit π. Dashed: the printed band, π exp(-ω) to π exp(ω); it leaves [0, 1]. "
        f"Dots: {count} random rows. At π = 1/2 and ω = {omega:g} the printed band is "
        f"[{at['printed low']:.3f}, {at['printed high']:.2f}], the sharp one [{at['sharp low']:.3f}, "
        f"{at['sharp high']:.3f}]."
    )


def draw_sinks(frame: pd.DataFrame) -> Figure:
    """Columns panel, series, parameter, keys, value: mass off the sink, and response to noise, by context length."""
    fig, (left, right) = style.figure(style.DOUBLE, 3.6, ncols=2)
    noise = frame[frame["panel"] == "noise"]
    widths = iter(((1, 1), (3, 1), (6, 1), style.SOLID))  # dashes of the margins, from small to large
    looks = {"margin": (BLUE, None, None), "decay": (GREEN, style.SOLID, "^"),
             "logarithmic": (ORANGE, (5, 1, 1, 1), "D"), "bounded": (GREY, (3, 1, 1, 1, 1, 1), "X")}  # fmt: skip
    names = {"margin": r"$\delta = {:g}$", "decay": r"$u = -{:g}\,k$", "logarithmic": r"$\delta \sim \ln L$",
             "bounded": r"best with $|K| \leq B = {:g}$"}  # fmt: skip
    for (series, parameter), rows in noise.groupby(["series", "parameter"], sort=False):
        color, dashes, marker = looks[series]
        left.plot(rows["keys"], rows["value"], color=color, dashes=dashes or next(widths), marker=marker, markersize=3,
                  label=names[series].format(parameter))  # fmt: skip
    left.set(xscale="log", ylim=(-0.03, 1.03), xlabel="context length $L$", ylabel=r"mass off the sink, $\Psi$")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=1.0)
    marks = {"uniform": (BLUE, "o"), "peaked": (ORANGE, "s")}
    dashes = {"alike": style.SOLID, "independent": (5, 1.5), "independent, all keys": (1, 1)}
    for (prior, kind), rows in frame[frame["panel"] == "response"].groupby(["series", "kind"], sort=False):
        color, marker = marks[prior]
        right.plot(rows["keys"], rows["value"], color=color, dashes=dashes[kind], marker=marker, markersize=2.5,
                   label=f"{prior}: {kind.replace(', all keys', ', sink too')}")  # fmt: skip
    right.set(xscale="log", yscale="log", xlabel="context length $L$", ylabel="change of output / of values")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return fig


def caption_sinks(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()]
    noise = last[last["panel"] == "noise"].set_index(["series", "parameter"])["value"]
    response = last[last["panel"] == "response"].set_index(["series", "kind"])["value"]
    top = max(p for s, p in noise.index if s == "margin")
    decay = next(p for s, p in noise.index if s == "decay")
    return (
        "Left: mass off the sink without content. Every fixed margin δ over equal rivals ends at 1 (δ = "
        f"{top:g}: {noise['margin', top]:.3f} at {int(frame['keys'].max()):,} keys), and so does the best log-prior "
        f"with |K| ≤ B, whose margin is 2 B; a slope u(k) = -{decay:g} k stays at {noise['decay', decay]:.3f}, a "
        "margin of ln(L - 1) + ln 9 at 0.1. Right: the output's change when values change by 1. Alike (solid): only "
        "the peak helps. Independently (dashed): the uniform prior averages it away "
        f"({response['uniform', 'independent']:.1e}). With noise in the "
        f"sink's value too (dotted) the peaked prior passes {response['peaked', 'independent, all keys']:.2f} of it."
    )


def draw_fits(frame: pd.DataFrame) -> Figure:
    """Columns target, frequencies, modes, sup, coefficient: error by number of modes, one panel per target."""
    names = list(dict.fromkeys(frame["target"]))
    fig, axes = style.figure(style.DOUBLE, 2.5, ncols=len(names))
    for ax, name in zip(axes, names, strict=True):
        for ladder, rows in frame[frame["target"] == name].groupby("frequencies", sort=False):
            color, dashes, marker = LADDERS[ladder]
            ax.plot(rows["modes"], rows["sup"], color=color, dashes=dashes, marker=marker, label=ladder)
        ax.set(xscale="log", yscale="log", xlabel="modes $R$", title=name)
        ticks = sorted(frame["modes"].unique())
        ax.set_xticks(ticks, ticks)
        ax.minorticks_off()
        if name != names[0]:
            rough = frame[frame["target"] != names[0]]["sup"]
            ax.set_ylim(0.7 * rough.min(), 1.4 * rough.max())
    axes[0].set_ylabel("largest error (nats)")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4)
    return fig


def caption_fits(frame: pd.DataFrame) -> str:
    most = int(frame["modes"].max())
    at = frame[frame["modes"] == most].groupby("target", sort=False)
    errors = ", ".join(f"{name} {rows['sup'].min():.1e}" for name, rows in at)
    size = frame[(frame["modes"] == most) & (frame["target"] == "logarithm")]["coefficient"].max()
    return (
        "Largest error of the best fit (a linear program) of R waves to four log-priors on a window. Smooth ones need "
        f"few waves; a window's edge defies them. Best at {most} modes, in nats: {errors}. The price are coefficients: "
        f"up to {size:.0e} for the logarithm, more than low precision can store."
    )


def draw_beyond(frame: pd.DataFrame) -> Figure:
    """Columns frequencies, lag, target, fit, window: the slope and its fits, carried on past the window."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    window = int(frame["window"].iloc[0])
    target = frame.drop_duplicates("lag").sort_values("lag")
    ax.plot(target["lag"] / window, target["target"], color=BLACK, linewidth=2.4, alpha=0.3, label="slope")
    for ladder, rows in frame.groupby("frequencies", sort=False):
        color, dashes, _ = LADDERS[ladder]
        ax.plot(rows["lag"] / window, rows["fit"], color=color, dashes=dashes, label=ladder, linewidth=1.0)
    ax.axvspan(0, 1, color="#EFEFEF", zorder=0)
    low, high = frame["target"].min(), frame["fit"].max()
    ax.set_yscale("symlog", linthresh=10)
    ax.set(
        xscale="log",
        xlabel="lag / window",
        ylabel="log-prior (nats)",
        xlim=(0.1, None),
        ylim=(1.5 * low, max(2 * high, 10)),
    )
    ax.minorticks_off()
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return fig


def caption_beyond(frame: pd.DataFrame) -> str:
    far = frame[frame["lag"] > frame["window"]]
    modes = int(frame["modes"].iloc[0])
    first = far[(far["fit"] - far["target"]).abs() > 1].groupby("frequencies", sort=False)["lag"].min()
    listed = ", ".join(f"{name} {lag / int(frame['window'].iloc[0]):.1f}" for name, lag in first.items()) or "none"
    return (
        f"A slope fitted by {modes} waves on the shaded window and carried on. Inside, the fits coincide with it. "
        f"First lag at which they are off by more than one nat, in windows: {listed}. A sum of waves "
        "must come back: far keys look near again."
    )


def draw_shapes(frame: pd.DataFrame) -> Figure:
    """Columns target, family, lag, weight, kl: four priors, the best slope, the best waves."""
    names = list(dict.fromkeys(frame["target"]))
    fig, axes = style.figure(style.DOUBLE, 2.2, ncols=len(names))
    for ax, name in zip(axes, names, strict=True):
        rows = {family: part for family, part in frame[frame["target"] == name].groupby("family", sort=False)}
        target, slope, waves = rows.values()
        length = len(target)
        ax.plot(target["lag"], length * target["weight"], color=BLACK, linewidth=2.6, alpha=0.3, label="target")
        ax.plot(slope["lag"], length * slope["weight"], color=ORANGE, dashes=(1, 1), label="best slope")
        ax.plot(waves["lag"], length * waves["weight"], color=BLUE, dashes=(4, 1.5), label=list(rows)[2])
        missed = f"KL of slope {slope['kl'].iloc[0]:.2f} nats\nKL of modes {abs(waves['kl'].iloc[0]):.0e} nats"
        ax.set_title(f"{name}\n{missed}", fontsize=style.SMALLEST)
        ax.set_xlabel("lag $d$")
        ax.set_ylim(0, None)
    axes[0].set_ylabel("weight / uniform share")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    return fig


def caption_shapes(frame: pd.DataFrame) -> str:
    kl = frame.groupby(["target", "family"], sort=False)["kl"].first().unstack(sort=False)
    waves = kl.columns[-1]
    return (
        "Four priors over lags (grey), the best slope of either sign (dotted) and the best sum of "
        f"{waves} (dashed), both closest in KL, whose value stands above. The slope misses by "
        f"{kl['slope'].min():.2g} to {kl['slope'].max():.2g} nats, the waves by at most {kl[waves].max():.1g}."
    )


def explore(length: int, modes: int, alpha: float, beta: float, shift: float) -> Figure:
    """kappa and its prior for sliders: `modes` half waves, coefficients alpha and beta times r^-shift."""
    fig, (log_prior, prior) = style.figure(style.DOUBLE, 2.0, ncols=2)
    lags, r = np.arange(length), np.arange(1, modes + 1)
    kappa = spectra.wave(lags, np.pi * r / length, alpha / r**shift, beta / r**shift)
    weights = np.exp(kappa - kappa.max())
    log_prior.plot(lags, kappa, color=BLUE)
    log_prior.set(xlabel="lag $d$", title=r"log-prior $\kappa(d)$")
    prior.plot(lags, length * weights / weights.sum(), color=ORANGE)
    prior.axhline(1, color=GREY, linewidth=0.7, linestyle=":")
    prior.set(xlabel="lag $d$", title="weight / uniform share", ylim=(0, None))
    plt.close(fig)  # shown once, as the returned value
    return fig


def build_fits(frame: pd.DataFrame) -> pd.DataFrame:
    named = {"sup": "largest error", "kl": "KL inside (nats)", "coefficient": "largest coefficient"}
    named |= {name: f"KL on {name[4:]} windows (nats)" for name in NATS[1:]}
    return frame.rename(columns=named)


def caption_table(frame: pd.DataFrame) -> str:
    return (
        "Fits of R waves to four log-priors on one window, smallest largest error, and what the same coefficients give "
        "on contexts 2, 4 and 16 times as long. Values below 1e-12 are rounding."
    )


def _spec(name: str, draw, caption, alt: str, paper: str = "") -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec("spectra_band", draw_band, caption_band,
              "Posterior by prior mass for three score ranges: a lens-shaped band with random rows filling it, and the "
              "printed straight-line bounds around it, which leave the unit square.", "Goat, Theorem 5.1"),
        _spec("spectra_sinks", draw_sinks, caption_sinks,
              "Left, mass off the sink by context length: fixed margins rise to one, a slope and a growing margin stay "
              "level. Right, response to noise: level for coherent changes, falling with slope minus one half for "
              "independent noise, level again under a peaked prior where the sink's value is noisy too.",
              "Goat, Theorem 5.4"),
        _spec("spectra_shapes", draw_shapes, caption_shapes,
              "Four priors by lag with their best slope and best sum of waves: attracting, repelling, a band of lags, "
              "periodic. The waves lie on the first three targets and overshoot the ends of the periodic one; the "
              "slope follows none.", "Goat, section 4"),
        _spec("spectra_fits", draw_fits, caption_fits,
              "Largest error by number of waves for a slope, a root, a logarithm and a window, log-log: steep for the "
              "slope, moderate for root and logarithm, flat for the window."),
        _spec("spectra_beyond", draw_beyond, caption_beyond,
              "A falling line and three fits by lag in windows: all agree inside the first window; beyond it they turn "
              "back up at different lags."),
    ]
)  # fmt: skip
TABLES = {
    "spectra_fits": TableSpec(
        metrics="spectra_fits", build=build_fits, caption=caption_table, paper="", notebook=NOTEBOOK
    ),
}
