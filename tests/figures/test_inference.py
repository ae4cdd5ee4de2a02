"""The figures of notebook 01: axes and colour bars are named, and the rows are what they say."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import inference
from figures.committed import frame


def test_every_panel_and_colour_bar_is_labelled():
    bars = inference.draw_matrices(frame("inference_score_matrices")).axes[len(inference.MATRICES) :]
    assert {ax.get_xlabel() for ax in bars} == {"logit (nats)", "weight"}
    axes = inference.draw_readings(frame("inference_readings_of_z")).axes
    assert [ax.get_ylabel() for ax in axes] == ["overlap or ratio", "overlap or cosine", "nats"]


def test_the_matrices_add_up(small):
    frame = pd.DataFrame(inference.rows_matrices(small(), 3, length=4, beta=1.0))
    values = {
        name: part.pivot(index="query", columns="key", values="value").to_numpy()
        for name, part in frame.groupby("matrix", sort=False)
    }
    assert list(values) == ["content", "mask", "bias", "score", "weights"]
    visible = np.tril(np.ones((4, 4), bool))
    total = values["content"] + values["bias"]
    assert (values["score"][visible] == total[visible]).all()
    assert (values["score"][~visible] == -np.inf).all()
    assert values["weights"].sum(axis=1) == pytest.approx(np.ones(4))
    assert (np.diff(values["bias"], axis=1)[np.tril_indices(4, -1)] > 0).all()  # nearer keys, smaller penalty


def test_the_readings_show_the_reciprocals_and_the_peak_of_the_cosine(small):
    series = {}
    for row in inference.rows_readings(small(), 0, keys=8, steps=9):
        series.setdefault((row["reading"], row["series"]), {})[row["x"]] = row["value"]
    for side in ("near", "far"):
        for m, z in series["physics", f"overlap, {side}"].items():
            assert z * series["physics", f"ratio, {side}"][m] == pytest.approx(1.0)
            assert series["information", f"lift, {side}"][m] == pytest.approx(np.log(8 * z))
    cosine, overlap = series["geometry", "cosine"], series["geometry", "overlap"]
    assert max(cosine, key=cosine.get) == 1.0
    assert max(overlap, key=overlap.get) == 4.0
