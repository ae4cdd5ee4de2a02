"""Where three heads look, picked by their exponent alone (BAM, Fig. 4)."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.tasks import passkey

FAINT = 1e-8  # weight below which a point is drawn at the edge of the log axis


def draw(frame: Frame) -> Figure:
    """Attention of the answering queries over all keys, the key sentence shaded."""
    heads = list(dict.fromkeys(frame["panel"]))
    fig, axes = style.figure(style.MIDDLE, 2.0, ncols=len(heads), sharey=True)
    axes = np.atleast_1d(axes)
    panels.letter(axes)
    for ax, panel in zip(axes, heads, strict=True):
        rows = frame[frame["panel"] == panel].sort_values("key")
        start = passkey.DESCRIPTION_TOKENS
        ax.axvspan(start, start + passkey.KEY_TOKENS, color="#F0C9A8", linewidth=0)
        ax.plot(rows["key"], rows["weight"].clip(lower=FAINT), color=style.BLACK, linewidth=0.6)
        first = rows.iloc[0]
        where = f"layer {int(first['layer']) + 1}, head {int(first['head']) + 1}"
        ax.set_title(f"β = {first['beta']:.2f}\n({where})".replace("-", "−"))
        ax.set_yscale("log")
        ax.set(ylim=(FAINT, 1.5), xlabel="key position")
    axes[0].set_ylabel("attention weight")
    return fig


def caption(frame: Frame) -> str:
    return (
        f"Attention of three heads of seed {int(frame['seed'].iloc[0])}, picked by β alone, over the keys of the "
        "prompt of BAM's Fig. 4. Means over the five answering queries and 8 keys. Panel a: the head with the lowest "
        "β; b and c: of the remaining ones, those nearest to 1/2 and then to 1, however far from it. One model; the "
        "figure of all heads shows how typical these are. Shaded: the key sentence; "
        f"weights below {FAINT:g} are drawn there."
    )


FIGURE = FigureSpec(
    "learned_maps",
    draw,
    caption,
    notebook="learned_priors",
    paper="BAM, Fig. 4",
    claims=("BAM-F4",),
    columns=("seed", "panel", "layer", "head", "beta", "key", "weight"),
    alt="Three line plots of attention weight by key position on a logarithmic axis, the key sentence shaded.",
)
