"""What the benchmarks compute from their measurements; the measurements themselves are no test."""

import pandas as pd
import pytest
import torch

from attention_priors import config, runtime
from attention_priors.attention import attention
from attention_priors.attention.bench import goals, kernels
from attention_priors.experiments import kernel_rows, times
from attention_priors.positions.priors import GeneralizedGaussian


def test_without_a_gpu_the_benchmark_says_so_and_succeeds(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert kernels.run(tmp_path) == 0
    assert "no CUDA device" in capsys.readouterr().out and not list(tmp_path.iterdir())


def test_goals_compare_the_best_of_theirs_with_ours():
    def row(part: str, method: str, milliseconds: float, **more: object) -> dict[str, object]:
        common = {"part": part, "method": method, "mode": "eager", "width": 128, "length": 8192, "pass": "forward"}
        return common | {"milliseconds": milliseconds} | more

    ours, memory = "ours, learned prior", "SDPA, bias in memory"
    frame = pd.DataFrame(
        [
            row("prefill", ours, 2.0),
            row("prefill", ours, 1.0, mode=goals.GRAPH),
            row("prefill", ours, 4.0, **{"pass": "backward"}),
            row("prefill", "SDPA flash, no bias", 2.4),
            row("prefill", memory, 60.0),
            row("prefill", memory, 50.0, mode="compiled"),
            row("prefill", memory, 10.0, mode="compiled", **{"pass": "backward"}),
            row("decode", "ours, formula", 0.3),
            row("decode", "SDPA, no bias", 0.1),
            row("prefill", "FlexAttention, frozen prior", float("nan"), note="out of memory"),
            row("training", "bam-ssmax", 41.0, **{"pass": "step"}),
        ]
    )
    found = goals.summary(frame).set_index("measure")
    assert len(found) == len(goals.GOALS)
    measured = found[found["said"] != "not measured"]
    assert measured["value"].to_dict() == pytest.approx(
        {
            "flash without bias over ours, forward, 8,192": 1.2,
            "bias in memory over ours, 8,192": 10.0,
            "decoding over SDPA without bias, 8,192, eager": 3.0,
            "a training step of BAM-SSMax, milliseconds": 41.0,
        }
    )
    assert measured["said"].tolist() == ["pass", "fail", "pass", "fail"]
    assert set(goals.summary(pd.DataFrame())["said"]) == {"not measured"}


def test_a_step_of_training_is_timed(tmp_path):
    [row] = times.training_step("bam-ssmax", "cpu", config.profile("smoke"))
    assert row["milliseconds"] > 0 and row["pass"] == "step"


def test_peak_counts_what_is_held_at_one_time():
    with times.Peak() as peak:
        x = torch.zeros(1000)
        for _ in range(5):
            y = x + 1
        del x, y
    assert peak.bytes in range(8000, 16001, 4000) and peak.held == 0


def test_kept_tiles_fall_with_length_and_rise_with_content():
    frame = pd.DataFrame(kernel_rows.tiles_kept((512, 4096), (2.0, 8.0), 2.0**-10))
    kept = frame[frame["prior"] == "ALiBi, 8 heads"].pivot(index="keys", columns="content", values="kept")
    assert kept.loc[4096, 2.0] < kept.loc[512, 2.0] and kept.loc[4096, 2.0] < kept.loc[4096, 8.0]
    assert (frame["kept"] <= 1).all() and (frame["kept"] > 0).all()


@pytest.mark.parametrize("queries", [12, 5])
def test_the_rival_with_a_bias_in_memory_gives_what_it_is_compared_with(queries):
    """A location, factors of the row on content and prior; the last queries of a longer text."""
    times.register()
    draw = runtime.generator(0, "rival")
    q, k, v = (torch.randn(1, 2, length, 8, generator=draw) for length in (queries, 12, 12))
    prior = GeneralizedGaussian(torch.tensor([-1.0, 0.3]), torch.tensor([0.7, -0.5]), torch.tensor([0.2, -0.4]))
    factors = {name: 1 + torch.rand(1, 2, queries, generator=draw) for name in ("logit_scale", "prior_scale")}
    rival, exact = (
        attention(q, k, v, prior=prior, offset=12 - queries, backend=name, **factors) for name in ("plain", "reference")
    )
    torch.testing.assert_close(rival, exact, rtol=1e-4, atol=1e-5)


def test_every_round_times_every_encoding():
    size = {"vocabulary": 11, "width": 16, "layers": 1, "heads": 2, "hidden": 16}
    rows = pd.DataFrame(times.forward_times(8, 3, size=size))
    assert rows.groupby("round")["encoding"].agg(list).tolist() == [list(times.ENCODINGS)] * 3
    assert (rows["milliseconds"] > 0).all()
