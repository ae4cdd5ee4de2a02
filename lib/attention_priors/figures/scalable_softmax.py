"""Scalable softmax: entropy and largest weight by context, and the lead that retrieval needs, with noise and priors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.theory.scalable_softmax import curve_rows

NOTEBOOK = "07_scalable_softmax"
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F7F7F"
# law: colour, dashes, marker, label, name in captions
LAWS = {
    "1": ("#A6A6A6", style.SOLID, "s", r"$1$ (softmax)", "1"),
    "sqrt(ln n / ln N)": (GREEN, (3, 1), "^", r"$\sqrt{\ln n / \ln N}$", "√(ln n / ln N)"),
    "ln n / ln N": (ORANGE, (5, 1, 1, 1), "o", r"$\ln n / \ln N$ (SSMax)", "ln n / ln N"),
    "(1 + .1 ln(n / N))^2": (BLUE, (1, 1), "D", r"$(1 + 0.1 \ln (n/N))^2$ (YaRN)", "(1 + 0.1 ln(n / N))²"),
}
SOLID, DASHED = style.SOLID, (2, 2)  # the largest score's line lies on that of the largest s
LEADS = ((GREY, "s", SOLID), (ORANGE, "o", SOLID), (BLUE, "^", SOLID), (GREEN, "v", SOLID), (PINK, "D", DASHED))
PRIORS = {
    "uniform": (GREY, (1, 1), "s", "uniform"),
    "ALiBi, slope 1/256": (BLUE, (5, 1.5), "D", "ALiBi, slope 1/256"),
    "beta = 1/2": (ORANGE, style.SOLID, "o", "BAM, β = 1/2"),
    "beta = -1/2": (GREEN, (3, 1), "^", "BAM, β = -1/2"),
}


def draw_entropy(frame: pd.DataFrame) -> Figure:
    """Columns law, keys, scale, entropy, predicted, largest: entropy over ln n, and the largest weight."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.5, ncols=2)
    for name, rows in frame.groupby("law", sort=False):
        color, dashes, marker, label, _ = LAWS[name]
        # Softmax and YaRN coincide below N: the wide line and marks of one frame those of the other.
        first = name == "1"
        look = {"color": color, "dashes": dashes, "linewidth": 2.2 if first else 1.2}
        mark = {"marker": marker, "markersize": 4.5 if first else 3.2}
        left.plot(rows["keys"], rows["entropy"], linestyle="none", color=color, label="_dots", **mark)
        left.plot(rows["keys"], rows["predicted"], label="_line", **look)
        right.plot(rows["keys"], rows["largest"], label=label, **look, **mark)
    for ax in (left, right):
        style.length_axis(ax, frame["keys"].astype(int), most=7)
        ax.set_xlabel("context length $n$")
    left.set(ylabel=r"entropy / $\ln n$", ylim=(0, 1.02), title="dots measured, lines to leading order")
    right.set(yscale="log", ylabel="largest weight", title="measured")
    right.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
    right.yaxis.set_minor_formatter("")
    right.legend(loc="lower left")
    return fig


