"""Claims of notebook 08: verdicts, both answers of the empirical ones, and how intervals over rounds are found."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.attention.bench import interpreted
from attention_priors.checks import CHECKS, belonging
from attention_priors.checks.attention import kernel
from attention_priors.checks.printed import table

IDS = {"X-17", "X-12", "BAM-TAB6", "BAM-C16"}
ENCODINGS = ("nope", "alibi", "bam", "nope-ssmax", "alibi-ssmax", "bam-ssmax")


def times(rounds: int = 25, **ratio: float) -> dict[str, pd.DataFrame]:
    """Rounds with NoPE around 10 ms and the others at a ratio to it."""
    draw = np.random.default_rng(0)
    rows = [
        {"encoding": name, "round": turn, "milliseconds": 10 * ratio.get(name.replace("-", "_"), 1.0) * noise}
        for turn, base in enumerate(draw.uniform(0.8, 1.4, rounds))
        for name, noise in zip(ENCODINGS, base * draw.uniform(0.99, 1.01, 6), strict=True)
    ]
    return {"kernel_inference": pd.DataFrame(rows)}


def precision(product: float, added: float, keys: int = 4096) -> dict[str, pd.DataFrame]:
    rows = [
        {"carrier": carrier, "keys": keys, "how": how, "seed": seed, "variation": value}
        for carrier in ("key slope", "Jordan block", "Fourier")
        for seed in (0, 1)
        for how, value in (("content", 1e-3), ("product", product), ("split", 0.0), ("added", added))
    ]
    return {"kernel_low_precision": pd.DataFrame(rows)}


def outcome(name: str, frames: dict[str, pd.DataFrame]) -> str:
    return CHECKS[name].verdict("cpu", frames).outcome


def test_the_notebook_owns_these_ids() -> None:
    assert set(belonging("fused_kernel")) == IDS


def test_one_interface_and_its_kernel() -> None:
    check = CHECKS["X-17"]
    assert check.verdict("theory").verdict == ("verified" if interpreted.AVAILABLE else "inconclusive")
    assert len(check.sentences) == 5 + interpreted.AVAILABLE


@pytest.mark.parametrize(
    ("product", "added", "keys", "found"),
    [
        (0.1, 1e-9, 4096, "agrees"),
        (1e-3, 1e-9, 4096, "disagrees"),
        (0.1, 1e-3, 4096, "disagrees"),
        (0.1, 1e-9, 256, "undecided"),
    ],
)
def test_low_precision(product: float, added: float, keys: int, found: str) -> None:
    assert outcome("X-12", precision(product, added, keys)) == found


@pytest.mark.parametrize(
    ("rounds", "ratio", "found"),
    [(25, 1.0, "agrees"), (25, 1.5, "disagrees"), (25, 1.05, "undecided"), (4, 1.5, "undecided")],
)
def test_what_bam_costs(rounds: int, ratio: float, found: str) -> None:
    assert outcome("BAM-C16", times(rounds, bam=ratio, bam_ssmax=ratio)) == found


def test_table_6_agrees_with_itself_and_with_nothing_slower() -> None:
    printed = table("bam", 6)
    printed = printed[printed["model"] == "120M"].set_index("encoding")["milliseconds"]
    ratios = {name.replace("-", "_"): printed[name] / printed["nope"] for name in ENCODINGS}
    made, slower = times(**ratios), times(**ratios | {name: 4 * ratios[name] for name in ("bam", "bam_ssmax")})
    assert outcome("BAM-TAB6", made) == "agrees"
    assert CHECKS["BAM-TAB6"].summary(slower).startswith("8 of 10 statements agree")
    assert outcome("BAM-TAB6", slower) == "disagrees"
    noisy = made["kernel_inference"].assign(milliseconds=lambda x: x["milliseconds"] * np.where(x["round"] % 2, 3, 1))
    only_nope = noisy["milliseconds"].where(noisy["encoding"] == "nope", made["kernel_inference"]["milliseconds"])
    assert outcome("BAM-TAB6", {"kernel_inference": noisy.assign(milliseconds=only_nope)}) == "undecided"


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    """Distribution-free, from order statistics: of 11 rounds the second and the tenth."""
    found = kernel.median(np.arange(1.0, 12.0))
    assert (found.value, found.interval(0.95), found.interval(0.999)) == (6.0, (2.0, 10.0), (1.0, 11.0))
    assert kernel.median(np.arange(5.0)).interval(0.95) == (-np.inf, np.inf)
    assert kernel.median(np.arange(6.0)).interval(0.95) == (0.0, 5.0)
    draw = np.random.default_rng(1)
    intervals = [kernel.median(draw.exponential(size=11)).interval(0.95) for _ in range(300)]
    assert np.mean([low <= np.log(2) <= high for low, high in intervals]) > 0.95


@pytest.mark.beyond
def test_times_of_a_cpu_cannot_be_held_against_a_gpu_s() -> None:
    made = times(bam=9.0)
    assert outcome("BAM-C16", made) == "not testable here"
    on_gpu = {name: frame.assign(device="cuda") for name, frame in made.items()}
    assert outcome("BAM-C16", on_gpu) == "disagrees"
