"""Figures of passkeys: which dots, lines, intervals and cells stand for which answers."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import FIGURES
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.passkey import depth as depths
from attention_priors.figures.passkey.lines import shared
from attention_priors.figures.words import prompts
from figures.committed import frame


def test_lines_are_means_and_dots_are_seeds_at_lengths_that_all_were_asked():
    there = frame("passkey_by_length")
    rows = shared(there)
    assert rows["length"].max() < there["length"].max(), "some encodings alone were asked further"
    (ax, *_) = FIGURES["passkey_by_length"].draw(there).axes
    lines = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
    own = rows[rows["encoding"] == "bam-ssmax"]
    assert np.allclose(lines["BAM SSMax"].get_ydata(), own.groupby("length")["accuracy"].mean())
    dots = [line for line in ax.get_lines() if line.get_label() == "_seeds"]
    assert sum(len(line.get_xdata()) for line in dots) == len(rows)
    trained, top = rows["trained"].iloc[0], ax.child_axes[0]
    assert [tick.get_text() for tick in top.get_xticklabels()][-1] == f"{rows['length'].max() // trained}×"


def test_one_seed_has_no_band():
    one = pd.DataFrame(
        {"encoding": "bam", "length": [128, 256], "accuracy": [1.0, 0.5], "correct": [2, 1], "samples": 2}
    )
    assert over_seeds(one, "accuracy", shares)[["low", "high"]].isna().all(axis=None)


def test_the_heat_map_averages_seeds_and_marks_empty_cells():
    there = frame("passkey_samples")
    table = depths.cells(there)
    rows = there[(there["encoding"] == "bam-ssmax") & (there["form"] == "plain") & (there["length"] == 64000)]
    assert table[64000].iloc[0] == pytest.approx(rows[rows["depth"] < 0.2]["correct"].mean())
    assert 0 < table[64000].iloc[0] < 1
    empty = there.assign(correct=0)
    assert {text.get_text() for text in depths.draw(empty).axes[0].texts} == {"✕"}
    assert f"{table.size} are at 0" in depths.caption(empty) and f"0 of {table.size} cells" in depths.caption(empty)


def test_depths_fall_evenly_into_five_bands():
    for n in (20, 10, 5):
        depths = np.minimum((np.round(np.linspace(0, 1, n), 6) * 5).astype(int), 4)
        assert np.bincount(depths).tolist() == [n // 5] * 5


def test_a_mean_has_its_interval_and_its_seeds_in_the_far_figure():
    there = frame("passkey_by_length").query("encoding in ['bam', 'bam-ssmax']")
    figure = FIGURES["passkey_far"].draw(there)
    assert [ax.get_title() for ax in figure.axes] == ["BAM", "BAM SSMax"]
    ours = there[(there["encoding"] == "bam-ssmax") & (there["form"] == "plain") & (there["length"] >= 128)]
    ends = np.concatenate([bar.get_segments() for bar in figure.axes[1].collections])[:, :, 1]
    each = over_seeds(ours, "accuracy", shares)
    assert np.allclose(ends, each[["low", "high"]]) and len(each) == ours["length"].nunique() > 9
    dots = next(line for line in figure.axes[1].get_lines() if line.get_label() == "_seeds")
    assert sorted(dots.get_ydata()) == sorted(ours["accuracy"])


@pytest.mark.parametrize(
    "counts, said",
    [
        ({1: 20, 2: 20, 4: 20}, "20 prompts at each length and seed"),
        ({1: 20, 2: 20, 4: 20, 8192: 5, 16384: 5}, "20 prompts at each length and seed, 5 from 8,192 on"),
        ({1: 20, 2: 20, 4096: 5}, "20 prompts at each length and seed, 5 at 4,096"),
        ({1: 5, 2: 20, 4: 20, 8: 5, 16: 20}, "20 prompts at each length and seed, 5 at 1 and 8"),
    ],
)
def test_prompts_are_counted_length_by_length(counts, said):
    assert prompts(pd.DataFrame({"length": counts.keys(), "samples": counts.values()})) == said
