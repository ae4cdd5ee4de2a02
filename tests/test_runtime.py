"""Seeds, devices, threads, heartbeats and provenance."""

import json
import math
import os
import re
import subprocess
import sys

import pytest
import torch

from attention_priors import runtime


def test_a_stream_is_named_not_numbered() -> None:
    """No call before it changes a stream, and no two names share one."""
    first = torch.rand(4, generator=runtime.generator(0, "batches"))
    torch.manual_seed(99), torch.rand(10), runtime.generator(1, "other")
    assert torch.equal(torch.rand(4, generator=runtime.generator(0, "batches")), first)
    seeds = [runtime.seed_for(seed, name) for seed in range(20) for name in ("a", "b", "init/bam", "passkey/1")]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**63 for seed in seeds)
    assert runtime.seed_for(1, "1/x") != runtime.seed_for(11, "/x")


def test_seeds_are_what_they_always_were() -> None:
    """Written down once: a change here would change every result. First 8 bytes of SHA-256("0/init"), halved."""
    assert runtime.seed_for(0, "init") == SEED
    code = "from attention_priors import runtime; print(runtime.seed_for(0, 'init'))"
    env = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout) == SEED


SEED = 1519069808562059438


def test_devices(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert runtime.device("auto") == runtime.device("cpu") == torch.device("cpu")
    with pytest.raises(ValueError, match=r"device 'cuda' asked for, but .* use device 'cpu' or 'auto'"):
        runtime.device("cuda")
    with pytest.raises(ValueError, match="unknown device 'cudda'; use 'auto'") as caught:
        runtime.device("cudda")
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert runtime.device("auto").type == "cuda"


def test_threads_and_determinism() -> None:
    before, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        runtime.configure(1)
        assert torch.get_num_threads() == 1 and torch.are_deterministic_algorithms_enabled()
        assert not torch.utils.deterministic.fill_uninitialized_memory
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(exact)
        torch.utils.deterministic.fill_uninitialized_memory = True
    with pytest.raises(ValueError, match="threads = 0"):
        runtime.configure(0)


class Clock:
    """Seconds that pass only where a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_heartbeats_every_fifteen_seconds(monkeypatch, capsys) -> None:
    clock = Clock()
    monkeypatch.setattr(runtime, "time", clock)
    monkeypatch.setenv("ATTENTION_PRIORS_HEADLESS", "1")
    monkeypatch.delenv("ATTENTION_PRIORS_PROGRESS", raising=False)
    seen = []
    for item in runtime.progress(range(8), "training"):
        seen.append(item)
        clock.now += 10.0
    lines = capsys.readouterr().err.splitlines()
    assert seen == list(range(8))
    assert lines[0] == "[training] 2/8 after 20 s, about 60 s left"
    assert [re.search(r"\] (\d)/8", line)[1] for line in lines] == ["2", "4", "6", "8"]


def test_heartbeats_without_an_end_and_to_the_pipelines_file(monkeypatch, tmp_path, capsys) -> None:
    clock, path = Clock(), tmp_path / "progress"
    monkeypatch.setattr(runtime, "time", clock)
    monkeypatch.setenv("ATTENTION_PRIORS_HEADLESS", "1")
    monkeypatch.setenv("ATTENTION_PRIORS_PROGRESS", str(path))
    for _ in runtime.progress(iter("ab"), "reading"):
        clock.now += 16.0
    assert path.read_text() == "[reading] 1 after 16 s\n[reading] 2 after 32 s\n"
    assert capsys.readouterr().err == ""


def test_nothing_to_do_says_nothing(capsys) -> None:
    assert list(runtime.progress([], "nothing")) == [] and capsys.readouterr().err == ""


def test_provenance_is_plain_and_names_no_place() -> None:
    found = runtime.provenance()
    text = json.dumps(found, allow_nan=False)
    assert found["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert {"python", "processor", "cores", "threads", "device", "commit"} <= set(found)
    home = os.path.expanduser("~")
    assert (home == "/" or home not in text) and os.uname().nodename not in text and os.getcwd() not in text
    assert math.isfinite(found["threads"]) and re.fullmatch(r"[0-9a-f]{40}", found["commit"] or "0" * 40)


def test_determinism_is_asked_for_without_the_compiler():
    """torch imports its compiler for one of the two ways to ask, which costs each process two seconds."""
    code = (
        "import sys, torch; from attention_priors import runtime; runtime.configure(1); "
        "print(torch.are_deterministic_algorithms_enabled(), 'torch._inductor' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
