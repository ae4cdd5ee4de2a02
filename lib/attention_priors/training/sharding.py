"""A model whose parameters, gradients and optimizer states are spread over the processes of torchrun (FSDP2).

`shard` before `training.fit`; the numbers are those of one process, up to the order of sums. `whole` and `share` go
between a tensor of the sharded model and the same one in a file, so that files do not depend on how many wrote them.
torch's own parts are imported only among several processes: they take longer than all else that a process imports.
"""

from __future__ import annotations

from itertools import chain

import torch.distributed as dist
from torch import Tensor, nn

from ..config import Recipe
from ..model import Transformer

PARALLEL = ("ddp", "fsdp")  # every process has the whole model, or its share of it


def together() -> bool:
    """Whether this process is one of torchrun's."""
    return dist.is_available() and dist.is_initialized()


def sharded(model: nn.Module) -> bool:
    """Whether `shard` has divided this model."""
    if not together():
        return False
    from torch.distributed.fsdp import FSDPModule

    return isinstance(model, FSDPModule)


def check(parallel: str, recipe: Recipe) -> None:
    """ValueError for a way to divide the work that is unknown, needs torchrun, or that the recipe cannot take."""
    if parallel not in PARALLEL:
        raise ValueError(f"unknown parallel {parallel!r}; choose one of {', '.join(PARALLEL)}")
    if parallel == "ddp":
        return
    if recipe.optimizer == "muon":
        raise ValueError(
            f"recipe {recipe.name!r} steps matrices with Muon, which needs them whole and cannot step shards; use "
            "--parallel ddp, or give the recipe optimizer: adamw or radam"
        )
    if not together():
        raise ValueError("parallel fsdp divides a model among processes; start them with torchrun --nproc-per-node N")


def shard(model: Transformer) -> None:
    """Divide every block, and then what is left, over all processes, in place; all must hold equal weights.

    Blocks that share a prior are not units of their own: the whole model is one.
    """
    from torch.distributed.fsdp import fully_shard

    device = next(model.parameters()).device.type
    mesh = dist.init_device_mesh(device, (dist.get_world_size(),))
    owned = list(chain.from_iterable(block.parameters() for block in model.blocks))
    apart = len(owned) == len({id(parameter) for parameter in owned})
    for block in model.blocks if apart else ():
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def whole(tensor: Tensor) -> Tensor:
    """The full tensor behind a shard, on every process; all of them must ask. Any other tensor is itself."""
    return tensor.full_tensor() if _divided(tensor) else tensor


def share(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's part of a full tensor that all processes hold, divided as `like` is."""
    if not _divided(like):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    # No process sends: each cuts its part out of its own copy.
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _divided(tensor: Tensor) -> bool:
    if not together():
        return False
    from torch.distributed.tensor import DTensor

    return isinstance(tensor, DTensor)
