"""What the epsilon of BAM's code does to the own key and to near keys (BAM, appendix C)."""

import math

import numpy as np
from matplotlib.ticker import MultipleLocator

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory import generalised_gaussian as gaussian

GRID = tuple(round(-0.01 * k, 2) for k in range(41))


def rows(size: Size, seed: int, theta_betas=GRID, lags=21) -> Rows:
    """exp(b(d) - b(keys - 1)), the weight relative to the oldest key: the own key by epsilon, near keys by lag."""
    found = [
        ("own key", epsilon, theta_beta, 0, own - oldest)
        for epsilon in (1e-3, 1e-5, 1e-7)
        for theta_beta in theta_betas
        for own, oldest in [gaussian.coded(0.0, theta_beta, epsilon=epsilon)(np.array([0, size.length - 1]))]
    ]
    for theta_beta in (-0.05, -0.1, -0.2, -0.5, -1.0):
        *near, oldest = gaussian.coded(0.0, theta_beta)(np.array([*range(lags), size.length - 1]))
        found += [("near keys", gaussian.EPSILON, theta_beta, lag, value - oldest) for lag, value in enumerate(near)]
    names = ("panel", "epsilon", "theta_beta", "lag")
    return [dict(zip(names, known, strict=True)) | {"weight": float(np.exp(log))} for *known, log in found]


def draw(frame: Frame) -> Figure:
    fig, (own, near) = style.figure(style.SINGLE, 4.0, nrows=2)
    power = lambda epsilon: rf"$\epsilon = 10^{{{round(math.log10(epsilon))}}}$"  # noqa: E731
    points = frame[frame["panel"] == "own key"]
    lines.plot(own, points, "theta_beta", "weight", "epsilon", label=power, marker="None")
    own.set(yscale="log", ylim=(1e-8, 2), xlabel=r"$\theta_\beta$", ylabel="weight / oldest key", title="the own key")
    own.xaxis.set_major_locator(MultipleLocator(0.1))
    own.legend(loc="lower right")
    points = frame[frame["panel"] == "near keys"]
    lines.plot(near, points, "lag", "weight", "theta_beta", label=r"$\theta_\beta = {:g}$".format)
    near.set_xticks(range(0, int(frame["lag"].max()) + 1, 5))
    near.set(xlabel="lag", ylabel="weight / oldest key", ylim=(-0.03, 1.05), title=r"near keys, $\epsilon = 10^{-5}$")
    near.legend(loc="lower right", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    near = frame[frame["panel"] == "near keys"].set_index(["lag", "theta_beta"])["weight"]
    own, next_to = (", ".join(f"{near[lag, t]:.2g} ({t:g})" for t in (-0.05, -0.1, -0.2)) for lag in (0, 1))
    return (
        "Left: weight of the query's own key relative to the oldest, θ_α = 0, by θ_β and ε; "
        f"without ε it is 0 for every θ_β < 0. With ε = 1e-5 it is, by θ_β: {own}. Right: "
        f"only lag 0 feels ε; the key at lag 1 keeps {next_to}."
    )


FIGURE = FigureSpec(
    "prior_epsilon", draw, caption, notebook="generalised_gaussian", paper="BAM, appendix C", rows=rows,
    columns=("panel", "epsilon", "theta_beta", "lag", "weight"), claims=("BAM-T3", "BAM-D4"),
    alt="Left, the own key's weight falling steeply with more negative theta beta, later for larger epsilon. Right, "
    "weights of the first lags: only lag 0 depends on epsilon.",
)  # fmt: skip
