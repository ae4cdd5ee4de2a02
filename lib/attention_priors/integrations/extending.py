"""Longer contexts for a Llama, Qwen2, Qwen3 or Mistral of transformers, without training: a function each.

    model = yarn(AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B"), factor=2)
    model = window(restore(model), 4096, sinks=4)
    model.generate(...)

Each changes the model in place and returns it; `restore` gives back what was there. `save_pretrained` writes the plain
model: call the function again after `from_pretrained`. Rotations replace the module that computes angles, so that every
attention of transformers works with them. Windows, ReRoPE and scalable softmax are an attention of their own, by blocks
of queries: memory grows with the length, and keys that no query of a block sees cost nothing. There a row is one text,
without padding, and weights are never formed: no dropout, no `output_attentions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface

from ..positions import extensions
from ..positions.extensions import Stretch
from ..positions.rotary import Rotary, Spectrum, rope
from .attending import check_dropout
from .transformers import Unturned

NAME = "attention_priors_extended"
PLACE, BEFORE = "attention_priors_reading", "attention_priors_before"  # attributes of a layer's attention, of a model
FAMILIES = ("llama", "qwen2", "qwen3", "mistral")  # model_type of the configuration
BLOCK = 512  # queries at once
ONE_TEXT = "windows, ReRoPE and scalable softmax read one text per row"

Heads = Mapping[int, Iterable[int]]  # by layer


@dataclass(frozen=True)
class Sight:
    """Which keys before its own a query sees: those nearer than `window` and the first `sinks` of the text.

    Of these not the first `skipped` of the text, and not those at lags 1 to `gap`. A query always sees its own key.
    """

    window: int | None = None
    sinks: int = 0
    skipped: int = 0
    gap: int = 0

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise ValueError(f"window = {self.window}, but a query sees at least its own key: give 1 or more")
        if min(self.sinks, self.skipped, self.gap) < 0:
            raise ValueError(f"{self}: sinks, skipped and gap are numbers of keys, which are not negative")

    def sees(self, i: Int[Tensor, "queries 1"], j: Int[Tensor, " keys"]) -> Bool[Tensor, "queries keys"]:
        """For queries at i and keys at j, the causal mask included."""
        lag = i - j
        seen = (lag >= 0) & (j >= self.skipped)
        if self.window is not None:
            seen &= (lag < self.window) | (j < self.sinks)
        return (seen & (lag > self.gap)) | (lag == 0)

    def count(self, i: Int[Tensor, " queries"]) -> Int[Tensor, " queries"]:
        """How many keys queries at i see, their own included."""
        low = torch.full_like(i, self.skipped)
        if self.window is not None:
            low = torch.maximum(low, i - self.window + 1)
        stop = i - self.gap  # of the keys before its own
        sinks = torch.minimum(low, stop).clamp(max=self.sinks) - self.skipped
        return (stop - low).clamp(min=0) + (0 if self.window is None else sinks.clamp(min=0)) + 1

    def keys(self, start: int, stop: int) -> Int[Tensor, " keys"]:
        """The keys that some query from `start` to `stop` - 1 may see."""
        low = 0 if self.window is None else max(0, start - self.window + 1)
        return torch.cat([torch.arange(min(self.sinks, low)), torch.arange(low, stop)])

    def plain_until(self) -> int:
        """Queries before this one see every key up to their own."""
        return (1 << 62 if self.window is None else self.window) if not (self.skipped or self.gap) else 0


@dataclass(frozen=True)
class Reading:
    """How a layer attends: `sight` in `heads` (None: all), a rectified rotation, a scale that grows with the keys."""

    sight: Sight = Sight()
    heads: tuple[int, ...] | None = None
    rectified: tuple[Spectrum, int] | None = None
    scaled: int | None = None


def interpolate(model: PreTrainedModel, factor: float) -> PreTrainedModel:
    """Positions divided by `factor` (position interpolation, Chen et al. 2023): transformers' "linear".

    Raises ValueError as `stretch` does, and so do the rotations below.
    """
    return stretch(model, partial(extensions.fixed, how=extensions.interpolate, by=factor))


def ntk(model: PreTrainedModel, factor: float) -> PreTrainedModel:
    """base factor^(d/(d-2)) in place of the base (NTK-aware scaling, bloc97 2023)."""
    return stretch(model, partial(extensions.fixed, how=extensions.ntk, by=factor))


def dynamic_ntk(model: PreTrainedModel, factor: float = 1.0, trained: int | None = None) -> PreTrainedModel:
    """NTK-aware scaling by what the current length asks for (emozilla 2023): transformers' "dynamic".

    The length is that of the call. Decoding with a cache is therefore another model than one pass over the whole text:
    cached keys were rotated, and the states of all layers but the first were made, under earlier factors.
    """
    return stretch(model, partial(extensions.from_length, how=extensions.dynamic_ntk, factor=factor), trained)


def yarn(model: PreTrainedModel, factor: float) -> PreTrainedModel:
    """YaRN (Peng et al. 2023): slow planes interpolated, fast ones kept, logits sharper by (0.1 ln factor + 1)²."""
    return stretch(model, partial(extensions.from_trained, how=extensions.yarn, by=factor))


def llama3(model: PreTrainedModel, factor: float) -> PreTrainedModel:
    """The scaling of Llama 3.1: planes that turn less than once are interpolated, those that do four times kept."""
    return stretch(model, partial(extensions.from_trained, how=extensions.llama3, by=factor))


def rebase(model: PreTrainedModel, factor: float) -> PreTrainedModel:
    """`factor` times the base (Code Llama, Rozière et al. 2023)."""
    return stretch(model, partial(extensions.fixed, how=extensions.rebase, by=factor))


def p_rope(model: PreTrainedModel, share: float) -> PreTrainedModel:
    """Only the fastest `share` of the planes turns (p-RoPE, Barbero et al. 2024); 1 is the identity.

    ValueError for a share outside of (0, 1].
    """
    return stretch(model, partial(extensions.fixed, how=extensions.p_rope, by=share))


def rerope(model: PreTrainedModel, within: int) -> PreTrainedModel:
    """Lags up to `within` as they are, all beyond as if they were `within` (ReRoPE, Su 2023)."""
    if within < 1:
        raise ValueError(f"within = {within}, but lags up to it are as in training: give at least 1")
    spectrum = spectrum_of(model)
    _keep(model).base_model.rotary_emb = Unturned(2 * len(spectrum.omega))
    return _read(model, rectified=(spectrum, within))


def window(model: PreTrainedModel, size: int, sinks: int = 0, *, heads: Heads | None = None) -> PreTrainedModel:
    """Each query sees the `size` nearest keys, its own included, and the first `sinks` of the text.

    Positions stay those of the text (StreamingLLM, Xiao et al. 2024, renumbers them within its cache). `heads`: by
    layer, those whose sight is limited; the others see all. None: all heads.
    """
    return see(model, Sight(size, sinks), heads=heads)


def see(
    model: PreTrainedModel, sight: Sight, *, layers: Iterable[int] | None = None, heads: Heads | None = None
) -> PreTrainedModel:
    """`sight` in some layers (None: all), or some heads by layer. ValueError for both, and what there is not."""
    if layers is not None and heads is not None:
        raise ValueError("layers and heads are both given; name the layers in heads alone")
    count, width = model.config.num_hidden_layers, model.config.num_attention_heads
    chosen = {layer: None for layer in (range(count) if layers is None else layers)}
    if heads is not None:
        chosen = {layer: tuple(sorted(some)) for layer, some in heads.items() if some}
    for layer, some in chosen.items():
        if not 0 <= layer < count or any(not 0 <= head < width for head in some or ()):
            raise ValueError(f"layer {layer}, heads {some}, but the model has {count} layers of {width} heads")
    _read(model)
    for layer, some in chosen.items():
        attention = model.base_model.layers[layer].self_attn
        setattr(attention, PLACE, replace(getattr(attention, PLACE), sight=sight, heads=some))
    return model


def scalable_softmax(model: PreTrainedModel) -> PreTrainedModel:
    """Logits of a query that sees n keys times max(1, ln n / ln T), T as in training, at inference (Nakanishi 2025).

    n counts the keys in its `Sight`, the head's own.
    """
    return _read(model, scaled=trained_length(model))


def stretch(model: PreTrainedModel, how: Stretch, trained: int | None = None) -> PreTrainedModel:
    """The rotation how(spectrum, length, trained) in all layers; the length is that of each call.

    `trained`: the model's own context by default. ValueError as `spectrum_of`, or where `how` refuses its numbers.
    """
    spectrum, known = spectrum_of(model), trained or trained_length(model)
    how(spectrum, known, known)  # refuses here, not in the middle of a text
    _keep(model).base_model.rotary_emb = Turning(spectrum, how, known)
    return model


def restore(model: PreTrainedModel) -> PreTrainedModel:
    """The model as it was before the functions of this module."""
    before = model.__dict__.pop(BEFORE, None)
    if before is not None:
        model.base_model.rotary_emb = before[0]
        model.set_attn_implementation(before[1])
        for layer in model.base_model.layers:
            layer.self_attn.__dict__.pop(PLACE, None)
    return model


def spectrum_of(model: PreTrainedModel) -> Spectrum:
    """The frequencies that the model was trained with.

    ValueError for a model of another family, with frequencies that are extended already or turn a part of each head.
    """
    config = model.config
    if config.model_type not in FAMILIES:
        raise ValueError(
            f"{type(model).__name__} is of the family {config.model_type!r}, which is not supported; open "
            f"a model of {', '.join(FAMILIES)}"
        )
    given = dict(config.rope_parameters or {})
    if given.get("rope_type", "default") != "default" or given.get("partial_rotary_factor", 1) != 1:
        raise ValueError(
            f"the rotation of {type(model).__name__} is extended or partial already ({given}); open a "
            "model with plain RoPE"
        )
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return rope(width, float(given["rope_theta"]))


def trained_length(model: PreTrainedModel) -> int:
    """The context in the model's configuration."""
    return model.config.max_position_embeddings


