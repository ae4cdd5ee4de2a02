"""Attention with a prior as transformers calls it: a mask of intervals, and a function that reads them.

Registered under NAME. The mask function says for each query where it stands and which keys it sees, in three integers
that grow with the length; padding, documents that are packed into a row, windows and caches are all such intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, causal_mask_function, sdpa_mask

from ..attention import Visible, attention
from ..positions.encodings import Encoding
from ..positions.priors import Prior, Product

NAME = "attention_priors"
PLACE = "positional"  # the attribute of an attention layer that holds its `Positions`
BLOCK = 512  # queries whose row of the mask exists at once
NEVER = -1e4  # a number that is added to a logit and as low as this hides the key


class Positions(nn.Module):
    """The parts of an encoding in one layer: a log-prior and a factor on each row of logits.

    `shared` is the prior of an earlier layer, where a row of ENCODINGS has one for all of them.
    """

    def __init__(self, row: Encoding, heads: int, shared: Prior | None = None) -> None:
        super().__init__()
        self.row, self.heads = row, heads
        with torch.device("cpu"):  # from_pretrained builds models without memory, where no start can be checked
            self.prior = row.prior(heads) if shared is None else None
            self.scale = row.scale(heads)
        self.lent = (shared,)  # in a tuple, so that its parameters belong to one layer alone

    @property
    def log_prior(self) -> Prior:
        """The layer's prior, its own or the shared one."""
        return self.lent[0] if self.prior is None else self.prior

    def start(self) -> Positions:
        """A new one, as training starts."""
        return Positions(self.row, self.heads, self.lent[0])


@dataclass(frozen=True)
class Seen:
    """What all layers share in one call of the model: the intervals of its queries and where these stand."""

    visible: Visible
    offset: int  # slot of the first query among the keys
    plain: bool  # every row begins with the first key

    @classmethod
    def of(cls, mask: Int[Tensor, "rows 1 queries 3"]) -> Seen:
        first, last, slot = mask[:, 0].unbind(-1)
        if bool((first == first[:1]).all() & (last == last[:1]).all()):
            first, last = first[0], last[0]
        visible = Visible(first.contiguous(), last.contiguous())
        return cls(visible, int(slot[0, 0]), visible.facts.first == 0 and first.ndim == 1)


def intervals(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: Bool[Tensor, "batch keys"] | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **_: Any,
) -> Int[Tensor, "rows 1 queries 3"]:
    """(first key, last key, own slot) of each query, slots counted from the first key that the cache holds.

    Queries that are padding see the slots up to their own. ValueError where keys that a query sees have a gap.
    """
    slot = torch.arange(q_length, device=device) + (q_offset - kv_offset)
    if attention_mask is not None:
        attention_mask = F.pad(attention_mask, (0, max(kv_offset + kv_length - attention_mask.shape[-1], 0)))
    if mask_function is causal_mask_function:
        first, last, count = torch.zeros_like(slot)[None], slot[None], None
        if attention_mask is not None:
            real = attention_mask[:, kv_offset : kv_offset + kv_length]
            start, stop = _ends(real)
            first, last = start[:, None].expand(-1, q_length), torch.minimum(slot, stop[:, None])
            count = real.cumsum(-1).gather(1, last.clamp(min=0))
    else:
        parts = []
        for at in range(0, q_length, BLOCK):
            seen = sdpa_mask(
                batch_size,
                min(BLOCK, q_length - at),
                kv_length,
                q_offset=q_offset + at,
                kv_offset=kv_offset,
                mask_function=mask_function,
                attention_mask=attention_mask,
                allow_is_causal_skip=False,
                use_vmap=use_vmap,
                device=device,
            )[:, 0]
            parts.append((*_ends(seen), seen.sum(-1)))
        first, last, count = (torch.cat(part, 1) for part in zip(*parts, strict=True))
    own = slot.expand_as(first)
    nothing = first > last  # a query that is padding: its output is finite and nobody reads it
    if count is not None and not torch.compiler.is_compiling():
        gaps = ~nothing & (count != last - first + 1)
        if bool(gaps.any()):
            raise ValueError(
                "the attention_mask hides keys between others, so that lags would count what is not "
                "there; pad on one side only, on the left for generate"
            )
    first, last = torch.where(nothing, 0, first), torch.where(nothing, own, last)
    return torch.stack([first, last, own], -1)[:, None]


