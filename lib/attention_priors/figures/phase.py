"""The phase diagram of priors: local exponents, planes of parameters, limits, content, margins, and trained models."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.experiments.learned import FIGURE_LENGTH
from attention_priors.experiments.predictions import spearman
from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.positions.priors import alibi_slopes
from attention_priors.tasks import passkey
from attention_priors.theory import phase

NOTEBOOK = "14_phase_diagram"
BLUE, ORANGE, GREEN, PINK, BLACK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#7F7F7F"
LOOKS = {
    "ALiBi, m = 1/2": (BLUE, style.SOLID, "s"),
    "ALiBi, m = 1/256": (BLUE, (5, 1.5), "s"),
    "GGD, β = 1/2": (ORANGE, style.SOLID, "o"),
    "GGD, β = 1/10": (ORANGE, (5, 1.5), "o"),
    "KERPLE-log, r₁ = 2": (GREEN, style.SOLID, "^"),
    "KERPLE-log, r₁ = 1/2": (GREEN, (5, 1.5), "^"),
    "Sandwich, head 3": (PINK, style.SOLID, "D"),
    "Sandwich, head 12": (PINK, (5, 1.5), "D"),
    "T5, fitted": (BLACK, (3, 1, 1, 1), "v"),
    "GGD, β = -1/2": (ORANGE, (1, 1), "X"),
    "uniform": (GREY, style.SOLID, "None"),
    "ALiBi, m = 1/16": (BLUE, style.SOLID, "s"),
    "KERPLE-log, r₁ = 1.5": (GREEN, (5, 1.5), "^"),
    "SSMax, s × lead = 1": (BLACK, (1, 1), "None"),
    "SSMax, s × lead = 2": (BLACK, (3, 1, 1, 1), "None"),
}
FLOOR = 1e-5  # masses below it are drawn at it: the corner of the heads without any


def _line(ax, name: str, x, y, **more) -> None:
    color, dashes, marker = LOOKS[name]
    ax.plot(x, y, color=color, dashes=dashes, marker=marker, markevery=5, label=name, **more)


def draw_exponents(frame: pd.DataFrame) -> Figure:
    """Columns prior, lag, exponent: the power by which each prior falls around a lag; the border is 1."""
    fig, ax = style.figure(style.DOUBLE, 3.2)
    lowest = -3  # Sandwich, whose waves come back, falls to -1.5
    ax.axhspan(lowest, 1, color="#EFEFEF", zorder=0)
    ax.axhline(1, color=BLACK, linewidth=0.8, zorder=1)
    for name, rows in frame.groupby("prior", sort=False):
        color, dashes, marker = LOOKS[name]
        ax.plot(rows["lag"], rows["exponent"], color=color, dashes=dashes, marker=marker, markevery=2, label=name)
    ax.set_xscale("log", base=2)
    ax.set_yscale("symlog", linthresh=1, linscale=1.2)
    ticks = np.array([2, 16, 128, 1024, 8192, 65536])
    ticks = ticks[ticks <= frame["lag"].max()]
    ax.set_xticks(ticks, [style.length_label(tick) for tick in ticks])
    ax.set_yticks([-1, 0, 0.5, 1, 10, 100, 1000], ["$-1$", "0", "1/2", "1", "10", "100", "1000"])
    ax.set(ylim=(lowest, 2000), xlabel="lag $d$", ylabel=r"local exponent $\rho(d)$")
    ax.text(0.01, 0.97, "falls faster than $1/d$: a window forms", transform=ax.transAxes, va="top",
            fontsize=style.SMALLEST)  # fmt: skip
    ax.text(0.3, 0.02, "falls slower: the far keys outweigh", transform=ax.transAxes, fontsize=style.SMALLEST)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_exponents(frame: pd.DataFrame) -> str:
    last = frame[frame["lag"] == frame["lag"].max()].set_index("prior")["exponent"]
    crossing = frame[frame["exponent"] > 1].groupby("prior", sort=False)["lag"].min()
    listed = ", ".join(f"{lag:.0f} ({name})" for name, lag in crossing.items())
    return (
        "Local exponent: the power of the distance by which a prior falls from one octave of lags to the next. A prior "
        "that stays above 1 is local, one that stays below (grey) gives the far keys nearly all mass. First octave "
        f"above 1: {listed}. At lag {int(frame['lag'].max()):,} below 1: "
        f"{', '.join(last[last < 1].index)}."
    )


def draw_planes(frame: pd.DataFrame) -> Figure:
    """Columns family, x, y, tail: tail mass over two planes of parameters, with the members of the field in them."""
    fig, axes = style.figure(style.DOUBLE, 2.9, ncols=2)
    for ax, (name, rows) in zip(axes, frame.groupby("family", sort=False), strict=True):
        grid = rows.pivot(index="y", columns="x", values="tail")
        image = ax.pcolormesh(grid.columns, grid.index, grid.to_numpy(), vmin=0, vmax=1, shading="nearest",
                              rasterized=True)  # fmt: skip
        lines = ax.contour(grid.columns, grid.index, grid.to_numpy(), levels=[0.1, 0.5, 0.9], colors="white",
                           linewidths=0.7)  # fmt: skip
        ax.set(yscale="log", title=name)
        ax.grid(False)
        border = 0 if name == "GGD" else 1
        ax.axvline(border, color=BLACK, linewidth=1.0, linestyle=":")
    ggd, kerple = axes
    ggd.plot(np.ones(8), 1 / np.array(alibi_slopes(8)), "s", color="white", markeredgecolor=BLACK)
    ggd.annotate("ALiBi", (1, 4), xytext=(6, -2), textcoords="offset points", color="white",
                 fontsize=style.SMALLEST)  # fmt: skip
    ggd.set(xlabel=r"shape $\beta$", ylabel=r"scale $\alpha$")
    heads = np.arange(6, 13)
    kerple.plot(128 / (2 * 8 * heads / 12 * np.log(1e4)), np.full(len(heads), np.exp(np.euler_gamma)), "D",
                color="white", markeredgecolor=BLACK)  # fmt: skip
    kerple.annotate("Sandwich", (1.74, np.exp(np.euler_gamma)), xytext=(6, -2), textcoords="offset points",
                    color="white", fontsize=style.SMALLEST)  # fmt: skip
    kerple.set(xlabel="$r_1$", ylabel="$r_2$")
    bar = fig.colorbar(image, ax=axes, label=f"tail mass beyond lag {int(frame['window'].iloc[0])}", shrink=0.9)
    bar.add_lines(lines)
    return fig


def caption_planes(frame: pd.DataFrame) -> str:
    window, length = int(frame["window"].iloc[0]), int(frame["length"].iloc[0])
    return (
        f"Tail mass P(lag > {window}) over {length:,} keys, equal content, in the parameters of the two families. "
        "Dotted: where the limit tail mass becomes 1, β = 0 and r₁ = 1. The border of the limit is not the border of "
        "a finite context: to its right the tail may still be nearly whole. White lines: 0.1, 0.5 and 0.9. Squares: "
        "ALiBi's slopes of 8 heads. Diamonds: the power laws that Sandwich's heads 12 to 6 of 12 follow on average."
    )


def draw_limits(frame: pd.DataFrame) -> Figure:
    """Columns r1, keys, tail, limit: tail mass of KERPLE's logarithm by context length, dots for the limits."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    shades = mpl.colormaps["cividis"]
    values = sorted(frame["r1"].unique())
    end = frame["keys"].max() * 3
    for k, (r1, rows) in enumerate(frame.groupby("r1", sort=True)):
        color = shades(0.85 * k / (len(values) - 1))
        dashes = style.SOLID if r1 > 1 else (5, 1.5)
        ax.plot(rows["keys"], rows["tail"], color=color, dashes=dashes, label=f"{r1:g}")
        ax.plot([end], [rows["limit"].iloc[0]], "o" if r1 > 1 else "s", color=color)
    ax.set(xscale="log", xlabel="context length $n$", ylabel=f"tail mass beyond lag {int(frame['window'].iloc[0])}",
           ylim=(-0.03, 1.04))  # fmt: skip
    ax.legend(title="$r_1$", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_limits(frame: pd.DataFrame) -> str:
    limits = frame.groupby("r1")["limit"].first()
    last = frame[frame["keys"] == frame["keys"].max()].set_index("r1")["tail"]
    listed = "; ".join(f"{r1:g}: {last[r1]:.3f}, limit {limits[r1]:.3f}" for r1 in limits.index)
    return (
        f"Tail mass of the prior (1 + d)^(-r₁) beyond lag {int(frame['window'].iloc[0])} by context length; markers at "
        "the right end are the limits, 1 for r₁ <= 1 (dashed, one square). At "
        f"{int(frame['keys'].max()):,} keys, by r₁: {listed}."
    )


def draw_content(frame: pd.DataFrame) -> Figure:
    """Columns prior, window, tail, low, high: tail mass by window with the band that content can reach."""
    names = list(frame["prior"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.2, ncols=len(names), sharey=True)
    for ax, (name, rows) in zip(axes, frame.groupby("prior", sort=False), strict=True):
        color, dashes, _ = LOOKS[name]
        ax.fill_between(rows["window"], rows["low"], rows["high"], color=color, alpha=0.2, linewidth=0)
        ax.plot(rows["window"], rows["tail"], color=color, dashes=dashes)
        ax.axhline(0.5, color=GREY, linewidth=0.7, linestyle=":")
        ax.set(xscale="log", xlabel="window $D$", title=name, ylim=(-0.02, 1.02))
    axes[0].set_ylabel("$P$(lag > $D$)")
    return fig


def caption_content(frame: pd.DataFrame) -> str:
    near = frame[frame["high"] <= 0.5].groupby("prior")["window"].min()
    listed = ", ".join(f"{name}: {int(near[name])}" if name in near else f"{name}: none" for name in
                       frame["prior"].unique())  # fmt: skip
    return (
        f"Tail mass by window over {int(frame['keys'].iloc[0]):,} keys: prior alone (line), and every value that "
        f"content of range {frame['omega'].iloc[0]:g} can give it (band; both edges are attained). First window drawn "
        f"that keeps at least half of the weight whatever the content: {listed}."
    )


def draw_margins(frame: pd.DataFrame) -> Figure:
    """Columns panel, series, x, margin: lead needed by lag and by context length."""
    fig, axes = style.figure(style.DOUBLE, 2.9, ncols=2, sharey=True)
    for ax, (panel, rows) in zip(axes, frame.groupby("panel", sort=False), strict=True):
        for name, points in rows.groupby("series", sort=False):
            _line(ax, name, points["x"], points["margin"])
        ax.set(xscale="log", ylim=(-1, 30), title=f"key {panel}" if panel != "by lag" else "by lag, long context")
    axes[0].set(xlabel="lag of the key", ylabel="lead for half of the weight (nats)")
    axes[1].set(xlabel="context length $n$")
    handles, labels = axes[1].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside right center")
    return fig


def caption_margins(frame: pd.DataFrame) -> str:
    far = frame[frame["panel"] == "at the far end"]
    last = far[far["x"] == far["x"].max()].set_index("series")["margin"]
    listed = ", ".join(f"{value:.1f} ({name})" for name, value in last[last < 100].items() if "SSMax" not in name)
    return (
        f"Lead in content with which one key takes half of the weight, the others equal. Left: by its lag among "
        f"{int(far['x'].max()):,} keys. Right: the oldest key, by context length; black is what SSMax supplies. At the "
        f"longest context it needs {listed}; the others more than 100."
    )


def explore(keys: int, r1: float, r2: float) -> Figure:
    """Lead that the oldest key needs by context length under (1 + r2 d)^(-r1), for sliders."""
    bias = -r1 * np.log1p(r2 * np.arange(keys, dtype=np.float64))
    totals = np.logaddexp.accumulate(bias)
    counts = np.arange(2, keys + 1)
    needed = [phase.required_margin(own, total) for own, total in zip(bias[1:], totals[1:], strict=True)]
    fig, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(counts, needed, color=GREEN, label="needed")
    ax.plot(counts, np.log(counts), color=BLACK, dashes=(1, 1), label="SSMax, s × lead = 1")
    ax.set(xscale="log", xlabel="context length $n$", ylabel="lead (nats)", ylim=(0, None))
    ax.set_title(rf"$r_1 = {r1:.3g}$, $r_2 = {r2:.3g}$: " + ("local" if r1 > 1 else "not local"))
    ax.legend(loc="upper left")
    plt.close(fig)  # shown once, as the returned value
    return fig


def draw_heads(frame: pd.DataFrame) -> Figure:
    """Columns beta, predicted, measured: heads of trained models."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    for sign, (color, marker, label) in {
        True: (ORANGE, "o", r"$\beta \leq 0$"), False: (BLUE, "s", r"$\beta > 0$")
    }.items():  # fmt: skip
        rows = frame[(frame["beta"] <= 0) == sign]
        shown = rows[["predicted", "measured"]].clip(lower=FLOOR)
        ax.plot(shown["predicted"], shown["measured"], marker, color=color, markerfacecolor="none", label=label)
    corner = _cornered(frame)
    if corner > 1:
        ax.annotate(f"{corner} heads", (FLOOR, FLOOR), xytext=(6, 0), textcoords="offset points", va="center",
                    fontsize=style.SMALLEST)  # fmt: skip
    ends = np.array([FLOOR, 1.0])
    ax.plot(ends, ends, color=GREY, linewidth=0.8, dashes=(2, 1), label="prior alone")
    ax.axhline(0.5, color=GREY, linewidth=0.7, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="prior mass of the key sentence", ylabel="attention measured there")
    ax.legend(loc="lower right")
    return fig


def _cornered(frame: pd.DataFrame) -> int:
    """Heads whose prior and attention both leave less than FLOOR on the key sentence: one mark in the figure."""
    return int((frame[["predicted", "measured"]] <= FLOOR).all(axis=1).sum())


def caption_heads(frame: pd.DataFrame) -> str:
    half, rank = frame[frame["measured"] >= 0.5], spearman(frame, "predicted", "measured")
    nowhere = frame[frame["predicted"] < 1e-4]
    return (
        f"{len(frame)} heads of {frame['seed'].nunique()} trained models ({style.method_style('bam-ssmax')['label']}): "
        f"mass of the prior on the key sentence of a prompt of {FIGURE_LENGTH} tokens ({passkey.DIGITS - 1} of them "
        f"digits of the answer), from the learned parameters, and attention measured there. Masses "
        f"below {FLOOR:g} are drawn there (both: {_cornered(frame)} heads). "
        f"Vertical distance from the dashed line is what content adds. {len(half)} heads give it half of their weight; "
        f"all of these have a prior mass of at least {half['predicted'].min():.2g}. Of the {len(nowhere)} heads below "
        f"1e-4, {int((nowhere['measured'] >= 0.5).sum())} do. Spearman's correlation {rank:.2f}."
    )


def draw_models(frame: pd.DataFrame) -> Figure:
    """Columns encoding, tail, accuracy, length: a point per trained model, a panel per length."""
    lengths = sorted(frame["length"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.4, ncols=len(lengths), sharey=True, squeeze=False)
    for ax, length in zip(axes[0], lengths, strict=True):
        for name, rows in frame[frame["length"] == length].groupby("encoding", sort=False):
            look = style.method_style(name)
            filled = {} if name.endswith("ssmax") else {"markerfacecolor": "none"}
            ax.plot(rows["tail"], rows["accuracy"], linestyle="none", color=look["color"], marker=look["marker"],
                    markersize=5, label=look["label"], **filled)  # fmt: skip
        ax.set(ylim=(-0.04, 1.04), title=f"{length:,} tokens")
    axes[0, 0].set_ylabel("passkey accuracy")
    axes[0, len(lengths) // 2].set_xlabel("prior mass beyond the training length")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return fig


def caption_models(frame: pd.DataFrame) -> str:
    scaled = frame[frame["encoding"].str.endswith("ssmax")]
    plain = frame[~frame["encoding"].str.endswith("ssmax")]
    fixed = plain[plain["encoding"] != "bam"]

    def listed(rows: pd.DataFrame) -> str:
        return ", ".join(f"{spearman(part, 'tail', 'accuracy'):.2f} ({int(length):,})" for length, part in
                         rows.groupby("length"))  # fmt: skip

    return (
        "Trained models whose prior is known: largest mass that one of their heads' priors leaves beyond "
        f"{int(frame['trained'].iloc[0])} tokens, and passkey accuracy. NoPE and ALiBi fix their priors; those of BAM "
        "are the learned ones, sharpened by SSMax where there is one. Spearman's correlation by length: all models "
        f"{listed(frame)}; with SSMax (filled) {listed(scaled)}; without (open) {listed(plain)}, and of these without "
        f"BAM {listed(fixed)}."
    )


def _spec(name: str, draw, caption, alt: str) -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper="", notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec("phase_exponents", draw_exponents, caption_exponents,
              "Local exponent by lag for eleven priors: rising lines for ALiBi and the generalised Gaussian cross one, "
              "level lines for the logarithm, zero for uniform, T5 drops to zero beyond its last bucket, Sandwich "
              "below zero at the far end, where its waves come back."),
        _spec("phase_planes", draw_planes, caption_planes,
              "Two maps of tail mass over parameters, shape and scale of the generalised Gaussian and both parameters "
              "of KERPLE's logarithm, with contours and the place of ALiBi's and Sandwich's heads."),
        _spec("phase_limits", draw_limits, caption_limits,
              "Tail mass by context length for six exponents: three climb towards one, three level off below."),
        _spec("phase_content", draw_content, caption_content,
              "Three panels of tail mass by window with bands: ALiBi's band closes at a hundred lags, the power law's "
              "has nearly closed at the longest window, half of the context, where the uniform prior's is still open."),
        _spec("phase_margins", draw_margins, caption_margins,
              "Required lead by lag and by context length: straight up for ALiBi, logarithms for the others, and two "
              "lines for what SSMax supplies."),
        _spec("phase_heads", draw_heads, caption_heads,
              "Scatter of attention on the key sentence against prior mass there: high attention only where the prior "
              "leaves mass."),
        _spec("phase_models", draw_models, caption_models,
              "Passkey accuracy against the prior's mass beyond the training length, one panel per length."),
    ]
)  # fmt: skip
