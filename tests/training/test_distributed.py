"""Two processes of torchrun, each with half of every batch or also of the model, give the run of one process."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from attention_priors import runtime
from attention_priors.model import Transformer
from attention_priors.training.runs import Run, RunSpec, sharding
from training.small import spec

CPU = torch.device("cpu")
STEPS, EVERY = 5, 2
WORKER = """
import os, signal, sys
import torch
import torch.distributed as dist
from attention_priors.training import runs as training
from attention_priors.training.runs import Run, RunSpec

folder, meeting, text, parallel, last = sys.argv[1:]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(os.environ["RANK"]), world_size=2)
run = Run(RunSpec.model_validate_json(text), folder, torch.device("cpu"))  # its key is that of the code unchanged
loss_of, calls = training.loss_of, 0


def dies(*arguments):
    global calls
    calls += 1
    if calls > int(last):
        os.kill(os.getpid(), signal.SIGKILL)
    return loss_of(*arguments)


if int(last):
    training.loss_of = dies
record = run.train(parallel=parallel)
print(record["loss"])
dist.barrier()  # a process that leaves while the other still talks to it can be aborted by gloo
dist.destroy_process_group()
"""


def small(encoding: str = "bam-ssmax", **changes: object) -> RunSpec:
    # RAdam's first steps follow the gradient itself; AdamW's would blow the rounding of a tiny one up to a full step.
    given = {"optimizer": "radam", "rate": 0.05, "prior_rate": 1.0, "steps": STEPS, "batch": 4}
    return spec(encoding, **given | changes)


def pair(folder: Path, made: RunSpec, parallel: str, last: int = 0) -> list[tuple[int, str]]:
    """Two processes train `made` in `folder`, and are killed in step `last` + 1; exit status and output of each."""
    meeting = folder.parent / f"meeting-{folder.name}-{last}"
    command = [sys.executable, "-c", WORKER, str(folder), str(meeting), made.model_dump_json(), parallel, str(last)]
    workers = [
        subprocess.Popen(command, env=os.environ | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        shown = [worker.communicate(timeout=240)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    return [(worker.returncode, text) for worker, text in zip(workers, shown, strict=True)]


def fresh(made: RunSpec) -> dict[str, torch.Tensor]:
    torch.manual_seed(runtime.seed_for(made.seed, f"init/{made.model.encoding}"))
    return Transformer(made.model).state_dict()


def agree(one: Run, other: Run) -> None:
    """The same losses, learned scalars and weights, up to the order of sums."""
    for kind in ("loss", "steps", "parameters"):
        assert other.record()[kind] == pytest.approx(one.record()[kind], abs=2e-5)
    for here, there in zip(one.record()["learned"], other.record()["learned"], strict=True):
        assert there == {name: pytest.approx(value, abs=2e-5) for name, value in here.items()}
    first, second = (load_file(run.path / "model.safetensors") for run in (one, other))
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-4, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")
    start = fresh(one.spec)
    assert any((first[name] - start[name]).abs().max() > 1e-3 for name in first), "training moved nothing"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = Run(small(), tmp_path_factory.mktemp("alone"), CPU)
    run.train()
    return run


windows = pytest.mark.skipif(sys.platform == "win32", reason="gloo over files")


@windows
def test_two_processes_give_the_loss_and_the_model_of_one(tmp_path, alone):
    (first, shown), (second, again) = pair(tmp_path / "pair", small(), "ddp")
    assert (first, second) == (0, 0)
    run = Run(small(), tmp_path / "pair", CPU)
    assert run.finished and shown == again == f"{run.record()['loss']}\n", "all processes report one loss"
    agree(alone, run)


@windows
def test_a_sharded_run_is_killed_and_goes_on_with_any_number_of_processes(tmp_path, alone):
    sharded, single = tmp_path / "sharded", tmp_path / "single"
    assert [status for status, _ in pair(sharded, small(), "fsdp", last=EVERY + 1)] == [-signal.SIGKILL] * 2
    run = Run(small(), sharded, CPU)
    saved = load_file(run.path / "checkpoint.safetensors")
    assert len(saved["history"]) == EVERY and not run.finished
    assert {name: value.shape for name, value in saved.items() if name.startswith("model.")} == {
        f"model.{name}": value.shape for name, value in fresh(small()).items()
    }, "a checkpoint holds full tensors"
    shutil.copytree(sharded, single)
    assert [status for status, _ in pair(sharded, small(), "fsdp")] == [0, 0]
    agree(alone, run)
    other = Run(small(), single, CPU)
    other.train()
    agree(alone, other)


@pytest.fixture
def group(tmp_path):
    """A process group of this process alone."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@windows
@pytest.mark.parametrize("encoding", ["bam-ssmax", "bam-shared-ssmax", "sinusoidal", "goat", "rope-bias"])
def test_every_parameter_is_divided(encoding, group):
    model = Transformer(small(encoding).model)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    sharding.shard(model)
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters()) and isinstance(model, FSDPModule)
    apart = encoding != "bam-shared-ssmax"  # blocks that share a prior are one unit with all else
    assert [isinstance(block, FSDPModule) for block in model.blocks] == [apart] * 2
    for name, value in model.state_dict().items():
        assert torch.equal(sharding.whole(value), before[name])
        assert torch.equal(sharding.whole(sharding.share(before[name], value)), before[name])


def test_what_cannot_be_sharded_says_what_to_do(tmp_path, group):
    run = Run(small(optimizer="muon"), tmp_path, CPU)
    with pytest.raises(ValueError, match=r"recipe 'test' .* Muon, .* use --parallel ddp, or .* adamw or radam$"):
        run.train(parallel="fsdp")
    assert not run.path.exists()


def test_sharding_needs_torchrun_and_a_known_name(tmp_path):
    run = Run(small(), tmp_path, CPU)
    with pytest.raises(ValueError, match="start them with torchrun"):
        run.train(parallel="fsdp")
    with pytest.raises(ValueError, match="unknown parallel 'tensor'; choose one of ddp, fsdp"):
        run.train(parallel="tensor")
