"""An answer about a long text: `generate` reads it in chunks and decodes, on any model that a reader opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from .. import runtime
from ..model import Transformer
from .chunks import Options
from .ours import Ours
from .read import Reader, Session, condense


def open_reader(model: nn.Module) -> Reader:
    """The reader for a model of this package or of Hugging Face. ValueError for what neither can read."""
    if isinstance(model, Transformer):
        return Ours(model)
    if not hasattr(model, "set_attn_implementation"):
        raise ValueError(
            f"{type(model).__name__} is neither a Transformer of this package nor a model of "
            "transformers; give one of these"
        )
    from .hf import HuggingFace

    return HuggingFace(model)


def generate(
    model: nn.Module,
    tokenizer: Any,
    text: str,
    question: str,
    *,
    window: int,
    keep: int | None = 3,
    budget: int | None = None,
    max_new_tokens: int = 64,
    stop: Sequence[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> str:
    """Up to `max_new_tokens` tokens about a text of any length, from a model that was trained on `window` tokens.

    `keep` chunks stay, and `budget` keys of each (None: all); `options` are further fields of `Options`. Text and
    question go in as they are: a chat template is yours to write into them. Decoding is greedy (`decode` takes another
    `pick`) and ends at a token of `stop` (None: the tokenizer's end of text). `progress` is told how many chunks of how
    many are read (None: a line now and then). The tokenizer is one of transformers, of tokenizers, or has `encode` and
    `decode`. ValueError for what cannot be read so, in one line.
    """
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens = {max_new_tokens}; give at least 1")
    own = {each.name for each in fields(Options)} - {"window", "reserve", "keep", "budget"}
    if unknown := sorted(set(options) - own):
        raise ValueError(f"generate has no option {unknown[0]!r}; choose from {', '.join(sorted(own))}")
    reader = open_reader(model)
    check_vocabulary(model, tokenizer)
    asked = Options(
        window=window, reserve=max_new_tokens, keep=keep, budget=budget, **{"bos": bos_of(tokenizer)} | options
    )
    tokens = [torch.tensor(encode(tokenizer, each), dtype=torch.int64) for each in (text, question)]
    session = condense(reader, *tokens, asked, progress or _said)
    end = set(
        stop if stop is not None else [each for each in [getattr(tokenizer, "eos_token_id", None)] if each is not None]
    )
    return tokenizer.decode(decode(session, tokens[1], max_new_tokens, stop=end))


def decode(
    session: Session,
    question: Tensor,
    most: int,
    pick: Callable[[Float[Tensor, " vocabulary"]], int] | None = None,
    stop: set[int] = frozenset(),
) -> list[int]:
    """At most so many tokens after the question, each `pick`ed (the likeliest) from the logits, up to one of `stop`."""
    made, fed = [], question
    while len(made) < most:
        logits = session.feed(fed)[-1]
        token = pick(logits) if pick else int(logits.argmax())
        if token in stop:
            break
        made.append(token)
        fed = question.new_tensor([token])
    return made


def check_vocabulary(model: nn.Module, tokenizer: Any) -> None:
    """ValueError for a tokenizer with more tokens than the model knows."""
    ours = isinstance(model, Transformer)
    most = model.config.vocabulary if ours else model.get_input_embeddings().num_embeddings
    if hasattr(tokenizer, "get_vocab_size"):
        size = tokenizer.get_vocab_size()
    else:
        size = len(tokenizer) if hasattr(tokenizer, "__len__") else 0  # it does not say
    if size > most:
        raise ValueError(f"the tokenizer has {size} tokens, but the model knows {most}; use the model's own tokenizer")


def bos_of(tokenizer: Any) -> int | None:
    """The token that the tokenizer itself puts before a text; None where it puts none."""
    bos = getattr(tokenizer, "bos_token_id", None)
    return bos if bos is not None and list(tokenizer.encode("a"))[:1] == [bos] else None


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids without marks of begin and end."""
    if hasattr(tokenizer, "get_vocab_size"):
        return tokenizer.encode(text, add_special_tokens=False).ids
    if hasattr(tokenizer, "bos_token_id"):
        return tokenizer.encode(text, add_special_tokens=False)
    return list(tokenizer.encode(text))


def _said(done: int, total: int) -> None:
    """A line every tenth of the way."""
    if done == total or done * 10 // total > (done - 1) * 10 // total:
        runtime.say(f"[reading] chunk {done} of {total}")
