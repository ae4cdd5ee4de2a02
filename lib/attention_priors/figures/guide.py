"""The field guide to positional encodings: the priors on one page, T5's buckets, Sandwich, how RoPE turns, xPos."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec

NOTEBOOK = "03_field_guide"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#7F7F7F"
SETTINGS = ((BLUE, style.SOLID), (ORANGE, (5, 1.5)), (GREEN, (1.5, 1)))
CORNERS = {"GGD, β < 0": "lower right", "T5 buckets": "lower right", "Sandwich": "upper right"}
FORMULAS = {
    "Uniform (NoPE)": r"$0$",
    "ALiBi": r"$-m\,d$",
    "GGD, β > 0": r"$-(d/\alpha)^{\beta}$",
    "GGD, β < 0": r"$-(\alpha/d)^{|\beta|}$",
    "KERPLE, power": r"$-r_1 d^{\,r_2}$",
    "KERPLE, log": r"$-r_1 \ln(1 + r_2 d)$",
    "T5 buckets": r"$b[\mathrm{bucket}(d)]$",
    "Sandwich": r"$\Sigma_i \cos(\omega_i d) / r_h$",
    "Fourier (Goat)": r"$\Sigma_r \alpha_r \cos \omega_r d$",
}
TEXT = {
    "Uniform (NoPE)": ("0", "n", "1, always", 0),
    "ALiBi": ("-m d", "1 / (1 - e^-m)", "e^(-m (D + 1)) < 1", 0),
    "GGD, β > 0": ("-(d / α)^β", "about α Γ(1 + 1/β)", "Q(1/β, (D/α)^β) < 1 at most", 2),
    "GGD, β < 0": ("-(α / d)^|β|", "about n for n >> α", "1, always", 2),
    "KERPLE, power": ("-r₁ d^r₂, 0 < r₂ <= 2", "about r₁^(-1/r₂) Γ(1 + 1/r₂)", "Q(1/r₂, r₁ D^r₂) < 1 at most", 2),
    "KERPLE, log": ("-r₁ ln(1 + r₂ d)", "r₂^-r₁ ζ(r₁, 1/r₂) for r₁ > 1; else grows with n",
                    "ζ(r₁, 1/r₂ + D + 1) / ζ(r₁, 1/r₂) < 1 for r₁ > 1, else 1", 2),
    "T5 buckets": ("b[bucket(d)]", "about n e^b31", "1, always", 32),
    "Sandwich": ("(1/r_h) Σ cos(ω_i d)", "grows with n (bounded bias)", "1, always", 0),
    "Fourier (Goat)": ("Σ α_r cos(ω_r d) + β_r sin(ω_r d)", "grows with n (bounded bias)", "1, always", "2 per mode"),
}  # fmt: skip


def draw_page(frame: pd.DataFrame) -> Figure:
    """Columns family, setting, lag, share: a panel per family, weight relative to the uniform share."""
    fig, axes = style.figure(style.DOUBLE, 5.6, nrows=3, ncols=3, sharex=True, sharey=True)
    for ax, (family, panel) in zip(axes.flat, frame.groupby("family", sort=False), strict=True):
        lines = panel.groupby("setting", sort=False, dropna=False)
        for (color, dashes), (setting, rows) in zip(SETTINGS, lines, strict=False):
            label = setting if isinstance(setting, str) and setting else "_uniform"
            ax.plot(rows["lag"] + 1, rows["share"], color=color, dashes=dashes, label=label)
        ax.axhline(1.0, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        ax.set(xscale="log", yscale="log", ylim=(1e-4, 1e3), title=f"{family}: {FORMULAS[family]}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc=CORNERS.get(family, "lower left"), handlelength=2.0)
    for ax in axes[-1]:
        ax.set_xlabel(r"lag $d$ + 1")
    for ax in axes[:, 0]:
        ax.set_ylabel("weight / uniform share")
    return fig


def caption_page(frame: pd.DataFrame) -> str:
    keys = int(frame["lag"].max()) + 1
    last = frame[frame["lag"] == frame["lag"].max()].set_index("family")["share"]
    far = last[last >= 0.5].index.unique()
    return (
        f"The additive priors of the field, up to three settings each, over {keys} visible keys: n times the weight of "
        "the key at lag d, so that 1 (dotted) is the uniform share; both axes logarithmic, where a power law is a "
        "straight line. Settings are examples, those of T5 made up. Families with a setting that leaves the oldest key "
        f"at least half of its uniform share: {', '.join(far)}."
    )


def explore(keys: int, family: str, first: float, second: float) -> Figure:
    """One prior for sliders: ALiBi (m), GGD (β, α), KERPLE power and log (r₁, r₂), Sandwich (ratio, width)."""
    lags = np.arange(keys, dtype=np.float64)
    half = max(1, round(second / 2))
    biases = {
        "ALiBi": lambda: -first * lags,
        "GGD": lambda: -(((lags + 1e-5) / second) ** first),
        "KERPLE, power": lambda: -first * lags ** min(second, 2),
        "KERPLE, log": lambda: -first * np.log1p(second * lags),
        "Sandwich": lambda: np.cos(np.outer(lags, 1e4 ** (-np.arange(half) / half))).sum(1) / first,
    }
    bias = biases[family]()
    weights = np.exp(bias - bias.max())
    weights /= weights.sum()
    fig, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(lags + 1, keys * weights, color=BLUE)
    ax.axhline(1.0, color=GREY, linewidth=0.7, linestyle=":")
    beyond = weights[keys // 8 :].sum()
    ax.set(xscale="log", yscale="log", ylim=(1e-4, None), xlabel="lag $d$ + 1", ylabel="weight / uniform share")
    ax.set_title(f"{family}: mass of the far 7/8 is {beyond:.3g}")
    plt.close(fig)  # shown once, as the returned value
    return fig


def draw_buckets(frame: pd.DataFrame) -> Figure:
    """Columns curve, lag, bucket."""
    fig, ax = style.figure(style.SINGLE, 2.2)
    looks = {"code": (BLUE, style.SOLID), "printed formula": (ORANGE, (5, 1.5))}
    for name, rows in frame.groupby("curve", sort=False):
        color, dashes = looks[name]
        ax.plot(rows["lag"] + 1, rows["bucket"], color=color, dashes=dashes, drawstyle="steps-post", label=name)
    first = _first_of_last(frame)
    ax.axvline(first + 1, color=GREY, linewidth=0.7, linestyle=":")
    ax.annotate(f"lag {first}", (first + 1, 8), xytext=(3, 0), textcoords="offset points", fontsize=style.SMALLEST)
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="bucket", ylim=(-1, 33))
    ax.legend(loc="upper left")
    return fig


def _first_of_last(frame: pd.DataFrame) -> int:
    code = frame[frame["curve"] == "code"]
    return int(code.loc[code["bucket"] == code["bucket"].max(), "lag"].min())


def caption_buckets(frame: pd.DataFrame) -> str:
    lags = frame[frame["curve"] == "printed formula"].set_index("lag")["bucket"]
    return (
        "Bucket of each causal lag in T5: as its code computes it and as the survey's formula has it. The formula "
        f"falls back to bucket {lags[16]:.0f} at lag 16 and reaches bucket {lags.iloc[-1]:.0f} at lag "
        f"{int(lags.index[-1]):,}. In the code all lags from {_first_of_last(frame)} on share the last bucket."
    )


def draw_sandwich(frame: pd.DataFrame) -> Figure:
    """Columns curve, lag, value."""
    fig, ax = style.figure(style.SINGLE, 2.3)
    looks = {"sum": ("#A9A9A9", style.SOLID, 0.7), "octave mean": (BLUE, style.SOLID, 1.4),
             "logarithm": (ORANGE, (5, 1.5), 1.2)}  # fmt: skip
    names = {"sum": r"$\sum_i \cos \omega_i d$", "octave mean": "mean over an octave", "logarithm": "logarithm"}
    for name, rows in frame.groupby("curve", sort=False):
        color, dashes, width = looks[name]
        ax.plot(rows["lag"], rows["value"], color=color, dashes=dashes, linewidth=width, label=names[name])
    ax.set(xscale="log", xlabel="lag $d$", ylabel="bias of a head with ratio 1")
    ax.legend(loc="upper right")
    return fig


def caption_sandwich(frame: pd.DataFrame) -> str:
    inside = frame[(frame["lag"] >= 16) & (frame["lag"] <= 1024)]
    error = (inside["value"] - 64 * (1 - (np.log(inside["lag"]) + np.euler_gamma) / np.log(1e4))).abs()
    worst = error.groupby(inside["curve"]).max()
    return (
        "Sandwich's bias at width 128: the sum of cosines, its mean over an octave (drawn at the octave's mean "
        "logarithm), and width/2 (1 - (ln d + γ) / ln 10⁴). On the lags drawn between 16 and 1,024 the sum strays from "
        f"the logarithm by up to {worst['sum']:.1f}, its octave means by at most {worst['octave mean']:.2f}."
    )


def draw_turns(frame: pd.DataFrame) -> Figure:
    """Columns pair, omega, position, x, y: a circle per pair with the vector at each position."""
    pairs = list(frame.groupby("pair", sort=True))
    fig, axes = style.figure(style.DOUBLE, 1.95, ncols=len(pairs))
    shades = plt.get_cmap("cividis")
    last = frame["position"].max()
    for ax, (pair, rows) in zip(axes, pairs, strict=True):
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="#CCCCCC", linewidth=0.7))
        for position, x, y in rows[["position", "x", "y"]].to_numpy():
            color = shades(0.9 * position / last)
            ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.0,
                                                       "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7})  # fmt: skip
            if position in (0, 1, last) and (position == 0 or rows["omega"].iloc[0] * position > 0.25):
                ax.text(1.17 * x, 1.17 * y, f"{position:.0f}", ha="center", va="center", fontsize=style.SMALLEST)
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[], aspect="equal")
        ax.set_title(rf"pair {pair}: $\omega = {rows['omega'].iloc[0]:g}$")
        ax.grid(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    return fig


def caption_turns(frame: pd.DataFrame) -> str:
    last = int(frame["position"].max())
    turned = (last * frame.groupby("pair")["omega"].first() / (2 * np.pi)).map("{:.3g}".format)
    return (
        f"RoPE on a head of width {2 * frame['pair'].nunique()}: each pair of coordinates, here the unit vector, at "
        f"positions 0 to {last} (dark to light). Lengths stay; pair i turns by m ω_i, by position {last} in turns: "
        f"{', '.join(turned)}."
    )


def draw_decay(frame: pd.DataFrame) -> Figure:
    """Columns curve, lag, score."""
    fig, ax = style.figure(style.SINGLE, 2.3)
    looks = {"RoPE": ("#BDBDBD", style.SOLID, 0.7), "xPos, scale 512": (ORANGE, style.SOLID, 1.1),
             "xPos, scale 1": (BLUE, (5, 1.5), 1.2)}  # fmt: skip
    for name, rows in frame.groupby("curve", sort=False):
        color, dashes, width = looks[name]
        ax.plot(rows["lag"] + 1, rows["score"], color=color, dashes=dashes, linewidth=width, label=name)
    ax.axhline(0, color="#BBBBBB", linewidth=0.6, zorder=0)
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="score / score at lag 0")
    ax.legend(loc="upper right")
    return fig


def caption_decay(frame: pd.DataFrame) -> str:
    far = frame[frame["lag"] >= frame["lag"].max() / 2].groupby("curve")["score"].apply(lambda s: s.abs().max())
    return (
        "Score of two equal vectors by lag at head width 64. RoPE's turns for ever; xPos multiplies plane i by ζ_i for "
        "every 512 tokens (its released scale), or for every token. Largest size on the far half of the lags drawn: "
        + ", ".join(f"{value:.2g} ({name})" for name, value in far.items())
        + "."
    )


def build_table(frame: pd.DataFrame) -> pd.DataFrame:
    """One row per setting: formula, normaliser, tail mass and mean lag, as formula and as number."""
    text = frame["family"].map(TEXT)
    tails = [name for name in frame.columns if name.startswith("tail ")]
    table = pd.DataFrame({"prior": frame["family"], "setting": frame["setting"].fillna("")})
    table["log-prior b(d)"] = [row[0] for row in text]
    table["learned per head"] = [row[3] for row in text]
    table["normaliser Σ exp(b), n keys"] = [row[1] for row in text]
    table["tail mass P(lag > D), n → ∞"] = [row[2] for row in text]
    keys = int(frame["keys"].iloc[0])
    table[f"Σ exp(b - max b), {keys:,} keys"] = frame["normaliser"].map("{:.4g}".format)
    for name in tails:
        table[f"P(lag > {name.split()[1]})"] = frame[name].map("{:.3g}".format)
    table["mean lag"] = frame["mean lag"].map("{:.4g}".format)
    table["window for 99 %"] = frame["window"]
    return table


def caption_table(frame: pd.DataFrame) -> str:
    return (
        "The additive priors of the field: formula, normaliser, tail mass and mean lag, with numbers for "
        f"{int(frame['keys'].iloc[0]):,} visible keys (all lags d = 0..n - 1, equal content). Parameters of T5's rows "
        "are examples: its prior is what it learned."
    )


def build_properties(frame: pd.DataFrame) -> pd.DataFrame:
    """From guide_properties: a row for each encoding, yes or no."""
    named = {"relative": "relative", "trainable": "trainable", "each_layer": "in each layer"}
    answers = frame[list(named)].replace({True: "yes", False: "no"}).rename(columns=named)
    return answers.assign(encoding=frame["label"])[["encoding", *named.values()]]


def caption_properties(frame: pd.DataFrame) -> str:
    return (
        f"Properties of {len(frame)} encodings, each found by a test on a small model with moved parameters: relative, "
        "the scores of one token everywhere depend on i - j alone, up to a constant of the row; trainable, positions "
        "have parameters that a gradient moves; in each layer, and not added to the input alone."
    )


def _spec(name: str, draw, caption, alt: str, paper: str = "") -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec("guide_page", draw_page, caption_page,
              "Nine panels of weight by lag on logarithmic axes, one per family of priors: level, exponential, "
              "stretched, power-law, stepped and wavy curves."),
        _spec("guide_buckets", draw_buckets, caption_buckets,
              "Bucket by lag: the code's staircase rises to 31 at lag 113; the printed formula drops to 0 at lag 16."),
        _spec("guide_sandwich", draw_sandwich, caption_sandwich,
              "A ragged curve falling with the logarithm of the lag, and a straight line that its means follow."),
        _spec("guide_turns", draw_turns, caption_turns,
              "Four circles with arrows at successive positions: the first pair turns fast, the last hardly moves.",
              "survey, RoPE figure"),
        _spec("guide_decay", draw_decay, caption_decay,
              "Score by lag: RoPE's curve oscillates for ever, xPos at scale 512 follows it and settles late, xPos at "
              "scale 1 falls smoothly to zero within a few dozen tokens.", "survey, xPos figure"),
    ]
)  # fmt: skip
TABLES = {
    "guide_priors": TableSpec(
        metrics="guide_priors", build=build_table, caption=caption_table, paper="", notebook=NOTEBOOK
    ),
    "guide_properties": TableSpec(
        metrics="guide_properties", build=build_properties, caption=caption_properties, paper="", notebook=NOTEBOOK
    ),
}
