"""The phase diagram of priors: local exponents, planes of parameters, limits, content and margins."""

import matplotlib as mpl
import numpy as np

from ...positions.priors import alibi_slopes
from ...theory.bands import band
from ...theory.generalised_gaussian import laplace, tails
from ...theory.inference import log_sum_exp
from ...theory.phase import octave_exponents, power_tail, required_margin
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked
from ..words import farthest
from . import LOOKS
from .family import family, power

# The power by which each prior falls around a lag
LOWEST = -3  # Sandwich, whose waves come back, falls to -1.5


def rows_exponents(size: Size, seed: int, farthest=None) -> Frame:
    """ρ(d) by octave up to lag `farthest`, else 256 times the length, for each prior of `family`."""
    lags = np.arange(2 * (farthest or 256 * size.length), dtype=np.float64)
    found = {name: octave_exponents(log_prior(lags)) for name, log_prior in family().items()}
    return stacked({"prior": name, "lag": d, "exponent": rho} for name, (d, rho) in found.items())


def draw_exponents(frame: Frame) -> Figure:
    fig, ax = style.figure(style.MIDDLE, 3.2)
    ax.axhspan(LOWEST, 1, color="#EFEFEF", zorder=0)
    ax.axhline(1, color=style.BLACK, linewidth=0.8, zorder=1)
    lines.plot(ax, frame, "lag", "exponent", "prior", LOOKS, markevery=2)
    ax.set_xscale("log", base=2)
    ax.set_yscale("symlog", linthresh=1, linscale=1.2)
    ticks = [tick for tick in (2, 16, 128, 1024, 8192, 65536) if tick <= frame["lag"].max()]
    ax.set_xticks(ticks, [style.length_label(tick) for tick in ticks])
    ax.set_yticks([-1, 0, 0.5, 1, 10, 100, 1000], ["$-1$", "0", "1/2", "1", "10", "100", "1000"])
    ax.set(ylim=(LOWEST, 2000), xlabel="lag $d$", ylabel=r"local exponent $\rho(d)$")
    ax.text(
        0.01, 0.97, "falls faster than $1/d$: a window forms", transform=ax.transAxes, va="top", fontsize=style.SMALLEST
    )
    ax.text(0.3, 0.02, "falls slower: the far keys outweigh", transform=ax.transAxes, fontsize=style.SMALLEST)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_exponents(frame: Frame) -> str:
    final = farthest(frame, "lag").set_index("prior")["exponent"]
    crossing = frame[frame["exponent"] > 1].groupby("prior", sort=False)["lag"].min()
    listed = ", ".join(f"{lag:.0f} ({name})" for name, lag in crossing.items())
    return (
        "Local exponent: the power of the distance by which a prior falls from one octave of lags to the next. A prior "
        "that stays above 1 by a fixed amount is local, one that stays below (grey) by as much gives the far keys all "
        "mass in the limit; lines may cross 1 beyond the lags drawn. First octave "
        f"above 1: {listed}. At lag {int(frame['lag'].max()):,} below 1: {', '.join(final[final < 1].index)}."
    )


EXPONENTS = FigureSpec(
    "phase_exponents",
    draw_exponents,
    caption_exponents,
    notebook="phase_diagram",
    rows=rows_exponents,
    claims=("X-10",),
    alt="Local exponent by lag for eleven priors: rising lines for ALiBi and the generalised Gaussian cross one, level "
    "lines for the logarithm, zero for uniform, T5 drops to zero beyond its last bucket, Sandwich below zero at the "
    "far end, where its waves come back.",
)


