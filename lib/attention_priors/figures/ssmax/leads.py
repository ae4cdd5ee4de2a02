"""Scalable softmax: entropy and largest weight by context, and the lead that a key needs, with noise and priors."""

import math

import numpy as np

from ...runtime import seed_for
from ...theory.generalised_gaussian import coded, laplace
from ...theory.inference import log_sum_exp, softmax
from ...theory.scalable_softmax import entropy, laws, log_total, noisy_lead, prior_lead
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size
from ..words import farthest

# Entropy and largest weight of attention over normal scores by context, under four laws of the scale
# law: colour, dashes, marker, label, name in captions
LAWS = {
    "1": (style.PALE, style.SOLID, "s", r"$1$ (softmax)", "1"),
    "sqrt(ln n / ln N)": (style.GREEN, (3, 1), "^", r"$\sqrt{\ln n / \ln N}$", "√(ln n / ln N)"),
    "ln n / ln N": (style.ORANGE, (5, 1, 1, 1), "o", r"$\ln n / \ln N$ (SSMax)", "ln n / ln N"),
    "(1 + .1 ln(n / N))^2": (style.BLUE, (1, 1), "D", r"$(1 + 0.1 \ln (n/N))^2$ (YaRN)", "(1 + 0.1 ln(n / N))²"),
}


def contexts(size: Size) -> list[int]:
    """Powers of two from 8 to 32 times the trained length, `size.length`."""
    return [2**k for k in range(3, int(np.log2(size.length)) + 6)]


def rows_entropy(size: Size, seed: int, sigma=2.0) -> Rows:
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


def draw_entropy(frame: Frame) -> Figure:
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


def caption_entropy(frame: Frame) -> str:
    final = farthest(frame).set_index("law")
    listed = ", ".join(f"{final.loc[name, 'largest']:.3g} ({written})" for name, (*_, written) in LAWS.items())
    share = final.loc["ln n / ln N", "entropy"]
    trained = round(final.loc["ln n / ln N", "keys"] ** (1 / final.loc["ln n / ln N", "scale"]))
    return (
        "Attention over independent normal scores whose scale grows with the context by one of four laws, all equal to "
        f"1 at the trained length N = {trained:,}; YaRN's is 1 below N. Panel a: entropy as a share "
        "of ln n. With the root of the logarithm it keeps its share to leading order; with the logarithm it goes on "
        f"falling, here to {share:.2f}. Panel b: the largest weight, at {int(frame['keys'].max()):,} keys {listed}."
    )


ENTROPY = FigureSpec(
    "ssmax_entropy",
    draw_entropy,
    caption_entropy,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows_entropy,
    alt="Entropy over ln n by context under four scales: rising for softmax, level for the root of the logarithm, "
    "falling for the logarithm; YaRN's square follows softmax up to the trained length, then falls fastest. Largest "
    "weight: falling for the first two, levelling off for the logarithm, rising beyond the trained length for YaRN's.",
)


# The lead that one key needs for half of the weight against noise, by context
SOLID, DASHED = style.SOLID, (2, 2)  # the largest score's line lies on that of the largest s
LEADS = (
    (style.GREY, SOLID, "s"),
    (style.ORANGE, SOLID, "o"),
    (style.BLUE, SOLID, "^"),
    (style.GREEN, SOLID, "v"),
    (style.PINK, DASHED, "D"),
)


