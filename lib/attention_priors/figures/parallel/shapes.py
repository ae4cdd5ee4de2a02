"""Shapes of heads: how much more attention than the middle of a text its two ends get (ParallelComp, Figs. 3 and 6)."""

from matplotlib.ticker import LogLocator, NullLocator

from attention_priors.experiments.parallel_profiles import SHAPES, STEEP
from attention_priors.figures import lines, panels, style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import counted

LOOKS = dict(zip(SHAPES, lines.SERIES, strict=False))
LEAST = 0.01  # of the uniform share: less attention is drawn as this, since heads that look near have none far away
NARROW = 256  # times from the smallest ratio to the largest: up to it, ticks are powers of 2


def draw(frame: Frame) -> Figure:
    """A mark for each head, in a panel for each encoding: first keys against last ones, both over the middle."""
    rivals(frame, "head", "parallel_shapes")
    names = list(dict.fromkeys(frame["encoding"]))
    middle = frame["middle"].clip(LEAST)
    ends = frame[["first", "last"]].clip(LEAST).div(middle, axis=0)
    base = 2 if ends.max(axis=None) < NARROW * ends.min(axis=None) else 10
    fig, axes = style.figure(
        style.MIDDLE if len(names) > 1 else style.SINGLE, 2.7, ncols=len(names), sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        own = frame[frame["encoding"] == name]
        for shape, rows in own.groupby("shape"):
            color, _, marker = LOOKS[shape]
            own_ends = ends.loc[rows.index]
            ax.plot(own_ends["first"], own_ends["last"], marker, color=color, markersize=4, label=shape, **style.EDGED)
        for bound in (1 / STEEP, STEEP):
            ax.axhline(bound, color=style.PALE, linewidth=0.6, linestyle=":", zorder=0)
            ax.axvline(bound, color=style.PALE, linewidth=0.6, linestyle=":", zorder=0)
        ax.set(xscale="log", yscale="log", title=label(name), xlabel="first keys / middle")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(base))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
    axes[0, 0].set_ylabel("last keys / middle")
    panels.letter(axes[0])
    handles = {text: mark for ax in axes[0] for mark, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=4, handlelength=1)
    return fig


def caption(frame: Frame) -> str:
    rivals(frame, "head", "parallel_shapes")
    said, faint = [], ""
    if (frame[["first", "middle", "last"]] < LEAST).any(axis=None):
        faint = f"; attention below {LEAST:g} of the uniform share is drawn as this much"
    for name, own in frame.groupby("encoding", sort=False):
        counts = own["shape"].value_counts()
        said.append(f"{label(name)} " + ", ".join(f"{shape} {counts.get(shape, 0)}" for shape in SHAPES))
    return (
        "Shapes of the question's attention along a text, a mark for each head: attention to its first and to its last "
        f"keys, relative to its middle. A U has both above {STEEP:g}, a mountain both below {1 / STEEP:g}, uniform is "
        f"between; dotted: the bounds{faint}. Heads: {'; '.join(said)}; {counted(frame['seed'])}."
    )


FIGURE = FigureSpec(
    "parallel_shapes",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, Figs. 3 and 6",
    claims=("PC-CQ1", "PC-F3", "PC-F6"),
    columns=("encoding", "seed", "layer", "head", "first", "middle", "last", "shape"),
    alt="Marks of heads by attention to the first and to the last keys relative to the middle, on log axes, coloured "
    "by shape: U, mountain, uniform or other.",
)
