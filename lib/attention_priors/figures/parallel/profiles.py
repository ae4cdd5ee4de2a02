"""Attention of the question along a text: profiles, what eviction changes, shapes of heads, effective entries."""

from matplotlib.ticker import LogLocator, NullLocator

from ...evaluation import seed_interval
from ...experiments.parallel_profiles import (
    ALL,
    APART,
    CALIBRATED,
    CHUNKS,
    DEPTHS,
    ENDS,
    FIFTHS,
    GLOBAL,
    KINDS,
    LOCAL,
    MIDDLE,
    NONE,
    PLAIN,
    RECENCY,
    REGIONS,
    SHAPES,
    SINK,
    STEEP,
    THRESHOLD,
    WHOLE,
)
from ...parallel.chunks import Calibration
from .. import lines, panels, style
from ..curves import over_seeds
from ..methods import label, look
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import bounded, counted, trained_on
from .needles import NOTEBOOK, shown

# Attention of the question along a text, in chunks or not, and after eviction
# kind: colour, dashes, marker; the two panels
LOOKS = {
    PLAIN: (style.BLUE, (5, 1.5), "s"),
    LOCAL: (style.GREEN, (3, 1), "^"),
    GLOBAL: (style.ORANGE, style.SOLID, "o"),
    WHOLE: (style.SKY, (3, 1, 1, 1), "v"),
    APART: (style.PINK, (2, 1), "D"),
    CALIBRATED: (style.DARK, (1, 1), "X"),
}
TITLES = ("three ways to read", "what eviction changes")
PANELS = ((PLAIN, LOCAL, GLOBAL), (GLOBAL, WHOLE, APART, CALIBRATED))
COLUMNS = ("sink", "recency", "peaks", "repeats", "distance", "largest")


