"""s and σ of the heads of trained models, and the length beyond which SSMax freezes them."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted, times, trained_on
from attention_priors.theory.scalable_softmax import freezing_length

LAYERS = (style.BLUE, style.ORANGE, style.GREEN, style.PINK, style.DARK, style.SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
FAR = (1, 64)  # multiples of the training length whose freezing line is drawn
MILLION = 10**6


def frozen(frame: Frame, keys: float) -> int:
    """How many heads SSMax has frozen at that many keys, to leading order."""
    return int(sum(freezing_length(1.0, product) <= keys for product in frame["product"] if product > 0))


def at_training_length(frame: Frame) -> Frame:
    return frame[frame["length"] == trained_on(frame)]


def draw(frame: Frame) -> Figure:
    """σ against s, a dot a head at the training length; lines: s σ that freezes at so many keys."""
    rows, trained = at_training_length(frame), trained_on(frame)
    fig, ax = style.figure(style.SINGLE, 2.6)
    for layer, own in rows.groupby("layer"):
        look = {
            "color": LAYERS[layer % len(LAYERS)],
            "marker": MARKERS[layer % len(MARKERS)],
            "linestyle": "",
        } | style.EDGED
        ax.plot(own["scale"].abs(), own["sigma"], markersize=3.5, label=f"layer {layer + 1}", **look)
    scales = np.geomspace(rows["scale"].abs().min() * 0.8, rows["scale"].abs().max() * 1.25, 50)
    for keys, dashes in zip(
        (*(multiple * trained for multiple in FAR), MILLION), ((1, 0), (4, 2), (1, 1.5)), strict=True
    ):
        label = f"freezes at {keys:,} keys"
        ax.plot(scales, np.sqrt(2 / np.log(keys)) / scales, color=style.GREY, dashes=dashes, linewidth=0.9, label=label)
    ax.set(xscale="log", yscale="log", xlabel="learned scale $s$", ylabel=r"deviation $\sigma$ of content logits")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0)
    return fig


def caption(frame: Frame) -> str:
    rows, trained = at_training_length(frame), trained_on(frame)
    counts = ", ".join(f"{frozen(rows, keys)} at {said}" for keys, said in (
        (trained, f"{trained} keys (1×)"), (FAR[-1] * trained, f"{FAR[-1] * trained:,} ({FAR[-1]}×)"),
        (MILLION, f"{MILLION:,}")))  # fmt: skip
    negative = int((rows["scale"] < 0).sum())
    turned = f" {negative} of them have s < 0, which turns their order around; |s| is drawn." if negative else ""
    last = int(frame["length"].max())
    longer = frame[frame["length"] == last]["product"].median()
    return (
        f"s and σ of every head of BAM SSMax trained on passkeys ({counted(rows['seed'])}, {len(rows)} heads, all "
        f"shown).{turned} σ is the standard deviation of the content logits of the answering queries over the keys "
        f"beside the key sentence, at {trained} tokens. Below a line SSMax leaves the head soft at so many keys, above "
        f"it a handful of keys holds all of what content decides. Frozen heads, of {len(rows)}: {counts}. The median "
        f"of s σ is {rows['product'].median():.2f}, and {longer:.2f} at {last:,} tokens ({times(last, trained)})."
    )


FIGURE = FigureSpec(
    "ssmax_heads", draw, caption, notebook="scalable_softmax", paper="BAM, section 2.5",
    columns=("seed", "layer", "head", "length", "trained", "scale", "sigma", "product"),
    alt="Scatter plot on logarithmic axes of the deviation of content logits against the learned scale, by layer, with "
    "three falling straight lines at which a head freezes at the training length, at 64 times that and at a million.",
)  # fmt: skip