# Tail mass over two planes of parameters, with the members of the field in them
def rows_planes(size: Size, seed: int, window=64, length=None, steps=41) -> Rows:
    """P(lag > window) over `length` keys, else 16 lengths, on a grid of parameters of the two families with two."""
    lags, found = np.arange(length or 16 * size.length, dtype=np.float64), []
    log_lags = np.log(np.maximum(lags, 1e-5))  # BAM's epsilon at lag 0

    def add(name: str, x: float, y: float, table: np.ndarray) -> None:
        weights = np.exp(table - table.max())
        known = {"family": name, "x": float(x), "y": float(y), "tail": weights[window + 1 :].sum() / weights.sum()}
        found.append(known | {"window": window, "length": len(table)})

    for shape in np.linspace(-1.0, 1.5, steps):
        for scale in np.geomspace(0.1, 1e4, steps):
            add("GGD", shape, scale, -np.exp(np.clip(shape * (log_lags - np.log(scale)), None, 20)))
    for r1 in np.linspace(0.05, 2.5, steps):
        for r2 in np.geomspace(1e-3, 1e2, steps):
            add("KERPLE-log", r1, r2, -r1 * np.log1p(r2 * lags))
    return found


def draw_planes(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 2.9, ncols=2)
    for ax, (name, part) in zip(axes, frame.groupby("family", sort=False), strict=True):
        grid = part.pivot(index="y", columns="x", values="tail")
        plane = (grid.columns, grid.index, grid.to_numpy())
        image = ax.pcolormesh(*plane, vmin=0, vmax=1, shading="nearest", rasterized=True)
        levels = ax.contour(*plane, levels=[0.1, 0.5, 0.9], colors="white", linewidths=0.7)
        ax.set(yscale="log", title=name)
        ax.grid(False)
        ax.axvline(0 if name == "GGD" else 1, color=style.BLACK, linewidth=1.0, linestyle=":")
    ggd, kerple = axes
    look = {"color": "white", "markeredgecolor": style.BLACK}
    word = {"xytext": (6, -2), "textcoords": "offset points", "color": "white", "fontsize": style.SMALLEST}
    ggd.plot(np.ones(8), 1 / np.array(alibi_slopes(8)), "s", **look)
    ggd.annotate("ALiBi", (1, 4), **word)
    ggd.set(xlabel=r"shape $\beta$", ylabel=r"scale $\alpha$")
    heads, r2 = np.arange(6, 13), np.exp(np.euler_gamma)
    kerple.plot(128 / (2 * 8 * heads / 12 * np.log(1e4)), np.full(len(heads), r2), "D", **look)
    kerple.annotate("Sandwich", (1.74, r2), **word)
    kerple.set(xlabel="$r_1$", ylabel="$r_2$")
    bar = fig.colorbar(image, ax=axes, label=f"tail mass beyond lag {int(frame['window'].iloc[0])}", shrink=0.9)
    bar.add_lines(levels)
    return fig


def caption_planes(frame: Frame) -> str:
    window, length = int(frame["window"].iloc[0]), int(frame["length"].iloc[0])
    return (
        f"Tail mass P(lag > {window}) over {length:,} keys, equal content, in the parameters of the two families. "
        "Dotted: where the limit tail mass becomes 1, β = 0 and r₁ = 1. The border of the limit is not the border of "
        "a finite context: to its right the tail may still be nearly whole. White lines: 0.1, 0.5 and 0.9. Squares: "
        "ALiBi's slopes of 8 heads. Diamonds: the power laws that Sandwich's heads 12 to 6 of 12 follow on average."
    )


PLANES = FigureSpec(
    "phase_planes",
    draw_planes,
    caption_planes,
    notebook="phase_diagram",
    rows=rows_planes,
    claims=("X-10",),
    alt="Two maps of tail mass over parameters, shape and scale of the generalised Gaussian and both parameters of "
    "KERPLE's logarithm, with contours and the place of ALiBi's and Sandwich's heads.",
)


# Tail mass of KERPLE's logarithm by context length on both sides of r1 = 1, and its limits
LENGTHS = tuple(10**k for k in range(2, 7))


