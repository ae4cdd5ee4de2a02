"""Share of the causal tiles that must be computed when tiles of negligible weight are skipped."""

from attention_priors.experiments import kernel_rows
from attention_priors.figures import panels
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size


def rows(size: Size, seed: int) -> Rows:
    lengths = [size.length * 2**step for step in range(1, 8)]
    return kernel_rows.tiles_kept(lengths, contents=(2.0, 8.0), tolerance=2.0**-10)


def draw(frame: Frame) -> Figure:
    made = {
        f"content within ± {content:g}": panels.series(own, "keys", "kept", "prior")
        for content, own in frame.groupby("content")
    }
    axis = panels.lengths(frame["keys"]) | {"ylim": (0, 1.05)}
    return panels.draw(made, "keys", "share of tiles computed", height=1.6, legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    final = frame[(frame["keys"] == frame["keys"].max()) & (frame["content"] == frame["content"].max())]
    listed = ", ".join(f"{row.kept:.0%} ({row.prior})" for row in final.itertuples())
    return (
        "Share of the causal tiles of 128 x 128 that must be computed so that no row loses more than 2^-10 of its "
        "weight, by the bound of this notebook, which holds for any content of the range given. At "
        f"{int(frame['keys'].max()):,} keys and a range of {frame['content'].max():g}: {listed}."
    )


FIGURE = FigureSpec(
    "kernel_tiles",
    draw,
    caption,
    notebook="fused_kernel",
    columns=("prior", "keys", "content", "kept"),
    rows=rows,
    alt="Share of tiles computed by number of keys for three priors and two ranges of content.",
)
