"""Two processes of torchrun, each with half of every batch, give the run of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attention_priors import runtime
from attention_priors.config import ModelConfig, Recipe
from attention_priors.model import Transformer
from attention_priors.tasks import passkey
from attention_priors.training import Run, RunSpec, fit

WORKER = """
import os, sys
import torch
import torch.distributed as dist
from attention_priors.training import Run, RunSpec

folder, meeting, text = sys.argv[1:]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=int(os.environ["RANK"]), world_size=2)
run = Run(RunSpec.model_validate_json(text), folder, torch.device("cpu"))
record = run.train()
print(record["loss"])
dist.barrier()  # a process that leaves while the other still talks to it can be aborted by gloo
dist.destroy_process_group()
"""


def spec(batch: int = 4) -> RunSpec:
    # RAdam's first steps follow the gradient itself; AdamW's would blow the rounding of a tiny one up to a full step.
    recipe = Recipe(name="test", optimizer="radam", rate=0.05, prior_rate=1.0, steps=3, batch=batch, length=80,
                    warmup=0, final_rate=0.1, weight_decay=0.1, betas=(0.9, 0.95), clip=1.0, text_weight=0.1,
                    checkpoint_every=2)  # fmt: skip
    sizes = {"width": 16, "layers": 2, "heads": 2, "hidden": 16}
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding="bam-ssmax", **sizes)
    return RunSpec(task="passkey", model=model, recipe=recipe, seed=0)


@pytest.mark.skipif(sys.platform == "win32", reason="gloo over files")
def test_two_processes_give_the_loss_and_the_model_of_one(tmp_path: Path) -> None:
    made = spec()
    alone = Run(made, tmp_path / "alone", torch.device("cpu"))
    record = alone.train()
    command = [sys.executable, "-c", WORKER, str(tmp_path / "pair"), str(tmp_path / "meeting"), made.model_dump_json()]
    workers = [
        subprocess.Popen(command, env=os.environ | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    try:
        shown = [worker.communicate(timeout=240)[0].splitlines()[-1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0]
    pair = Run(made, tmp_path / "pair", torch.device("cpu"))
    assert pair.finished and shown[0] == shown[1] == str(pair.record()["loss"]), "all processes report one loss"
    assert pair.record()["loss"] == pytest.approx(record["loss"], abs=2e-5)
    one, two = (load_file(run.path / "model.safetensors") for run in (alone, pair))
    start = fresh(made)
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, rtol=1e-4, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")
    assert any((one[name] - start[name]).abs().max() > 1e-3 for name in one), "three steps moved nothing"


def fresh(made: RunSpec) -> dict[str, torch.Tensor]:
    torch.manual_seed(runtime.seed_for(made.seed, f"init/{made.model.encoding}"))
    return Transformer(made.model).state_dict()


def test_a_batch_that_cannot_be_shared_is_refused(monkeypatch) -> None:
    made = spec(batch=3)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.nn.parallel, "DistributedDataParallel", lambda model, **_: model)
    steps = fit(Transformer(made.model), lambda step: None, made.recipe, torch.device("cpu"))
    with pytest.raises(ValueError, match="batch = 3 is not a multiple of 2 processes"):
        next(steps)
