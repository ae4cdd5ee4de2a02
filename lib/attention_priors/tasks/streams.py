"""Training batches from a corpus of the hub that is read while training, for runs longer than a packed file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ..corpora import hub, packing, tokenizer

LANES = 24  # streams side by side: a multiple of every number of processes that may share a run
CHUNK = 64  # documents tokenised at once


class Lane:
    """One part of the training split without an end: BOS, text, EOS, one document after another, then again."""

    def __init__(self, remote: hub.Remote, tokens: tokenizer.Tokenizer, lane: int) -> None:
        self.remote, self.tokenizer, self.lane = remote, tokens, lane
        self.restart()

    def restart(self, place: dict[str, Any] | None = None, left: np.ndarray | None = None) -> None:
        """From the beginning, or from where `state` was taken."""
        self.rows = hub.rows(self.remote, "train", self.lane, LANES).repeat(None)
        if place is not None:
            self.rows.load_state_dict(place)
        self.texts = hub.texts(self.remote, "train", self.rows)
        self.left = np.empty(0, dtype=np.int32) if left is None else left

    def state(self) -> tuple[dict[str, Any], np.ndarray]:
        """The place of the next document, and the tokens read but not yet given out."""
        return self.rows.state_dict(), self.left

    def window(self, length: int) -> np.ndarray:
        """The next `length` + 1 tokens; the last of them is also the first of the window after it."""
        while len(self.left) <= length:
            chunk = [text for _, text in zip(range(CHUNK), self.texts, strict=False)]
            ids = [[self.tokenizer.bos, *one, self.tokenizer.eos] for one in self.tokenizer.encode_all(chunk)]
            self.left = np.concatenate([self.left, *(np.array(one, dtype=np.int32) for one in ids)])
        found, self.left = self.left[: length + 1], self.left[length:]
        return found


class StreamBatches:
    """Windows of the training split in its order, attention kept within documents; the seed plays no part.

    A source of training batches. The split is dealt to LANES lanes, and row r of every batch is the next window of lane
    r mod LANES. A process reads the lanes whose number is its rank modulo the number of processes: batches are the same
    however many there are. Rows of other processes are 0, since nobody reads them here.
    """

    version = 1  # raise it when the same seed and step would give another batch

    def __init__(self, spec: Any) -> None:
        packed = packing.PackedCorpus.read(spec.corpus)
        name = packed.meta["corpus"]
        found, pinned = packed.meta["versions"], hub.versions(name)
        if found != pinned:
            raise ValueError(f"{name!r} was packed from {found}, but {pinned} is pinned; pack it again")
        together = dist.is_available() and dist.is_initialized()
        self.world, rank = (dist.get_world_size(), dist.get_rank()) if together else (1, 0)
        if LANES % self.world:
            raise ValueError(f"{self.world} processes cannot share {LANES} lanes of a stream; use a divisor of {LANES}")
        remote = next(iter(hub.remotes(name).values()))
        self.lanes = {lane: Lane(remote, packed.tokenizer, lane) for lane in range(rank, LANES, self.world)}
        self.recipe, self.bos, self.step = spec.recipe, packed.tokenizer.bos, -1

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Every token is an answer. A step that is not the next one is reached by reading all before it."""
        if step <= self.step:
            for lane in self.lanes.values():
                lane.restart()
            self.step = -1
        while self.step < step:
            windows = self._windows()
            self.step += 1
        begins = windows[:, :-1] == self.bos
        ids = begins.cumsum(1)
        return windows[:, :-1], windows[:, 1:], torch.ones_like(begins), ids - ids[:, :1]

    def _windows(self) -> Tensor:
        batch, length = self.recipe.batch, self.recipe.length
        made = np.zeros((batch, length + 1), dtype=np.int64)
        for row in range(batch):
            if (lane := row % LANES) in self.lanes:
                made[row] = self.lanes[lane].window(length)
        return torch.from_numpy(made)

    def state(self) -> dict[str, Tensor]:
        """Where all lanes stand, those of other processes too; all of them must ask."""
        own = {lane: each.state() for lane, each in self.lanes.items()}
        gathered = [own]
        if self.world > 1:
            gathered = [{}] * self.world
            dist.all_gather_object(gathered, own)
        places = {}
        for lane, (place, left) in (item for part in gathered for item in part.items()):
            places[f"{lane}.place"] = torch.from_numpy(np.frombuffer(json.dumps(place).encode(), np.uint8).copy())
            places[f"{lane}.left"] = torch.from_numpy(left.copy())
        return places

    def restore(self, step: int, places: dict[str, Tensor]) -> None:
        """Go on with `step`, from a `state` that any number of processes has written."""
        for number, lane in self.lanes.items():
            place = json.loads(places[f"{number}.place"].numpy().tobytes())
            lane.restart(place, places[f"{number}.left"].numpy())
        self.step = step - 1
