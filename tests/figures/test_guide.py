"""The figures and the table of the field guide's own sections say what is drawn."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors.figures.guide import field, page, priors
from attention_priors.figures.guide.examples import examples
from attention_priors.positions.encodings import ENCODINGS


def test_every_family_has_its_formulas():
    assert set(examples()) == set(page.FORMULAS) == set(priors.TEXT)


def test_the_weights_of_the_page_are_whole_at_full_resolution(small):
    frame = page.rows(small(length=64), 0, points=4000)
    totals = frame.groupby(["family", "setting"])["share"].sum()
    assert np.allclose(totals, 64, rtol=1e-5)


def test_the_table_has_a_row_per_setting_and_the_known_numbers(small):
    frame = pd.DataFrame(priors.rows(small(length=32), 0))
    assert len(priors.build(frame)) == sum(len(settings) for settings in examples().values())
    alibi = frame[(frame["family"] == "ALiBi") & (frame["setting"] == "m = 1/4")].iloc[0]
    assert alibi["normaliser"] == pytest.approx(1 / -np.expm1(-0.25), rel=1e-9)
    assert alibi["tail 8"] == pytest.approx(np.exp(-0.25 * 9), rel=1e-9)
    assert alibi["mean lag"] == pytest.approx(1 / np.expm1(0.25), rel=1e-9)
    assert "4,096" in priors.caption(frame)


@pytest.mark.parametrize("family", ["ALiBi", "GGD", "KERPLE, power", "KERPLE, log", "Sandwich"])
@pytest.mark.parametrize(("first", "second"), [(0.01, 0.1), (4.0, 64.0)])
def test_the_sliders_reach_no_error(family, first, second):
    page.explore(64, family, first, second)


def test_the_map_has_every_encoding_without_ssmax_and_a_cell_for_each_of_its_parts(small, legible):
    frame = pd.DataFrame(field.rows(small(), 0))
    assert list(frame["name"]) == [name for name, row in ENCODINGS.items() if not row.ssmax]
    for each in frame.itertuples():
        row = ENCODINGS[each.name]
        assert (bool(each.embedding), bool(each.rotation), bool(each.prior)) == (
            bool(row.absolute), bool(row.rotary), bool(row.prior)
        )  # fmt: skip
        assert bool(each.ssmax) == any(other.unscaled == each.name for other in ENCODINGS.values())
        assert bool(each.window) == bool(row.local or row.window)
    by_name = frame.set_index("name")
    assert by_name["positions"][["rope", "rope-pi", "rope-dynamic-ntk", "rope-rerope", "rope-randomised"]].tolist() == [
        "", "stretched once", "stretched by length", "lags cut", "drawn at random"
    ]  # fmt: skip
    kinds = field.grouped(frame)
    more = [end for label in kinds["label"] if (end := label.rpartition(" + ")[2]).isdigit()]
    assert sum(map(int, more)) == len(frame) - len(kinds)
    legible(field.draw(frame))


def test_a_frame_as_it_is_read_back_draws_the_same_map(small):
    frame = pd.DataFrame(field.rows(small(), 0))
    assert field.grouped(frame.replace("", np.nan)).equals(field.grouped(frame))


def test_building_the_parts_leaves_the_random_numbers_alone(small):
    before = torch.random.get_rng_state()
    field.rows(small(), 0)
    assert torch.equal(before, torch.random.get_rng_state())
