"""The additive priors of the field on one page."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.guide.examples import examples, table
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.positions import mass

SETTINGS = ((style.BLUE, style.SOLID, "None"), (style.ORANGE, (5, 1.5), "None"), (style.GREEN, (1.5, 1), "None"))
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


def rows(size: Size, seed: int, points=120) -> Frame:
    """keys x π(d) for every setting of `examples`, at lags spread evenly over ln(1 + d): 1 is the uniform share."""
    keys = size.length
    lags = np.unique(np.geomspace(1, keys, points).round().astype(int)) - 1
    parts = [
        {"family": family, "setting": setting, "lag": lags, "share": keys * weights[lags]}
        for family, settings in examples().items()
        for setting, prior, head in settings
        for weights in [mass.normalised(table(prior, head, keys))[0].numpy()]
    ]
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 5.6, nrows=3, ncols=3, sharex=True, sharey=True)
    frame = frame.assign(place=frame["lag"] + 1)
    for ax, (family, panel) in zip(axes.flat, frame.groupby("family", sort=False), strict=True):
        named = lambda setting: setting if isinstance(setting, str) and setting else "_uniform"  # noqa: E731
        lines.plot(ax, panel, "place", "share", "setting", SETTINGS, named)
        lines.level(ax, 1.0, zorder=0)
        ax.set(xscale="log", yscale="log", ylim=(1e-4, 1e3), title=f"{family}: {FORMULAS[family]}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc=CORNERS.get(family, "lower left"), handlelength=2.0)
    for ax in axes[-1]:
        ax.set_xlabel(r"lag $d$ + 1")
    for ax in axes[:, 0]:
        ax.set_ylabel("weight / uniform share")
    return fig


def caption(frame: Frame) -> str:
    keys = int(frame["lag"].max()) + 1
    last = frame[frame["lag"] == frame["lag"].max()].set_index("family")["share"]
    far = last[last >= 0.5].index.unique()
    return (
        f"The additive priors of the field, up to three settings each, over {keys} visible keys: n times the weight of "
        "the key at lag d; 1 (dotted) is the uniform share. Both axes are logarithmic: a power law is a "
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
    ax.plot(lags + 1, keys * weights, color=style.BLUE)
    lines.level(ax, 1.0)
    beyond = weights[keys // 8 :].sum()
    ax.set(xscale="log", yscale="log", ylim=(1e-4, None), xlabel="lag $d$ + 1", ylabel="weight / uniform share")
    ax.set_title(f"{family}: mass of the far 7/8 is {beyond:.3g}")
    return lines.once(fig)


FIGURE = FigureSpec(
    "guide_page", draw, caption, notebook="field_guide", rows=rows, columns=("family", "setting", "lag", "share"),
    alt="Nine panels of weight by lag on logarithmic axes, one per family of priors: level, exponential, stretched, "
    "power-law, stepped and wavy curves.",
)  # fmt: skip
