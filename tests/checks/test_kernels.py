"""Claims of notebook 08: verdicts, both answers of the empirical ones, and how intervals over rounds are found."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.bench import interpreted
from attention_priors.checks import CHECKS, belonging, kernels
from attention_priors.checks.printed import table

IDS = {"X-17", "X-12", "BAM-TAB6", "BAM-C16"}
ENCODINGS = ("nope", "alibi", "bam", "nope-ssmax", "alibi-ssmax", "bam-ssmax")


def times(**ratio: float) -> dict[str, pd.DataFrame]:
    """Rounds with NoPE around 10 ms and the others at a ratio to it."""
    draw = np.random.default_rng(0)
    rows = [
        {"encoding": name, "round": turn, "milliseconds": 10 * ratio.get(name.replace("-", "_"), 1.0) * noise}
        for turn, base in enumerate(draw.uniform(0.8, 1.4, 11))
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


def test_the_notebook_owns_these_ids() -> None:
    assert set(belonging("fused_kernel")) == IDS


def test_one_interface_and_its_kernel() -> None:
    check = CHECKS["X-17"]
    assert check.decide().verdict == ("verified" if interpreted.AVAILABLE else "inconclusive")
    assert len(check.printed) == 5 + interpreted.AVAILABLE


@pytest.mark.parametrize(
    ("product", "added", "keys", "outcome"),
    [(0.1, 1e-9, 4096, "agrees"), (1e-3, 1e-9, 4096, "disagrees"), (0.1, 1e-3, 4096, "disagrees"),
     (0.1, 1e-9, 256, "undecided")],
)  # fmt: skip
def test_low_precision(product: float, added: float, keys: int, outcome: str) -> None:
    check, made = CHECKS["X-12"], precision(product, added, keys)
    assert check.judge(made).outcome == outcome
    if outcome == "agrees":
        assert check.judge(check.flip(made)).outcome == "disagrees"


@pytest.mark.parametrize(("ratio", "outcome"), [(1.0, "agrees"), (1.5, "disagrees"), (1.05, "undecided")])
def test_what_bam_costs(ratio: float, outcome: str) -> None:
    check, made = CHECKS["BAM-C16"], times(bam=ratio, bam_ssmax=ratio)
    assert check.judge(made).outcome == outcome
    assert check.judge(check.flip(made)).outcome == "disagrees"


def test_table_6_agrees_with_itself_and_with_nothing_slower() -> None:
    printed = table("bam", 6)
    printed = printed[printed["model"] == "120M"].set_index("encoding")["milliseconds"]
    made = times(**{name.replace("-", "_"): printed[name] / printed["nope"] for name in ENCODINGS})
    check = CHECKS["BAM-TAB6"]
    assert check.judge(made).outcome == "agrees"
    slower = check.judge(check.flip(made))
    assert slower.outcome == "disagrees" and slower.measured == 2
    noisy = made["kernel_inference"].assign(milliseconds=lambda x: x["milliseconds"] * np.where(x["round"] % 2, 3, 1))
    only_nope = noisy["milliseconds"].where(noisy["encoding"] == "nope", made["kernel_inference"]["milliseconds"])
    assert check.judge({"kernel_inference": noisy.assign(milliseconds=only_nope)}).outcome == "undecided"


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    """Distribution-free, from order statistics: of 11 rounds the second and the tenth."""
    frame = pd.DataFrame({"round": range(11), "milliseconds": np.arange(1.0, 12.0)})
    both = pd.concat([frame.assign(encoding="x"), frame.assign(encoding="y", milliseconds=1.0)])
    assert kernels.ratios(both, "x", "y") == (6.0, 2.0, 10.0)
    draw, held = np.random.default_rng(1), 0
    for _ in range(300):
        both.loc[both["encoding"] == "x", "milliseconds"] = draw.exponential(size=11)
        _, low, high = kernels.ratios(both, "x", "y")
        held += low <= np.log(2) <= high
    assert held / 300 > 0.95
