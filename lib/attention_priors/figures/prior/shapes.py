"""The generalised Gaussian prior: its shapes (BAM, Fig. 1), tails, far end, sharpness, and softmax that fades."""

import numpy as np

from ...theory import generalised_gaussian as gaussian
from ...theory.generalised_gaussian import peak_weight
from ...theory.inference import log_generalised_gaussian, softmax
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked
from ..words import farthest

# The shapes of the generalised Gaussian prior
# the paper's colours for its four curves; the fifth is ours
CURVES = {
    "uniform": (style.GREY, (1, 1), "None", "uniform"),
    "laplace": (style.GREEN, (5, 1.5), "None", r"Laplace, $\beta = 1$"),
    "fractional": (style.PINK, (3, 1), "None", r"$\beta = 1/2$"),
    "negative": (style.BLACK, style.SOLID, "None", r"$\beta = -1$"),
    "negative, far scale": (style.BLACK, (5, 1, 1, 1), "None", r"$\beta = -1$, $\alpha = 16\,n$"),
}


def curve(keys: int, alpha: float, beta: float, mu: float = 0.0, name: str = "prior") -> Frame:
    """Weight of key j = 1..keys for the last query under -(|d + mu| / alpha)^beta, times keys: 1 is the uniform share.

    beta = 0 is the uniform prior. mu > 0 puts the peak among the future keys, mu < 0 at the lag -mu.
    """
    lags = np.arange(keys, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logits = np.zeros(keys) if beta == 0 else log_generalised_gaussian(-lags, alpha, beta, mu)
    shares = {"key": keys - np.arange(keys), "share": keys * softmax(logits)}
    return Frame({"curve": name, "alpha": alpha, "beta": beta} | shares)


def rows(size: Size, seed: int) -> Frame:
    """Five priors of scale keys / 16; beta < 0 also with scale 16 keys."""
    keys = size.length
    near = {"uniform": 0.0, "laplace": 1.0, "fractional": 0.5, "negative": -1.0}
    parts = [curve(keys, keys / 16, beta, name=name) for name, beta in near.items()]
    return stacked([*parts, curve(keys, 16.0 * keys, -1.0, name="negative, far scale")])


def draw(frame: Frame) -> Figure:
    fig, (linear, logarithmic) = style.figure(style.MIDDLE, 2.4, ncols=2, sharex=True)
    keys = int(frame["key"].max())
    for ax in (linear, logarithmic):
        lines.plot(ax, frame[frame["share"] > 0], "key", "share", "curve", CURVES)
        ax.axvspan(keys + 0.5, 1.15 * keys, color="#E3E3E3", zorder=0)
        look = {"ha": "center", "va": "top", "fontsize": style.SMALLEST, "color": style.DARK}
        ax.text(1.08 * keys, 0.97, "future", rotation=90, transform=ax.get_xaxis_transform(), **look)
        ax.set(xlabel="key $j$ (query at the grey edge)", xlim=(0, 1.15 * keys))
    linear.set(ylabel="weight / uniform share", title="linear")
    logarithmic.set(yscale="log", ylim=(1e-3, 40), title="logarithmic")
    linear.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0))
    return fig


def caption(frame: Frame) -> str:
    keys = int(frame["key"].max())
    tenth = frame[frame["key"] <= keys / 10].groupby("curve")["share"].sum() / keys
    return (
        f"Positional priors of a query that sees {keys} keys, relative to the uniform share 1/n; keys after the "
        f"query are shaded. All scales are n/16 but the last one's. The curve with β = -1 rises from 0 at the query "
        f"and flattens: its oldest tenth holds {tenth['negative']:.1%} of the mass. It becomes a peak at the far end "
        f"({tenth['negative, far scale']:.1%}) only when its scale is many times the context."
    )


