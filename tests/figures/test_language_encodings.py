"""The benchmark of language models in figures and tables: cells and rows stand for what was read."""

import pytest

from attention_priors.figures import NotCompared
from attention_priors.figures.encodings import benchmark, readings
from attention_priors.figures.language import models
from figures.committed import frame


def test_what_a_profile_leaves_out_is_not_drawn():
    alone = frame("language_readings").query("part == 'benchmark'")
    for act in (readings.draw_extensions, readings.build_neighbours, models.build_sizes):
        with pytest.raises(NotCompared):
            act(alone)


def test_what_was_not_read_is_empty_and_who_passed_no_gate_is_marked():
    there = frame("encodings_perplexity")
    ax, *_ = benchmark.draw_perplexity(there).axes
    names = benchmark.most_level(there)
    cells = [text for text in ax.texts if text.get_ha() == "center"]
    assert len(names) == there["encoding"].nunique() and len(cells) == len(names) * there["length"].nunique()
    empty = [not text.get_text() for text in cells]
    assert sum(empty) == len(cells) - sum(there["state"].isin(["read", "undefined"])) > 0
    passed = there.groupby("encoding")["passed"].max()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert [label.endswith("†") for label in labels] == [passed[name] == 0 for name in names]


def test_every_reading_has_a_row_under_its_question_and_starts_from_rope():
    (ax, *_) = readings.draw_extensions(frame("language_readings")).axes
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [text for rows in readings.GROUPS.values() for _, _, text in rows] and names[0] == "RoPE"
    assert {text.get_text() for text in ax.texts} == set(readings.GROUPS) and len(names) == len(set(names))
