"""Trained models: passkey accuracy against the mass that their priors leave beyond the training length."""

from attention_priors.experiments.predictions import spearman
from attention_priors.figures import methods, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.positions.encodings import encoding


def draw(frame: Frame) -> Figure:
    lengths = sorted(frame["length"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.4, ncols=len(lengths), sharey=True, squeeze=False)
    for ax, length in zip(axes[0], lengths, strict=True):
        for name, part in frame[frame["length"] == length].groupby("encoding", sort=False):
            look = methods.look(name)
            filled = {} if encoding(name).ssmax else {"markerfacecolor": "none"}
            ax.plot(part["tail"], part["accuracy"], linestyle="none", color=look["color"], marker=look["marker"],
                    markersize=5, label=look["label"], **filled)  # fmt: skip
        ax.set(ylim=(-0.04, 1.04), title=f"{length:,} tokens")
    axes[0, 0].set_ylabel("passkey accuracy")
    axes[0, len(lengths) // 2].set_xlabel("prior mass beyond the training length")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return fig


def caption(frame: Frame) -> str:
    has_ssmax = frame["encoding"].str.endswith("ssmax")
    scaled, plain = frame[has_ssmax], frame[~has_ssmax]
    fixed = plain[plain["encoding"] != "bam"]

    def listed(rows: Frame) -> str:
        by_length = rows.groupby("length")
        return ", ".join(f"{spearman(part, 'tail', 'accuracy'):.2f} ({int(n):,})" for n, part in by_length)

    return (
        "Trained models whose prior is known: largest mass that one of their heads' priors leaves beyond "
        f"{int(frame['trained'].iloc[0])} tokens, and passkey accuracy. NoPE and ALiBi fix their priors; those of BAM "
        "are the learned ones, sharpened by SSMax where there is one. Spearman's correlation by length: all models "
        f"{listed(frame)}; with SSMax (filled) {listed(scaled)}; without (open) {listed(plain)}, and of these without "
        f"BAM {listed(fixed)}."
    )


FIGURE = FigureSpec(
    "phase_models", draw, caption, notebook="phase_diagram",
    columns=("encoding", "length", "trained", "tail", "accuracy"),
    alt="Passkey accuracy against the prior's mass beyond the training length, one panel per length.",
)  # fmt: skip
