"""Notebook 08: what is missing without Triton, intervals over rounds, times of a CPU against a GPU's."""

import numpy as np
import pytest

from attention_priors.attention.bench import interpreted
from attention_priors.checks import CHECKS
from attention_priors.checks.attention import kernel
from checks.committed import frame, frames, outcomes


@pytest.mark.parametrize(("name", "kernels"), [("X-17", 1), ("BAM-D3", 2)])
def test_without_triton_the_sentences_about_kernels_are_missing_and_that_is_said(name, kernels) -> None:
    check = CHECKS[name]
    assert bool(check.missing) != interpreted.AVAILABLE
    assert len(check.sentences) == {"X-17": 6, "BAM-D3": 4}[name] + kernels * interpreted.AVAILABLE


@pytest.mark.parametrize(("longest", "expected"), [(None, "agrees"), (256, "undecided")])
def test_low_precision_is_decided_where_integers_are_no_longer_exact(longest, expected) -> None:
    rows = frame("kernel_low_precision")
    assert set(outcomes("X-12", {"kernel_low_precision": rows if longest is None else rows.assign(keys=longest)})) == {
        expected
    }


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    """Distribution-free, from order statistics: of 11 rounds the second and the tenth."""
    found = kernel.median(np.arange(1.0, 12.0))
    assert (found.value, found.interval(0.95), found.interval(0.999)) == (6.0, (2.0, 10.0), (1.0, 11.0))
    assert kernel.median(np.arange(5.0)).interval(0.95) == (-np.inf, np.inf)
    draw = np.random.default_rng(1)
    intervals = [kernel.median(draw.exponential(size=11)).interval(0.95) for _ in range(300)]
    assert np.mean([low <= np.log(2) <= high for low, high in intervals]) > 0.95


@pytest.mark.beyond
def test_times_of_a_cpu_cannot_be_held_against_a_gpu_s() -> None:
    given = frames("BAM-C16")
    assert set(outcomes("BAM-C16", given)) == {"not testable here"}
    assert set(outcomes("BAM-C16", {"kernel_inference": given["kernel_inference"].assign(device="cuda")})) == {
        "disagrees"
    }
