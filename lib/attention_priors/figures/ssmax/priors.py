"""The lead that retrieves the oldest key, by prior and by what SSMax multiplies."""

import math

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.generalised_gaussian import coded, laplace
from attention_priors.theory.scalable_softmax import prior_lead

PRIORS = {
    "uniform": (style.GREY, (1, 1), "s", "uniform"),
    "ALiBi, slope 1/256": (style.BLUE, (5, 1.5), "D", "ALiBi, slope 1/256"),
    "beta = 1/2": (style.ORANGE, style.SOLID, "o", "BAM, β = 1/2"),
    "beta = -1/2": (style.GREEN, (3, 1), "^", "BAM, β = -1/2"),
}
PANELS = {"nothing": "softmax", "content": "SSMax on content", "content and prior": "SSMax on content and prior"}
LENGTHS = tuple(2**k for k in range(5, 20, 2))


def rows(size: Size, seed: int, lengths=LENGTHS) -> Rows:
    """Lead against keys of equal content: SSMax (s = 1) scales nothing (softmax), content, or content and prior."""
    log_priors = {"uniform": laplace(0.0), "ALiBi, slope 1/256": laplace(1 / 256)}
    log_priors |= {"beta = 1/2": coded(-1.0, 0.5), "beta = -1/2": coded(1.0, -0.5)}
    found = []
    for n in lengths:
        a = math.log(n)
        for scaled, content, prior in (("nothing", 1.0, 1.0), ("content", a, 1.0), ("content and prior", a, a)):
            for name, log_prior in log_priors.items():
                lead = prior_lead(log_prior(np.arange(float(n))), n - 1, content, prior)
                found.append({"scaled": scaled, "prior": name, "keys": n, "lead": lead})
    return found


def draw(frame: Frame) -> Figure:
    made = {
        title: panels.series(frame[frame["scaled"] == scaled], "keys", "lead", "prior", PRIORS)
        for scaled, title in PANELS.items()
    }
    axis = {"base": 10, "yscale": "log", "ylim": (0.5, 4000), "legend": "above", "ncols": 4}
    return panels.draw(made, "context length $n$", "lead for the oldest key (nats)", height=1.7, **axis)[0]


def caption(frame: Frame) -> str:
    lead = frame[frame["keys"] == frame["keys"].max()].set_index(["prior", "scaled"])["lead"]
    words = [f"{PRIORS[name][-1]}: {', '.join(f'{lead[name, scaled]:.3g}' for scaled in PANELS)}" for name in PRIORS]
    return (
        "Content lead, before SSMax multiplies it, that gives the oldest key half of the weight against keys of "
        f"equal content, by prior and by what SSMax (s = 1) multiplies. At {int(frame['keys'].max()):,} keys, "
        "softmax, content, content and prior: " + "; ".join(words) + "."
    )


FIGURE = FigureSpec(
    "ssmax_priors",
    draw,
    caption,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows,
    columns=("scaled", "prior", "keys", "lead"),
    alt="Three log-log panels. Softmax: leads rise with ln n for flat priors and as powers of n for ALiBi and shape "
    "one half. Content scaled: flat priors stay at 1, the others rise more slowly. Prior scaled too: flat priors stay "
    "at 1, the others rise as under softmax.",
)
