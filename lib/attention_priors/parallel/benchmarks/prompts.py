"""A row as tokens: the text that is read in chunks, and the question that follows every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ..generate import bos_of, encode
from .task import Row, Task

CHAT = ("question", "text", "none")
_MARK = "<<here>>"


@dataclass(frozen=True)
class Wording:
    """A tokenizer and what its chat template puts around a message: `opening` and `closing`, empty without a template.

    `chat` says where the opening stands. "question": right before the question, so that every chunk is followed by a
    whole message; "text": before the text, thus in the first chunk alone. The paper leaves it open. "none": nowhere,
    nor the closing.
    """

    tokenizer: Any
    chat: str
    opening: str
    closing: str
    bos: int | None

    @classmethod
    def of(cls, tokenizer: Any, chat: str = "question") -> Wording:
        """ValueError for an unknown `chat`, and for a template that changes the message."""
        if chat not in CHAT:
            raise ValueError(f"unknown chat {chat!r}; choose one of {', '.join(CHAT)}")
        bos = bos_of(tokenizer)
        if chat == "none" or not getattr(tokenizer, "chat_template", None):
            return cls(tokenizer, "none", "", "", bos)
        message = [{"role": "user", "content": _MARK}]
        whole = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        opening, found, closing = whole.partition(_MARK)
        if not found:
            raise ValueError(f"the chat template of {type(tokenizer).__name__} changes its message; use chat 'none'")
        begin = tokenizer.bos_token
        if begin and opening.startswith(begin):  # a row has its own
            opening, bos = opening.removeprefix(begin), tokenizer.bos_token_id
        return cls(tokenizer, chat, opening, closing, bos)

    def written(self, task: Task, row: Row) -> tuple[str, str]:
        """Text and question with the template around them."""
        text, question = row.context, task.question(row)
        if self.chat == "none" or not task.chat:
            return text, question
        if self.chat == "text":
            return self.opening + text, question + self.closing
        return text, self.opening + question.lstrip("\n") + self.closing

    def tokens(self, text: str) -> Int[Tensor, " tokens"]:
        """Without marks of begin and end."""
        return torch.tensor(encode(self.tokenizer, text), dtype=torch.int64)
