"""Sinks by context length: the mass that is off them, and what noise in values does (Goat, Theorem 5.4)."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.bands import margin_for, most_noise, most_share

LENGTHS = tuple(2 * 4**k for k in range(14))
LOOKS = {
    "margin": (style.BLUE, None, None, r"$\delta = {:g}$"),
    "decay": (style.GREEN, style.SOLID, "^", r"$u = -{:g}\,k$"),
    "logarithmic": (style.ORANGE, (5, 1, 1, 1), "D", r"$\delta \sim \ln L$"),
    "bounded": (style.GREY, (3, 1, 1, 1, 1, 1), "X", r"best with $|K| \leq B = {:g}$"),
}


def rows(size: Size, seed: int, lengths=LENGTHS, margins=(0.0, 2.0, 5.0, 10.0), decay=0.5, bound=3.5, sink=0.9) -> Rows:
    """What is off the sink, and what noise in values does, by context length.

    noise: mass off the sink at a fixed `margin` over equal rivals (0 is uniform), at the slope u(k) = -c k (`decay`),
    at the margin ln(L - 1) + ln 9 (`logarithmic`), and the least under a log-prior within [-B, B] (`bounded`).
    response: the output's change when values change by 1, alike or independently, under a uniform prior and under one
    that keeps the mass `sink` on one key, whose value changes only in `independent, all keys`.
    """
    found: Rows = []

    def add(panel: str, series: str, keys: int, value: float, **more: float | str) -> None:
        found.append({"panel": panel, "series": series, "keys": keys, "value": float(value), **more})

    for keys in lengths:
        for delta in margins:
            add("noise", "margin", keys, most_noise(delta, keys), parameter=delta)
        left = np.exp(-decay) * np.expm1(-decay * (keys - 1)) / np.expm1(-decay * keys)
        add("noise", "decay", keys, left, parameter=decay)
        add("noise", "logarithmic", keys, most_noise(margin_for(0.1, keys), keys), parameter=0.1)
        add("noise", "bounded", keys, 1 - most_share(bound, keys), parameter=bound)
        for name, top in (("uniform", 1 / keys), ("peaked", sink)):
            rest = (1 - top) / (keys - 1)
            add("response", name, keys, 1 - top, kind="alike")
            add("response", name, keys, rest * np.sqrt(keys - 1), kind="independent")
            add("response", name, keys, np.hypot(top, rest * np.sqrt(keys - 1)), kind="independent, all keys")
    return found


def draw(frame: Frame) -> Figure:
    fig, (left, right) = style.figure(style.DOUBLE, 3.6, ncols=2)
    margins = iter(((1, 1), (3, 1), (6, 1), style.SOLID))  # dashes of the margins, from small to large
    noise = frame[frame["panel"] == "noise"].groupby(["series", "parameter"], sort=False)
    for (series, parameter), part in noise:
        color, dashes, marker, name = LOOKS[series]
        left.plot(part["keys"], part["value"], color=color, dashes=dashes or next(margins), marker=marker, markersize=3,
                  label=name.format(parameter))  # fmt: skip
    left.set(xscale="log", ylim=(-0.03, 1.03), xlabel="context length $L$", ylabel=r"mass off the sink, $\Psi$")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, columnspacing=1.0)
    marks = {"uniform": (style.BLUE, "o"), "peaked": (style.ORANGE, "s")}
    dashes = {"alike": style.SOLID, "independent": (5, 1.5), "independent, all keys": (1, 1)}
    for (prior, kind), part in frame[frame["panel"] == "response"].groupby(["series", "kind"], sort=False):
        color, marker = marks[prior]
        right.plot(part["keys"], part["value"], color=color, dashes=dashes[kind], marker=marker, markersize=2.5,
                   label=f"{prior}: {kind.replace(', all keys', ', sink too')}")  # fmt: skip
    right.set(xscale="log", yscale="log", xlabel="context length $L$", ylabel="change of output / of values")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["keys"] == frame["keys"].max()]
    noise = final[final["panel"] == "noise"].set_index(["series", "parameter"])["value"]
    response = final[final["panel"] == "response"].set_index(["series", "kind"])["value"]
    top = max(p for s, p in noise.index if s == "margin")
    decay = next(p for s, p in noise.index if s == "decay")
    return (
        "Left: mass off the sink without content. Every fixed margin δ over equal rivals ends at 1 (δ = "
        f"{top:g}: {noise['margin', top]:.3f} at {int(frame['keys'].max()):,} keys), and so does the best log-prior "
        f"with |K| ≤ B, whose margin is 2 B; a slope u(k) = -{decay:g} k stays at {noise['decay', decay]:.3f}, a "
        "margin of ln(L - 1) + ln 9 at 0.1. Right: the output's change when values change by 1. Alike (solid): only "
        "the peak helps. Independently (dashed): the uniform prior averages it away "
        f"({response['uniform', 'independent']:.1e}). With noise in the "
        f"sink's value too (dotted) the peaked prior passes {response['peaked', 'independent, all keys']:.2f} of it."
    )


FIGURE = FigureSpec(
    "spectra_sinks", draw, caption, notebook="spectra_and_sinks", paper="Goat, Theorem 5.4", rows=rows,
    columns=("panel", "series", "keys", "value", "parameter", "kind"),
    claims=("GOAT-D5.2", "GOAT-T5.4a", "GOAT-T5.4b", "GOAT-C-5", "X-8"),
    alt="Left, mass off the sink by context length: fixed margins rise to one, a slope and a growing margin stay "
    "level. Right, response to noise: level for coherent changes, falling with slope minus one half for independent "
    "noise, level again under a peaked prior where the sink's value is noisy too.",
)  # fmt: skip
