"""What rounding to bfloat16 moves in priors that are carried by coordinates of queries and keys."""

from attention_priors.experiments import kernel_rows
from attention_priors.figures import lines, panels
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

WAYS = {
    "product": "coordinates in bfloat16",
    "split": "coordinates in three parts",
    "added": "added in float32",
    "content": "content alone",
}


SEEDS = (0, 1, 2)


def rows(size: Size, seed: int) -> Rows:
    lengths = (size.length // 4, size.length, 4 * size.length, 32 * size.length)
    return kernel_rows.low_precision(lengths, SEEDS)


def draw(frame: Frame) -> Figure:
    middle = frame.groupby(["carrier", "how", "keys"], sort=False)["variation"].median().clip(lower=1e-9).reset_index()
    looks = {how: (*look, said) for look, (how, said) in zip(lines.SERIES, WAYS.items(), strict=False)}
    made = {name: panels.series(own, "keys", "variation", "how", looks) for name, own in middle.groupby("carrier")}
    axis = panels.lengths(frame["keys"]) | {"yscale": "log", "legend": "above", "ncols": 2}
    return panels.draw(made, "keys", "total variation", height=1.7, **axis)[0]


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
    "kernel_low_precision",
    draw,
    caption,
    notebook="fused_kernel",
    columns=("carrier", "keys", "how", "variation"),
    rows=rows,
    alt="Three panels: total variation by number of keys for priors carried by coordinates or added.",
)