def _ends(seen: Bool[Tensor, "*rows keys"]) -> tuple[Int[Tensor, " *rows"], Int[Tensor, " *rows"]]:
    """The first and the last key that is seen; (keys, -1) where none is."""
    keys = seen.shape[-1]
    place = torch.arange(keys, device=seen.device)
    return torch.where(seen, place, keys).amin(-1), torch.where(seen, place, -1).amax(-1)


def attend(
    module: nn.Module,
    query: Float[Tensor, "batch heads queries width"],
    key: Float[Tensor, "batch kv_heads keys width"],
    value: Float[Tensor, "batch kv_heads keys width"],
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    output_attentions: bool = False,
    **how: Any,
) -> tuple[Float[Tensor, "batch queries heads width"], Float[Tensor, "batch heads queries keys"] | None]:
    """The registered function. The weights are computed where they are asked for.

    A mask of four dimensions that the caller made, boolean or to be added, is for queries that are the last keys.
    """
    own: Positions | None = getattr(module, PLACE, None)
    if own is None:
        raise ValueError(
            f"{type(module).__name__} has no prior; add_prior(model, ...) puts one there, "
            f"attn_implementation={NAME!r} alone does not"
        )
    if unknown := [name for name in ("softcap", "s_aux") if how.get(name) is not None]:
        raise ValueError(f"the model's attention has {unknown[0]}, which a prior does not; take a model without")
    check_dropout(dropout)
    dtype, width = value.dtype, query.shape[-1]
    query, key = query.to(dtype), key.to(dtype)  # under autocast, rotations leave them in single precision
    if scaling is not None and scaling != width**-0.5:
        query = query * (scaling * width**0.5)
    ready = attention_mask is None or (attention_mask.dtype == torch.int64 and attention_mask.shape[-1] == 3)
    if attention_mask is None:
        attention_mask = intervals(1, query.shape[2], key.shape[2], key.shape[2] - query.shape[2], device=query.device)
    if not ready or output_attentions or torch.compiler.is_compiling():
        with torch.autocast(query.device.type, enabled=False):  # products in at least float32, as in the operator
            mixed, p = _written_out(own, query, key, value, attention_mask, getattr(module, "is_causal", True))
        return mixed.transpose(1, 2), p if output_attentions else None
    return _by_op(own, query, key, value, _seen(attention_mask)).transpose(1, 2), None


def check_dropout(dropout: float) -> None:
    """ValueError unless it is 0."""
    if dropout:
        raise ValueError(f"attention_dropout = {dropout}, but weights are never formed here; set it to 0")


def _seen(mask: Tensor) -> Seen:
    """Looked at once: all layers of a call get the same mask, and a look waits for the device."""
    if not hasattr(mask, "seen"):
        mask.seen = Seen.of(mask)
    return mask.seen


def _by_op(own: Positions, q: Tensor, k: Tensor, v: Tensor, seen: Seen) -> Tensor:
    """[batch, heads, queries, width] by the attention of this package, memory linear in the length."""
    visible, prior, keys = seen.visible, own.log_prior, seen.visible.facts.last + 1
    k, v = k[:, :, :keys], v[:, :, :keys]
    scale = own.scale(visible.count)
    by = scale if own.row.scales_prior else None
    relative, of_keys = prior.split()
    if seen.plain or not of_keys:
        return attention(
            q,
            k,
            v,
            prior=prior,
            logit_scale=scale,
            prior_scale=by,
            visible=visible,
            offset=seen.offset,
        )
    # Rows begin at different slots: b_i is one more component of q_i, u(j) one more of k_j.
    u = _of_keys(prior, visible.first, visible.last, keys)
    groups, width, before = q.shape[1] // k.shape[1], q.shape[-1], q.dtype
    dtype = torch.promote_types(before, torch.float32)
    content = q.to(dtype) if scale is None else q.to(dtype) * scale[..., None]
    beside = (torch.ones_like(q[..., 0]) if by is None else by.expand(q.shape[:3])).to(dtype) * width**0.5
    q = torch.cat([content, beside[..., None]], -1) * ((width + 1) / width) ** 0.5
    k, v = (x.to(dtype).repeat_interleave(groups, 1) for x in (k, v))
    k = torch.cat([k, u.to(dtype).expand(k.shape[:3])[..., None]], -1)
    out = attention(
        q,
        k,
        F.pad(v, (0, 1)),
        prior=Product(*relative) if relative else None,
        prior_scale=by if relative else None,
        visible=visible,
        offset=seen.offset,
    )
    return out[..., :width].to(before)


