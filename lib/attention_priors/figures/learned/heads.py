"""Every head's learned exponent, and how much it looks at the passkey: figure and table (BAM, Fig. 4)."""

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec
from attention_priors.figures.words import counted
from attention_priors.tasks import passkey

LAYERS = (style.BLUE, style.ORANGE, style.GREEN, style.PINK, style.DARK, style.SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
LOCAL = 1e-6  # mass below which a point is drawn at the edge of the log axis
LINEAR = 2  # |β| up to which its axis is linear; logarithmic beyond, where a single head lies far out
TICKS = (-10, -2, -1, 0, 1, 2)


def draw(frame: Frame) -> Figure:
    """Panel a: every head's β by layer. Panel b: its attention to the key sentence against β, all seeds shown."""
    fig, (left, right) = style.figure(style.MIDDLE, 2.5, ncols=2, width_ratios=(1, 1.4))
    uniform = passkey.KEY_TOKENS / (passkey.SHORTEST + 768)
    for layer, rows in frame.groupby("layer"):
        look = {
            "color": LAYERS[layer % len(LAYERS)],
            "marker": MARKERS[layer % len(MARKERS)],
            "linestyle": "",
        } | style.EDGED
        spread = (rows["head"] - rows["head"].mean()) * 0.08 + (rows["seed"] - rows["seed"].mean()) * 0.015
        left.plot(layer + 1 + spread, rows["beta"], markersize=3.5, **look)
        mass = rows["passkey_mass"].clip(lower=LOCAL)
        right.plot(rows["beta"], mass, markersize=3.7, label=f"layer {layer + 1}", **look)
    for line in (left.axhline, right.axvline):
        line(0, color=style.PALE, linewidth=0.8, linestyle=":")
    left.set_xticks(sorted(frame["layer"].unique() + 1))
    left.set(xlabel="layer", ylabel=r"learned $\beta$")
    right.axhline(uniform, color=style.GREY, linewidth=0.8, linestyle="--")
    right.text(
        0.01,
        uniform,
        "uniform attention",
        transform=right.get_yaxis_transform(),
        ha="left",
        va="bottom",
        fontsize=style.SMALLEST,
        color=style.DARK,
    )
    right.set_yscale("log")
    left.set_yscale("symlog", linthresh=LINEAR)
    right.set_xscale("symlog", linthresh=LINEAR)
    shown = [tick for tick in TICKS if frame["beta"].min() <= tick <= frame["beta"].max()]
    for axis in (left.yaxis, right.xaxis):
        axis.set_ticks(shown, [f"{tick}".replace("-", "−") for tick in shown])
    left.margins(y=0.06)
    right.margins(x=0.06)
    right.set(xlabel=r"learned $\beta$", ylabel="attention on the key sentence")
    right.legend(loc="lower left")
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    return (
        f"Every head of BAM with SSMax after training on passkeys ({counted(frame['seed'])}, all heads shown). Panel "
        "a: the exponent β by layer; all started at 0. Panel b: the attention that the five answering queries give to "
        "the key sentence of an 845-token prompt whose key stands before 768 tokens of filler (mean over 8 keys), "
        f"against β; masses below {LOCAL:g} are drawn there. The axes of β are linear up to ±{LINEAR} and logarithmic "
        "beyond. The dashed line is what uniform attention would give."
    )


def build(frame: Frame) -> Frame:
    """Per seed: how many heads have β < 0, and the attention that they and the others give to the key sentence."""
    rows = []
    for seed, heads in frame.groupby("seed"):
        negative = heads["beta"] < 0
        rows.append(
            {
                "seed": seed,
                "heads": len(heads),
                "heads with β < 0": int(negative.sum()),
                "lowest β": heads["beta"].min(),
                "highest β": heads["beta"].max(),
                "lift on the key, β < 0": heads.loc[negative, "passkey_lift"].mean(),
                "lift on the key, β ≥ 0": heads.loc[~negative, "passkey_lift"].mean(),
            }
        )
    return Frame(rows).round(3)


def caption_table(frame: Frame) -> str:
    return (
        "Exponents that BAM-SSMax learned on passkeys, by seed, and the attention on the key sentence relative to "
        f"uniform attention (lift; mean over heads, {counted(frame['seed'])})."
    )


FIGURE = FigureSpec(
    "learned_heads",
    draw,
    caption,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-C8", "BAM-F4"),
    columns=("seed", "layer", "head", "beta", "passkey_mass"),
    alt="Two scatter plots: learned exponents by layer, and attention mass on the passkey against the exponent.",
)
TABLE = TableSpec(
    "learned_heads", build, caption_table, "learned_priors", ("seed", "beta", "passkey_lift"), "BAM, Fig. 4"
)