def rows(size: Size, seed: int, sigma=1.0, scales=(1.0, 0.5, 0.2)) -> Rows:
    """Lead for half of the weight against n normal scores: softmax, SSMax by s, and the largest score itself.

    Medians over repetitions, and the leading order.
    """
    draw, found = np.random.default_rng(seed_for(seed, "07/leads")), []
    for n in contexts(size):
        scores = sigma * draw.standard_normal((max(5 * size.draws // n, 4), n))
        for name, a in [("softmax", 1.0), *((f"SSMax, s = {s:g}", s * math.log(n)) for s in scales)]:
            lead = float(np.median([log_sum_exp(a * row) / a for row in scores]))
            found.append({"softmax": name, "keys": n, "lead": lead, "predicted": float(noisy_lead(n, sigma, a))})
        largest = float(np.median(scores.max(axis=1)))
        found.append(
            {"softmax": "largest score", "keys": n, "lead": largest, "predicted": float(sigma * np.sqrt(2 * np.log(n)))}
        )
    return found


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.6)
    for (color, dashes, marker), (name, part) in zip(LEADS, frame.groupby("softmax", sort=False), strict=True):
        ax.plot(part["keys"], part["lead"], marker, color=color, label=name.replace("s =", "$s$ ="))
        ax.plot(part["keys"], part["predicted"], color=color, dashes=dashes, linewidth=1.0, label="_line")
    style.length_axis(ax, frame["keys"].astype(int), most=6)
    ax.set(xlabel="context length $n$", ylabel="lead for half of the weight (nats)", ylim=(0, None))
    ax.legend(loc="upper left", ncols=1)
    return fig


def caption(frame: Frame) -> str:
    final = farthest(frame).itertuples()
    listed = ", ".join(f"{row.softmax} {row.lead:.2f}" for row in final)
    return (
        "Score that one key needs for half of the weight against n independent standard normal scores, before SSMax "
        "multiplies them: medians (dots) and leading order (lines). Softmax pays ln n; SSMax falls from there towards "
        "the largest score as s grows, and no scale lets a key win that is below it. At "
        f"{int(frame['keys'].max()):,} keys: {listed}."
    )


def weights(s: float, sigma: float, lead: float, lengths: tuple[int, ...]) -> Rows:
    """Weight of a key with score `lead` against n normal scores, softmax and SSMax, to leading order."""
    found = []
    for n in lengths:
        for name, a in (("softmax", 1.0), ("SSMax", s * math.log(n))):
            odds = a * lead - float(log_total(n, sigma, a))
            found.append({"softmax": name, "keys": n, "weight": 1 / (1 + math.exp(-max(min(odds, 500.0), -500.0)))})
    return found


def explore(lengths: tuple[int, ...], s: float, sigma: float, lead: float) -> Figure:
    """Weight of one key against normal scores by context: softmax dashed, SSMax solid."""
    fig, ax = style.figure(style.SINGLE, 2.1)
    looks = {"softmax": (style.GREY, (2, 1), "None"), "SSMax": (style.ORANGE, SOLID, "None")}
    lines.plot(ax, Frame(weights(s, sigma, lead, lengths)), "keys", "weight", "softmax", looks)
    ax.set(xscale="log", xlabel="context length $n$", ylabel="weight of the key", ylim=(-0.02, 1.02))
    ax.legend(loc="best")
    return lines.once(fig)


LEADS_FIGURE = FigureSpec(
    "ssmax_leads",
    draw,
    caption,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows,
    alt="Lead by context: a straight line in ln n for softmax, flatter lines for SSMax that bend onto the curve of the "
    "largest score, earlier for larger s.",
)


# The lead that retrieves the oldest key, by prior and by what SSMax multiplies
PRIORS = {
    "uniform": (style.GREY, (1, 1), "s", "uniform"),
    "ALiBi, slope 1/256": (style.BLUE, (5, 1.5), "D", "ALiBi, slope 1/256"),
    "beta = 1/2": (style.ORANGE, style.SOLID, "o", "BAM, β = 1/2"),
    "beta = -1/2": (style.GREEN, (3, 1), "^", "BAM, β = -1/2"),
}
PANELS = {"nothing": "softmax", "content": "SSMax on content", "content and prior": "SSMax on content and prior"}
LENGTHS = tuple(2**k for k in range(5, 20, 2))


def rows_priors(size: Size, seed: int, lengths=LENGTHS) -> Rows:
    """Lead against keys of equal content: SSMax (s = 1) scales nothing (softmax), content, or content and prior."""
    log_priors = {"uniform": laplace(0.0), "ALiBi, slope 1/256": laplace(1 / 256)}
    log_priors |= {"beta = 1/2": coded(-1.0, 0.5), "beta = -1/2": coded(1.0, -0.5)}
    found = []
    for n in lengths:
        a = math.log(n)
        for scaled, content, prior in (("nothing", 1.0, 1.0), ("content", a, 1.0), ("content and prior", a, a)):
            for name, log_prior in log_priors.items():
                lead = prior_lead(log_prior(np.arange(float(n))), n - 1, content, prior)
                found.append({"scaled": scaled, "prior": name, "keys": n, "lead": lead})
    return found


def draw_priors(frame: Frame) -> Figure:
    made = {
        title: panels.series(frame[frame["scaled"] == scaled], "keys", "lead", "prior", PRIORS)
        for scaled, title in PANELS.items()
    }
    axis = {"base": 10, "yscale": "log", "ylim": (0.5, 4000), "legend": "above", "ncols": 4}
    return panels.draw(made, "context length $n$", "lead for the oldest key (nats)", height=1.7, **axis)[0]


def caption_priors(frame: Frame) -> str:
    lead = farthest(frame).set_index(["prior", "scaled"])["lead"]
    words = [f"{PRIORS[name][-1]}: {', '.join(f'{lead[name, scaled]:.3g}' for scaled in PANELS)}" for name in PRIORS]
    return (
        "Content lead, before SSMax multiplies it, that gives the oldest key half of the weight against keys of "
        f"equal content, by prior and by what SSMax (s = 1) multiplies. At {int(frame['keys'].max()):,} keys, "
        "softmax, content, content and prior: " + "; ".join(words) + "."
    )


PRIORS_FIGURE = FigureSpec(
    "ssmax_priors",
    draw_priors,
    caption_priors,
    notebook="scalable_softmax",
    paper="BAM, section 2.5",
    rows=rows_priors,
    alt="Three log-log panels. Softmax: leads rise with ln n for flat priors and as powers of n for ALiBi and shape "
    "one half. Content scaled: flat priors stay at 1, the others rise more slowly. Prior scaled too: flat priors stay "
    "at 1, the others rise as under softmax.",
)
