"""Score of equal vectors by lag under RoPE and xPos."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.positions.rotary import rope, xpos
from attention_priors.theory.rotations import mean_score

# colour, dashes, width
LOOKS = {"RoPE": (style.GREEN, style.SOLID, 0.7), "xPos, scale 512": (style.ORANGE, style.SOLID, 1.1),
         "xPos, scale 1": (style.BLUE, (5, 1.5), 1.2)}  # fmt: skip


def rows(size: Size, seed: int, points=500) -> Frame:
    """RoPE, xPos at its released scale of 512, and xPos with ζ for every token, at head width 64."""
    far = np.geomspace(64, 256 * size.length, points).round()
    lags = np.unique(np.concatenate([np.arange(64), far]).astype(int))
    curves = {"RoPE": rope(64), "xPos, scale 512": xpos(64), "xPos, scale 1": xpos(64, scale=1.0)}
    return stacked({"curve": name, "lag": lags, "score": mean_score(each, lags)} for name, each in curves.items())


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.3)
    for name, part in frame.groupby("curve", sort=False):
        color, dashes, width = LOOKS[name]
        ax.plot(part["lag"] + 1, part["score"], color=color, dashes=dashes, linewidth=width, label=name)
    ax.axhline(0, color=style.PALE, linewidth=0.6, zorder=0)
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="score / score at lag 0")
    ax.legend(loc="upper right")
    return fig


def caption(frame: Frame) -> str:
    far = frame[frame["lag"] >= frame["lag"].max() / 2].groupby("curve")["score"].apply(lambda s: s.abs().max())
    return (
        "Score of two equal vectors by lag at head width 64. RoPE's turns for ever; xPos multiplies plane i by ζ_i for "
        "every 512 tokens (its released scale), or for every token. Largest size on the far half of the lags drawn: "
        + ", ".join(f"{value:.2g} ({name})" for name, value in far.items())
        + "."
    )


FIGURE = FigureSpec(
    "guide_decay",
    draw,
    caption,
    notebook="field_guide",
    paper="survey, xPos figure",
    rows=rows,
    columns=("curve", "lag", "score"),
    claims=("PE-F4",),
    alt="Score by lag: RoPE's curve oscillates for ever, xPos at scale 512 follows it and settles late, xPos at scale "
    "1 falls smoothly to zero within a few dozen tokens.",
)
