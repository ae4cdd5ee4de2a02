"""The lead that one key needs for half of the weight against noise, by context."""

import math

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.figures.ssmax import contexts
from attention_priors.runtime import seed_for
from attention_priors.theory.inference import log_sum_exp
from attention_priors.theory.scalable_softmax import log_total, noisy_lead

SOLID, DASHED = style.SOLID, (2, 2)  # the largest score's line lies on that of the largest s
LEADS = (
    (style.GREY, SOLID, "s"),
    (style.ORANGE, SOLID, "o"),
    (style.BLUE, SOLID, "^"),
    (style.GREEN, SOLID, "v"),
    (style.PINK, DASHED, "D"),
)


def rows(size: Size, seed: int, sigma=1.0, scales=(1.0, 0.5, 0.2)) -> Rows:
    """Lead for half of the weight against n normal scores: softmax, SSMax by s, and the largest score itself.

    Medians over repetitions, and the leading order.
    """
    draw, found = np.random.default_rng(seed_for(seed, "07/leads")), []
    for n in contexts(size):
        scores = sigma * draw.standard_normal((max(5 * size.draws // n, 4), n))
        for name, a in [("softmax", 1.0), *((f"SSMax, s = {s:g}", s * math.log(n)) for s in scales)]:
            lead = float(np.median([log_sum_exp(a * row) / a for row in scores]))
            found.append({"softmax": name, "keys": n, "lead": lead, "predicted": float(noisy_lead(n, sigma, a))})
        largest = float(np.median(scores.max(axis=1)))
        found.append(
            {"softmax": "largest score", "keys": n, "lead": largest, "predicted": float(sigma * np.sqrt(2 * np.log(n)))}
        )
    return found


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.6)
    for (color, dashes, marker), (name, part) in zip(LEADS, frame.groupby("softmax", sort=False), strict=True):
        ax.plot(part["keys"], part["lead"], marker, color=color, label=name.replace("s =", "$s$ ="))
        ax.plot(part["keys"], part["predicted"], color=color, dashes=dashes, linewidth=1.0, label="_line")
    style.length_axis(ax, frame["keys"].astype(int), most=6)
    ax.set(xlabel="context length $n$", ylabel="lead for half of the weight (nats)", ylim=(0, None))
    ax.legend(loc="upper left", ncols=1)
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["keys"] == frame["keys"].max()].itertuples()
    listed = ", ".join(f"{row.softmax} {row.lead:.2f}" for row in final)
    return (
        "Score that one key needs for half of the weight against n independent standard normal scores, before SSMax "
        "multiplies them: medians (dots) and leading order (lines). Softmax pays ln n; SSMax falls from there towards "
        "the largest score as s grows, and no scale lets a key win that is below it. At "
        f"{int(frame['keys'].max()):,} keys: {listed}."
    )


def weights(s: float, sigma: float, lead: float, lengths: tuple[int, ...]) -> Rows:
    """Weight of a key with score `lead` against n normal scores, softmax and SSMax, to leading order."""
    found = []
    for n in lengths:
        for name, a in (("softmax", 1.0), ("SSMax", s * math.log(n))):
            odds = a * lead - float(log_total(n, sigma, a))
            found.append({"softmax": name, "keys": n, "weight": 1 / (1 + math.exp(-max(min(odds, 500.0), -500.0)))})
    return found


def explore(lengths: tuple[int, ...], s: float, sigma: float, lead: float) -> Figure:
    """Weight of one key against normal scores by context: softmax dashed, SSMax solid."""
    fig, ax = style.figure(style.SINGLE, 2.1)
    looks = {"softmax": (style.GREY, (2, 1), "None"), "SSMax": (style.ORANGE, SOLID, "None")}
    lines.plot(ax, Frame(weights(s, sigma, lead, lengths)), "keys", "weight", "softmax", looks)
    ax.set(xscale="log", xlabel="context length $n$", ylabel="weight of the key", ylim=(-0.02, 1.02))
    ax.legend(loc="best")
    return lines.once(fig)


FIGURE = FigureSpec(
    "ssmax_leads",
    draw,
    caption,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows,
    columns=("softmax", "keys", "lead", "predicted"),
    alt="Lead by context: a straight line in ln n for softmax, flatter lines for SSMax that bend onto the curve of the "
    "largest score, earlier for larger s.",
)
