"""Figures and tables of language models: what they show and say where a profile has less than what is committed."""

import re

import numpy as np
import pytest

from attention_priors.figures import FIGURES, TABLES, NotCompared
from attention_priors.figures.language import by_length
from figures.committed import frame

PLAIN = ["rope", "alibi", "bam", "kerple-log"]  # none missed its gate, or leaves the axes


def test_a_line_is_the_perplexity_of_the_mean_loss_and_has_its_name_at_its_end():
    there = frame("language_perplexity")
    axes = by_length.draw(there).axes
    for ax, kind in zip(axes[:2], ("docstrings", "source"), strict=True):
        shown = {line.get_label() for line in ax.get_lines() if not line.get_label().startswith("_")}
        assert shown <= {text.get_text() for text in ax.texts} and {"NoPE †", "NoPE, 3 × tokens"} <= shown
        (line,) = [line for line in ax.get_lines() if line.get_label() == "ALiBi"]
        own = there[(there["domain"] == kind) & (there["encoding"] == "alibi") & (there["length"] == 128)]
        assert line.get_ydata()[0] == pytest.approx(np.exp(own["loss"].mean()))


def test_one_encoding_with_ssmax_stands_among_the_others_and_one_alone_is_not_drawn():
    few = frame("language_perplexity").query("encoding in ['rope', 'alibi', 'bam', 'bam-ssmax']")
    axes = by_length.draw(few).axes  # four encodings and the token frequencies
    assert [len({line.get_label() for line in ax.get_lines() if line.get_label()[0] != "_"}) for ax in axes] == [5, 5]
    for name in ("language_by_length", "language_order", "perplexity_and_retrieval"):
        with pytest.raises(NotCompared, match="bam stands alone under this profile"):
            FIGURES[name].draw(frame(FIGURES[name].metrics).query("encoding == 'bam'"))


def test_captions_of_a_profile_in_which_all_pass_or_few_are_compared():
    assert "All runs pass" in FIGURES["language_order"].caption(frame("language_order").query("encoding in @PLAIN"))
    few = FIGURES["perplexity_and_retrieval"].caption(frame("perplexity_and_retrieval").query("encoding in @PLAIN[:3]"))
    assert "undefined (3 encodings)" in few and "Open" not in few


def test_the_perplexity_axis_has_several_ticks_and_not_too_many():
    narrow = [(low, by_length.FLAT * low) for low in np.geomspace(10, 99, 40)]
    for low, high in (*narrow, (60, 360), (3, 20000), (40, 400)):
        ticks = by_length.ticks_between(low, high)
        assert 2 <= len(ticks) <= 9 and ticks == sorted(ticks) and low <= ticks[0] and ticks[-1] <= high


def test_intervals_fit_into_the_axes_or_the_caption_names_them():
    there = frame("language_perplexity").query("encoding in @PLAIN")
    rows = by_length.part(there, True)
    low, high = by_length.span(rows)
    ends = by_length.intervals(rows)
    assert low < ends["low"].min() and ends["high"].max() < high and "cut at" not in by_length.caption(there)
    # Two seeds far apart: an interval that would flatten all curves.
    alibi = rows["encoding"] == "alibi"
    wild = rows[rows["seed"] < 2].assign(loss=lambda one: one["loss"] + 0.3 * one["seed"] * alibi)
    assert by_length.span(wild)[0] > by_length.intervals(wild)["low"].min()
    assert re.search(r"\(cut at the frame: [^)]*ALiBi", by_length.caption(wild))


def test_a_corpus_with_one_domain_is_drawn_once():
    one = frame("language_perplexity").query("domain == 'docstrings'")
    assert by_length.part(one, False).empty
    assert {ax.get_title() for ax in by_length.draw(one).axes} == {
        "text as in training,\nwithout SSMax",
        "text as in training,\nwith SSMax",
    }
    assert "other text" not in by_length.caption(one)


@pytest.mark.parametrize(
    ("same", "words"), [(True, "the pinned text"), (False, "not the pinned"), (None, "nothing is")]
)
def test_the_corpus_says_whether_it_is_the_pinned_one(same, words):
    assert words in TABLES["language_corpus"].caption(frame("language_corpus").assign(same=same))
