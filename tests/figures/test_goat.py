"""The figures and tables of Goat: every encoding is drawn, and a comparison without its other side is not made."""

import pytest

from attention_priors.figures import FIGURES, TABLES, NotCompared, methods
from attention_priors.figures.goat import copying, retrieval
from attention_priors.positions.encodings import ENCODINGS
from figures.committed import frame


def test_every_encoding_of_every_profile_has_a_colour():
    assert all(methods.paint(name) for name in ENCODINGS)
    assert retrieval.ordered(["rope", "goat-code", "alibi", "goat-rope"]) == ["goat-code", "goat-rope", "rope", "alibi"]


def test_the_table_of_logits_has_both_ways_or_is_not_made():
    spec = TABLES["goat_undivided"]
    there = frame(spec.metrics)
    with pytest.raises(NotCompared, match="without 1/√d"):
        spec.build(there[~there["encoding"].str.endswith("-undivided")])


def test_pairs_and_models_that_missed_their_gate_are_not_told():
    spec = TABLES["goat_differences"]
    none = frame(spec.metrics).assign(seeds=0)
    for make in (spec.build, spec.caption):
        with pytest.raises(NotCompared, match="no pair passed its gate"):
            make(none)
    spec = FIGURES["sinks_keys"]
    with pytest.raises(NotCompared, match="no model passed its gate under this profile"):
        spec.draw(frame(spec.metrics).assign(passed=False))


def test_prior_and_content_add_up_to_the_logits():
    there = frame("copying_map")
    found = copying.parts(there[there["head"] == there["head"].min()])
    for query in (5, 7):
        assert found["prior"][query, : query + 1].sum() == pytest.approx(1)
        assert abs(found["sum"][query, : query + 1].mean()) < 1e-9
