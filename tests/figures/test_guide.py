"""The figures and the table of the field guide's own sections say what is drawn."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures.guide import page
from attention_priors.figures.guide.page import examples


def test_every_family_has_its_formulas():
    assert set(examples()) == set(page.TEXT)


def test_the_table_has_a_row_per_setting_and_the_known_numbers(small):
    frame = pd.DataFrame(page.rows_priors(small(length=32), 0))
    assert len(page.build_priors(frame)) == sum(len(settings) for settings in examples().values())
    alibi = frame[(frame["family"] == "ALiBi") & (frame["setting"] == "m = 1/4")].iloc[0]
    assert alibi["normaliser"] == pytest.approx(1 / -np.expm1(-0.25), rel=1e-9)
    assert alibi["tail 8"] == pytest.approx(np.exp(-0.25 * 9), rel=1e-9)
    assert alibi["mean lag"] == pytest.approx(1 / np.expm1(0.25), rel=1e-9)
    assert "4,096" in page.caption_priors(frame)


@pytest.mark.parametrize("family", ["ALiBi", "GGD", "KERPLE, power", "KERPLE, log", "Sandwich"])
@pytest.mark.parametrize(("first", "second"), [(0.01, 0.1), (4.0, 64.0)])
def test_the_sliders_reach_no_error(family, first, second):
    page.explore(64, family, first, second)
