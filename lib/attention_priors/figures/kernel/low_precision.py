"""What rounding to bfloat16 moves in priors that are carried by coordinates of queries and keys."""

from attention_priors.bench import kernel_rows
from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

WAYS = {"product": "coordinates in bfloat16", "split": "coordinates in three parts", "added": "added in float32",
        "content": "content alone"}  # fmt: skip


SEEDS = (0, 1, 2)


def rows(size: Size, seed: int) -> Rows:
    lengths = (size.length // 4, size.length, 4 * size.length, 32 * size.length)
    return kernel_rows.low_precision(lengths, SEEDS)


def draw(frame: Frame) -> Figure:
    carriers = list(dict.fromkeys(frame["carrier"]))
    fig, axes = style.figure(style.MIDDLE, 2.5, ncols=len(carriers), sharey=True)
    for ax, carrier in zip(axes, carriers, strict=True):
        for (color, dashes, marker), (how, label) in zip(lines.SERIES, WAYS.items(), strict=False):
            part = frame[(frame["carrier"] == carrier) & (frame["how"] == how)]
            middle = part.groupby("keys")["variation"].median().clip(lower=1e-9)
            ax.plot(middle.index, middle, color=color, dashes=dashes, marker=marker, label=label)
        ax.set(yscale="log", xlabel="keys", title=carrier)
        style.length_axis(ax, sorted(frame["keys"].unique()))
    axes[0].set_ylabel("total variation")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    longest = frame[frame["keys"] == frame["keys"].max()]
    moved = longest[longest["how"] == "product"].groupby("carrier")["variation"].median()
    listed = ", ".join(f"{name} {value:.2g}" for name, value in moved.items())
    return (
        "How far rounding to bfloat16 moves the weights of the last query (0 not at all, 1 entirely), for priors that "
        "are coordinates of queries and keys. Values below 1e-9 are drawn there. Slopes 1/4; four cosines of amplitude "
        f"5. At {int(frame['keys'].max()):,} keys: {listed}."
    )


FIGURE = FigureSpec(
    "kernel_low_precision", draw, caption, notebook="fused_kernel", columns=("carrier", "keys", "how", "variation"),
    rows=rows,
    alt="Three panels: total variation by number of keys for priors carried by coordinates or added.",
)  # fmt: skip
