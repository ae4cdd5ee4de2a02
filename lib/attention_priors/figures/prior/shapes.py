"""The shapes of the generalised Gaussian prior (BAM, Fig. 1)."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.inference import log_generalised_gaussian, softmax

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
        ax.text(
            1.08 * keys,
            0.97,
            "future",
            rotation=90,
            ha="center",
            va="top",
            transform=ax.get_xaxis_transform(),
            fontsize=style.SMALLEST,
            color=style.DARK,
        )
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


FIGURE = FigureSpec(
    "prior_shapes",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, Fig. 1",
    rows=rows,
    columns=("curve", "key", "share"),
    claims=("BAM-F1",),
    alt="Weight by key position for five priors on a linear and a logarithmic scale, with the future shaded. Laplace "
    "and the fractional shape peak at the query; the negative shape is zero there, rises and flattens; with a very "
    "large scale it peaks at the oldest key.",
)
