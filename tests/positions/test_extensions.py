"""Laws of the extensions: the identity at factor 1, what each does to the slowest and the fastest plane, refusals."""

import numpy as np
import pytest

from attention_priors.positions import extensions as ext
from attention_priors.positions.rotary import Spectrum, rope
from refusals import refused

LLAMA = rope(128)
TRAINED = 2048
BY_FACTOR = {
    "interpolate": lambda spectrum, factor: ext.interpolate(spectrum, factor),
    "dynamic_linear": lambda spectrum, factor: ext.dynamic_linear(spectrum, round(TRAINED * factor), TRAINED),
    "ntk": lambda spectrum, factor: ext.ntk(spectrum, factor),
    "dynamic_ntk": lambda spectrum, factor: ext.dynamic_ntk(spectrum, 1.0, round(TRAINED * factor), TRAINED),
    "rebase": lambda spectrum, factor: ext.rebase(spectrum, factor),
    "partial_ntk": lambda spectrum, factor: ext.partial_ntk(spectrum, factor, TRAINED),
    "yarn": lambda spectrum, factor: ext.yarn(spectrum, factor, TRAINED),
    "llama3": lambda spectrum, factor: ext.llama3(spectrum, factor, TRAINED),
}


@pytest.mark.parametrize("name", BY_FACTOR)
@pytest.mark.parametrize("width", [4, 64, 128])
def test_factor_one_is_the_identity_bit_for_bit(name, width):
    assert BY_FACTOR[name](rope(width), 1.0) == rope(width)


@pytest.mark.parametrize("name", BY_FACTOR)
def test_frequencies_fall_are_never_raised_and_never_below_interpolation(name):
    for factor in (1.5, 2.0, 4.0, 8.0, 16.0):
        found = np.array(BY_FACTOR[name](LLAMA, factor).omega)
        before = np.array(LLAMA.omega)
        assert (np.diff(found) < 0).all() and (found <= before * (1 + 1e-15)).all()
        assert (found >= before / factor * (1 - 1e-12)).all() and (found < before).any()


@pytest.mark.parametrize("name", BY_FACTOR)
def test_the_fastest_plane_is_left_alone_except_by_interpolation(name):
    linear = name in ("interpolate", "dynamic_linear")
    assert BY_FACTOR[name](LLAMA, 8.0).omega[0] == (1 / 8 if linear else 1.0)


def test_the_slowest_plane_is_divided_by_the_factor_except_by_a_longer_base():
    for name in BY_FACTOR:
        ratio = BY_FACTOR[name](LLAMA, 8.0).omega[-1] / LLAMA.omega[-1]
        assert ratio == pytest.approx(8 ** (-126 / 128) if name == "rebase" else 1 / 8, rel=1e-12)


def test_dynamic_forms_do_nothing_up_to_the_trained_length():
    for length in (1, TRAINED // 2, TRAINED):
        assert ext.dynamic_linear(LLAMA, length, TRAINED) == LLAMA
        assert ext.dynamic_ntk(LLAMA, 4.0, length, TRAINED) == LLAMA
    assert ext.dynamic_linear(LLAMA, 3 * TRAINED, TRAINED) == ext.interpolate(LLAMA, 3.0)
    assert ext.dynamic_ntk(LLAMA, 4.0, 2 * TRAINED, TRAINED) == ext.ntk(LLAMA, 5.0)


def test_plane_of_inverts_turns():
    for i, turned in enumerate(ext.turns(LLAMA, TRAINED)):
        assert ext.plane_of(LLAMA, turned, TRAINED) == pytest.approx(i, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in BY_FACTOR if "dynamic" not in name])
def test_a_factor_below_one_is_refused(name):
    for factor in (0.5, 0.0, -2.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="factor = "):
            BY_FACTOR[name](LLAMA, factor)


test_other_refusals = refused(
    (lambda: ext.dynamic_ntk(LLAMA, 0.5, 10, 10), "factor = 0.5"),
    (lambda: ext.dynamic_linear(LLAMA, 0, 10), "length = 0"),
    (lambda: ext.dynamic_linear(LLAMA, 10, 0), "trained = 0"),
    (lambda: ext.ntk(rope(2), 2.0), "1 plane"),
    (lambda: ext.yarn(LLAMA, 2.0, TRAINED, fast=1, slow=2), "slow = 2"),
    (lambda: ext.llama3(LLAMA, 2.0, TRAINED, slow=0), "slow = 0"),
    (lambda: ext.yarn(rope(2), 2.0, TRAINED), "at least 2"),
    (lambda: ext.partial_ntk(Spectrum((1.0, 0.5, 0.3)), 2.0, TRAINED), "not geometric"),
    (lambda: ext.yarn(LLAMA, 2.0, 0), "trained = 0"),
)
