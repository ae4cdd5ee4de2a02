"""T5's bucket of each causal lag: as its code computes it and as the survey prints it."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.inference import printed_t5_bucket, t5_bucket

LOOKS = {"code": (style.BLUE, style.SOLID, "None"), "printed formula": (style.ORANGE, (5, 1.5), "None")}


def rows(size: Size, seed: int, farthest=300) -> Frame:
    """Bucket by lag, one curve after the other."""
    lags = np.arange(farthest + 1)
    printed = [d if d < 16 else printed_t5_bucket(d) for d in lags]
    curves = {"code": t5_bucket(lags), "printed formula": printed}
    return stacked({"curve": name, "lag": lags, "bucket": values} for name, values in curves.items())


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.2)
    lines.plot(ax, frame.assign(place=frame["lag"] + 1), "place", "bucket", "curve", LOOKS, drawstyle="steps-post")
    first = _first_of_last(frame)
    ax.axvline(first + 1, color=style.GREY, linewidth=0.7, linestyle=":")
    ax.annotate(f"lag {first}", (first + 1, 8), xytext=(3, 0), textcoords="offset points", fontsize=style.SMALLEST)
    ax.set(xscale="log", xlabel="lag $d$ + 1", ylabel="bucket", ylim=(-1, 33))
    ax.legend(loc="upper left")
    return fig


def _first_of_last(frame: Frame) -> int:
    code = frame[frame["curve"] == "code"]
    return int(code.loc[code["bucket"] == code["bucket"].max(), "lag"].min())


def caption(frame: Frame) -> str:
    lags = frame[frame["curve"] == "printed formula"].set_index("lag")["bucket"]
    return (
        "Bucket of each causal lag in T5: as its code computes it and as the survey's formula has it. The formula "
        f"falls back to bucket {lags[16]:.0f} at lag 16 and reaches bucket {lags.iloc[-1]:.0f} at lag "
        f"{int(lags.index[-1]):,}. In the code all lags from {_first_of_last(frame)} on share the last bucket."
    )


FIGURE = FigureSpec(
    "guide_buckets",
    draw,
    caption,
    notebook="field_guide",
    rows=rows,
    columns=("curve", "lag", "bucket"),
    claims=("PE-T5", "PE-E-T5", "PE-E-T5b"),
    alt="Bucket by lag: the code's staircase rises to 31 at lag 113; the printed formula drops to 0 at lag 16.",
)
