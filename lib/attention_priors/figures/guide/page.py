"""The additive priors of the field, one at a time, for sliders."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure


def explore(keys: int, family: str, first: float, second: float) -> Figure:
    """One prior by lag: ALiBi (m), GGD (β, α), KERPLE power and log (r₁, r₂), Sandwich (ratio, width)."""
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
    ax.plot(lags + 1, keys * weights, color=style.BLUE)
    lines.level(ax, 1.0)
    beyond = weights[keys // 8 :].sum()
    ax.set(xscale="log", yscale="log", ylim=(1e-4, None), xlabel="lag $d$ + 1", ylabel="weight / uniform share")
    ax.set_title(f"{family}: mass of the far 7/8 is {beyond:.3g}")
    return lines.once(fig)
