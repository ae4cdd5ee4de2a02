"""The figures of notebook 01 from frames made up here: axes and colour bars are named, captions count the dots."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import inference


def test_the_caption_tells_the_dots_below_the_curve_from_those_beside_it():
    curve = [{"kind": "frontier", "tau": tau, "expected": 1 + 1 / tau, "entropy": tau / 10} for tau in (0.5, 1, 10)]
    dots = [{"kind": "other", "expected": expected, "entropy": 0.0} for expected in (0.2, 0.4, 0.6, 1.5, 1.7)]
    caption = inference.caption_transport(pd.DataFrame(curve + dots))
    assert "Of the 5 random ones shown, 2 lie below the curve" in caption and "τ < 0" in caption


def test_every_panel_and_colour_bar_is_labelled():
    lags = np.subtract.outer(np.arange(3), np.arange(3))
    rows = [
        {
            "matrix": name,
            "query": i + 1,
            "key": j + 1,
            "value": -np.inf if lags[i, j] < 0 and name in ("mask", "score") else 0.1 * lags[i, j],
        }
        for name in inference.MATRICES
        for i in range(3)
        for j in range(3)
    ]
    bars = inference.draw_matrices(pd.DataFrame(rows)).axes[len(inference.MATRICES) :]
    assert {ax.get_xlabel() for ax in bars} == {"logit (nats)", "weight"}
    names = {"physics": ("overlap", "ratio"), "information": ("lift", "printed")}
    series = [
        (reading, f"{kind}, {side}") for reading, kinds in names.items() for kind in kinds for side in ("near", "far")
    ] + [("geometry", "overlap"), ("geometry", "cosine")]
    frame = pd.DataFrame({"reading": r, "series": s, "x": x, "value": 1.0 + x} for r, s in series for x in (0, 1))
    axes = inference.draw_readings(frame).axes
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
