"""RULER's figure and table: who stands where, who is hollow, and what was not asked."""

import pytest

from attention_priors.experiments import needles
from attention_priors.figures import NotCompared, ruler
from attention_priors.figures.methods import METHODS, label, named
from figures.committed import frame


def test_the_average_has_a_row_for_each_encoding_and_the_control():
    there = frame("ruler_average")
    (ax, *_) = ruler.draw_average(there).axes
    found, names = [tick.get_text() for tick in ax.get_yticklabels()], set(there["encoding"])
    wanted = [label(name) for ssmax in (False, True) for name in named(ssmax, METHODS) if name in names]
    assert [name for name in found if name in set(wanted)] == wanted
    assert sorted(found) == sorted([*map(label, names - {needles.UNTRAINED}), "Untrained"])
    assert {text.get_text() for text in ax.texts} == {"without SSMax", "with SSMax", "control"}


def test_an_encoding_of_which_no_seed_passed_is_hollow_and_one_alone_is_not_drawn():
    there = frame("ruler_average")
    (ax, *_) = ruler.draw_average(there.assign(passed=there["encoding"] != "rope")).axes
    marks = [line for line in ax.get_lines() if line.get_label() == "_mean"]
    hollow = [line.get_markerfacecolor() == "white" for line in marks]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert [name for name, empty in zip(names, hollow, strict=True) if empty] == ["RoPE"]
    with pytest.raises(NotCompared, match="ruler_average: bam stands alone"):
        ruler.draw_average(there[there["encoding"].isin(["bam", "untrained"])])


def test_the_table_says_at_which_lengths_not_all_seeds_were_asked():
    some = frame("ruler_answers").assign(asked=True)
    one = (some["encoding"] == "bam") & (some["seed"] == 0) & (some["length"] == 256) & (some["task"] == "single-1")
    partly = ruler.build_tasks(needles.scores(some.assign(asked=~one)))
    told = partly["not all seeds asked at"]
    assert set(told) == {"", "256"} and partly[told == "256"]["encoding"].tolist() == ["BAM"]
    assert not partly.duplicated(["task", "encoding"]).any()
