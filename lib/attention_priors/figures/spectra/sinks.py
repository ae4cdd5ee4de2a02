"""Sinks by context length: the mass that is off them, and what noise in values does (Goat, Theorem 5.4)."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.bands import margin_for, most_noise, most_share

LENGTHS = tuple(2 * 4**k for k in range(14))
LOOKS = {
    "margin": (style.BLUE, None, None, r"$\delta = {:g}$"),
    "decay": (style.GREEN, style.SOLID, "^", r"$u = -{:g}\,k$"),
    "logarithmic": (style.ORANGE, (5, 1, 1, 1), "D", r"$\delta \sim \ln L$"),
    "bounded": (style.GREY, (3, 1, 1, 1, 1, 1), "X", r"best with $|K| \leq B = {:g}$"),
}
# of noise in values, and the priors that it meets: colour, dashes, marker
KINDS = {"alike": "alike", "independent": "independent", "independent, all keys": "independent, the sink's too"}
PRIORS = {"uniform": (style.BLUE, style.SOLID, "o"), "peaked": (style.ORANGE, (5, 1.5), "s")}


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
    """The mass off the sink by context length, a line for each way in which the sink leads."""
    fig, ax = style.figure(style.MIDDLE, 2.4)
    margins = iter(((1, 1), (3, 1), (6, 1), style.SOLID))  # dashes of the margins, from small to large
    noise = frame[frame["panel"] == "noise"].groupby(["series", "parameter"], sort=False)
    for (series, parameter), part in noise:
        color, dashes, marker, name = LOOKS[series]
        ax.plot(
            part["keys"],
            part["value"],
            color=color,
            dashes=dashes or next(margins),
            marker=marker,
            markersize=3,
            markevery=2,
            label=name.format(parameter),
        )
    ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel="context length $L$ (keys)", ylabel=r"mass off the sink, $\Psi$")
    ax.minorticks_off()
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption(frame: Frame) -> str:
    final = frame[frame["keys"] == frame["keys"].max()]
    noise = final[final["panel"] == "noise"].set_index(["series", "parameter"])["value"]
    top = max(p for s, p in noise.index if s == "margin")
    decay = next(p for s, p in noise.index if s == "decay")
    return (
        "Mass off the sink where content says nothing, by how the sink leads its rivals: by a fixed margin δ, by the "
        f"slope u(k) = -{decay:g} k, by a margin that grows like ln L. At {int(frame['keys'].max()):,} keys every "
        f"fixed margin is near 1 (δ = {top:g}: {noise['margin', top]:.3f}), and so is the best log-prior with |K| ≤ B, "
        f"whose margin is 2 B; the slope stays at {noise['decay', decay]:.3f}, the margin ln(L - 1) + ln 9 at 0.1."
    )


def draw_response(frame: Frame) -> Figure:
    """A panel for each kind of noise in values: how much of it passes, under a uniform and a peaked prior."""
    response = frame[frame["panel"] == "response"]
    made = {
        title: panels.series(response[response["kind"] == kind], "keys", "value", "series", PRIORS, markevery=2)
        for kind, title in KINDS.items()
    }
    axis = {"base": 10, "yscale": "log", "legend": "above"}
    return panels.draw(made, "context length $L$ (keys)", "change of output / of values", height=1.6, **axis)[0]


def caption_response(frame: Frame) -> str:
    final = frame[(frame["keys"] == frame["keys"].max()) & (frame["panel"] == "response")]
    response = final.set_index(["series", "kind"])["value"]
    return (
        "How far the output moves when values move by 1, under a uniform prior and under one that keeps most of its "
        f"mass on a sink. At {int(frame['keys'].max()):,} keys: where all values but the sink's move alike, only the "
        f"peak helps ({response['peaked', 'alike']:.2f} against {response['uniform', 'alike']:.2f}); where they move "
        f"independently, the uniform prior averages it away ({response['uniform', 'independent']:.1e}); where the "
        f"sink's value moves too, the peaked prior passes {response['peaked', 'independent, all keys']:.2f} of it."
    )


_COLUMNS = ("panel", "series", "keys", "value", "parameter", "kind")
FIGURE = FigureSpec(
    "spectra_sinks",
    draw,
    caption,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.4",
    rows=rows,
    columns=_COLUMNS[:-1],
    claims=("GOAT-D5.2", "GOAT-T5.4a", "GOAT-T5.4b", "X-8"),
    alt="Mass off the sink by context length: fixed margins rise to one, a slope and a growing margin stay level.",
)
RESPONSE = FigureSpec(
    "spectra_sinks",
    draw_response,
    caption_response,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.4",
    rows=rows,
    columns=_COLUMNS[:-2] + _COLUMNS[-1:],
    claims=("GOAT-C-5",),
    alt="Three panels of the response to noise in values by context length: level for noise that is alike, falling "
    "with slope minus one half for independent noise, level again under a peaked prior where the sink's value is "
    "noisy.",
)
