"""Exponentials of generators against closed forms, and what has a generator; the laws of notebook 02 judge the rest."""

import math

import numpy as np
import pytest
import torch

from attention_priors.theory import groups
from attention_priors.theory.groups import Block
from refusals import refused

FAMILIES = [Block(0.0), Block(-0.3), Block(0.0, 0.7), Block(-0.1, 2.0), Block(0.0, size=2), Block(-0.2, size=4),
            Block(-0.2, 0.5, 3)]  # fmt: skip


@pytest.mark.parametrize("block", FAMILIES)
def test_the_closed_form_is_the_exponential_of_the_generator(block):
    t = np.array([-1.3, 0.0, 0.5, 2.0])
    assert np.allclose(block.group(t), groups.exponential(block.generator(), t), atol=1e-13)
    assert block.group(t).shape == (4, block.width, block.width)


@pytest.mark.parametrize(
    ("scores", "answer"),
    [
        (lambda t, s: (t - s) ** 2.0, True),
        (lambda t, s: (t - s) ** 1.999, False),
        (lambda t, s: 0.8 ** (t - s) * math.cos(t - s), True),
        (lambda t, s: math.cos(t), False),  # the lag alone may be seen
        (lambda t, s: float(t == s), False),  # a shift without an inverse
        (lambda t, s: abs(t - s - 2.3) ** 3, False),  # a kink at the first lags
        (lambda t, s: Block(-0.1, 2.0).group(t - s), True),
        (lambda t, s: Block(-0.1, 2.0).group(min(t - s, 12)), False),
    ],
)
def test_what_a_generator_can_tell(scores, answer):
    assert groups.admissible(scores) is answer


DTYPES = [("fp16", torch.float16), ("bf16", torch.bfloat16), ("fp32", torch.float32)]


@pytest.mark.parametrize(("dtype", "torch_dtype"), DTYPES)
def test_overflow_is_where_the_dtype_overflows(dtype, torch_dtype):
    for rate in (-math.log(2.0), -0.03):
        first = groups.overflow_position(rate, dtype)
        grown = torch.tensor([-rate * (first - 1), -rate * first], dtype=torch.float64).exp()
        assert grown[0] <= torch.finfo(torch_dtype).max < grown[1]


test_bad_input_is_named = refused(
    (lambda: Block(math.nan), "rate = nan"),
    (lambda: Block(0.0, 1.0, 0), "size = 0"),
    (lambda: groups.exponential([[1.0, 2.0]], 1.0), r"shape \[1, 2\]"),
    (lambda: groups.exponential([[1.0]], math.inf), "t = inf"),
    (lambda: groups.exponential([[math.nan]], 1.0), "generator"),
    (lambda: groups.realise(np.array([1.0, 0, 0, 0, 0])[:, None, None]), "no real principal logarithm"),
    (lambda: groups.overflow_position(0.0, "fp16"), "rate = 0"),
    (lambda: groups.overflow_position(-1.0, "fp8"), "dtype = 'fp8'"),
)
