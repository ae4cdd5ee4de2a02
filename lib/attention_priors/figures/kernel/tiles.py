"""Share of the causal tiles that must be computed when tiles of negligible weight are skipped."""

from attention_priors.bench import kernel_rows
from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size


def rows(size: Size, seed: int) -> Rows:
    lengths = [size.length * 2**step for step in range(1, 8)]
    return kernel_rows.tiles_kept(lengths, contents=(2.0, 8.0), tolerance=2.0**-10)


def draw(frame: Frame) -> Figure:
    contents = sorted(frame["content"].unique())
    fig, axes = style.figure(style.SINGLE, 0.7 + 1.3 * len(contents), nrows=len(contents), sharex=True)
    for ax, content in zip(axes, contents, strict=True):
        lines.plot(ax, frame[frame["content"] == content], "keys", "kept", "prior")
        ax.set(ylim=(0, 1.05), title=f"content within ± {content:g}")
        style.length_axis(ax, sorted(frame["keys"].unique()))
    axes[-1].set_xlabel("keys")
    fig.supylabel("share of tiles computed")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    final = frame[(frame["keys"] == frame["keys"].max()) & (frame["content"] == frame["content"].max())]
    listed = ", ".join(f"{row.kept:.0%} ({row.prior})" for row in final.itertuples())
    return (
        "Share of the causal tiles of 128 x 128 that must be computed so that no row loses more than 2^-10 of its "
        "weight, by the bound of this notebook, which holds for any content of the range given. At "
        f"{int(frame['keys'].max()):,} keys and a range of {frame['content'].max():g}: {listed}."
    )


FIGURE = FigureSpec(
    "kernel_tiles", draw, caption, notebook="fused_kernel", columns=("prior", "keys", "content", "kept"),
    rows=rows,
    alt="Share of tiles computed by number of keys for three priors and two ranges of content.",
)  # fmt: skip
