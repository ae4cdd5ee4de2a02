"""Figures with a row or a panel for each encoding hold those of the largest profile: on one page, nothing cut."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.figures import FIGURES, style
from attention_priors.publish.report import Report
from attention_priors.store.layout import Layout
from figures import looks

LAYOUT = Layout(config.ROOT / "results", "cpu")
FULL = config.profile("full")
PASSKEYS, READ = FULL.benchmark.encodings, (*FULL.language.encodings, *FULL.readings.encodings)
ROWS = {
    "encodings_accuracy": PASSKEYS,
    "encodings_perplexity": (*READ, *FULL.readings.extensions),
    "language_order": FULL.language.encodings,
    "ruler_average": FULL.needles.encodings,
    "goat_passkeys": [name for name in FULL.goat_passkey.encodings if not name.endswith("-undivided")],
    "goat_languages": FULL.goat_language.encodings,
    "genomes_bits": FULL.genomes.encodings,
    "genomes_texts": FULL.genomes.encodings,
}


def widened(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The committed rows, and those of one encoding under the names of the others."""
    there = frame["encoding"].dropna()
    template = frame[frame["encoding"] == there.iloc[0]]
    more = [template.assign(encoding=name) for name in names if name not in set(there)]
    return pd.concat([frame, *more], ignore_index=True)


def longer(frame: pd.DataFrame, lengths: list[int]) -> pd.DataFrame:
    """With rows at further lengths, those of the longest one."""
    last = frame[frame["length"] == frame["length"].max()]
    return pd.concat([frame, *(last.assign(length=n) for n in lengths if n not in set(frame["length"]))])


@pytest.mark.parametrize("name", ROWS)
def test_a_figure_holds_the_rows_of_the_largest_profile(name: str) -> None:
    spec = FIGURES[name]
    frame, _ = Report(LAYOUT, spec.notebook).read(spec.metrics)
    wide = widened(frame, list(ROWS[name]))
    if name == "encodings_accuracy":
        wide = longer(wide, [*FULL.passkey.evaluation.lengths, *FULL.passkey.far.lengths])
    assert set(wide["encoding"].dropna()) >= set(ROWS[name])
    drawn = spec.draw(wide)
    width, height = drawn.get_size_inches()
    assert width in style.WIDTHS and height < 9
    assert not looks.cut(drawn) and not looks.touching(drawn)
    words = {text.get_text().replace("\n", " ").rstrip("* †") for text in drawn.findobj(plt.Text)}
    if name == "ruler_average":
        assert {"Goat composite", "Goat (authors' code)", "BAM SSMax"} <= words
    plt.close(drawn)


def test_rows_come_nearer_where_a_page_is_full() -> None:
    assert style.pitch(10) == style.pitch(47) == style.ROW
    assert 100 * style.pitch(100) == pytest.approx(style.PAGE)
