"""The files of a run: the model, and what an unfinished run needs to go on.

Under torchrun every process takes part in gathering them, the first one writes, and all read. They hold full tensors,
so that another number of processes can go on, sharded or not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from .. import store
from .sharding import share, together, whole

Optimizers = list[torch.optim.Optimizer]


def follows() -> bool:
    """True in the processes of torchrun that leave the writing of files to the first one."""
    return together() and dist.get_rank() > 0


def wait() -> None:
    """Until every process of torchrun is here, and with it the files that the first one wrote before."""
    if together():
        dist.barrier()


def readable(path: Path) -> bool:
    """Atomic writes leave no half file; one cut short by a disk or a copy is dropped and made again."""
    if not path.exists():
        return False
    try:
        with safe_open(path, "pt") as file:
            file.keys()
    except (SafetensorError, OSError):
        path.unlink(missing_ok=True)
        return False
    return True


def write_model(path: Path, model: nn.Module, meta: dict[str, str]) -> None:
    """The weights. One entry in `meta`: several are written in random order, and equal models should be equal files."""
    tensors = _gathered(model.state_dict().items())
    if not follows():
        store.write_bytes(path, save(tensors, metadata=meta))


def digest(model: nn.Module) -> str:
    """The sum of all weights, bit by bit."""
    weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}  # some layers share theirs
    return hashlib.sha256(save(weights)).hexdigest()


def halved(path: Path) -> bytes:
    """The file of a model with its matrices in half precision: half the size. What has fewer axes stays as it is."""
    with safe_open(path, "pt") as file:
        meta = file.metadata()
    weights = load_file(path)
    large = {name: value.half() for name, value in weights.items() if value.ndim > 1 and value.dtype == torch.float32}
    return save(weights | large, metadata=meta)


def write(
    path: Path, model: nn.Module, optims: Optimizers, step: int, history: list[float], source: dict[str, Tensor]
) -> None:
    """Everything that `read` gives back. `source`: where the batches come from, if it keeps a place."""
    tensors = _gathered((f"model.{name}", value) for name, value in model.state_dict().items())
    for number, optim in enumerate(optims):
        for index, state in optim.state_dict()["state"].items():
            values = ((name, torch.as_tensor(value)) for name, value in state.items())
            tensors |= _gathered((f"optimizer.{number}.{index}.{name}", value) for name, value in values)
    tensors |= _gathered((f"source.{name}", value) for name, value in source.items())
    tensors["history"] = torch.tensor(history, dtype=torch.float64)
    if not follows():
        store.write_bytes(path, save(tensors, metadata={"step": str(step)}))


def read(path: Path, model: nn.Module, optims: Optimizers) -> tuple[int, list[float], dict[str, Tensor]] | None:
    """(step, history, source), with the model and its optimizers set; None where there is no checkpoint."""
    if not readable(path):
        return None
    tensors = load_file(path)
    with safe_open(path, "pt") as file:
        step = int(file.metadata()["step"])
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "source": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition(".")
        if part in parts:
            parts[part][rest] = value
    own = model.state_dict()
    model.load_state_dict({name: share(value, own[name]) for name, value in parts["model"].items()})
    states: list[dict[int, dict[str, Tensor]]] = [{} for _ in optims]
    for name, value in parts["optimizer"].items():
        number, index, entry = name.split(".", 2)
        states[int(number)].setdefault(int(index), {})[entry] = value
    for optim, state in zip(optims, states, strict=True):
        stepped = [parameter for group in optim.param_groups for parameter in group["params"]]
        placed = {
            index: {entry: share(value, stepped[index]) if value.ndim else value for entry, value in one.items()}
            for index, one in state.items()
        }
        optim.load_state_dict({"state": placed, "param_groups": optim.state_dict()["param_groups"]})
    return step, tensors["history"].tolist(), parts["source"]


def _gathered(tensors: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Full copies on the CPU, in the process that writes; the others only take part in making them.

    Copies, since safetensors refuses tensors that share memory, such as a prior shared by all layers.
    """
    kept = {}
    for name, value in tensors:
        full = whole(value.detach())
        if not follows():
            kept[name] = full.cpu().contiguous().clone()
    return kept
