"""The benchmark of the kernels from end to end on a CPU, at sizes for the interpreter: what it measures is void."""

import json
import subprocess
import sys

import pandas as pd

from attention_priors.attention.bench import drawn, kernels

OURS = ("SDPA flash, no bias", "ours, learned prior and SSMax", "ours, free table")
OTHERS = ("SDPA, bias in memory", "ours, no bias")


def steps():
    yield {"part": "training", "method": "bam-ssmax", "pass": "step", "milliseconds": 1.0}


def plan(**changes: object) -> kernels.Plan:
    given = {
        "device": "cpu",
        "drawn": 4,
        "processes": 3,
        "tokens": 32,
        "prefill": ((OURS, 16, (32,)), (OTHERS, 16, (17,)), (("SDPA cuDNN, no bias",), 16, (32,))),
        "decode": (70,),
        "local": 32,
        "training": (("bam-ssmax", steps),),
    }
    return kernels.Plan(**given | changes)


def test_every_part_is_measured_checked_and_written(tmp_path, capsys):
    assert kernels.run(tmp_path, plan()) == 0
    folder = tmp_path / "gpu" / "metrics"
    speed, goals, cases = (pd.read_csv(folder / f"gpu_{name}.csv") for name in ("speed", "goals", "cases"))
    assert set(speed["part"]) == {"decode", "prefill", "local", "training"}
    assert {*OURS, *OTHERS} <= set(speed["method"]) and speed["commit"].notna().all()
    failed = speed[speed["milliseconds"].isna()]
    assert failed["method"].tolist() == ["SDPA cuDNN, no bias"] and failed["note"].str.contains("Error").all()
    assert set(cases["backend"]) == {"reference", "sdpa", "triton"} and (cases["cases"] == cases["right"]).all()
    assert (goals["said"] == "pass").sum() >= 1
    said = capsys.readouterr().out
    assert "left out: nothing" in said and "a training step of BAM-SSMax" in said
    assert json.loads((folder / "gpu_speed.json").read_text())["profile"] == "gpu"


def test_a_wrong_kernel_stops_everything_before_a_time_is_printed(tmp_path, capsys, monkeypatch):
    right = kernels.attention
    monkeypatch.setattr(kernels, "attention", lambda *x, **y: right(*x, **y) * (1.1 if y["backend"] == "triton" else 1))
    assert kernels.run(tmp_path, plan(drawn=0)) == 1
    said = capsys.readouterr().out
    assert "wrong: out in torch.float32 at width 16 has a relative error of 1.0e-01" in said and " ms" not in said


def test_a_wrong_case_is_named_with_its_numbers(tmp_path, capsys, monkeypatch):
    case = {"backend": "triton", "case": {"seed": 3, "width": 48}, "wrong": ["q is off by 1.0e+00, allowed 1.0e-05"]}
    monkeypatch.setattr(drawn, "rows", lambda *given: [case, case | {"wrong": []}])
    assert kernels.run(tmp_path, plan()) == 1
    said = capsys.readouterr().out
    assert "wrong: triton {'seed': 3, 'width': 48}: q is off by 1.0e+00" in said and " ms" not in said
    found = pd.read_csv(tmp_path / "gpu" / "metrics" / "gpu_cases.csv")
    assert found[["cases", "right"]].to_numpy().tolist() == [[2, 1]]


def test_a_process_that_breaks_off_is_a_wrong_case(monkeypatch):
    """What it had found by then counts, and nobody takes it for left out."""

    def broken(backend: str, seed: int, device: str, seconds: float, cases: int, folder: str) -> subprocess.Popen[str]:
        line = json.dumps({"backend": backend, "case": {"seed": seed}, "wrong": []})
        path = f"{folder}/{seed}.jsonl"
        script = f"print({line!r}, file=open({path!r}, 'w')); print('illegal memory access'); exit({seed})"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen([sys.executable, "-c", script], **pipes)

    monkeypatch.setattr(drawn, "_start", broken)
    found = drawn.rows("cpu", 1, 3)
    assert [row["backend"] for row in found if not row["wrong"]] == ["reference", "sdpa", "triton"]
    assert [row["wrong"] for row in found if row["wrong"]] == [
        [f"its process ended with {status}: illegal memory access"] for status in (1, 2)
    ]
