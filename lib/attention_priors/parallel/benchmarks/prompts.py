"""A row as tokens: the text that is read in chunks, and the question that follows every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ..generate import bos_of, encode
from .task import Row, Task

_MARK = "<<here>>"


@dataclass(frozen=True)
class Wording:
    """A tokenizer and what its chat template puts around a message: `opening` and `closing`, empty without a template.

    They stand around the question, so that every chunk is followed by a whole message. The paper leaves it open.
    """

    tokenizer: Any
    bos: int | None
    opening: str = ""
    closing: str = ""

    @classmethod
    def of(cls, tokenizer: Any) -> Wording:
        """ValueError for a template that changes the message."""
        bos = bos_of(tokenizer)
        if not getattr(tokenizer, "chat_template", None):
            return cls(tokenizer, bos)
        message = [{"role": "user", "content": _MARK}]
        whole = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        opening, found, closing = whole.partition(_MARK)
        if not found:
            raise ValueError(f"the chat template of {type(tokenizer).__name__} changes its message; remove it")
        begin = tokenizer.bos_token
        if begin and opening.startswith(begin):  # a row has its own
            opening, bos = opening.removeprefix(begin), tokenizer.bos_token_id
        return cls(tokenizer, bos, opening, closing)

    def written(self, task: Task, row: Row) -> tuple[str, str]:
        """Text, and question with the template around it."""
        question = task.question(row)
        if task.chat and (self.opening or self.closing):
            question = self.opening + question.lstrip("\n") + self.closing
        return row.context, question

    def tokens(self, text: str) -> Int[Tensor, " tokens"]:
        """Without marks of begin and end."""
        return torch.tensor(encode(self.tokenizer, text), dtype=torch.int64)
