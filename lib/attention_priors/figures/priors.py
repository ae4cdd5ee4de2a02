"""The generalised Gaussian prior: its shapes (BAM, Fig. 1), its tails, what epsilon, the start and SSMax do to it."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.theory.prior_rows import curve_rows

NOTEBOOK = "04_generalised_gaussian"
BLACK, GREEN, PINK, BLUE, ORANGE, GREY = "#000000", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#7F7F7F"
# the paper's colours for its four curves; the fifth is ours
CURVES = {
    "uniform": (GREY, (1, 1), "uniform"),
    "laplace": (GREEN, (5, 1.5), r"Laplace, $\beta = 1$"),
    "fractional": (PINK, (3, 1), r"$\beta = 1/2$"),
    "negative": (BLACK, style.SOLID, r"$\beta = -1$"),
    "negative, far scale": (BLACK, (5, 1, 1, 1), r"$\beta = -1$, $\alpha = 16\,n$"),
}
SERIES = ((BLUE, style.SOLID, "o"), (ORANGE, (5, 1.5), "s"), (GREEN, (3, 1), "^"), (PINK, (1, 1), "D"),
          (BLACK, (5, 1, 1, 1), "v"))  # fmt: skip
HIGHEST = 2.3  # where the axis of the statistics ends: smaller differences are what they are about
SIGNS = {1: BLUE, 0: GREY, -1: ORANGE}  # sign of beta


def draw_shapes(frame: pd.DataFrame) -> Figure:
    """Columns curve, key, share: one curve per prior, on a linear and on a logarithmic scale."""
    fig, (linear, logarithmic) = style.figure(style.DOUBLE, 2.4, ncols=2, sharex=True)
    keys = int(frame["key"].max())
    for ax in (linear, logarithmic):
        for name, rows in frame.groupby("curve", sort=False):
            color, dashes, label = CURVES[name]
            shown = rows[rows["share"] > 0]
            ax.plot(shown["key"], shown["share"], color=color, dashes=dashes, label=label)
        ax.axvspan(keys + 0.5, 1.15 * keys, color="#E3E3E3", zorder=0)
        ax.text(1.08 * keys, 0.97, "future", rotation=90, ha="center", va="top", transform=ax.get_xaxis_transform(),
                fontsize=style.SMALLEST, color="#555555")  # fmt: skip
        ax.set(xlabel="key $j$ (query at the grey edge)", xlim=(0, 1.15 * keys))
    linear.set(ylabel="weight / uniform share", title="linear")
    logarithmic.set(yscale="log", ylim=(1e-3, 40), title="logarithmic")
    linear.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0))
    return fig


def caption_shapes(frame: pd.DataFrame) -> str:
    keys = int(frame["key"].max())
    tenth = frame[frame["key"] <= keys / 10].groupby("curve")["share"].sum() / keys
    return (
        f"Positional priors of the last of {keys} visible keys, relative to the uniform share 1/n; keys after the "
        f"query are shaded. All scales are n/16 but the last one's. The curve with β = -1 rises from 0 at the query "
        f"and flattens: its oldest tenth holds {tenth['negative']:.1%} of the mass. It becomes a peak at the far end "
        f"({tenth['negative, far scale']:.1%}) only when its scale is many times the context."
    )


def explore(keys: int, alpha: float, beta: float, mu: float) -> Figure:
    """The prior of one setting on `keys` visible keys, for sliders; the uniform share is dotted."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    rows = pd.DataFrame(curve_rows(keys, alpha, beta, mu))
    ax.plot(rows["key"], rows["share"], color=BLUE)
    ax.axhline(1.0, color=GREY, linewidth=0.7, linestyle=":")
    ax.set(xlabel="key $j$ (the last is the query's own)", ylabel="weight / uniform share", ylim=(0, None))
    ax.set_title(rf"$\alpha = {alpha:.3g}$, $\beta = {beta:.3g}$, $\mu = {mu:.3g}$")
    plt.close(fig)  # shown once, as the returned value
    return fig


