"""Errors of output and gradients in bfloat16, PyTorch beside our kernels."""

import numpy as np

from attention_priors.experiments import kernel_rows
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

RESULTS = {
    "out": "o",
    "q": "dq",
    "k": "dk",
    "v": "dv",
    "theta_alpha": r"d$\theta_\alpha$",
    "theta_beta": r"d$\theta_\beta$",
    "theta_mu": r"d$\theta_\mu$",
}
WAYS = (
    ("plain", -0.15, style.GREY, "s", "PyTorch, bfloat16"),
    ("kernel", 0.15, style.ORANGE, "o", "our kernels, bfloat16"),
)


SEEDS = (0, 1, 2)


def rows(size: Size, seed: int) -> Rows:
    return kernel_rows.errors(length=40, seeds=SEEDS)


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.4)
    names = [name for name in RESULTS if name in set(frame["result"])]
    for way, shift, color, marker, label in WAYS:
        if way not in set(frame["way"]):
            continue
        errors = frame[frame["way"] == way].set_index("result")["error"]
        for index, name in enumerate(names):
            values = errors[[name]]
            ax.plot([index + shift] * len(values), values, ".", color=color, markersize=2.5)
            look = {"marker": marker, "linestyle": "", "label": label if index == 0 else "_"}
            ax.plot(index + shift, values.median(), color=color, **look)
    ax.set_xticks(range(len(names)), [RESULTS[name] for name in names])
    ax.set(yscale="log", ylabel="relative error to float64")
    ax.legend(loc="lower left")
    return fig


def caption(frame: Frame) -> str:
    middle = frame.groupby(["way", "result"])["error"].median()
    text = "Error of the output and of every gradient at the same bfloat16 inputs; points are seeds, markers medians."
    if "kernel" in set(frame["way"]):
        ratio = max(middle["kernel", name] / middle["plain", name] for name in RESULTS)
        best = middle["plain", "theta_beta"] / middle["kernel", "theta_beta"]
        text += (
            f" The kernels' error is at most {ratio:.1f} times PyTorch's everywhere; the gradients of the parameters, "
            f"whose row sums they make exact, are {np.log10(best):.0f} orders of magnitude more accurate for the shape."
        )
    return text


FIGURE = FigureSpec(
    "kernel_errors",
    draw,
    caption,
    notebook="fused_kernel",
    claims=("X-17",),
    columns=("way", "result", "seed", "error"),
    rows=rows,
    alt="Relative errors of output and gradients in bfloat16, PyTorch beside our kernels, on a log scale.",
)
