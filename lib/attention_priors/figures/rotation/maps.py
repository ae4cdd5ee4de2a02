"""Maps of lags and of positions: the lag that a rotation sees, and the positions that tokens get."""

import torch

from attention_priors.figures import style
from attention_priors.figures.rotation import FACTOR, line
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.positions import maps


def rows(size: Size, seed: int, factor=FACTOR) -> Frame:
    """Panel "lag": the lag that a rotation sees, by map (window: half the trained length). Panel "position": the
    positions that the trained tokens get: their own, all divided by the factor, or drawn from a longer range."""
    trained = size.length
    lags = torch.linspace(0, factor * trained, 97).round().long()
    window, tokens = trained // 2, torch.arange(trained)
    seen = {
        "RoPE": lags,
        "interpolation": maps.interpolated(lags, factor),
        "ReRoPE": maps.rectified(lags, window),
        "Leaky ReRoPE": maps.leaky(lags, window, factor),
    }
    generator = torch.Generator().manual_seed(seed)
    given = {"RoPE": tokens, "interpolation": maps.interpolated(tokens, factor)}
    for draw in (1, 2, 3):
        given[f"randomised {draw}"] = maps.randomised(trained, round(factor * trained), generator)
    shown = tokens[:: max(1, trained // 64)]
    curves = [("lag", name, lags, values) for name, values in seen.items()]
    curves += [("position", name, shown, values[shown]) for name, values in given.items()]
    known = {"factor": factor, "trained": trained}
    parts = [{"panel": panel, "map": name, **known, "from": x.numpy(), "to": y.double().numpy()}
             for panel, name, x, y in curves]  # fmt: skip
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    fig, (lags, positions) = style.figure(style.SINGLE, 3.9, nrows=2)
    trained = int(frame["trained"].iloc[0])
    for name, part in frame[frame["panel"] == "lag"].groupby("map", sort=False):
        lags.plot(part["from"], part["to"], **line(name, markevery=12, markersize=3))
    lags.axhspan(0, trained, color="#EFEFEF", zorder=0)
    lags.text(frame["from"].max(), 0.05 * trained, "seen in training", ha="right", va="bottom",
              fontsize=style.SMALLEST, color=style.DARK)  # fmt: skip
    lags.set(xlabel="lag $i - j$", ylabel="lag that the rotation sees", ylim=(0, 3.4 * trained), title="maps of lags")
    lags.legend(loc="upper right")
    for name, part in frame[frame["panel"] == "position"].groupby("map", sort=False):
        label = "randomised" if name.endswith("1") else "_"
        loose = {"color": style.PINK, "marker": ".", "markersize": 2.5, "linewidth": 0.6, "label": label}
        look = loose if name.startswith("randomised") else line(name, marker="None")
        positions.plot(part["from"], part["to"], **look)
    positions.set(xlabel="token", ylabel="position given to it", title="maps of positions")
    positions.legend(loc="upper left")
    return fig


def caption(frame: Frame) -> str:
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    last = frame[frame["panel"] == "lag"].groupby("map", sort=False).last()
    leaves = int(trained // 2 + factor * (trained - trained // 2))  # from a window of half the trained length
    return (
        f"Left: the lag that a rotation sees; grey, lags up to the trained length ({trained}). At lag "
        f"{int(last['from'].iloc[0]):,} interpolation sees {last.loc['interpolation', 'to']:g}, ReRoPE "
        f"{last.loc['ReRoPE', 'to']:g} and Leaky ReRoPE {last.loc['Leaky ReRoPE', 'to']:g}, which leaves the trained "
        f"range at lag {leaves:,}. Right: positions given to {trained} tokens, three draws from {factor * trained:g}."
    )


FIGURE = FigureSpec(
    "rotation_maps", draw, caption, notebook="longer_rotations", rows=rows,
    columns=("panel", "map", "factor", "trained", "from", "to"),
    alt="Two panels: lag seen by the rotation against lag; positions given against token.",
)  # fmt: skip
