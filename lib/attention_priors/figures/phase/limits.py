"""Tail mass of KERPLE's logarithm by context length on both sides of r1 = 1, and its limits."""

import matplotlib as mpl

from attention_priors.figures import style
from attention_priors.figures.phase.family import power
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.generalised_gaussian import tails
from attention_priors.theory.phase import power_tail

LENGTHS = tuple(10**k for k in range(2, 7))


def rows(size: Size, seed: int, lengths=LENGTHS, window=64) -> Frame:
    """P(lag > window) by context length, and the limit."""
    parts = [
        {
            "r1": r1,
            "keys": lengths,
            "tail": tails(power(r1), lengths, [window])[:, 0],
            "window": window,
            "limit": power_tail(r1, 1.0, window),
        }
        for r1 in (0.5, 0.9, 1.0, 1.1, 1.5, 2.0)
    ]
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.4)
    count, end = frame["r1"].nunique(), frame["keys"].max() * 3
    for k, (r1, part) in enumerate(frame.groupby("r1", sort=True)):
        color = mpl.colormaps["cividis"](0.6 * k / (count - 1))
        ax.plot(part["keys"], part["tail"], color=color, dashes=style.SOLID if r1 > 1 else (5, 1.5), label=f"{r1:g}")
        ax.plot([end], [part["limit"].iloc[0]], "o" if r1 > 1 else "s", color=color)
    ax.set(
        xscale="log",
        xlabel="context length $n$",
        ylabel=f"tail mass beyond lag {int(frame['window'].iloc[0])}",
        ylim=(-0.03, 1.04),
    )
    ax.legend(title="$r_1$", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["keys"] == frame["keys"].max()].itertuples()
    listed = "; ".join(f"{row.r1:g}: {row.tail:.3f}, limit {row.limit:.3f}" for row in final)
    return (
        f"Tail mass of the prior (1 + d)^(-r₁) beyond lag {int(frame['window'].iloc[0])} by context length; markers at "
        "the right end are the limits, 1 for r₁ <= 1 (dashed, one square). At "
        f"{int(frame['keys'].max()):,} keys, by r₁: {listed}."
    )


FIGURE = FigureSpec(
    "phase_limits",
    draw,
    caption,
    notebook="phase_diagram",
    rows=rows,
    claims=("X-10",),
    columns=("r1", "keys", "tail", "window", "limit"),
    alt="Tail mass by context length for six exponents: three climb towards one, three level off below.",
)
