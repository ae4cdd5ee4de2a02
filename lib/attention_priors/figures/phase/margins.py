"""The lead in content that a key needs, by its lag and by context length, beside what SSMax supplies."""

import numpy as np

from attention_priors.figures import lines, panels, style
from attention_priors.figures.phase import LOOKS
from attention_priors.figures.phase.family import family
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.inference import log_sum_exp
from attention_priors.theory.phase import required_margin


def rows(size: Size, seed: int, length=None, points=40) -> Rows:
    """Lead for half of the weight: by lag in a context of `length`, else 256 lengths, and at the far end by length.

    What SSMax supplies is s x lead x ln n: rows of series "SSMax, s x lead = ..".
    """
    length, found = length or 256 * size.length, []
    places = sorted({round(d) for d in np.geomspace(1, length - 1, points)})
    for name, log_prior in family().items():
        if "Sandwich" in name or "T5" in name:
            continue
        table = log_prior(np.arange(length, dtype=np.float64))
        total, totals = log_sum_exp(table), np.logaddexp.accumulate(table)
        found += [("by lag", name, lag, required_margin(table[lag], total)) for lag in places]
        found += [("at the far end", name, lag + 1, required_margin(table[lag], totals[lag])) for lag in places]
    for product in (1.0, 2.0):
        name = f"SSMax, s × lead = {product:g}"
        found += [("at the far end", name, lag + 1, product * np.log(lag + 1)) for lag in places]
    return [{"panel": panel, "series": name, "x": x, "margin": float(margin)} for panel, name, x, margin in found]


def draw(frame: Frame) -> Figure:
    titles = {"by lag": "by lag, long context", "at the far end": "oldest key, by length"}
    made = {
        titles[panel]: panels.series(own, "x", "margin", "series", LOOKS, markevery=5)
        for panel, own in frame.groupby("panel", sort=False)
    }
    axis = {"base": 10, "ylim": (-1, 30), "legend": "beside"}
    return panels.draw(made, "lag; context length", "lead for half of the weight (nats)", height=2.2, **axis)[0]


def caption(frame: Frame) -> str:
    far = frame[frame["panel"] == "at the far end"]
    margins = far[far["x"] == far["x"].max()].set_index("series")["margin"]
    listed = ", ".join(f"{v:.1f} ({name})" for name, v in margins[margins < 100].items() if "SSMax" not in name)
    return (
        f"Lead in content with which one key takes half of the weight, the others equal. Panel a: by its lag among "
        f"{int(far['x'].max()):,} keys. Panel b: the oldest key, by context length; black is what SSMax supplies. At "
        f"the longest context it needs {listed}; the others more than 100."
    )


def explore(keys: int, r1: float, r2: float) -> Figure:
    """Lead that the oldest key needs by context length under (1 + r2 d)^(-r1)."""
    bias = -r1 * np.log1p(r2 * np.arange(keys, dtype=np.float64))
    totals = np.logaddexp.accumulate(bias)
    counts = np.arange(2, keys + 1)
    needed = [required_margin(own, total) for own, total in zip(bias[1:], totals[1:], strict=True)]
    fig, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(counts, needed, color=style.GREEN, label="needed")
    ax.plot(counts, np.log(counts), color=style.BLACK, dashes=(1, 1), label="SSMax, s × lead = 1")
    ax.set(xscale="log", xlabel="context length $n$", ylabel="lead (nats)", ylim=(0, None))
    ax.set_title("local" if r1 > 1 else "not local")
    ax.legend(loc="upper left")
    return lines.once(fig)


FIGURE = FigureSpec(
    "phase_margins",
    draw,
    caption,
    notebook="phase_diagram",
    rows=rows,
    claims=("X-14",),
    columns=("panel", "series", "x", "margin"),
    alt="Required lead by lag and by context length: straight up for ALiBi, logarithms for the others, and two lines "
    "for what SSMax supplies.",
)
