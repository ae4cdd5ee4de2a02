"""Rounding of the key-linear slope: exact where it must be, wrong where bf16 has no such number."""

import math

import numpy as np
import pytest

from attention_priors.theory import key_slope as theory


def test_bf16_has_256_and_not_257():
    assert theory.rounded([256, 257, 258], "bf16").tolist() == [256, 256, 258]
    assert theory.rounded([2048, 2049], "fp16").tolist() == [2048, 2048]
    with pytest.raises(ValueError, match="dtype = 'fp8'"):
        theory.rounded([1], "fp8")


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_one_coordinate_is_exact_up_to_the_last_integer_and_two_up_to_its_square(dtype):
    last = theory.INTEGERS[dtype]
    for coordinates, exact, beyond in (
        (theory.key_slope, last + 1, 2 * last),
        (theory.split_key_slope, 16_384, None),
    ):
        assert theory.misplaced(coordinates(0.25, exact, dtype), 0.25) < 1e-12
        if beyond:
            assert theory.misplaced(coordinates(0.25, beyond, dtype), 0.25) > 0.01


def test_two_coordinates_add_up_to_the_slope():
    assert np.array_equal(theory.split_key_slope(0.5, 65_536, "bf16").sum(0), 0.5 * np.arange(65_536))


def test_an_overflow_has_no_weights():
    assert math.isnan(theory.misplaced(theory.key_slope(0.5, 140_000, "fp16"), 0.5))


def test_total_variation_is_the_weight_on_the_wrong_keys():
    assert theory.total_variation([1, 0], [0, 1]) == 1.0