class Turning(nn.Module):
    """In place of rotary frequencies: cos and sin of stretch(spectrum, length of the call, trained length)."""

    def __init__(self, spectrum: Spectrum, how: Stretch, trained: int) -> None:
        super().__init__()
        self.spectrum, self.how, self.trained = spectrum, how, trained

    def forward(
        self, x: Tensor, position_ids: Int[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "batch length width"], Float[Tensor, "batch length width"]]:
        spectrum = self.how(self.spectrum, int(position_ids.max()) + 1, self.trained)
        omega = torch.tensor(spectrum.omega, dtype=torch.float64, device=x.device)
        angles = (position_ids.double()[..., None] * omega).repeat(1, 1, 2)
        by = spectrum.temperature**-0.5
        return (angles.cos() * by).to(x.dtype), (angles.sin() * by).to(x.dtype)


def _keep(model: PreTrainedModel) -> PreTrainedModel:
    """Remember what `restore` gives back."""
    if BEFORE not in model.__dict__:
        before = model.base_model.rotary_emb, model.config._attn_implementation
        model.__dict__[BEFORE] = before  # no part of the model
    return model


def _read(model: PreTrainedModel, **changes: Any) -> PreTrainedModel:
    """Every layer attends by a `Reading`, with some changes to what it has."""
    spectrum_of(model)
    limit = getattr(model.config, "sliding_window", None)
    if limit and getattr(model.config, "use_sliding_window", True):
        raise ValueError(f"the model has a sliding window of {limit} tokens; load it with sliding_window=None")
    _keep(model).set_attn_implementation(NAME)
    for layer in model.base_model.layers:
        attention = layer.self_attn
        setattr(attention, PLACE, replace(getattr(attention, PLACE, Reading()), **changes))
    return model


