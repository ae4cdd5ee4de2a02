"""A causal model of transformers and its tokenizer: from a path, or from the hub with the user's own token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from ... import runtime, store
from ..generate import check_vocabulary, encode
from .presets import Preset

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SAMPLED = 64  # numbers of a weight that its identity is made from


def model(name: str, words: Any, device: torch.device, dtype: str = "auto") -> PreTrainedModel:
    """The model, ready to read. "auto": bfloat16 on a GPU, float32 elsewhere. ValueError where `words`, the tokenizer,
    is not its own."""
    kind = DTYPES[("bfloat16" if device.type == "cuda" else "float32") if dtype == "auto" else dtype]
    if runtime.headless():
        logging.disable_progress_bar()
    with _explained(name):
        found = AutoModelForCausalLM.from_pretrained(name, dtype=kind)
    check_vocabulary(found, words)
    return found.to(device).eval()


def tokenizer(name: str, local: bool = False) -> Any:
    """The tokenizer alone; `local`: without the network."""
    with _explained(name):
        return AutoTokenizer.from_pretrained(name, local_files_only=local)


def config(name: str, local: bool = False) -> Any:
    """The configuration alone."""
    with _explained(name):
        return AutoConfig.from_pretrained(name, local_files_only=local)


def sizes(preset: Preset) -> Any:
    """The configuration of a preset's model, as far as its cost depends on it."""
    return AutoConfig.for_model(preset.family, max_position_embeddings=preset.positions, **preset.sizes)


def identity(found: PreTrainedModel, words: Any) -> str:
    """A key of the weights (some numbers of each, evenly spread), of the class of device and of the tokenizer."""
    digest = hashlib.sha256()
    for name, weight in sorted(found.named_parameters()):
        flat = weight.detach().flatten()
        some = flat[:: max(1, len(flat) // SAMPLED)][:SAMPLED].float().cpu().numpy()
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode() + some.tobytes())
    return store.key(
        digest.hexdigest(), found.device.type, sorted(words.get_vocab().items()), getattr(words, "chat_template", None)
    )


def counter(words: Any | None) -> Callable[[str], int]:
    """Counts the tokens of a text; without a tokenizer a fourth of its characters, about what English has."""
    return (lambda text: len(text) // 4) if words is None else lambda text: len(encode(words, text))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """What is wrong with a model in one line."""
    try:
        yield
    except Exception as error:  # the library raises the classes of whatever it reads files or the network with
        reason = " ".join(str(error).split())[:160]
        what = "has no model that can be opened" if Path(name).exists() else "is no folder, nor can the hub be asked"
        raise ValueError(
            f"model {name!r} {what} ({reason}); give a folder with configuration, weights and tokenizer, or a name of "
            "the hub where there is a network, with your token (hf auth login) if the model asks for one"
        ) from None