def draw(frame: Frame) -> Figure:
    rows, _ = shown(frame, "kind", "parallel_profiles")
    made = {}
    for title, kinds in zip(TITLES, PANELS, strict=True):
        made[title] = [
            panels.over(rows[rows["kind"] == kind], "share", lines.look(*LOOKS[kind], kind, markersize=2.5), by="fifth")
            for kind in kinds
        ]
    axis = {
        "xticks": {n * FIFTHS + (FIFTHS - 1) / 2: f"chunk {n + 1}" for n in range(CHUNKS)},
        "levels": [1],
        "dotted": [border * FIFTHS - 0.5 for border in range(1, CHUNKS)],
        "ylim": (0, None),
    }
    return panels.draw(made, "place of the key", "attention / uniform share", height=1.8, legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    rows, name = shown(frame, "kind", "parallel_profiles")
    ends = rows.groupby(["kind", "fifth"])["share"].mean()
    last = CHUNKS * FIFTHS - 1
    said = ", ".join(f"{kind} {ends[kind, 0]:.2f} and {ends[kind, last]:.2f}" for kind in KINDS if kind in ends)
    passed = rows.drop_duplicates("seed")["passed"].sum()
    return (
        f"Attention of the last question rows along a text that fits into the {trained_on(frame)} tokens of training, "
        f"in fifths of a chunk; {label(name)}, a mean over layers, heads and documents. First and last fifth: {said}. "
        f"Lines: means of {counted(rows['seed'])} with 95 % intervals; {int(passed)} of {rows['seed'].nunique()} "
        "models know word order."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding and way to attend."""
    rivals(frame, "kind", "parallel_biases")
    made = []
    for (name, kind), own in frame.groupby(["encoding", "kind"], sort=False):
        row = {"encoding": label(name), "attention": kind, "seeds": own["seed"].nunique()}
        for column in COLUMNS:
            means = own.groupby("seed")[column].mean()
            row[column] = bounded(means.mean(), *seed_interval(means))
        made.append(row)
    return Frame(made)


def caption_table(frame: Frame) -> str:
    return (
        "Biases of the question's attention along a text, mean over seeds [95 % interval, Student's t]: its first "
        "fifth of a chunk (sink) and its last one (recency) over the uniform share, the number of peaks, the share of "
        "chunks whose ends are both above their middle (repeats), the total variation from the uniform share (distance)"
        ", and the highest fifth."
    )


PROFILES = FigureSpec(
    "parallel_profiles",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, Figs. 1, 4 and 5",
    claims=("PC-F1", "PC-F4", "PC-F5", "PC-C18", "PC-CQ2", "PC-CQ3i"),
    alt="Two panels of lines along a text of four chunks: attention relative to the uniform share, in a read "
    "without cuts, in chunks and joined, on the right after three kinds of eviction.",
)
TABLE = TableSpec("parallel_biases", build, caption_table, NOTEBOOK)


# What eviction of outliers changes, by region of the chunks and by layers
# region: colour, marker
REGIONS_LOOKS = {
    SINK: (style.BLUE, "s"),
    RECENCY: (style.GREEN, "^"),
    MIDDLE: (style.OCHRE, "D"),
    ENDS: (style.PINK, "v"),
    ALL: (style.BLACK, "o"),
}
REGIONS_PANELS = {
    "distance": "change of the distance\nfrom the uniform share",
    "middle": "change of the attention\nto middles",
}
BESIDE = 0.14  # of the way from one place to the next, between the marks of two regions


def changes(frame: Frame) -> tuple[Frame, str]:
    """By seed, region and layers what differs from all keys, a mean over documents; and the encoding's name.

    Seeds in which there is no outlier to evict are left out there. NotCompared where that are all.
    """
    rows, name = shown(frame, "region", "parallel_regions")
    means = rows.groupby(["seed", "region", "layers"])[["evicted", *REGIONS_PANELS]].mean()
    whole = means.xs((NONE, NONE), level=("region", "layers"))
    found = (means - whole.reindex(means.index.get_level_values("seed")).to_numpy()).reset_index()
    found = found[found["evicted"] > 0]
    if found.empty:
        raise NotCompared("parallel_regions: no model has an outlier to evict under this profile")
    return found, name


def draw_regions(frame: Frame) -> Figure:
    rows, _ = changes(frame)
    there = [depth for depth in DEPTHS if depth in set(rows["layers"])]
    rows = rows.assign(place=rows["layers"].map(there.index))
    fig, axes = style.figure(style.MIDDLE, 2.4, ncols=2)
    for ax, (column, called) in zip(axes, REGIONS_PANELS.items(), strict=True):
        for number, (region, (color, marker)) in enumerate(REGIONS_LOOKS.items()):
            own = rows[rows["region"] == region]
            if own.empty:
                continue
            aside = BESIDE * (number - (len(REGIONS_LOOKS) - 1) / 2)
            found = over_seeds(own, column, by="place")
            style.interval_bars(ax, found.index + aside, found["low"], found["high"], color)
            style.seed_dots(ax, own["place"] + aside, own[column], style.darken(color), right=style.ASIDE)
            look = {"color": color, "marker": marker, "label": "any region" if region == ALL else region}
            ax.plot(found.index + aside, found["mean"], linestyle="none", **look)
        ax.axhline(0, color=style.GREY, linewidth=0.6, zorder=0)
        for border in range(1, len(there)):
            lines.place(ax, border - 0.5, zorder=0)
        ax.set_xticks(range(len(there)), there)
        ax.set(xlim=(-0.5, len(there) - 0.5), xlabel="layers that evict", ylabel=called)
        ax.grid(axis="x", visible=False)
    panels.letter(axes)
    style.legend(fig, [axes[0]], "lower center", ncols=len(REGIONS), handlelength=1)
    return fig


def caption_regions(frame: Frame) -> str:
    rows, name = changes(frame)
    means = rows.groupby(["region", "layers"])[["distance", "evicted"]].mean()
    said = []
    for region in (SINK, RECENCY):
        own = ", ".join(
            f"{depth} {means.loc[(region, depth), 'distance']:+.3f}"
            for depth in DEPTHS
            if depth != ALL and (region, depth) in means.index
        )
        said.append(f"{region} {own or 'none to evict'}")
    every = means.loc[(ALL, ALL)]
    return (
        f"What changes in the joined attention when outliers (weights above {Calibration().threshold:g}) of one region "
        f"of every chunk go, by the layers that lose them; {label(name)}. Panel a: below zero is more even. Change of "
        f"the distance: {'; '.join(said)}; without any outlier {every['distance']:+.3f}, which are "
        f"{100 * every['evicted']:.1f} % of the keys. Bars: 95 % intervals of means of {counted(rows['seed'])}, less "
        "those that have no outlier there; dots: seeds."
    )


REGIONS_FIGURE = FigureSpec(
    "parallel_regions",
    draw_regions,
    caption_regions,
    notebook=NOTEBOOK,
    paper="ParallelComp, section 4, Q3",
    claims=("PC-CQ3ii",),
    alt="Two panels of marks by the layers that evict, early, intermediate, deep and all: the change of the distance "
    "from the uniform share and of the attention to the middles of chunks, a mark for each region, bars and dots.",
)


# Shapes of heads
SHAPES_LOOKS = dict(zip(SHAPES, lines.SERIES, strict=False))
LEAST = 0.01  # of the uniform share: less attention is drawn as this, since heads that look near have none far away
NARROW = 256  # times from the smallest ratio to the largest: up to it, ticks are powers of 2


def draw_shapes(frame: Frame) -> Figure:
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
            color, _, marker = SHAPES_LOOKS[shape]
            own_ends = ends.loc[rows.index]
            ax.plot(own_ends["first"], own_ends["last"], marker, color=color, markersize=4, label=shape, **style.EDGED)
        for bound in (1 / STEEP, STEEP):
            lines.level(ax, bound, zorder=0)
            lines.place(ax, bound, zorder=0)
        ax.set(xscale="log", yscale="log", title=label(name), xlabel="first keys / middle")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(base))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(NullLocator())
    axes[0, 0].set_ylabel("last keys / middle")
    panels.letter(axes[0])
    style.legend(fig, axes[0], "lower center", ncols=4, handlelength=1)
    return fig


def caption_shapes(frame: Frame) -> str:
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


SHAPES_FIGURE = FigureSpec(
    "parallel_shapes",
    draw_shapes,
    caption_shapes,
    notebook=NOTEBOOK,
    paper="ParallelComp, Figs. 3 and 6",
    claims=("PC-CQ1", "PC-F3", "PC-F6"),
    alt="Marks of heads by attention to the first and to the last keys relative to the middle, on log axes, coloured "
    "by shape: U, mountain, uniform or other.",
)


# Entries above a threshold in a row of attention, by window
def by_seed(frame: Frame) -> Frame:
    """A mean over documents."""
    return frame.groupby(["encoding", "seed", "window"], sort=False)["entries"].mean().reset_index()


def draw_effective(frame: Frame) -> Figure:
    rows = by_seed(rivals(frame, "window", "parallel_effective"))
    made = [panels.over(own, "entries", look(name), by="window") for name, own in rows.groupby("encoding", sort=False)]
    axis = panels.lengths(rows["window"], trained_on(frame)) | {"ylim": (0, None), "legend": "lower left"}
    return panels.draw({"": made}, "window (tokens)", f"entries above {THRESHOLD}", height=1.5, **axis)[0]


def caption_effective(frame: Frame) -> str:
    rivals(frame, "window", "parallel_effective")
    rows = by_seed(frame)
    windows = sorted(set(rows["window"]))
    means = rows.groupby(["encoding", "window"], sort=False)["entries"].mean()
    said = "; ".join(
        f"{label(name)} {means[name, windows[0]]:.2f} and {means[name, windows[-1]]:.2f}"
        for name in dict.fromkeys(rows["encoding"])
    )
    return (
        f"Keys of a chunk whose weight exceeds {THRESHOLD} in a row of the question (its own 16 keys left out), a "
        f"mean over layers, heads and the last question rows. In windows of {windows[0]} and {windows[-1]} tokens: "
        f"{said}. No row of any attention has {round(1 / THRESHOLD)}, since weights sum to one. Lines: means of "
        f"{counted(rows['seed'])}, 95 % intervals."
    )


EFFECTIVE = FigureSpec(
    "parallel_effective",
    draw_effective,
    caption_effective,
    notebook=NOTEBOOK,
    claims=("PC-DISC",),
    alt="Lines of the number of keys above a threshold against the window, one for each encoding, with seeds as dots.",
)
