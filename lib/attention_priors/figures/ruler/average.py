"""The mean score over RULER's needle tasks by length."""

import numpy as np

from attention_priors.experiments.needles import CONTROL, score_interval
from attention_priors.figures import style
from attention_priors.figures.curves import curve, over_seeds
from attention_priors.figures.methods import METHODS, UNTRAINED, label, look, named, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import DRAWN, LINES, extremes, times, trained_on


def scores(rows: Frame) -> Frame:
    """The mean score by length with its interval over seeds and prompts."""
    return over_seeds(rows, "score", lambda group: score_interval(group["score"], group["prompts"]))


def _drawn(frame: Frame, ssmax: bool) -> list[str]:
    """The encodings of a panel that have a style of their own, BAM last, and the control."""
    return [name for name in (UNTRAINED, *named(ssmax, METHODS)) if name in set(frame["encoding"])]


def draw(frame: Frame) -> Figure:
    """Left without SSMax, right with it; a form that nothing was trained in has no panel."""
    forms = [ssmax for ssmax in (False, True) if set(_drawn(frame, ssmax)) - {UNTRAINED}]
    fig, axes = style.figure(style.DOUBLE if len(forms) > 1 else style.SINGLE, 2.6, ncols=len(forms), sharey=True)
    axes = np.atleast_1d(axes)
    lengths, trained = sorted(set(frame["length"])), trained_on(frame)
    for ax, ssmax in zip(axes, forms, strict=True):
        for rank, name in enumerate(_drawn(frame, ssmax)):
            own = frame[frame["encoding"] == name]
            curve(ax, scores(own), own.set_index("length")["score"], look(name), zorder=rank + 4)
        style.length_axis(ax, lengths, trained)
        marked = [length for length in lengths if length >= trained]  # those below stand too close for names
        ax.set_xticks(marked, [f"{style.length_label(n)}\n{times(n, trained)}" for n in marked])
        ax.set(ylim=(-0.03, 1.03), xlabel=f"context length (tokens, × {trained})",
               title="with SSMax" if ssmax else "without SSMax")  # fmt: skip
    axes[0].set_ylabel(f"mean score over {int(frame['tasks'].max())} tasks")
    for ax in axes:
        style.direct_labels(ax)
    return fig


def caption(frame: Frame) -> str:
    trained, last = trained_on(frame), int(frame["length"].max())
    drawn = {name for ssmax in (False, True) for name in _drawn(frame, ssmax)} - {UNTRAINED}
    models = frame[frame["encoding"].isin(drawn)]
    runs = models.drop_duplicates(["encoding", "seed"])
    passed = ", ".join(f"{label(name)} {int(own['passed'].sum())} of {len(own)}"
                       for name, own in runs.groupby("encoding", sort=False))  # fmt: skip
    return (
        f"Mean score over {int(frame['tasks'].max())} of RULER's needle tasks, trained on up to {trained} tokens, "
        f"asked to {last:,} ({times(last, trained)}). Seeds that passed the gate on all of these tasks: {passed}; a "
        f"run that misses it is drawn and decides nothing. {LINES} {extremes(frame['prompts'])} prompts at each length "
        f"and seed, over all tasks; {named_seeds(models)}. The untrained control is {label(CONTROL)} before its first "
        "step; chance is below 1e-6."
    )


FIGURE = FigureSpec(
    "ruler_average", draw, caption, notebook="needles", paper="BAM, Tables 3 and 4", claims=("BAM-D8",),
    columns=("encoding", "seed", "length", "score", "prompts", "tasks", "trained", "passed"),
    alt="A panel without SSMax, one with it, as far as trained: lines of the mean score over the needle tasks "
    f"against context length on a log axis, each {DRAWN}; an untrained model lies at zero.",
)  # fmt: skip
