"""Weight of a key that leads all others, by context length, with softmax and with SSMax (BAM, section 2.5)."""

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.generalised_gaussian import peak_weight

GAPS = (0.5, 1.0, 2.0)
LOOKS = dict(zip(GAPS, ((style.ORANGE, "s"), (style.GREY, "D"), (style.BLUE, "o")), strict=True))
LENGTHS = tuple(2**k for k in range(1, 24))


def rows(size: Size, seed: int, lengths=LENGTHS) -> Rows:
    """Weight of a key that leads n - 1 equal others by a gap; SSMax at s = 1."""
    return [
        {"softmax": name, "gap": gap, "keys": keys, "weight": peak_weight(keys, gap, scale)}
        for name, scale in (("softmax", None), ("SSMax", 1.0))
        for gap in GAPS
        for keys in lengths
    ]


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    for (name, gap), part in frame.groupby(["softmax", "gap"], sort=False):
        (color, marker), dashes = LOOKS[gap], style.SOLID if name == "SSMax" else (2, 1)
        look = {"color": color, "dashes": dashes, "marker": marker, "markevery": 3}
        ax.plot(part["keys"], part["weight"], label=f"{name}, lead {gap:g}", **look)
    ax.set(xscale="log", yscale="log", xlabel="context length $n$", ylabel="weight of the leading key", ylim=(1e-5, 2))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return fig


def caption(frame: Frame) -> str:
    weight = frame[frame["keys"] == frame["keys"].max()].set_index(["softmax", "gap"])["weight"]
    listed = ", ".join(f"{weight['SSMax', gap]:.3g} (lead {gap:g})" for gap in GAPS)
    return (
        "Weight of one key whose logit leads n - 1 equal others. Softmax (dashed) fades for every lead. SSMax with "
        "s = 1 (solid) fades when the lead is below 1, tends to one half at 1 and sharpens above: at "
        f"{int(frame['keys'].max()):,} keys {listed}."
    )


FIGURE = FigureSpec(
    "softmax_fading",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, section 2.5",
    rows=rows,
    columns=("softmax", "gap", "keys", "weight"),
    claims=("BAM-C4",),
    alt="Weight of the leading key by context length, log-log: softmax lines fall with slope minus one; SSMax lines "
    "fall, level off at one half or rise to one as the lead is below, at or above one.",
)
