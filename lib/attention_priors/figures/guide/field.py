"""A map of the field: where position enters each encoding of ENCODINGS, read from its parts."""

import torch

from attention_priors.figures import heat_maps, style
from attention_priors.figures.encodings.families import FAMILIES
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.extended import ExtendedRotary, RectifiedRotary
from attention_priors.positions.generators import RandomisedRotary
from attention_priors.positions.randomised import RandomisedSinusoidal

HEADS, WIDTH, BASE = 4, 64, 10_000.0  # of the parts that are built to be named
COLUMNS = {"embedding": 0.6, "rotation": 1.0, "prior": 1.18, "positions": 1.08, "ssmax": 0.78, "window": 0.46}  # inches
TITLES = {"ssmax": "SSMax on"}
TOLD = ("Randomised", "Extended", "Rectified")  # in the column of positions
PITCH = 0.165


def rows(size: Size, seed: int) -> Rows:
    """A row for each encoding without SSMax: the classes of its parts, what it does to positions, its windows.

    `ssmax`: what its form with SSMax multiplies, where there is one.
    """
    with torch.random.fork_rng():  # some priors start at random
        return [{"name": row.name, "label": row.label, "family": row.family, **_parts(row)}
                for row in ENCODINGS.values() if not row.ssmax]  # fmt: skip


def _parts(row: Encoding) -> dict[str, str]:
    embedding = row.absolute(WIDTH) if row.absolute else None
    rotation = row.rotary(WIDTH, BASE) if row.rotary else None
    prior = row.prior(HEADS) if row.prior else None
    turned = ""
    if row.rotated_layers:
        turned = f", layer {', '.join(map(str, row.rotated_layers))}"
    elif row.rotated_heads < 1:
        turned = f", {row.rotated_heads:.0%} heads"
    forms = [each for each in ENCODINGS.values() if each.unscaled == row.name]
    return {
        "embedding": _named(embedding), "rotation": _named(rotation) + turned, "prior": _named(prior),
        "positions": _positions(row, embedding, rotation),
        "ssmax": ("content, prior" if forms[0].scales_prior else "content") if forms else "",
        "window": "T (read)" if row.local else f"{row.window:g} T" if row.window else "",
    }  # fmt: skip


def _named(part: torch.nn.Module | None) -> str:
    """The class of a part, without what the column of positions says."""
    name = "" if part is None else type(part).__name__
    return next((name.removeprefix(word) for word in TOLD if name.startswith(word)), name)


def _positions(row: Encoding, embedding: object, rotation: object) -> str:
    """What an encoding does to positions or lags before it uses them."""
    if isinstance(embedding, RandomisedSinusoidal) or isinstance(rotation, RandomisedRotary):
        return "drawn at random"
    if isinstance(rotation, RectifiedRotary):
        return "lags cut"
    if isinstance(rotation, ExtendedRotary):
        return "stretched by length" if row.whole else "stretched once"
    return ""


def grouped(frame: Frame) -> Frame:
    """One row for encodings whose entries are all the same: the first one's label, and how many more there are."""
    frame = frame.fillna("")
    alike = frame.groupby(["family", *COLUMNS], sort=False)
    merged = alike["label"].agg(["first", "size"]).reset_index()
    more = merged["size"] - 1
    merged["label"] = merged["first"] + [f" + {count}" if count else "" for count in more]
    order = {family: place for place, family in enumerate(FAMILIES)}
    return merged.sort_values("family", key=lambda column: column.map(order), kind="stable").reset_index(drop=True)


def draw(frame: Frame) -> Figure:
    """A line for each kind of encoding, its marker the family's; a filled cell where a part is there."""
    shown = grouped(frame)
    fig, ax = style.figure(style.DOUBLE, 0.75 + PITCH * len(shown))
    edges, left = {}, 0.0
    for column, width in COLUMNS.items():
        edges[column] = left, width
        left += width
    for y, row in enumerate(shown.to_dict("records")):
        name, color, marker = FAMILIES[row["family"]]
        named = name if y == _first(shown, row) else "_"
        ax.plot(-0.09, y, marker, color=color, linestyle="", markersize=4, clip_on=False, label=named)
        for column, (start, width) in edges.items():
            if text := row[column]:
                ax.barh(y, width - 0.04, left=start + 0.02, height=0.84, color=color, alpha=0.16)
                heat_maps.write(ax, start + width / 2, y, text)
    ax.set_xticks([start + width / 2 for start, width in edges.values()], [TITLES.get(name, name) for name in edges])
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(shown)), shown["label"])
    ax.set(xlim=(0, left), ylim=(len(shown) - 0.4, -0.6))
    heat_maps.bare(ax)
    ax.tick_params(axis="y", pad=10)
    fig.legend(loc="outside lower center", ncols=len(FAMILIES), handletextpad=0.2)
    return fig


def _first(shown: Frame, row: dict) -> int:
    """The first line of a family, which stands for it in the legend."""
    return int((shown["family"] == row["family"]).idxmax())


def caption(frame: Frame) -> str:
    kinds = grouped(frame)
    counted = frame["family"].value_counts()
    families = ", ".join(f"{counted[family]} {FAMILIES[family][0]}" for family in FAMILIES if family in counted)
    return (
        f"Which encoding is what: where position enters each of {len(frame)} encodings of this library without SSMax, "
        f"by the names of their parts in the code. Encodings with the same entries share one of {len(kinds)} lines "
        f"(+ n: n more). By family: {families}. SSMax on: what the form with scalable softmax multiplies, where "
        "there is one. T: the training length; (read): a window that is put on after training."
    )


FIGURE = FigureSpec(
    "guide_field", draw, caption, notebook="field_guide", rows=rows,
    columns=("name", "label", "family", *COLUMNS),
    alt="A grid with a line for each kind of encoding and columns for embedding, rotation, prior, map of positions, "
    "scale and window; filled cells name the part that is there.",
)  # fmt: skip
