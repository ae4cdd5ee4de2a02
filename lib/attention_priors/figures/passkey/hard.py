"""Accuracy where the key stands among decoy digits, beside the plain form."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.curves import curve, over_seeds, shares
from attention_priors.figures.methods import OURS, UNTRAINED, label, look, named_seeds
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, prompts, times, tokens, trained_on


def _decoys(frame: Frame) -> Frame:
    """The harder form, and the plain one of the same encodings at its lengths, from the training length on."""
    hard = rivals(frame[frame["form"] == "hard"], "encoding", "passkey_hard", but=[UNTRAINED])
    chosen = frame["encoding"].isin(set(hard["encoding"]) - {UNTRAINED}) & frame["length"].isin(set(hard["length"]))
    return frame[chosen & (frame["length"] >= frame["trained"])]


def _ranked(rows: Frame) -> list[str]:
    means = rows[rows["form"] == "hard"].groupby("encoding")["accuracy"].mean()
    return list(means.sort_values(ascending=False, kind="stable").index)


def draw(frame: Frame) -> Figure:
    """A panel an encoding, the best first: decoys in its colour with intervals and seeds, the plain form in grey."""
    rows = _decoys(frame)
    names, lengths, trained = _ranked(rows), sorted(set(rows["length"])), trained_on(rows)
    width = style.MIDDLE if len(names) < 4 else style.DOUBLE
    fig, axes = style.figure(width, 1.9, ncols=len(names), sharex=True, sharey=True, squeeze=False)
    ticks = [length for length in lengths if np.log2(length / trained) % 2 == 0]
    for ax, name in zip(axes[0], names, strict=True):
        own = rows[rows["encoding"] == name]
        hard, plain = (own[own["form"] == form] for form in ("hard", "plain"))
        drawn = look(name) | {"dashes": style.SOLID, "label": "with decoys"}
        curve(ax, over_seeds(hard, "accuracy", shares), hard.set_index("length")["accuracy"], drawn, zorder=5)
        if len(plain):
            ax.plot(over_seeds(plain, "accuracy", shares)["mean"], color=style.PALE, dashes=(3, 1), label="plain form")
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [times(length, trained) for length in ticks])
        ax.minorticks_off()
        ax.set(ylim=(-0.04, 1.06), yticks=[0, 0.5, 1], title=label(name))
        ax.title.set_color(style.darken(drawn["color"], 0.25))
    axes[0, 0].legend(loc="lower left")
    fig.supxlabel(f"context length / training length ({trained} tokens)")
    fig.supylabel("share of passkeys retrieved")
    return fig


def caption(frame: Frame) -> str:
    rows = _decoys(frame)
    last, trained = lines.last_and_trained(rows)
    hard = rows[rows["form"] == "hard"]
    easy = lines.share(lines.plain(rows), last)
    return (
        f"The harder form, trained on {trained} tokens: the key stands among sentences that hold other digits. At "
        f"{tokens(last, trained)} {label(OURS)} retrieves {lines.share(hard, last)}; in the plain form {easy}. "
        f"Line: mean over seeds; bars: 95 % interval of that mean over seeds and prompts; dots: seeds; grey: the mean "
        f"of models trained and asked in the plain form. {prompts(hard)}; {named_seeds(hard)}. Chance is {CHANCE}."
    )


FIGURE = FigureSpec(
    "passkey_by_length", draw, caption, notebook=lines.NOTEBOOK, columns=lines.COLUMNS,
    alt="Panels, one for each encoding, of passkey accuracy against context length for the form with decoy digits, "
    "with interval bars and seeds, and the plain form in grey behind.",
)  # fmt: skip
