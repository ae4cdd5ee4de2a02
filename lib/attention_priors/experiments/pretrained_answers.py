"""A pretrained model as experiments ask it: what it answered is kept, what was changed in it is put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .. import runtime, store
from ..config import Profile
from ..corpora import manuals
from ..integrations import extending
from ..integrations.pretrained import Pretrained
from .grid import whole_machine
from .pretrained import FOLDER

FACTOR = 2.0  # of the extensions: how many times longer the context becomes
SINKS = 4  # Xiao et al. 2024
VERSION = 1  # of all questions
Change = Callable[[PreTrainedModel, int], PreTrainedModel]  # of a model and the length that it was trained on

CHANGES: dict[str, Change] = {  # ways to read a longer text without training
    "as-is": lambda model, trained: model,
    "pi": lambda model, trained: extending.interpolate(model, FACTOR),
    "ntk": lambda model, trained: extending.ntk(model, FACTOR),
    "ntk-4": lambda model, trained: extending.ntk(model, 4.0),
    "dynamic-ntk": lambda model, trained: extending.dynamic_ntk(model),
    "yarn": lambda model, trained: extending.yarn(model, FACTOR),
    "llama3": lambda model, trained: extending.llama3(model, FACTOR),
    "p-rope": lambda model, trained: extending.p_rope(model, 0.75),
    "base-50": lambda model, trained: extending.rebase(model, 50.0),
    "rerope": lambda model, trained: extending.rerope(model, trained // 2),
    "window": lambda model, trained: extending.window(model, trained // 2),
    "sinks": lambda model, trained: extending.window(model, trained // 2, SINKS),
    "ssmax": lambda model, trained: extending.scalable_softmax(model),
    "ntk-ssmax": lambda model, trained: extending.scalable_softmax(extending.ntk(model, FACTOR)),
}


@dataclass(frozen=True)
class Answers:
    """What a model answered, a file an answer, below the key of its weights. It answers on the whole machine."""

    found: Pretrained
    runs: Path
    profile: Profile

    @property
    def folder(self) -> Path:
        return self.runs / f"{FOLDER}{self.found.key}"

    def put(self, name: str, given: dict[str, Any], told: str, ask: Callable[[], Any]) -> Any:
        """What `ask()` gives, or gave before for the same `given`; `told`: what is said while it is asked."""

        def alone() -> Any:
            with whole_machine(self.profile):
                runtime.say(f"{self.found.name}{told}")
                return ask()

        return store.kept_json(self.folder / f"{name}-{store.key(name, VERSION, given)}.json", alone)


@contextmanager
def changed(model: PreTrainedModel, change: Change) -> Iterator[PreTrainedModel]:
    """The model under a change, and afterwards as it was."""
    try:
        yield change(model, extending.trained_length(model))
    finally:
        extending.restore(model)


def document(found: Pretrained, name: str, length: int) -> Tensor:
    """The first `length` tokens. ValueError for a document that is shorter."""
    tokens = found.words.encode(manuals.text(name))
    if len(tokens) < length:
        raise ValueError(f"document {name!r} has {len(tokens)} tokens, but {length} are read; take smaller lengths")
    return torch.tensor(tokens[:length], device=found.model.device)
