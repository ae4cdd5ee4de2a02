"""xPos: the decay as published, its limits, and the range in which the factors exist; its score is a law."""

import math
from dataclasses import replace

import pytest
import torch

from attention_priors.positions.extensions import yarn
from attention_priors.positions.rotary import DampedRotary, Rotary, Spectrum, rope, xpos
from refusals import refused


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


Q, K = random(1, 2, 5, 8), random(1, 2, 5, 8)
HERE = torch.tensor([0, 3, 10, 500, 1000])


def scores(module, positions):
    q, k = module(Q, K, positions, positions)
    return q @ k.mT


def test_the_decay_of_the_paper():
    """ζ_i^(1/512) with ζ_i = (2i/d + .4) / 1.4: .2857 for the fastest plane of every head."""
    decay = xpos(8).decay
    assert [math.exp(-512 * rate) for rate in decay] == pytest.approx([0.4 / 1.4, 0.65 / 1.4, 0.9 / 1.4, 1.15 / 1.4])


def test_without_decay_it_is_rope():
    plain = Rotary(rope(8))(Q, K, HERE, HERE)
    for found, wanted in zip(DampedRotary(rope(8))(Q, K, HERE, HERE), plain, strict=True):
        assert torch.equal(found, wanted)


def test_the_temperature_divides_the_logits():
    spectrum = yarn(rope(8), 4.0, 64)
    plain = scores(Rotary(replace(spectrum, temperature=1.0)), HERE)
    torch.testing.assert_close(scores(DampedRotary(spectrum), HERE), plain * (0.1 * math.log(4) + 1) ** 2)


test_refusals = refused(
    (lambda: xpos(3), "width = 3"),
    (lambda: xpos(8, gamma=0.0), "gamma = 0.0"),
    (lambda: xpos(8, scale=-1.0), "scale = -1.0"),
    (lambda: DampedRotary(Spectrum((1.0, 0.1), decay=(0.1,))), "2 finite rates"),
    (lambda: DampedRotary(Spectrum((1.0,), decay=(-0.1,))), "at least 0"),
    (lambda: DampedRotary(Spectrum((1.0,), temperature=0.0)), "temperature = 0.0"),
    (lambda: DampedRotary(xpos(8))(Q.float(), K.float(), 200 * HERE, 200 * HERE), "overflows torch.float32"),
)
