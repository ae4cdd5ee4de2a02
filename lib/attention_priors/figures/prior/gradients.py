"""The gradient of the log-prior at the uniform start (BAM, appendix F.1)."""

import torch

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory import generalised_gaussian as gaussian

NAMES = {"theta_alpha": r"$\theta_\alpha$", "theta_beta": r"$\theta_\beta$", "theta_mu": r"$\theta_\mu$"}


def rows(size: Size, seed: int, lengths=tuple(2**k for k in range(1, 12))) -> Rows:
    """d b / d theta by lag, and the own key's part in the variance of theta_beta's gradient by context."""
    found, farthest = [], size.length - 1
    for lag in sorted({0, *(2**k for k in range(9) if 2**k < farthest), farthest}):
        prior = gaussian.module(0.0, 0.0)
        prior.log_prior(torch.tensor([lag]))[0, 0].backward()
        found += [("slope", name, lag, float(getattr(prior, name).grad)) for name in prior.NAMES]
    found += [("share", "own key", keys, gaussian.self_share_of_gradient(keys)) for keys in lengths]
    return [{"panel": panel, "series": series, "x": x, "value": value} for panel, series, x, value in found]


def draw(frame: Frame) -> Figure:
    fig, (slope, share) = style.figure(style.SINGLE, 3.9, nrows=2)
    lines.plot(slope, frame[frame["panel"] == "slope"], "x", "value", "series", label=NAMES.get)
    slope.set_xscale("symlog", linthresh=1)
    slope.set_xticks([0, 1, 10, 100, 500], ["0", "1", "10", "100", "500"])
    slope.set(xlabel="lag", ylabel=r"$\partial b / \partial \theta$", title=r"at the uniform start $\theta = 0$")
    slope.legend(loc="upper right")
    own = frame[frame["panel"] == "share"]
    share.plot(own["x"], own["value"], color=style.ORANGE, marker="s")
    lines.level(share, 0.5)
    style.length_axis(share, own["x"].astype(int), most=6)
    share.set(ylim=(0, 1), xlabel="visible keys", ylabel="part of the variance",
              title=r"own key's part in $\theta_\beta$'s gradient")  # fmt: skip
    return fig


def caption(frame: Frame) -> str:
    slope = frame[(frame["panel"] == "slope") & (frame["series"] == "theta_beta")].set_index("x")["value"]
    share = frame[frame["panel"] == "share"].set_index("x")["value"]
    return (
        f"Left: gradient of the log-prior at the uniform start. For θ_β it is {slope[0]:+.1f} at the own key "
        f"and {slope.iloc[-1]:+.1f} at lag {slope.index[-1]}; for θ_α it is one constant per row and for "
        "θ_μ 0, so that no loss moves these two at first. Right: part of the variance of θ_β's first gradient that is "
        f"due to the own key when upstream gradients are independent: {share.iloc[0]:.0%} with {share.index[0]} keys, "
        f"{share.iloc[-1]:.0%} with {share.index[-1]}."
    )


FIGURE = FigureSpec(
    "prior_gradients", draw, caption, notebook="generalised_gaussian", paper="BAM, appendix F.1", rows=rows,
    columns=("panel", "series", "x", "value"), claims=("BAM-E14",),
    alt="Left, gradients of the log-prior by lag: a falling logarithm for theta beta with an outlier at lag 0, two "
    "level lines for theta alpha and theta mu. Right, the own key's part of the variance rising to nine tenths at 16 "
    "keys and falling from there.",
)  # fmt: skip