def rows_limits(size: Size, seed: int, lengths=LENGTHS, window=64) -> Frame:
    """P(lag > window) by context length, and the limit."""
    parts = [
        {
            "r1": r1,
            "keys": lengths,
            "tail": tails(power(r1), lengths, [window])[:, 0],
            "window": window,
            "limit": power_tail(r1, 1.0, window),
        }
        for r1 in (0.5, 0.9, 1.0, 1.1, 1.5, 2.0)
    ]
    return stacked(parts)


def draw_limits(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.4)
    count, end = frame["r1"].nunique(), frame["keys"].max() * 3
    for k, (r1, part) in enumerate(frame.groupby("r1", sort=True)):
        color = mpl.colormaps["cividis"](0.6 * k / (count - 1))
        ax.plot(part["keys"], part["tail"], color=color, dashes=style.SOLID if r1 > 1 else (5, 1.5), label=f"{r1:g}")
        ax.plot([end], [part["limit"].iloc[0]], "o" if r1 > 1 else "s", color=color)
    ax.set(
        xscale="log",
        xlabel="context length $n$",
        ylabel=f"tail mass beyond lag {int(frame['window'].iloc[0])}",
        ylim=(-0.03, 1.04),
    )
    ax.legend(title="$r_1$", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_limits(frame: Frame) -> str:
    final = farthest(frame).itertuples()
    listed = "; ".join(f"{row.r1:g}: {row.tail:.3f}, limit {row.limit:.3f}" for row in final)
    return (
        f"Tail mass of the prior (1 + d)^(-r₁) beyond lag {int(frame['window'].iloc[0])} by context length; markers at "
        "the right end are the limits, 1 for r₁ <= 1 (dashed, one square). At "
        f"{int(frame['keys'].max()):,} keys, by r₁: {listed}."
    )


LIMITS = FigureSpec(
    "phase_limits",
    draw_limits,
    caption_limits,
    notebook="phase_diagram",
    rows=rows_limits,
    claims=("X-10",),
    alt="Tail mass by context length for six exponents: three climb towards one, three level off below.",
)


# Tail mass by window, and the band that content of a bounded range can move it within
def rows_content(size: Size, seed: int, omega=2.0) -> Frame:
    """P(lag > D) by window D, with the least and the largest value that content of range omega can give it."""
    chosen = {"ALiBi, m = 1/16": laplace(1 / 16), "KERPLE-log, r₁ = 1.5": power(1.5), "uniform": laplace(0.0)}
    length, parts = 8 * size.length, []
    windows = sorted({round(d) for d in np.geomspace(1, length / 2, 40)})
    for name, log_prior in chosen.items():
        tail = tails(log_prior, [length], windows)[0]
        low, high = band(np.minimum(tail, 1.0), omega)
        own = {"prior": name, "window": windows, "tail": tail, "low": low, "high": high}
        parts.append(own | {"omega": omega, "keys": length})
    return stacked(parts)


def draw_content(frame: Frame) -> Figure:
    made = {}
    for name, own in frame.groupby("prior", sort=False):
        look = lines.look(*LOOKS[name][:2], "None", name)
        made[name] = [panels.Line(own["window"], own["tail"], look, own["low"], own["high"], band=True)]
    axis = {"base": 10, "levels": [0.5], "ylim": (-0.02, 1.02)}
    return panels.draw(made, "window $D$", "$P$(lag > $D$)", height=1.5, **axis)[0]


def caption_content(frame: Frame) -> str:
    near = frame[frame["high"] <= 0.5].groupby("prior")["window"].min()
    listed = ", ".join(f"{name}: {near.get(name, 'none')}" for name in frame["prior"].unique())
    return (
        f"Tail mass by window over {int(frame['keys'].iloc[0]):,} keys: prior alone (line), and every value that "
        f"content of range {frame['omega'].iloc[0]:g} can give it (band; both edges are attained). First window drawn "
        f"that keeps at least half of the weight whatever the content: {listed}."
    )


CONTENT = FigureSpec(
    "phase_content",
    draw_content,
    caption_content,
    notebook="phase_diagram",
    rows=rows_content,
    claims=("X-13",),
    alt="Three panels of tail mass by window with bands: ALiBi's band closes at a hundred lags, the power law's has "
    "nearly closed at the longest window, half of the context, where the uniform prior's is still open.",
)


# The lead in content that a key needs, by its lag and by context length, beside what SSMax supplies
def rows_margins(size: Size, seed: int, length=None, points=40) -> Rows:
    """Lead for half of the weight: by lag in a context of `length`, else 256 lengths, and at the far end by length.

    What SSMax supplies is s x lead x ln n: rows of series "SSMax, s x lead = ..".
    """
    length, found = length or 256 * size.length, []
    places = sorted({round(d) for d in np.geomspace(1, length - 1, points)})
    for name, log_prior in family().items():
        if "Sandwich" in name or "T5" in name:
            continue
        table = log_prior(np.arange(length, dtype=np.float64))
        total, totals = log_sum_exp(table), np.logaddexp.accumulate(table)
        found += [("by lag", name, lag, required_margin(table[lag], total)) for lag in places]
        found += [("at the far end", name, lag + 1, required_margin(table[lag], totals[lag])) for lag in places]
    for product in (1.0, 2.0):
        name = f"SSMax, s × lead = {product:g}"
        found += [("at the far end", name, lag + 1, product * np.log(lag + 1)) for lag in places]
    return [{"panel": panel, "series": name, "x": x, "margin": float(margin)} for panel, name, x, margin in found]


def draw_margins(frame: Frame) -> Figure:
    titles = {"by lag": "by lag, long context", "at the far end": "oldest key, by length"}
    made = {
        titles[panel]: panels.series(own, "x", "margin", "series", LOOKS, markevery=5)
        for panel, own in frame.groupby("panel", sort=False)
    }
    axis = {"base": 10, "ylim": (-1, 30), "legend": "beside"}
    return panels.draw(made, "lag; context length", "lead for half of the weight (nats)", height=2.2, **axis)[0]


def caption_margins(frame: Frame) -> str:
    far = frame[frame["panel"] == "at the far end"]
    margins = farthest(far, "x").set_index("series")["margin"]
    listed = ", ".join(f"{v:.1f} ({name})" for name, v in margins[margins < 100].items() if "SSMax" not in name)
    return (
        f"Lead in content with which one key takes half of the weight, the others equal. Panel a: by its lag among "
        f"{int(far['x'].max()):,} keys. Panel b: the oldest key, by context length; black is what SSMax supplies. At "
        f"the longest context it needs {listed}; the others more than 100."
    )


def explore(keys: int, r1: float, r2: float) -> Figure:
    """Lead that the oldest key needs by context length under (1 + r2 d)^(-r1)."""
    bias = -r1 * np.log1p(r2 * np.arange(keys, dtype=np.float64))
    totals = np.logaddexp.accumulate(bias)
    counts = np.arange(2, keys + 1)
    needed = [required_margin(own, total) for own, total in zip(bias[1:], totals[1:], strict=True)]
    fig, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(counts, needed, color=style.GREEN, label="needed")
    ax.plot(counts, np.log(counts), color=style.BLACK, dashes=(1, 1), label="SSMax, s × lead = 1")
    ax.set(xscale="log", xlabel="context length $n$", ylabel="lead (nats)", ylim=(0, None))
    ax.set_title("local" if r1 > 1 else "not local")
    ax.legend(loc="upper left")
    return lines.once(fig)


MARGINS = FigureSpec(
    "phase_margins",
    draw_margins,
    caption_margins,
    notebook="phase_diagram",
    rows=rows_margins,
    claims=("X-14",),
    alt="Required lead by lag and by context length: straight up for ALiBi, logarithms for the others, and two lines "
    "for what SSMax supplies.",
)
