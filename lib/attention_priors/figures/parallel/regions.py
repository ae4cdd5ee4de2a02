"""What eviction of outliers changes, by region of the chunks and by layers (ParallelComp, section 4, Q3)."""

from attention_priors.experiments.parallel_profiles import ALL, DEPTHS, ENDS, MIDDLE, NONE, RECENCY, REGIONS, SINK
from attention_priors.figures import panels, style
from attention_priors.figures.curves import over_seeds
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.parallel.profiles import shown_of
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared
from attention_priors.figures.words import counted
from attention_priors.parallel.chunks import Calibration

# region: colour, marker
LOOKS = {
    SINK: (style.BLUE, "s"),
    RECENCY: (style.GREEN, "^"),
    MIDDLE: (style.OCHRE, "D"),
    ENDS: (style.PINK, "v"),
    ALL: (style.BLACK, "o"),
}
PANELS = {"distance": "change of the distance\nfrom the uniform share", "middle": "change of the attention\nto middles"}
BESIDE = 0.14  # of the way from one place to the next, between the marks of two regions
COLUMNS = ("encoding", "seed", "region", "layers", "document", "evicted", "distance", "middle", "passed")


def changes(frame: Frame) -> tuple[Frame, str]:
    """By seed, region and layers what differs from all keys, a mean over documents; and the encoding's name.

    Seeds in which there is no outlier to evict are left out there. NotCompared where that are all.
    """
    rows, name = shown_of(frame, "region", "parallel_regions")
    means = rows.groupby(["seed", "region", "layers"])[["evicted", *PANELS]].mean()
    whole = means.xs((NONE, NONE), level=("region", "layers"))
    found = (means - whole.reindex(means.index.get_level_values("seed")).to_numpy()).reset_index()
    found = found[found["evicted"] > 0]
    if found.empty:
        raise NotCompared("parallel_regions: no model has an outlier to evict under this profile")
    return found, name


def draw(frame: Frame) -> Figure:
    """A panel for each change: places are the layers that evict, marks the regions, dots the seeds."""
    rows, _ = changes(frame)
    there = [depth for depth in DEPTHS if depth in set(rows["layers"])]
    rows = rows.assign(place=rows["layers"].map(there.index))
    fig, axes = style.figure(style.MIDDLE, 2.4, ncols=2)
    for ax, (column, called) in zip(axes, PANELS.items(), strict=True):
        for number, (region, (color, marker)) in enumerate(LOOKS.items()):
            own = rows[rows["region"] == region]
            if own.empty:
                continue
            aside = BESIDE * (number - (len(LOOKS) - 1) / 2)
            found = over_seeds(own, column, by="place")
            style.interval_bars(ax, found.index + aside, found["low"], found["high"], color)
            style.seed_dots(ax, own["place"] + aside, own[column], style.darken(color), right=style.ASIDE)
            ax.plot(
                found.index + aside,
                found["mean"],
                linestyle="none",
                color=color,
                marker=marker,
                label="any region" if region == ALL else region,
            )
        ax.axhline(0, color=style.GREY, linewidth=0.6, zorder=0)
        for border in range(1, len(there)):
            ax.axvline(border - 0.5, color=style.PALE, linewidth=0.7, linestyle=":", zorder=0)
        ax.set_xticks(range(len(there)), there)
        ax.set(xlim=(-0.5, len(there) - 0.5), xlabel="layers that evict", ylabel=called)
        ax.grid(axis="x", visible=False)
    panels.letter(axes)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(REGIONS), handlelength=1)
    return fig


def caption(frame: Frame) -> str:
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


FIGURE = FigureSpec(
    "parallel_regions",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, section 4, Q3",
    claims=("PC-CQ3ii",),
    columns=COLUMNS,
    alt="Two panels of marks by the layers that evict, early, intermediate, deep and all: the change of the distance "
    "from the uniform share and of the attention to the middles of chunks, a mark for each region, bars and dots.",
)
