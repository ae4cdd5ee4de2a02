"""The priors that BAM's heads learned, as curves over the lag, by layer, head and seed."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted
from attention_priors.theory.inference import log_sum_exp

KEYS = 1024  # visible to the query
EPSILON = 1e-5  # of GeneralizedGaussian
NEAR_ZERO = 0.05  # an exponent that has hardly left its start at 0
LEAST, MOST = 1e-4, 1e3  # of the axis
LOOKS = {
    1: {"color": style.ORANGE, "dashes": style.SOLID, "label": f"β > {NEAR_ZERO:g}"},
    0: {"color": style.GREY, "dashes": (1, 1), "label": f"|β| ≤ {NEAR_ZERO:g}"},
    -1: {"color": style.BLUE, "dashes": (4, 1.2), "label": f"β < −{NEAR_ZERO:g}"},
}


def sign(beta: float) -> int:
    return 0 if abs(beta) <= NEAR_ZERO else int(np.sign(beta))


def ratio(theta_alpha: float, beta: float) -> np.ndarray:
    """KEYS π(lag) for lags 0..KEYS-1, π ∝ exp(-exp(θ_α) (lag + ε)^β): 1 everywhere is the uniform prior."""
    log_prior = -np.exp(theta_alpha) * (np.arange(KEYS) + EPSILON) ** beta
    return KEYS * np.exp(log_prior - log_sum_exp(log_prior))


def draw(frame: Frame) -> Figure:
    """A column a layer, a row a seed, a line a head; colour and dashes by the sign of its exponent."""
    made, layers = {}, frame["layer"].nunique()
    for (seed, layer), heads in frame.groupby(["seed", "layer"]):
        made[f"seed {seed}, layer {layer + 1}"] = [
            panels.Line(np.arange(1, KEYS), ratio(head.theta_alpha, head.beta)[1:], LOOKS[sign(head.beta)])
            for head in heads.itertuples()
        ]
    axis = {"base": 10, "yscale": "log", "ylim": (LEAST, MOST), "xlim": (1, KEYS), "levels": [1], "legend": "above"}
    labels = ("lag (tokens)", f"prior / uniform share, {KEYS:,} keys")
    return panels.draw(made, *labels, width=style.DOUBLE, across=layers, height=1.15, **axis)[0]


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
    "learned_heads",
    draw,
    caption,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-C8",),
    columns=("seed", "layer", "head", "beta", "theta_alpha"),
    alt="Small panels, a column for each layer and a row for each seed: a curve for each head of its prior over the "
    "uniform share against the lag on two log axes; some fall, some rise, some are level.",
)
