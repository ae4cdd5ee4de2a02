"""What a training step costs in time and memory: a rotation and Goat's prior through the same attention kernel.

Goat's prior is in coordinates of queries and keys, which torch's fused kernel takes as it takes RoPE, or an L x L bias
for each head, for which torch has what it has for a trained mask; "math" is torch's unfused kernel. Goat's public
benchmark reads its baseline's memory after a run that forces the unfused kernel: `rope, math`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from .. import runtime
from ..attention import BACKENDS, Visible
from ..attention.precision import scaled
from ..config import ModelConfig, Size
from ..corpora.genome import BASES
from ..model import Transformer
from ..positions.priors import Prior
from .grid import Rows
from .memory import in_turn, peak

STORED = "stored"
FUSED, MATH = (SDPBackend.FLASH_ATTENTION,), (SDPBackend.MATH,)
# way: encoding, backend of `attention`, kernels that torch may use
WAYS: dict[str, tuple[str, str, tuple[SDPBackend, ...]]] = {
    "rope": ("rope", "sdpa", FUSED),
    "goat": ("goat-composite", "composite", FUSED),
    "goat, stored bias": ("goat-composite", STORED, (*FUSED, SDPBackend.EFFICIENT_ATTENTION, *MATH)),
    "rope, math": ("rope", "sdpa", MATH),
    "goat, math": ("goat-composite", "composite", MATH),
}
ROUNDS = 25


def stored(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: Prior,
    logit_scale: Tensor | None,
    prior_scale: None,
    visible: Visible,
    offset: int,
) -> Tensor:
    """Backend of `attention` that writes log-prior and mask out, [1, heads, queries, keys], for torch to add."""
    keys = torch.arange(k.shape[2], device=q.device)
    queries = torch.arange(offset, offset + q.shape[2], device=q.device)
    table = prior.table(torch.arange(int(queries[0]) - len(keys) + 1, int(queries[-1]) + 1, device=q.device))
    bias = table[:, queries[:, None] - keys + len(keys) - 1 - offset]
    if (u := prior.of_keys(keys, len(keys))) is not None:
        bias = bias + u[:, None]
    mask = bias.masked_fill(~visible.dense(len(keys)), -torch.inf)
    return F.scaled_dot_product_attention(scaled(q, logit_scale), k, v, attn_mask=mask[None].to(q.dtype), scale=1.0)


def stepper(way: str, size: Size, length: int, device: torch.device) -> Callable[[], None]:
    """A forward and a backward pass over one text of random bases."""
    encoding, backend, kernels = WAYS[way]
    torch.manual_seed(0)
    model = Transformer(ModelConfig(vocabulary=len(BASES), encoding=encoding, **size.model_dump())).to(device)
    text = torch.randint(len(BASES), (1, length + 1), generator=runtime.generator(0, "cost")).to(device)
    half = device.type == "cuda"

    def step() -> None:
        model.zero_grad()
        with sdpa_kernel(list(kernels)), torch.autocast(device.type, torch.bfloat16, enabled=half):
            logits = model(text[:, :-1], backend=backend)
            F.cross_entropy(logits.float().flatten(0, 1), text[:, 1:].flatten()).backward()

    return step


def cost(size: Size, lengths: Iterable[int], device: torch.device, rounds: int = ROUNDS) -> Rows:
    """Milliseconds of a training step on one text by way, length and round, all ways in turn; MB at the peak.

    The median over rounds is what to read (`memory.in_turn`).
    """
    made = []
    with _offered():
        for length in lengths:
            steps = {way: stepper(way, size, length, device) for way in WAYS}
            held = {way: peak(step, device) / 2**20 for way, step in steps.items()}
            made += [
                {"way": way, "length": length, "round": turn, "milliseconds": taken, "memory": held[way]}
                for way, turn, taken in in_turn(steps, rounds, device)
            ]
    return made


@contextlib.contextmanager
def _offered():
    """The backend `stored`, for as long as it is measured."""
    BACKENDS[STORED] = stored
    try:
        yield
    finally:
        BACKENDS.pop(STORED)
