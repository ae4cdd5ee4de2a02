"""One colour, dash and marker per method: what every figure that draws encodings as lines shares."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..positions.encodings import ENCODINGS, encoding
from . import lines, style
from .spec import Frame
from .words import listed

UNTRAINED = "untrained"
OURS = "bam-ssmax"
# base: colour, dashes of the form without SSMax, marker
METHODS: dict[str, tuple[str, tuple, str]] = {
    "nope": (style.DARK, (1, 1), "X"),
    "sinusoidal": (style.PINK, (2, 1, 1, 1), "D"),
    "rope": (style.GREEN, (3, 1), "^"),
    "rope-local": (style.SKY, (3, 1, 1, 1), "v"),
    "alibi": (style.BLUE, (5, 1.5), "s"),
    "bam": (style.ORANGE, (5, 1, 1, 1, 1, 1), "o"),
    "kerple-power": (style.INDIGO, (7, 1, 1, 1), "P"),
    "kerple-log": (style.TEAL, (2, 1), "p"),
    "sandwich": (style.BROWN, (1, 2, 4, 2), "h"),
    "t5": (style.PURPLE, (8, 2, 3, 2), "<"),
}
SIX = ("nope", "sinusoidal", "rope", "rope-local", "alibi", "bam")  # those of BAM's own comparison
# other readings of a base: dashes and marker of their own, the base's colour
VARIANTS: dict[str, tuple[tuple, str]] = {
    "bam-ssmax-content": ((6, 1, 2, 1), "<"),
    "alibi-ssmax-prior": ((6, 1, 2, 1), "p"),
    "bam-laplace-ssmax": ((4, 1, 1, 1), "P"),
    "bam-location-ssmax": ((2, 1), ">"),
    "bam-shared-ssmax": ((1, 1, 3, 1), "h"),
}
# Goat's rows: one colour, markers of their own
GOAT: dict[str, str] = {
    "goat": "H",
    "goat-composite": "*",
    "goat-bump": "8",
    "goat-seeded": "P",
    "goat-code": "X",
    "goat-code-256": "X",
    "goat-code-1024": "X",
    "goat-code-2048": "X",
    "goat-no-sink": "d",
    "goat-rope": "^",
    "goat-eight": "D",
    "goat-eight-bump": "s",
}
# RoPE beside a prior or in a part of the heads: one colour, markers of their own
COMPOSED: dict[str, str] = {
    "rope-bam": "^",
    "rope-layer-1-bam": "s",
    "half-rope": "v",
    "half-rope-bam": "o",
    "half-rope-window": "<",
    "half-rope-window-bam": "D",
    "half-rope-window-kerple-power": "P",
    "alternating": "p",
    "alternating-bam": "h",
    "half-window": ">",
    "half-window-bam": "X",
}
FAMILIES = ((GOAT, style.RED), (COMPOSED, style.OCHRE))  # of rows that share a colour


def method(name: str) -> str:
    """The row of METHODS that an encoding is drawn as: its own, that of its form without SSMax, or of its base."""
    row = encoding(name)
    return next((each for each in (name, row.unscaled) if each in METHODS), row.base)


def named(ssmax: bool, methods: Iterable[str] = SIX) -> list[str]:
    """The methods' encodings, all with or all without SSMax."""
    scaled = {row.unscaled: name for name, row in ENCODINGS.items()}
    return [scaled[base] if ssmax else base for base in methods]


def look(name: str) -> dict[str, Any]:
    """Colour, dashes, marker and label of an encoding or a control, as keywords of `Axes.plot`.

    With SSMax: the method's colour, solid. Without: lighter and dashed. ValueError for a name without a row here.
    """
    if name in style.CONTROLS:
        return dict(style.CONTROLS[name])
    row = encoding(name)
    for rows, color in FAMILIES:
        if marker := rows.get(name) or rows.get(row.unscaled or ""):
            return lines.look(color, style.SOLID, marker, label(name))
    if name not in VARIANTS and (row.unscaled or name) not in METHODS:
        raise ValueError(f"no style for encoding {name!r}; add a row to METHODS or VARIANTS in figures/methods.py")
    color, dashes, marker = METHODS[method(name)]
    if name in VARIANTS:
        dashes, marker = VARIANTS[name]
    elif row.ssmax:
        dashes = style.SOLID
    else:
        color = style.lighten(color)
    return lines.look(color, dashes, marker, label(name))


def paint(name: str) -> tuple[str, str]:
    """Colour and marker of an encoding in a panel of its own: those of `look`, of its base, or black and a disc."""
    row = encoding(name)
    for each in (name, row.unscaled, row.base):
        if each in METHODS or each in VARIANTS or any(each in rows for rows, _ in FAMILIES):
            seen = look(each)
            return (METHODS[method(each)][0] if each in METHODS else seen["color"]), seen["marker"]
    return style.BLACK, "o"


def alone(name: str) -> dict[str, Any]:
    """Keywords of `Axes.plot` for an encoding in a panel of its own: a solid line."""
    color, marker = paint(name)
    return {"color": color, "marker": marker, "markersize": 2.5, "linewidth": 1.0, "label": label(name)}


def label(name: str) -> str:
    """What an encoding or a control is called in print."""
    return style.CONTROLS[name]["label"] if name in style.CONTROLS else encoding(name).label


def numbered(values: Mapping[str, float], digits: str = ".2f") -> str:
    """'BAM 0.53, RoPE 0.20': numbers of encodings."""
    return ", ".join(f"{label(name)} {value:{digits}}" for name, value in values.items())


def from_best(rows: Frame) -> list[str]:
    """Encodings by their mean accuracy, the highest first."""
    return list(rows.groupby("encoding")["accuracy"].mean().sort_values(ascending=False, kind="stable").index)


def named_runs(frame: Frame) -> str:
    """'ALiBi (seed 0), RoPE (seeds 1, 2)' of the columns encoding and seed, in the order of the rows."""
    seeds = frame.groupby("encoding", sort=False)["seed"].unique()
    return ", ".join(f"{label(name)} (seed{'s' * (len(own) > 1)} {listed(own)})" for name, own in seeds.items())


def named_seeds(frame: Frame) -> str:
    """'seeds 0, 1, 2' of the columns encoding and seed, with the encodings named that have others."""
    groups: dict[str, list[str]] = {}
    for name, rows in frame.groupby("encoding"):
        groups.setdefault(listed(rows["seed"]), []).append(label(name))
    usual = max(groups, key=lambda seeds: len(groups[seeds]))
    rest = "".join(f" ({', '.join(names)}: {seeds})" for seeds, names in groups.items() if seeds != usual)
    return f"seeds {usual}{rest}"
