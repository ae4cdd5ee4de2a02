"""What a piece of work takes: its time, and the most memory that it holds at one time."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def in_turn(
    ways: Mapping[str, Callable[[], Any]], rounds: int, device: torch.device, warm: int = 1
) -> Iterator[tuple[str, int, float]]:
    """Way, round and milliseconds of each, all ways in turn; `warm` rounds before are not told.

    Only so do load and clock of the machine hit the ways of a round alike.
    """
    for turn in range(-warm, rounds):
        for name, way in ways.items():
            taken, _ = timed(way, device)
            if turn >= 0:
                yield name, turn, 1000 * taken


def timed(work: Callable[[], Any], device: torch.device) -> tuple[float, Any]:
    """Seconds of a piece of work, and what it returns."""
    begun = time.perf_counter()
    found = work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begun, found


class Peak(TorchDispatchMode):
    """The most bytes that tensors made inside held at one time."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = self.held = 0
        self.known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {x.untyped_storage().data_ptr() for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
        for x in tree_leaves(out):
            # A view of what was there before, such as a transposed weight, is nothing new.
            if isinstance(x, Tensor) and x.untyped_storage().data_ptr() not in given:
                self._add(x.untyped_storage())
        return out

    def _add(self, storage: Any) -> None:
        place, size = storage.data_ptr(), storage.nbytes()
        if place and place not in self.known:
            self.known.add(place)
            self.held += size
            self.bytes = max(self.bytes, self.held)
            weakref.finalize(storage, self._drop, place, size)

    def _drop(self, place: int, size: int) -> None:
        self.known.discard(place)
        self.held -= size


def peak(step: Callable[[], Any], device: torch.device) -> int:
    """Bytes that `step` holds at most beyond what was there before: of tensors on the CPU, of the allocator on a GPU.

    What a kernel of the CPU takes inside itself is not counted.
    """
    if device.type != "cuda":
        with Peak() as found:
            step()
        return found.bytes
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
