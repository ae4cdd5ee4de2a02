"""The priors that BAM's heads learned, as curves over the lag, by layer, head and seed."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted
from attention_priors.theory.inference import log_sum_exp

KEYS = 1024  # visible to the query
EPSILON = 1e-5  # of GeneralizedGaussian
NEAR_ZERO = 0.05  # an exponent that has hardly left its start at 0
LEAST, MOST = 1e-4, 1e3  # of the axis
LOOKS = {
    1: (style.ORANGE, style.SOLID, f"β > {NEAR_ZERO:g}"),
    0: (style.GREY, (1, 1), f"|β| ≤ {NEAR_ZERO:g}"),
    -1: (style.BLUE, (4, 1.2), f"β < −{NEAR_ZERO:g}"),
}


def sign(beta: float) -> int:
    return 0 if abs(beta) <= NEAR_ZERO else int(np.sign(beta))


def ratio(theta_alpha: float, beta: float) -> np.ndarray:
    """KEYS π(lag) for lags 0..KEYS-1, π ∝ exp(-exp(θ_α) (lag + ε)^β): 1 everywhere is the uniform prior."""
    log_prior = -np.exp(theta_alpha) * (np.arange(KEYS) + EPSILON) ** beta
    return KEYS * np.exp(log_prior - log_sum_exp(log_prior))


def draw(frame: Frame) -> Figure:
    """A column a layer, a row a seed, a line a head; colour and dashes by the sign of its exponent."""
    seeds, layers = sorted(set(frame["seed"])), sorted(set(frame["layer"]))
    fig, axes = style.figure(style.DOUBLE, 0.75 + 1.15 * len(seeds), nrows=len(seeds), ncols=len(layers), sharex=True,
                             sharey=True, squeeze=False)  # fmt: skip
    lags = np.arange(1, KEYS)
    for row, seed in zip(axes, seeds, strict=True):
        for ax, layer in zip(row, layers, strict=True):
            lines.level(ax, 1.0)
            for head in frame[(frame["seed"] == seed) & (frame["layer"] == layer)].itertuples():
                color, dashes, _ = LOOKS[sign(head.beta)]
                ax.plot(lags, ratio(head.theta_alpha, head.beta)[1:], color=color, dashes=dashes, linewidth=1.0,
                        label="_head")  # fmt: skip
        row[0].set_ylabel(f"seed {seed}")
    for ax, layer in zip(axes[0], layers, strict=True):
        ax.set_title(f"layer {layer + 1}")
    axes[0, 0].set(xscale="log", yscale="log", ylim=(LEAST, MOST), xlim=(1, KEYS))
    for ax in axes.flat:
        ax.minorticks_off()
    fig.supxlabel("lag (tokens)")
    fig.supylabel(f"prior / uniform share, {KEYS:,} keys")
    there = {sign(beta) for beta in frame["beta"]}
    handles = [axes[0, 0].plot([], [], color=color, dashes=dashes, label=name)[0]
               for key, (color, dashes, name) in LOOKS.items() if key in there]  # fmt: skip
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


def caption(frame: Frame) -> str:
    signs = frame["beta"].map(sign).value_counts()
    heads = frame.groupby(["seed", "layer"]).size().iloc[0]
    return (
        f"The priors that BAM SSMax learned on passkeys: weight of a key by its lag over the uniform share (dotted), "
        f"{KEYS:,} keys of equal content. A line for each of {heads} heads a layer; {counted(frame['seed'])}. "
        f"{signs.get(1, 0)} of {len(frame)} heads fall with the lag, {signs.get(-1, 0)} rise, {signs.get(0, 0)} stay "
        f"near the uniform prior. The axis ends at {LEAST:g} and {MOST:g}; SSMax, which multiplies the prior too, is "
        "left out."
    )


FIGURE = FigureSpec(
    "learned_heads", draw, caption, notebook="learned_priors", paper="BAM, Fig. 4", claims=("BAM-C8",),
    columns=("seed", "layer", "head", "beta", "theta_alpha"),
    alt="Small panels, a column for each layer and a row for each seed: a curve for each head of its prior over the "
    "uniform share against the lag on two log axes; some fall, some rise, some are level.",
)  # fmt: skip
