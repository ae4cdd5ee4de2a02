"""Entropy and largest weight of attention over normal scores by context, under four laws of the scale."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.figures.ssmax import contexts
from attention_priors.runtime import seed_for
from attention_priors.theory.inference import softmax
from attention_priors.theory.scalable_softmax import entropy, laws

# law: colour, dashes, marker, label, name in captions
LAWS = {
    "1": (style.PALE, style.SOLID, "s", r"$1$ (softmax)", "1"),
    "sqrt(ln n / ln N)": (style.GREEN, (3, 1), "^", r"$\sqrt{\ln n / \ln N}$", "√(ln n / ln N)"),
    "ln n / ln N": (style.ORANGE, (5, 1, 1, 1), "o", r"$\ln n / \ln N$ (SSMax)", "ln n / ln N"),
    "(1 + .1 ln(n / N))^2": (style.BLUE, (1, 1), "D", r"$(1 + 0.1 \ln (n/N))^2$ (YaRN)", "(1 + 0.1 ln(n / N))²"),
}


def rows(size: Size, seed: int, sigma=2.0) -> Rows:
    """Entropy over ln n and largest weight of normal scores under each law, by context; means over rows of attention.

    About five times `size.draws` scores a length.
    """
    draw, found = np.random.default_rng(seed_for(seed, "07/entropy")), []
    for n in contexts(size):
        scores = sigma * draw.standard_normal((max(5 * size.draws // n, 4), n))
        for name, law in laws(size.length).items():
            weights = np.apply_along_axis(softmax, 1, law(n) * scores)
            seen = np.where(weights > 0, weights, 1.0)
            h = -(weights * np.log(seen)).sum(axis=1).mean()
            found.append(
                {
                    "law": name,
                    "keys": n,
                    "scale": law(n),
                    "entropy": float(h / np.log(n)),
                    "predicted": float(entropy(n, sigma, law(n)) / np.log(n)),
                    "largest": float(weights.max(1).mean()),
                }
            )
    return found


def draw(frame: Frame) -> Figure:
    fig, (left, right) = style.figure(style.MIDDLE, 2.5, ncols=2)
    for name, part in frame.groupby("law", sort=False):
        color, dashes, marker, label, _ = LAWS[name]
        # Softmax and YaRN coincide below N: the wide line and marks of one frame those of the other.
        first = name == "1"
        look = {"color": color, "dashes": dashes, "linewidth": 2.2 if first else 1.2}
        mark = {"marker": marker, "markersize": 4.5 if first else 3.2}
        left.plot(part["keys"], part["entropy"], linestyle="none", color=color, label="_dots", **mark)
        left.plot(part["keys"], part["predicted"], label="_line", **look)
        right.plot(part["keys"], part["largest"], label=label, **look, **mark)
    for ax in (left, right):
        style.length_axis(ax, frame["keys"].astype(int), most=7)
        ax.set_xlabel("context length $n$")
    left.set(ylabel=r"entropy / $\ln n$", ylim=(0, 1.02), title="dots measured, lines to leading order")
    right.set(yscale="log", ylabel="largest weight", title="measured")
    right.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
    right.yaxis.set_minor_formatter("")
    right.legend(loc="lower left")
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["keys"] == frame["keys"].max()].set_index("law")
    listed = ", ".join(f"{final.loc[name, 'largest']:.3g} ({written})" for name, (*_, written) in LAWS.items())
    trained = round(final.loc["ln n / ln N", "keys"] ** (1 / final.loc["ln n / ln N", "scale"]))
    return (
        "Attention over independent normal scores whose scale grows with the context by one of four laws, all equal to "
        f"1 at the trained length N = {trained:,}; YaRN's is 1 below N. Panel a: entropy as a share "
        "of ln n. With the root of the logarithm it keeps its share; with the logarithm it falls until a few keys hold "
        f"everything. Panel b: the largest weight, at {int(frame['keys'].max()):,} keys {listed}."
    )


FIGURE = FigureSpec(
    "ssmax_entropy",
    draw,
    caption,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows,
    columns=("law", "keys", "scale", "entropy", "predicted", "largest"),
    alt="Entropy over ln n by context under four scales: rising for softmax, level for the root of the logarithm, "
    "falling for the logarithm; YaRN's square follows softmax up to the trained length, then falls fastest. Largest "
    "weight: falling for the first two, levelling off for the logarithm, rising beyond the trained length for YaRN's.",
)
