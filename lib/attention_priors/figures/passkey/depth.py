"""Accuracy of BAM SSMax by context length and depth of the passkey (BAM, Fig. 3)."""

import numpy as np

from .. import heat_maps, style
from ..methods import OURS
from ..spec import Figure, FigureSpec, Frame
from ..words import CHANCE, listed, prompts, times, tokens, trained_on
from .lines import NOTEBOOK, last_and_trained

BANDS = 5  # of depth: with 11 lengths (BAM's Table 5) they would make the 55 cells that the paper counts
MANY = 12  # lengths; with more, the figure is wider, for the numbers in its cells
GAP = 0.35  # of a cell, which sets the averages apart


def _rows(frame: Frame) -> Frame:
    return frame[(frame["form"] == "plain") & (frame["encoding"] == OURS)]


def cells(frame: Frame) -> Frame:
    """Accuracy of BAM SSMax by depth band (rows, 0 = start of the text) and length, over all seeds and prompts."""
    rows = _rows(frame)
    band = np.minimum((rows["depth"] * BANDS).astype(int), BANDS - 1)
    table = rows.assign(band=band).pivot_table(index="band", columns="length", values="correct", aggfunc="mean")
    return table.reindex(range(BANDS))


def draw(frame: Frame) -> Figure:
    table, trained = cells(frame), trained_on(frame)
    columns = len(table.columns)
    fig, ax = style.figure(style.SINGLE if columns <= MANY else style.MIDDLE, 2.35)
    values = np.full((BANDS + 1, columns + 1), np.nan)
    values[:BANDS, :columns] = table
    values[BANDS, :columns] = table.mean()
    values[:BANDS, columns] = table.mean(axis=1)
    values[BANDS, columns] = np.nanmean(table)
    x, y = (np.append(np.arange(n + 1.0), [n + GAP, n + GAP + 1]) for n in (columns, BANDS))
    spaced = np.insert(np.insert(values, columns, np.nan, axis=1), BANDS, np.nan, axis=0)
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(spaced), **heat_maps.SHARES, edgecolor="white", linewidth=0.4)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            at = column + 0.5 + GAP * (column == columns), row + 0.5 + GAP * (row == BANDS)
            heat_maps.write(ax, *at, _cell(value), color="black" if value > 0.5 else "white")
    centres = [*(np.arange(columns) + 0.5), columns + 0.5 + GAP]
    ax.set_xticks(centres, [*(times(length, trained) for length in table.columns), "mean"], rotation=60)
    edges = [f"{100 * band // BANDS}–{100 * (band + 1) // BANDS} %" for band in range(BANDS)]
    ax.set_yticks([*(np.arange(BANDS) + 0.5), BANDS + 0.5 + GAP], [*edges, "mean"])
    ax.invert_yaxis()
    ax.set(xlabel=f"context length / training length ({trained})", ylabel="depth of the passkey")
    heat_maps.bare(ax)
    bar = heat_maps.color_bar(mesh, ax, ticks=[0, 1], format="%g", aspect=30, pad=0.02)
    bar.set_label("share retrieved", labelpad=-3)
    return fig


def _cell(value: float) -> str:
    """0 is marked by a cross; 1 and two digits for the rest."""
    return "✕" if value == 0 else "1" if value == 1 else f"{value:.2f}"[1:] if value < 0.995 else ".99"


def caption(frame: Frame) -> str:
    table, rows = cells(frame), _rows(frame)
    asked = rows.groupby(["seed", "length"]).size().rename("samples").reset_index()
    last, trained = last_and_trained(rows)
    return (
        f"Share of passkeys retrieved by BAM SSMax by context length and depth (0 %: start of the text), mean over "
        f"seeds {listed(rows['seed'])}. {prompts(asked)}; last row and column: averages. "
        f"{int((table == 1).sum().sum())} of {int(table.notna().sum().sum())} cells are perfect (1) in all seeds "
        f"together, {int((table == 0).sum().sum())} are at 0 (crosses). At {tokens(last, trained)} the average is "
        f"{table[last].mean():.2f}. Chance is {CHANCE}; passkey_by_length shows an untrained model."
    )


FIGURE = FigureSpec(
    "passkey_samples",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="BAM, Fig. 3",
    claims=("BAM-F3",),
    alt="Heat map of passkey accuracy of BAM SSMax: context length from left to right, depth of the passkey from top "
    "to bottom, with averages in the last row and column and crosses in cells without a hit.",
)
