"""Attention with a positional prior: one op, the rows that it may see, and its backends."""

from .composite import GoatAttention
from .op import BACKENDS, attention
from .visible import Visible, bidirectional, causal, documents, window

__all__ = ["BACKENDS", "GoatAttention", "Visible", "attention", "bidirectional", "causal", "documents", "window"]