def explore(keys: int, alpha: float, beta: float, mu: float) -> Figure:
    """The prior of one setting on the visible keys; the uniform share is dotted."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    part = curve(keys, alpha, beta, mu)
    ax.plot(part["key"], part["share"], color=style.BLUE)
    lines.level(ax, 1.0)
    ax.set(xlabel="key $j$ (the last is the query's own)", ylabel="weight / uniform share", ylim=(0, None))
    return lines.once(fig)


SHAPES_FIGURE = FigureSpec(
    "prior_shapes",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, Fig. 1",
    rows=rows,
    claims=("BAM-F1",),
    alt="Weight by key position for five priors on a linear and a logarithmic scale, with the future shaded. Laplace "
    "and the fractional shape peak at the query; the negative shape is zero there, rises and flattens; with a very "
    "large scale it peaks at the oldest key.",
)


# Mass of the prior near the query by context length
TAILS_SHAPES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.0, -0.5, -1.0)


def _look(beta: float) -> tuple:
    """Colours by sign, dashes by size."""
    color = style.BLUE if beta > 0 else style.ORANGE if beta < 0 else style.GREY
    dashes = style.SOLID if beta in (1, 0, -1) else (5, 1.5) if abs(beta) == 0.5 else (2, 1)
    return color, dashes, "None", rf"$\beta = {beta:g}$"


def rows_tails(size: Size, seed: int, lengths=(10**3, 10**4, 10**5, 10**6, 10**7), windows=(64, 512)) -> Rows:
    """P(lag > D) and P(lag <= D) by shape, context length and window D, scale 1."""
    found = []
    for beta in TAILS_SHAPES:
        log_prior = gaussian.laplace(0.0) if beta == 0 else gaussian.printed(1.0, beta)
        for keys, tails in zip(lengths, gaussian.tails(log_prior, lengths, windows), strict=True):
            found += [
                {"beta": beta, "keys": keys, "window": window, "tail": float(tail), "within": float(1 - tail)}
                for window, tail in zip(windows, tails, strict=True)
            ]
    return found


def draw_tails(frame: Frame) -> Figure:
    shown, looks = frame[frame["within"] > 0], {beta: _look(beta) for beta in TAILS_SHAPES}
    made = {
        rf"mass within $D = {window}$ lags": panels.series(own, "keys", "within", "beta", looks)
        for window, own in shown.groupby("window")
    }
    axis = {"base": 10, "yscale": "log", "ylim": (0.5 * shown["within"].min(), 2), "legend": "ends"}
    return panels.draw(made, "context length", r"$P(|i - j| \leq D)$", height=1.75, **axis)[0]


def caption_tails(frame: Frame) -> str:
    tail = farthest(frame).set_index(["beta", "window"])["tail"]
    window = int(frame["window"].min())
    listed = ", ".join(f"{tail[beta, window]:.4g} ({beta:g})" for beta in (0.5, 0.3, 0.2, 0.1, 0.0, -0.5))
    return (
        "Mass of the prior within D lags of the query, scale 1, equal content. For β > 0 the mass settles at a "
        "positive value, at once for β = 1 and beyond any context in use for β = 0.1. For β ≤ 0 "
        f"it vanishes like 1/n. Tail mass P(|i-j| > {window}) at {int(frame['keys'].max()):,} keys, by β: {listed}."
    )


TAILS = FigureSpec(
    "prior_tails",
    draw_tails,
    caption_tails,
    notebook="generalised_gaussian",
    paper="BAM, Theorem 4",
    rows=rows_tails,
    claims=("BAM-L3", "BAM-L4", "BAM-T4", "BAM-T4b"),
    alt="Mass within a window by context length, log-log, one panel per window: level lines for positive shapes, lines "
    "falling with slope minus one for zero and negative shapes.",
)


# Mass of the two ends of the context under a negative shape, by scale
FARTHEST = tuple((color, style.SOLID, marker) for color, _, marker in lines.SERIES[:3])
NEAREST = tuple(
    (color, dashes, "None") for (color, *_), dashes in zip(lines.SERIES[:3], ((6, 1.5), (2.5, 1), (1, 1)), strict=True)
)
RATIOS = tuple(float(10 ** (k / 4)) for k in range(-12, 10))


def rows_far_end(size: Size, seed: int, ratios=RATIOS) -> Rows:
    """Mass of the nearest and farthest tenth of the context by alpha / keys, beta < 0."""
    found = []
    for beta in (-0.5, -1.0, -2.0):
        for ratio in ratios:
            near, far = gaussian.shares(gaussian.printed(ratio * size.length, beta), size.length)
            found.append({"beta": beta, "ratio": ratio, "nearest": near, "farthest": far})
    return found


def draw_far_end(frame: Frame) -> Figure:
    made = [
        *panels.series(frame, "ratio", "farthest", "beta", FARTHEST, r"farthest, $\beta = {:g}$".format),
        *panels.series(frame, "ratio", "nearest", "beta", NEAREST, r"nearest, $\beta = {:g}$".format),
    ]
    axis = {"base": 10, "levels": [0.1], "ylim": (0, 1.03), "legend": "upper left"}
    labels = (r"scale / context, $\alpha / n$", "mass of a tenth of the keys")
    return panels.draw({"": made}, *labels, height=1.65, **axis)[0]


def caption_far_end(frame: Frame) -> str:
    half = frame[frame["farthest"] >= 0.5].groupby("beta")["ratio"].min()
    listed = ", ".join(f"{ratio:.3g} ({beta:g})" for beta, ratio in half.items())
    return (
        "Mass of the farthest (solid) and nearest (dashed) tenth of the context for β < 0. The dotted line is the "
        "uniform share. A context much longer than α is nearly uniform; the first scale α/n drawn at which the "
        f"farthest tenth holds half of the mass is, by β: {listed or 'none'}."
    )


FAR_END = FigureSpec(
    "prior_far_end",
    draw_far_end,
    caption_far_end,
    notebook="generalised_gaussian",
    paper="BAM, section 2.5",
    rows=rows_far_end,
    claims=("BAM-E3", "BAM-F1"),
    alt="Mass of the farthest tenth of the context rising from one tenth to one as the scale grows from a thousandth "
    "of the context to a hundred times it; mass of the nearest tenth falling to zero.",
)


# What the shape does to the prior while its scale stays fixed
SHARPNESS_SHAPES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
ALPHA, KEYS = 10.0, 2**16
HIGHEST = 2.3  # where the axis ends: smaller differences are what the statistics are about


def rows_sharpness(size: Size, seed: int, alpha=ALPHA, keys=KEYS) -> Rows:
    """Weight of the own key, root mean square lag, entropy and tail beyond 2 alpha by shape."""
    found, lags = [], np.arange(keys, dtype=np.float64)
    for beta in SHARPNESS_SHAPES:
        p = gaussian.row(gaussian.printed(alpha, beta), keys)
        seen = p[p > 0]
        own = {"beta": beta, "own key": float(p[0]), "rms lag": float(np.sqrt(p @ lags**2))}
        own["entropy"] = float(-(seen @ np.log(seen)))
        found.append(own | {"beyond 2 alpha": float(p[lags > 2 * alpha].sum())})
    return found


def draw_sharpness(frame: Frame) -> Figure:
    ratios = frame.set_index("beta")
    tall = (ratios / ratios.loc[1.0]).melt(ignore_index=False).reset_index()
    made = panels.series(tall, "beta", "value", "variable", label=lambda name: name.replace("alpha", r"$\alpha$"))
    ticks = {0.5: "1/2", 1: "1", 2: "2", 4: "4", 8: "8", 16: "16"}
    axis = {"base": 2, "xticks": ticks, "xlim": (0.45, 18), "ylim": (-0.05, HIGHEST), "legend": "upper right"}
    return panels.draw({"": made}, r"shape $\beta$ at a fixed scale", r"relative to $\beta = 1$", height=1.65, **axis)[
        0
    ]


def caption_sharpness(frame: Frame) -> str:
    own, spread = frame.loc[frame["own key"].idxmax()], frame.loc[frame["rms lag"].idxmin()]
    half = (frame / frame.set_index("beta").loc[1.0]).drop(columns="beta")[frame["beta"] == 0.5].iloc[0]
    above = ", ".join(f"{name.replace('alpha', 'α')} ({ratio:.2g})" for name, ratio in half.items() if ratio > HIGHEST)
    return (
        f"What the shape does at α = {ALPHA:g} in a context of {KEYS:,} keys, each statistic relative to its value at "
        f"β = 1. Tail and entropy fall throughout. The weight of the query's own key is largest at β = {own['beta']:g} "
        f"and the root mean square lag smallest at β = {spread['beta']:g}, by little: larger shapes approach a flat "
        f"window. At β = 1/2 above the panel: {above or 'nothing'}."
    )


SHARPNESS = FigureSpec(
    "prior_sharpness",
    draw_sharpness,
    caption_sharpness,
    notebook="generalised_gaussian",
    paper="BAM, appendix A",
    rows=rows_sharpness,
    claims=("BAM-C-BETA",),
    alt="Four statistics by shape: tail and entropy fall, the weight of the query's own key rises to a maximum near "
    "shape 2 and falls again.",
)


# Weight of a key that leads all others, by context length, with softmax and with SSMax
GAPS = (0.5, 1.0, 2.0)
LOOKS = dict(zip(GAPS, ((style.ORANGE, "s"), (style.GREY, "D"), (style.BLUE, "o")), strict=True))
LENGTHS = tuple(2**k for k in range(1, 24))


def rows_fading(size: Size, seed: int, lengths=LENGTHS) -> Rows:
    """Weight of a key that leads n - 1 equal others by a gap; SSMax at s = 1."""
    return [
        {"softmax": name, "gap": gap, "keys": keys, "weight": peak_weight(keys, gap, scale)}
        for name, scale in (("softmax", None), ("SSMax", 1.0))
        for gap in GAPS
        for keys in lengths
    ]


def draw_fading(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    for (name, gap), part in frame.groupby(["softmax", "gap"], sort=False):
        (color, marker), dashes = LOOKS[gap], style.SOLID if name == "SSMax" else (2, 1)
        look = {"color": color, "dashes": dashes, "marker": marker, "markevery": 3}
        ax.plot(part["keys"], part["weight"], label=f"{name}, lead {gap:g}", **look)
    ax.set(xscale="log", yscale="log", xlabel="context length $n$", ylabel="weight of the leading key", ylim=(1e-5, 2))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return fig


def caption_fading(frame: Frame) -> str:
    weight = farthest(frame).set_index(["softmax", "gap"])["weight"]
    listed = ", ".join(f"{weight['SSMax', gap]:.3g} (lead {gap:g})" for gap in GAPS)
    return (
        "Weight of one key whose logit leads n - 1 equal others. Softmax (dashed) fades for every lead. SSMax with "
        "s = 1 (solid) fades when the lead is below 1, tends to one half at 1 and sharpens above: at "
        f"{int(frame['keys'].max()):,} keys {listed}."
    )


FADING = FigureSpec(
    "softmax_fading",
    draw_fading,
    caption_fading,
    notebook="generalised_gaussian",
    paper="BAM, section 2.5",
    rows=rows_fading,
    claims=("BAM-C4",),
    alt="Weight of the leading key by context length, log-log: softmax lines fall with slope minus one; SSMax lines "
    "fall, level off at one half or rise to one as the lead is below, at or above one.",
)
