"""The priors that were learned on a grid, as pictures: one map of lags for each head."""

import matplotlib as mpl

from attention_priors.experiments.resolution import NEAR, near_mass
from attention_priors.figures import panels, style
from attention_priors.figures.heat_maps import bare, color_bar
from attention_priors.figures.resolution.looks import NOTEBOOK, label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared

FIRST, SECOND = "goat-2d", "goat-2d-split"
DEPTH = 8.0  # nats below the largest value, from where on a key hardly counts
MOST = 12  # maps
TITLE = 1.0  # inches of one


def one(frame: Frame) -> Frame:
    """The first seed of Goat, and of the split ladder where it is trained. NotCompared where neither is."""
    rows = frame[frame["encoding"].isin((FIRST, SECOND))]
    if rows.empty:
        raise NotCompared("resolution_prior: no prior over a grid is trained under this profile; a larger one has some")
    return rows[rows["seed"] == rows["seed"].min()]


def maps(rows: Frame) -> list[tuple[str, Frame]]:
    """(title, table of κ by row and column of the lag), by encoding, layer and head."""
    each = rows.groupby(["encoding", "layer", "head"], sort=False)
    return [
        (
            f"{panels.broken(label(name), TITLE)}\nlayer {layer}, head {head}",
            own.pivot(index="down", columns="across", values="value"),
        )
        for (name, layer, head), own in each
    ]


def draw(frame: Frame) -> Figure:
    """Bright: lags that a head prefers before it has seen anything; the query stands in the middle."""
    found = maps(one(frame))[:MOST]
    across = min(4, len(found))
    down = -(-len(found) // across)
    fig, axes = style.figure(
        style.MIDDLE, 0.6 + 1.7 * down, nrows=down, ncols=across, squeeze=False, sharex=True, sharey=True
    )
    for ax, (title, table) in zip(style.panels(axes, len(found)), found, strict=True):
        rows, columns = table.index.to_numpy(), table.columns.to_numpy()
        mesh = ax.pcolormesh(columns, rows, table.to_numpy(), vmin=-DEPTH, vmax=0, shading="nearest", rasterized=True)
        ax.add_patch(mpl.patches.Circle((0, 0), NEAR, fill=False, color="white", linewidth=0.7, linestyle=":"))
        bare(ax)
        ends = [rows.max() // 2 * sign for sign in (-1, 0, 1)]
        ax.set(aspect="equal", title=title, ylim=(rows.max() + 0.5, rows.min() - 0.5), xticks=ends, yticks=ends)
    fig.supxlabel("columns from the key to the query (patches)")
    fig.supylabel("rows from the key to the query")
    color_bar(mesh, axes, label="log-prior less its largest value", shrink=0.8)
    return fig


def caption(frame: Frame) -> str:
    rows = one(frame)
    shares = {
        name: [near_mass(table.to_numpy()) for _, table in maps(own)]
        for name, own in rows.groupby("encoding", sort=False)
    }
    said = "; ".join(f"{label(name)} {sum(near for near, _ in each) / len(each):.2f}" for name, each in shares.items())
    uniform = next(iter(shares.values()))[0][1]
    return (
        f"The priors of one model (seed {int(rows['seed'].iloc[0])}) over the lags of its grid, started from uniform; "
        f"the query stands in the middle. Share of the prior's mass within {NEAR:g} patches (circle), mean over heads: "
        f"{said}; a uniform prior has {uniform:.2f}."
    )


FIGURE = FigureSpec(
    "resolution_priors",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 5",
    claims=("GOAT-F5",),
    columns=("encoding", "seed", "layer", "head", "down", "across", "value"),
    alt="Heat maps of the learned log-prior over row and column lags, one for each layer and head, the query in the "
    "middle and a circle of two patches around it.",
)