def caption_entropy(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index("law")
    listed = ", ".join(f"{last.loc[name, 'largest']:.3g} ({written})" for name, (*_, written) in LAWS.items())
    trained = round(last.loc["ln n / ln N", "keys"] ** (1 / last.loc["ln n / ln N", "scale"]))
    return (
        "Attention over independent normal scores whose scale grows with the context by one of four laws, all equal to "
        f"1 at the trained length N = {trained:,}; YaRN's is 1 below N. Left: entropy as a share "
        "of ln n. With the root of the logarithm it keeps its share; with the logarithm it falls until a few keys hold "
        f"everything. Right: the largest weight, at {int(frame['keys'].max()):,} keys {listed}."
    )


def draw_leads(frame: pd.DataFrame) -> Figure:
    """Columns softmax, keys, lead, predicted: the score that holds half of the weight against noise."""
    fig, ax = style.figure(style.SINGLE, 2.6)
    for (color, marker, dashes), (name, rows) in zip(LEADS, frame.groupby("softmax", sort=False), strict=True):
        ax.plot(rows["keys"], rows["lead"], marker, color=color, label=name.replace("s =", "$s$ ="))
        ax.plot(rows["keys"], rows["predicted"], color=color, dashes=dashes, linewidth=1.0, label="_line")
    style.length_axis(ax, frame["keys"].astype(int), most=6)
    ax.set(xlabel="context length $n$", ylabel="lead for half of the weight (nats)", ylim=(0, None))
    ax.legend(loc="upper left", ncols=1)
    return fig


def caption_leads(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index("softmax")["lead"]
    listed = ", ".join(f"{name} {value:.2f}" for name, value in last.items())
    return (
        "Score that one key needs for half of the weight against n independent standard normal scores, before SSMax "
        "multiplies them: medians (dots) and leading order (lines). Softmax pays ln n; SSMax falls from there towards "
        "the largest score as s grows, and no scale lets a key win that is below it. At "
        f"{int(frame['keys'].max()):,} keys: {listed}."
    )


def draw_priors(frame: pd.DataFrame) -> Figure:
    """Columns scaled, prior, keys, lead: the lead that retrieves the oldest key, one panel per reading of SSMax."""
    panels = {"nothing": "softmax", "content": "SSMax on content", "content and prior": "SSMax on content and prior"}
    fig, axes = style.figure(style.DOUBLE, 2.6, ncols=3, sharey=True)
    for ax, (scaled, title) in zip(axes, panels.items(), strict=True):
        for name, rows in frame[frame["scaled"] == scaled].groupby("prior", sort=False):
            color, dashes, marker, label = PRIORS[name]
            ax.plot(rows["keys"], rows["lead"], color=color, dashes=dashes, marker=marker, label=label)
        ax.set(xscale="log", yscale="log", title=title, xlabel="context length $n$", ylim=(0.5, 4000))
    axes[0].set_ylabel("lead for the oldest key (nats)")
    axes[1].legend(loc="upper left")
    return fig


def caption_priors(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index(["prior", "scaled"])["lead"]
    words = []
    for name in PRIORS:
        three = ", ".join(f"{last[name, scaled]:.3g}" for scaled in ("nothing", "content", "content and prior"))
        words.append(f"{PRIORS[name][-1]}: {three}")
    return (
        "Content lead, before SSMax multiplies it, that gives the oldest key half of the weight against keys of "
        f"equal content, by prior and by what SSMax (s = 1) multiplies. At {int(frame['keys'].max()):,} keys, "
        "softmax, content, content and prior: " + "; ".join(words) + "."
    )


def explore(lengths: tuple[int, ...], s: float, sigma: float, lead: float) -> Figure:
    """Weight of one key against normal scores by context, for sliders: softmax dashed, SSMax solid."""
    fig, ax = style.figure(style.SINGLE, 2.1)
    frame = pd.DataFrame(curve_rows(s, sigma, lead, lengths))
    for name, (color, dashes) in {"softmax": (GREY, (2, 1)), "SSMax": (ORANGE, style.SOLID)}.items():
        rows = frame[frame["softmax"] == name]
        ax.plot(rows["keys"], rows["weight"], color=color, dashes=dashes, label=name)
    ax.set(xscale="log", xlabel="context length $n$", ylabel="weight of the key", ylim=(-0.02, 1.02))
    ax.set_title(rf"$s = {s:.2g}$, $\sigma = {sigma:.2g}$, lead ${lead:.2g}$")
    ax.legend(loc="best")
    plt.close(fig)  # shown once, as the returned value
    return fig


def _spec(name: str, draw, caption, alt: str, paper: str) -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec(
            "ssmax_entropy", draw_entropy, caption_entropy,
            "Entropy over ln n by context under four scales: rising for softmax, level for the root of the logarithm, "
            "falling for the logarithm; YaRN's square follows softmax up to the trained length, then falls fastest. "
            "Largest weight: falling for the first two, levelling off for the logarithm, rising beyond the trained "
            "length for YaRN's.",
            "BAM, section 2.5",
        ),
        _spec(
            "ssmax_leads", draw_leads, caption_leads,
            "Lead by context: a straight line in ln n for softmax, flatter lines for SSMax that bend onto the curve of "
            "the largest score, earlier for larger s.",
            "BAM, section 2.5",
        ),
        _spec(
            "ssmax_priors", draw_priors, caption_priors,
            "Three log-log panels. Softmax: leads rise with ln n for flat priors and as powers of n for ALiBi and "
            "shape one half. Content scaled: flat priors stay at 1, the others rise more slowly. Prior scaled too: "
            "flat priors stay at 1, the others rise as under softmax.",
            "BAM, section 2.5",
        ),
    ]
)  # fmt: skip