def _keys(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    *more: Any,
    attention_mask: Tensor | None = None,
    device: torch.device | str = "cpu",
    **how: Any,
) -> Float[Tensor, "1 1 0 keys"]:
    """No mask, since `Reading` knows what is visible. Its shape says how many keys there are: a static cache pads them.

    ValueError for a text that is padded.
    """
    if attention_mask is not None and not bool(attention_mask.all()):
        raise ValueError(f"{ONE_TEXT}, without padding; give one text at a time")
    return torch.empty(1, 1, 0, q_offset + q_length - kv_offset, device=device)


def _attend(
    module: nn.Module,
    query: Float[Tensor, "batch heads queries width"],
    key: Float[Tensor, "batch kv_heads keys width"],
    value: Float[Tensor, "batch kv_heads keys width"],
    attention_mask: Float[Tensor, "1 1 0 keys"],
    scaling: float | None = None,
    dropout: float = 0.0,
    output_attentions: bool = False,
    position_ids: Int[Tensor, "rows queries"] | None = None,
    **how: Any,
) -> tuple[Float[Tensor, "batch queries heads width"], None]:
    """The registered function; queries are the last of the keys that `_keys` counts."""
    reading: Reading = getattr(module, PLACE)
    check_dropout(dropout)
    if output_attentions:
        raise ValueError("output_attentions = True, but weights are never formed here; leave it out")
    if attention_mask.shape[2]:
        raise ValueError(f"{ONE_TEXT}; got an attention_mask of shape {list(attention_mask.shape)}; leave it out")
    # A look waits for the device, so that one layer looks for all of them; compiled code cannot look.
    looks = position_ids is not None and module.layer_idx == 0 and not torch.compiler.is_compiling()
    if looks and bool((position_ids.diff() != 1).any()):
        raise ValueError(f"{ONE_TEXT}; got position_ids that restart; give one text at a time")
    heads, keys, queries = query.shape[1], attention_mask.shape[3], query.shape[2]
    key, value = (x[:, :, :keys].repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
    query = query * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    places = torch.arange(keys - queries, keys, device=query.device)

    def read(q: Tensor, k: Tensor, v: Tensor, sight: Sight) -> Tensor:
        if reading.scaled is not None:
            q = q * (sight.count(places).log() / math.log(reading.scaled)).clamp(min=1).to(q.dtype)[:, None]
        return (
            _by_blocks(q, k, v, sight) if reading.rectified is None else _rectified(q, k, v, sight, *reading.rectified)
        )

    if reading.heads is None:
        return read(query, key, value, reading.sight).transpose(1, 2), None
    limited = list(reading.heads)
    free = [head for head in range(heads) if head not in reading.heads]
    parts = [
        read(query[:, some], key[:, some], value[:, some], sight)
        for some, sight in ((limited, reading.sight), (free, Sight()))
        if some
    ]
    return torch.cat(parts, 1)[:, torch.tensor(limited + free).argsort()].transpose(1, 2), None


def _by_blocks(q: Tensor, k: Tensor, v: Tensor, sight: Sight) -> Tensor:
    """softmax(q k) v over what `sight` lets through; q is scaled already."""
    keys, offset = k.shape[2], k.shape[2] - q.shape[2]
    attend, parts, begin = partial(F.scaled_dot_product_attention, scale=1.0), [], offset
    plain = min(keys, sight.plain_until())
    if offset == 0 and plain:  # one call, whose kernel leaves out what is not causal
        parts.append(attend(*(x[:, :, :plain] for x in (q, k, v)), is_causal=True))
        begin = plain
    for start in range(begin, keys, BLOCK):
        stop = min(start + BLOCK, keys)
        j = sight.keys(start, stop).to(q.device)
        i = torch.arange(start, stop, device=q.device)[:, None]
        block = q[:, :, start - offset : stop - offset]
        parts.append(attend(block, k[:, :, j], v[:, :, j], attn_mask=sight.sees(i, j)))
    return torch.cat(parts, 2)


def _rectified(q: Tensor, k: Tensor, v: Tensor, sight: Sight, spectrum: Spectrum, within: int) -> Tensor:
    """ReRoPE by blocks: keys beyond the window of a whole block meet the far rotation alone."""
    turn = Rotary(spectrum).to(q.device).turn
    keys, offset = k.shape[2], k.shape[2] - q.shape[2]
    at = torch.arange(keys, device=q.device)
    near, far = turn(k, at), k  # in the far part keys do not turn
    parts = []
    for start in range(offset, keys, BLOCK):
        stop = min(start + BLOCK, keys)
        i, block = at[start:stop], q[:, :, start - offset : stop - offset]
        edge = max(0, start - within)
        away = turn(block, torch.full_like(i, within))
        logits = away @ far[:, :, :stop].mT
        lag = i[:, None] - at[edge:stop]
        close = turn(block, i) @ near[:, :, edge:stop].mT
        logits[..., edge:] = torch.where(lag <= within, close, logits[..., edge:])
        logits = logits.masked_fill(~sight.sees(i[:, None], at[:stop]), -torch.inf)
        parts.append(logits.softmax(-1) @ v[:, :, :stop])
    return torch.cat(parts, 2)


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, _keys)