def draw_tails(frame: pd.DataFrame) -> Figure:
    """Columns beta, keys, window, within: mass of the nearest D + 1 keys by context length, one panel per D."""
    windows = sorted(frame["window"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.5, ncols=len(windows), sharey=True)
    for ax, window in zip(axes, windows, strict=True):
        for beta, rows in frame[(frame["window"] == window) & (frame["within"] > 0)].groupby("beta", sort=False):
            color = SIGNS[(beta > 0) - (beta < 0)]
            dashes = style.SOLID if beta in (1, 0, -1) else {0.5: (5, 1.5), -0.5: (5, 1.5)}.get(beta, (2, 1))
            ax.plot(rows["keys"], rows["within"], color=color, dashes=dashes, label=rf"$\beta = {beta:g}$")
        ax.set(xscale="log", yscale="log", xlabel="context length", title=rf"mass within $D = {window}$ lags")
        ax.set_ylim(0.5 * frame[frame["within"] > 0]["within"].min(), 2)
    axes[0].set_ylabel(r"$P(|i - j| \leq D)$")
    for ax in axes:
        style.direct_labels(ax)
    return fig


def caption_tails(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index(["beta", "window"])["tail"]
    window = int(frame["window"].min())
    listed = ", ".join(f"{last[beta, window]:.4g} ({beta:g})" for beta in (0.5, 0.3, 0.2, 0.1, 0.0, -0.5))
    return (
        "Mass of the prior within D lags of the query, scale 1, equal content. Blue, β > 0: the mass settles at a "
        "positive value, at once for β = 1 and beyond any context in use for β = 0.1. Grey and orange, β ≤ 0: "
        f"it vanishes like 1/n. Tail mass P(|i-j| > {window}) at {int(frame['keys'].max()):,} keys, by β: {listed}."
    )


def draw_far_end(frame: pd.DataFrame) -> Figure:
    """Columns beta, ratio, nearest, farthest: shares of the two ends of the context by alpha / n."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    patterns = ((6, 1.5), (2.5, 1), (1, 1))
    lines = list(zip(SERIES, patterns, frame.groupby("beta", sort=False), strict=False))
    for (color, _, marker), _, (beta, rows) in lines:
        ax.plot(rows["ratio"], rows["farthest"], color=color, marker=marker, label=rf"farthest, $\beta = {beta:g}$")
    for (color, *_), dashes, (beta, rows) in lines:
        ax.plot(rows["ratio"], rows["nearest"], color=color, dashes=dashes, label=rf"nearest, $\beta = {beta:g}$")
    ax.axhline(0.1, color=GREY, linewidth=0.7, linestyle=":")
    ax.set(xscale="log", xlabel=r"scale / context, $\alpha / n$", ylabel="mass of a tenth of the keys", ylim=(0, 1.03))
    ax.legend(loc="upper left")
    return fig


def caption_far_end(frame: pd.DataFrame) -> str:
    half = frame[frame["farthest"] >= 0.5].groupby("beta")["ratio"].min()
    listed = ", ".join(f"{ratio:.3g} ({beta:g})" for beta, ratio in half.items())
    return (
        "Mass of the farthest (solid) and nearest (dashed) tenth of the context for β < 0. The dotted line is the "
        "uniform share. A context much longer than α is nearly uniform; the first scale α/n drawn at which the "
        f"farthest tenth holds half of the mass is, by β: {listed or 'none'}."
    )


def draw_sharpness(frame: pd.DataFrame) -> Figure:
    """Columns beta and four statistics of the prior at a fixed scale, each relative to its value at beta = 1."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    laplace = frame.set_index("beta").loc[1.0]
    for (color, dashes, marker), name in zip(SERIES, laplace.index, strict=False):
        ax.plot(frame["beta"], frame[name] / laplace[name], color=color, dashes=dashes, marker=marker,
                label=name.replace("alpha", r"$\alpha$"))  # fmt: skip
    ax.set(
        xscale="log", xlabel=r"shape $\beta$ at a fixed scale", ylabel=r"relative to $\beta = 1$", ylim=(-0.05, HIGHEST)
    )
    ax.set_xlim(0.45, 18)
    ax.set_xticks([0.5, 1, 2, 4, 8, 16], ["1/2", "1", "2", "4", "8", "16"])
    ax.xaxis.minorticks_off()
    ax.legend(loc="upper right")
    return fig


def caption_sharpness(frame: pd.DataFrame) -> str:
    own, spread = frame.loc[frame["own key"].idxmax()], frame.loc[frame["rms lag"].idxmin()]
    half = (frame / frame.set_index("beta").loc[1.0]).drop(columns="beta")[frame["beta"] == 0.5].iloc[0]
    above = ", ".join(f"{name.replace('alpha', 'α')} ({ratio:.2g})" for name, ratio in half.items() if ratio > HIGHEST)
    return (
        "What the shape does while the scale stays fixed, each statistic relative to its value at β = 1. Tail and "
        f"entropy fall throughout. The weight of the own key is largest at β = {own['beta']:g} and the root mean "
        f"square lag smallest at β = {spread['beta']:g}, by little: larger shapes approach a flat window. At β = 1/2 "
        f"above the panel: {above or 'nothing'}."
    )


def draw_epsilon(frame: pd.DataFrame) -> Figure:
    """Columns panel, epsilon, theta_beta, lag, weight: weights relative to the oldest key."""
    fig, (own, near) = style.figure(style.DOUBLE, 2.4, ncols=2)
    lines = frame[frame["panel"] == "own key"].groupby("epsilon", sort=False)
    for (color, dashes, _), (epsilon, rows) in zip(SERIES, lines, strict=False):
        label = rf"$\epsilon = 10^{{{round(math.log10(epsilon))}}}$"
        own.plot(rows["theta_beta"], rows["weight"], color=color, dashes=dashes, label=label)
    own.set(yscale="log", ylim=(1e-8, 2), xlabel=r"$\theta_\beta$", ylabel="weight / oldest key", title="the own key")
    own.xaxis.set_major_locator(MultipleLocator(0.1))
    own.legend(loc="lower right")
    points = frame[frame["panel"] == "near keys"].groupby("theta_beta", sort=False)
    for (color, dashes, marker), (theta_beta, rows) in zip(SERIES, points, strict=False):
        near.plot(rows["lag"], rows["weight"], color=color, dashes=dashes, marker=marker,
                  label=rf"$\theta_\beta = {theta_beta:g}$")  # fmt: skip
    near.set_xticks(range(0, int(frame["lag"].max()) + 1, 5))
    near.set(xlabel="lag", ylabel="weight / oldest key", ylim=(-0.03, 1.05), title=r"near keys, $\epsilon = 10^{-5}$")
    near.legend(loc="lower right", ncols=2)
    return fig


def caption_epsilon(frame: pd.DataFrame) -> str:
    near = frame[frame["panel"] == "near keys"].set_index(["lag", "theta_beta"])["weight"]
    own, next_to = (", ".join(f"{near[lag, t]:.2g} ({t:g})" for t in (-0.05, -0.1, -0.2)) for lag in (0, 1))
    return (
        "Left: weight of the query's own key relative to the oldest, θ_α = 0, by θ_β and ε; "
        f"without ε it is 0 for every θ_β < 0. With ε = 1e-5 it is, by θ_β: {own}. Right: "
        f"only lag 0 feels ε; the key at lag 1 keeps {next_to}."
    )


def draw_gradients(frame: pd.DataFrame) -> Figure:
    """Columns panel, series, x, value: d b / d theta by lag, and the own key's share by context."""
    fig, (slope, share) = style.figure(style.DOUBLE, 2.3, ncols=2)
    names = {"theta_alpha": r"$\theta_\alpha$", "theta_beta": r"$\theta_\beta$", "theta_mu": r"$\theta_\mu$"}
    lines = frame[frame["panel"] == "slope"].groupby("series", sort=False)
    for (color, dashes, marker), (name, rows) in zip(SERIES, lines, strict=False):
        slope.plot(rows["x"], rows["value"], color=color, dashes=dashes, marker=marker, label=names[name])
    slope.set_xscale("symlog", linthresh=1)
    slope.set_xticks([0, 1, 10, 100, 500], ["0", "1", "10", "100", "500"])
    slope.set(xlabel="lag", ylabel=r"$\partial b / \partial \theta$", title=r"at the uniform start $\theta = 0$")
    slope.legend(loc="upper right")
    rows = frame[frame["panel"] == "share"]
    share.plot(rows["x"], rows["value"], color=ORANGE, marker="s")
    share.axhline(0.5, color=GREY, linewidth=0.7, linestyle=":")
    style.length_axis(share, rows["x"].astype(int), most=6)
    share.set(ylim=(0, 1), xlabel="visible keys", ylabel="part of the variance",
              title=r"own key's part in $\theta_\beta$'s gradient")  # fmt: skip
    return fig


def caption_gradients(frame: pd.DataFrame) -> str:
    slope = frame[(frame["panel"] == "slope") & (frame["series"] == "theta_beta")].set_index("x")["value"]
    share = frame[frame["panel"] == "share"].set_index("x")["value"]
    return (
        f"Left: gradient of the log-prior at the uniform start. For θ_β it is {slope[0]:+.1f} at the own key "
        f"and {slope.iloc[-1]:+.1f} at lag {slope.index[-1]}; for θ_α it is one constant per row and for "
        "θ_μ 0, so that no loss moves these two at first. Right: part of the variance of θ_β's first "
        "gradient that is "
        f"due to the own key when upstream gradients are independent: {share.iloc[0]:.0%} with {share.index[0]} keys, "
        f"{share.iloc[-1]:.0%} with {share.index[-1]}."
    )


def draw_scaled(frame: pd.DataFrame) -> Figure:
    """Columns reading, keys, mean lag, lag 1 share: SSMax on content alone or on the prior too."""
    fig, axes = style.figure(style.DOUBLE, 2.3, ncols=2)
    panels = (("mean lag", r"$\beta = 1/2$", "mean lag (keys)"),
              ("lag 1 share", r"$\beta = -1/2$", "weight at lag 1 / uniform"))  # fmt: skip
    for ax, (column, title, unit) in zip(axes, panels, strict=True):
        lines = frame.groupby("reading", sort=False)
        for (color, dashes, marker), (reading, rows) in zip(SERIES, lines, strict=False):
            ax.plot(rows["keys"], rows[column], color=color, dashes=dashes, marker=marker, label=reading)
        ax.set(xscale="log", yscale="log", xlabel="context length $n$", ylabel=unit, title=title)
    axes[0].legend(loc="lower left")
    return fig


def caption_scaled(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index("reading")
    one, both = last.loc["content only"], last.loc["content and prior"]
    return (
        "SSMax with s = 1 and θ_α = 0, on content alone or on content and prior. Left: a head with β = 1/2 "
        f"keeps its mean lag ({one['mean lag']:.2f}) or collapses onto itself ({both['mean lag']:.1e} at "
        f"{int(last['keys'].iloc[0]):,} keys). Right: with β = -1/2 the share of the key at lag 1, relative to "
        f"uniform, stays at {one['lag 1 share']:.2f} or falls to {both['lag 1 share']:.1e}."
    )


def draw_fading(frame: pd.DataFrame) -> Figure:
    """Columns softmax, gap, keys, weight: the leading key's weight by context length."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    looks = dict(zip(sorted(frame["gap"].unique()), ((ORANGE, "s"), (GREY, "D"), (BLUE, "o")), strict=True))
    for (name, gap), rows in frame.groupby(["softmax", "gap"], sort=False):
        (color, marker), dashes = looks[gap], style.SOLID if name == "SSMax" else (2, 1)
        look = {"color": color, "dashes": dashes, "marker": marker, "markevery": 3}
        ax.plot(rows["keys"], rows["weight"], label=f"{name}, lead {gap:g}", **look)
    ax.set(xscale="log", yscale="log", xlabel="context length $n$", ylabel="weight of the leading key", ylim=(1e-5, 2))
    _legend_below(ax)
    return fig


def caption_fading(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index(["softmax", "gap"])["weight"]
    gaps = sorted(frame["gap"].unique())
    listed = ", ".join(f"{last['SSMax', gap]:.3g} (lead {gap:g})" for gap in gaps)
    return (
        "Weight of one key whose logit leads n - 1 equal others. Softmax (dashed) fades for every lead. SSMax with "
        "s = 1 (solid) fades when the lead is below 1, tends to one half at 1 and sharpens above: at "
        f"{int(frame['keys'].max()):,} keys {listed}."
    )


def _legend_below(ax: Axes) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)


def _spec(name: str, draw, caption, alt: str, paper: str = "") -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec(
            "prior_shapes", draw_shapes, caption_shapes,
            "Weight by key position for five priors on a linear and a logarithmic scale, with the future shaded. "
            "Laplace and the fractional shape peak at the query; the negative shape is zero there, rises and flattens; "
            "with a very large scale it peaks at the oldest key.",
            "BAM, Fig. 1",
        ),
        _spec(
            "prior_tails", draw_tails, caption_tails,
            "Mass within a window by context length, log-log, one panel per window: level lines for positive shapes, "
            "lines falling with slope minus one for zero and negative shapes.",
            "BAM, Theorem 4",
        ),
        _spec(
            "prior_far_end", draw_far_end, caption_far_end,
            "Mass of the farthest tenth of the context rising from one tenth to one as the scale grows from a "
            "thousandth of the context to a hundred times it; mass of the nearest tenth falling to zero.",
            "BAM, section 2.5",
        ),
        _spec(
            "prior_sharpness", draw_sharpness, caption_sharpness,
            "Four statistics by shape: tail and entropy fall, the weight of the own key rises to a maximum near shape "
            "2 and falls again.",
            "BAM, appendix A",
        ),
        _spec(
            "prior_epsilon", draw_epsilon, caption_epsilon,
            "Left, the own key's weight falling steeply with more negative theta beta, later for larger epsilon. "
            "Right, weights of the first lags: only lag 0 depends on epsilon.",
            "BAM, appendix C",
        ),
        _spec(
            "prior_gradients", draw_gradients, caption_gradients,
            "Left, gradients of the log-prior by lag: a falling logarithm for theta beta with an outlier at lag 0, two "
            "level lines for theta alpha and theta mu. Right, the own key's part of the variance rising to nine tenths "
            "at 16 keys and falling from there.",
            "BAM, appendix F.1",
        ),
        _spec(
            "prior_scaled", draw_scaled, caption_scaled,
            "Two panels by context length. With the prior scaled, the mean lag at shape one half and the weight of "
            "lag 1 at shape minus one half fall as power laws; with content scaled alone both stay level.",
            "BAM, section 2.5",
        ),
        _spec(
            "softmax_fading", draw_fading, caption_fading,
            "Weight of the leading key by context length, log-log: softmax lines fall with slope minus one; SSMax "
            "lines fall, level off at one half or rise to one as the lead is below, at or above one.",
            "BAM, section 2.5",
        ),
    ]
)  # fmt: skip