def _of_keys(prior: Prior, first: Tensor, last: Tensor, keys: int) -> Float[Tensor, "rows heads keys"]:
    """u(j) with j counted from where a row or document begins, in a context as long as that."""
    rows = []
    for begins, ends in zip(torch.atleast_2d(first), torch.atleast_2d(last), strict=True):
        row = torch.zeros(prior.heads, keys, device=first.device)
        for start in begins.unique().tolist():
            stop = int(ends[begins == start].max()) + 1
            of = prior.of_keys(torch.arange(stop - start, device=first.device), stop - start)
            row = torch.cat([row[:, :start].to(of.dtype), of, row[:, stop:].to(of.dtype)], -1)
        rows.append(row)
    return torch.stack(rows)


def _written_out(
    own: Positions, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, causal: bool
) -> tuple[Float[Tensor, "batch heads queries width"], Float[Tensor, "batch heads queries keys"]]:
    """The same over the whole matrix, with the weights: for masks of the caller, and inside compiled code."""
    queries, keys = q.shape[2], k.shape[2]
    place, more = torch.arange(keys, device=q.device), None
    if mask.dtype == torch.int64 and mask.shape[-1] == 3:
        first, last, slot = mask.unbind(-1)
        seen = (place >= first[..., None]) & (place <= last[..., None])
    else:
        if mask.shape[-1] != keys:
            raise ValueError(
                f"an attention_mask for {mask.shape[-1]} keys, but there are {keys}; give it as many columns"
            )
        added = mask.is_floating_point()
        seen, more = (mask > NEVER, mask) if added else (mask.bool(), None)
        slot = torch.arange(keys - queries, keys, device=q.device)[None, None]
    prior, scale = own.log_prior, own.scale(seen.sum(-1)[:, 0])
    relative, of_keys = prior.split()
    dtype = torch.promote_types(q.dtype, torch.float32)
    logits = q.to(dtype) @ k.to(dtype).repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(-1, -2)
    logits = logits * q.shape[-1] ** -0.5
    if scale is not None:
        logits = logits * scale[..., None]
    biases = []
    if relative:
        low = 0 if causal else 1 - keys  # the future needs no table
        table = prior.table(torch.arange(low, keys, device=q.device))
        lags = (slot[..., None] - place - low).clamp(0, table.shape[-1] - 1)[:, 0]  # [rows, queries, keys]
        biases.append(table[:, lags].transpose(0, 1))
    if of_keys:
        if torch.compiler.is_compiling():
            raise ValueError(
                "a prior over keys needs to look where rows begin, which compiled code cannot; call the "
                "model without torch.compile"
            )
        first, last = _ends(seen[:, 0])
        biases.append(_of_keys(prior, first, last, keys)[:, :, None])
    by = scale[..., None] if scale is not None and own.row.scales_prior else 1.0
    logits = logits + sum(biases) * by
    if more is not None:
        logits = logits + more
    # Priors of a closed form are float64: their logs are scaled and summed as they are, then rounded once.
    p = logits.to(dtype).masked_fill(~seen, torch.finfo(dtype).min).softmax(-1)
    mixed = p @ v.to(dtype).repeat_interleave(q.shape[1] // v.shape[1], 1)
    return mixed.to(q.dtype), p.to(q.dtype)


if not {"q_length", "q_offset"} <= signature(sdpa_mask).parameters.keys():
    raise ImportError(
        f"transformers {transformers.__version__} asks for masks in another way than is answered here; "
        "install one of 5.23 or later"
    )
AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, intervals)
