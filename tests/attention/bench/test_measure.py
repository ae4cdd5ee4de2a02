"""What is measured of a call is a ratio of two that take turns."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from attention_priors.commands import bench as bench
from attention_priors.experiments import measure


@pytest.mark.parametrize("backward", ["0", "1"])
def test_a_call_with_the_prior_inside_is_held_against_one_without(backward):
    found = measure.MEASURES["composite_call"]("256", backward, repeats=3)
    assert len(found["all_ratios"]) == 3 and sorted(found["all_ratios"])[1] == found["value"] > 0
    assert found["seconds"] > 0


def test_every_part_is_measured_without_a_gpu(monkeypatch, tmp_path, capsys):
    """Each measurement is replaced by numbers; what is committed is none here."""
    found = {name: 1.0 for name in ("seconds", "peak_bytes")} | {"all_ratios": [1.0, 1.0, 1.0]}
    values = {"training_run": {"steps": 1, "loss": 0.0, "accuracy": 1.0}}
    monkeypatch.setattr(bench, "measured", lambda name, *_, **__: found | {"value": values.get(name, 1.0)})
    assert bench.main(["--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert all(part in said for part in ("training step", "passkey prompt", "in chunks", "FlexAttention", "not run"))


@pytest.mark.slow
def test_a_text_of_64000_tokens_is_read_in_chunks_within_300_megabytes():
    """The peak of a process of its own, beyond what Python and torch take; one round, no matter how fast."""
    found = bench.measured("chunked_prompt", "64000", "1", threads=1)
    assert found["peak_bytes"] < 300e6
    short = bench.measured("chunked_prompt", "8000", "1", threads=1)
    assert found["value"] == short["value"], "what stays does not grow"


def test_the_work_of_reading_in_chunks_grows_with_the_text_alone():
    def operations(length: int) -> int:
        with FlopCounterMode(display=False) as counter:
            measure.chunked_prompt(str(length), repeats="1")
        return counter.get_total_flops()

    short, middle, long = map(operations, (2000, 4000, 8000))
    assert long - middle == pytest.approx(2 * (middle - short), rel=0.06) and long < 4.2 * short
