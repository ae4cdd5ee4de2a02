"""Figures on spectra and sinks: rows within their bounds, and nothing looks like another."""

import math

import numpy as np
import pandas as pd
import pytest

from attention_priors.figures import FIGURES
from attention_priors.figures.spectra import fits, shapes
from attention_priors.theory import bands, spectra
from attention_priors.theory.inference import softmax

SINKS = {"lengths": (2, 100, 10**4), "margins": (0.0, 2.0, 5.0), "bound": 2.0}
SIZES = {
    "spectra_band": {"omegas": (0.5, 2.0), "draws": 20, "steps": 21},
    "spectra_sinks": SINKS,
    "spectra_shapes": {"modes": 6},
    "spectra_fits": {"counts": (1, 2)},
}


def made(name, small):
    return pd.DataFrame(FIGURES[name].rows(small(length=48 if name == "spectra_shapes" else 32), 0, **SIZES[name]))


def test_random_rows_lie_in_the_band_and_the_caption_has_its_ends(small):
    frame = made("spectra_band", small)
    draws = frame[frame["kind"] == "draw"]
    assert len(draws) == 2 * 20 and (frame["kind"] == "band").sum() == 2 * 21
    for omega, part in draws.groupby("omega"):
        low, high = bands.band(part["prior"], omega)
        assert (low - 1e-12 <= part["posterior"]).all() and (part["posterior"] <= high + 1e-12).all()
    assert "3.69" in shapes.caption_band(frame) and "0.881" in shapes.caption_band(frame)


def test_sinks_by_hand(small):
    found = shapes.rows_sinks(small(), 0, lengths=(2, 50), margins=(0.0, 3.0), bound=1.0)
    value = {(r["series"], r.get("parameter"), r.get("kind"), r["keys"]): r["value"] for r in found}
    assert value["margin", 0.0, None, 50] == pytest.approx(0.98)
    assert value["decay", 0.5, None, 50] == pytest.approx(1 - softmax(-0.5 * np.arange(50))[0])
    assert value["logarithmic", 0.1, None, 50] == pytest.approx(0.1)
    assert value["uniform", None, "independent", 50] == pytest.approx(0.14)
    assert value["peaked", None, "alike", 50] == pytest.approx(0.1)


def test_no_two_sinks_look_alike(small):
    left = shapes.draw_sinks(made("spectra_sinks", small)).axes[0]
    looks = [(line.get_linestyle(), line._dash_pattern, line.get_marker()) for line in left.get_lines()]
    assert len(looks) == 6 and all(looks.count(look) == 1 for look in looks)


def test_fits_have_every_ladder_and_the_table_names_its_units(small):
    frame = made("spectra_fits", small)
    assert len(frame) == 4 * 4 * 2 and np.isfinite(frame.select_dtypes("number").to_numpy()).all()
    assert "KL on 16 windows" in fits.build(frame).columns and "in nats" in fits.caption_table(frame)
    assert set(made("spectra_shapes", small)["target"]) == set(spectra.shapes(48))


def test_ranks_and_storage():
    ranks = {(r["beta"], r["n"]): r["rank"] for r in fits.ranks((8, 16), (1.0, 2.0, -1.0), (1e-12,))}
    assert [ranks[1.0, 16], ranks[2.0, 16]] == [2, 3] and ranks[-1.0, 8] < ranks[-1.0, 16]
    errors = [row["error"] for row in fits.storage((64, 2**18), 4) if row["dtype"] == "bfloat16"]
    assert max(errors) < 0.05 and len(errors) == 2 and all(map(math.isfinite, errors))


@pytest.mark.parametrize(("modes", "alpha", "beta", "shift"), [(1, -6, 0, 0), (32, 6, 6, 3), (4, 0, 0, 1)])
def test_the_sliders_reach_no_error(modes, alpha, beta, shift):
    shapes.explore(64, modes, alpha, beta, shift)
