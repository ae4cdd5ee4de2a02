"""Attention with a positional prior: one op, the rows that it may see, and its backends."""

from . import sdpa_once as sdpa_once  # enters BACKENDS
from . import sdpa_skip as sdpa_skip  # enters BACKENDS
from .composite import GoatAttention  # its backend enters BACKENDS
from .op import BACKENDS, attention
from .visible import Visible, bidirectional, causal, documents, window

__all__ = ["BACKENDS", "GoatAttention", "Visible", "attention", "bidirectional", "causal", "documents", "window"]
