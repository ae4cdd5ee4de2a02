"""Training runs of models that see: those of `training`, with pictures in place of texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from ... import config, runtime
from ...corpora.images import Pictures, kind, pictures
from ...positions.grids import GridEncoding, grid_encoding
from .. import sharding
from ..runs import TRAINING_VERSION, Run, RunSpec
from .model import VisionConfig, VisionModel


class ImageSpec(RunSpec):
    """Everything that a run depends on; `images` names the pictures. A recipe's length is in patches."""

    model: VisionConfig
    images: str

    @property
    def row(self) -> GridEncoding:
        return grid_encoding(self.model.encoding)

    @property
    def versions(self) -> tuple[int, ...]:
        return TRAINING_VERSION, kind(self.images).version

    def _modules(self) -> tuple[str, ...]:
        return "training.vision.training", kind(self.images).__module__.partition(".")[2]


class Batches:
    """Batches for `training.fit`: a step's pictures, the class of each. Seed and step determine a batch."""

    def __init__(self, spec: ImageSpec, source: Pictures) -> None:
        self.spec, self.source = spec, source

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor, None]:
        spec = self.spec
        generator = runtime.generator(spec.seed, f"pictures/{step}")
        images, labels = self.source.training(spec.recipe.batch, spec.model.side, generator)
        return images, labels[:, None], torch.ones(len(labels), 1, dtype=torch.bool), None


class ImageRun(Run):
    """One run in the store: resumable, atomic and recorded as all runs are."""

    def _train(self, heartbeat: Callable[[str], None] | None = None, parallel: str = "ddp") -> dict[str, Any]:
        """ValueError for pictures of other classes or channels."""
        spec = self.spec
        sharding.check(parallel, spec.recipe)
        source = pictures(spec.images, config.CACHE)
        given, wanted = (source.classes, source.channels), (spec.model.vocabulary, spec.model.channels)
        if given != wanted:
            raise ValueError(
                f"{spec.images} has {given[0]} classes and {given[1]} channels, the model {wanted[0]} and "
                f"{wanted[1]}; give `vocabulary` and `channels` of the pictures"
            )
        torch.manual_seed(runtime.seed_for(spec.seed, f"init/{spec.model.encoding}"))
        model = VisionModel(spec.model).to(self.device)
        self._batches, self._marks = Batches(spec, source), []
        return self._fit(model, heartbeat)

    def _stored(self) -> VisionModel:
        model = VisionModel(self.spec.model)
        model.load_state_dict(load_file(self.path / "model.safetensors"))
        return model


def opened(spec: RunSpec, folder: str | Path, device: torch.device) -> Run:
    """The run of a specification of either kind."""
    return (ImageRun if isinstance(spec, ImageSpec) else Run)(spec, folder, device)
