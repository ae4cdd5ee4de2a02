"""The figure on the rounded slope states what is drawn."""

import pandas as pd

from attention_priors.figures.guide import curves


def test_the_rounded_slope_covers_every_setting(small, whole):
    rows = curves.rows_rounding(small(), 0, slopes=(0.5, 0.25), lengths=(64, 512, 2048))
    assert len(rows) == 2 * 2 * 2 * 3 and {row["lanes"] for row in rows} == {1, 2}
    whole(curves.ROUNDING, pd.DataFrame(rows))
