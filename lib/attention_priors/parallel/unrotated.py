"""Hugging Face's RoPE models read with other rotations: stretched, rectified, or in a cache that slides.

The model is asked with every token at position 0, where its own rotation is the identity. So queries and keys reach the
registered attention before they are turned, are cached so, and are turned there: nothing of the model is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from ..positions.layouts import half_split
from ..positions.rotary import DampedRotary, Spectrum, rope
from .baselines import SINKS, Progress, Stretching
from .chunks import Options
from .hf import HuggingFace

PIECE = 1024  # tokens that the model is given at once
LOGITS = 2**22  # of a head that are in memory at once
PROBED = 101  # a position at which the model's rotation is compared with ours
# (q, k, v, positions of queries, of keys, current length, factor of the logits) -> Σ_j p_ij v_j
Attend = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int, float], Tensor]


@dataclass(eq=False)
class Unrotated:
    """A text that is read whole, token after token, by another attention. See `Session`.

    `spans` and `kept` are those of one chunk. `window`: None, or how many keys stay, of which `sinks` are the first.
    `progress` is told how many pieces of how many are read.
    """

    reader: HuggingFace
    text: Int[Tensor, " tokens"]
    attend: Attend
    window: int | None = None
    sinks: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        count, self.length, self.kept = len(self.text), 0, (0,)
        self.spans = [(0, count)]
        self.entries = float(count if self.window is None else min(count, self.window - 1))
        self.held: list[tuple[Tensor, Tensor]] = []  # keys, not rotated, and values; `self.at` is where they stand
        self.at = torch.arange(0, device=self.reader.device)

    @torch.inference_mode()
    def feed(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new vocabulary"]:
        """Logits after each of some new tokens; the text goes before the first of them."""
        text, self.text = self.text, self.text[:0]
        total = self.length + len(text) + len(tokens)
        pieces = text.split(PIECE) if len(text) else ()
        for index, piece in enumerate(pieces):
            self._step(piece, 1, total)
            if self.progress is not None:
                self.progress(index + 1, len(pieces))
        return torch.cat([self._step(piece, len(piece), total) for piece in tokens.split(PIECE)])

    def _step(self, tokens: Tensor, last: int, total: int) -> Tensor:
        """Logits of the last of some tokens, in a text of `total` by now."""
        at = torch.arange(self.length, self.length + len(tokens), device=self.reader.device)
        everywhere = torch.cat([self.at, at])
        self.length += len(tokens)
        stays = slice(None)
        if self.window is not None:
            stays = (everywhere < self.sinks) | (everywhere > self.length - self.window + self.sinks)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
            if layer < len(self.held):
                k, v = (torch.cat(pair, 2) for pair in zip(self.held[layer], (k, v), strict=True))
            self.held[layer : layer + 1] = [(k[:, :, stays], v[:, :, stays])]
            return self.attend(q, k, v, at, everywhere, total, factor)

        logits = self.reader.run(tokens.to(at.device)[None], torch.zeros_like(at), attend, last)[0]
        self.at = everywhere[stays]
        return logits


@dataclass(frozen=True)
class Stretched:
    """Ordinary attention whose planes turn as `how` says for the current length."""

    spectrum: Spectrum
    how: Stretching
    number: float
    trained: int

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, at: Tensor, keys: Tensor, length: int, factor: float) -> Tensor:
        """See `Attend`."""
        turned = DampedRotary(self.how(self.spectrum, length, self.trained, self.number)).to(q.device)
        q, k = turned(q, k, at, keys)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=keys <= at[:, None], scale=factor, enable_gqa=q.shape[1] != k.shape[1]
        )


@dataclass(frozen=True)
class TwoSided:
    """Lags below `near` as they are. Beyond, the pair of positions (p, r) stands at (far(p), r / `slow`), and only the
    first `sinks` keys are seen (None: all)."""

    spectrum: Spectrum
    near: int
    far: Callable[[Tensor], Tensor]
    slow: float = 1.0
    sinks: int | None = None

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, at: Tensor, keys: Tensor, _: int, factor: float) -> Tensor:
        """See `Attend`."""
        heads = q.shape[1]
        q = (q * factor).unflatten(1, (k.shape[1], -1))  # key heads, query heads of each
        k, v, omega = k[:, :, None], v[:, :, None], torch.tensor(self.spectrum.omega, dtype=torch.float64)
        r = keys.double()
        sides = [self._turned(k, at_, omega) for at_ in (r, r / self.slow)]
        mixed, block = [], max(1, LOGITS // len(keys))
        for start in range(0, len(at), block):
            p = at[start : start + block]
            part, gap = q[..., start : start + block, :], p[:, None] - keys
            near, far = (
                self._turned(part, at_, omega) @ side.mT
                for at_, side in zip((p.double(), self.far(p.double())), sides, strict=True)
            )
            logits = torch.where(gap < self.near, near, far)
            hidden = gap < 0
            if self.sinks is not None:
                hidden = hidden | ((gap >= self.near) & (keys >= self.sinks))
            mixed.append(logits.float().masked_fill(hidden, -torch.inf).softmax(-1).to(v.dtype) @ v)
        return torch.cat(mixed, -2).flatten(1, 2).view(1, heads, len(at), -1)

    @staticmethod
    def _turned(x: Tensor, positions: Tensor, omega: Tensor) -> Tensor:
        return half_split(x, positions[:, None] * omega.to(x.device))


def stretched(
    reader: HuggingFace,
    text: Tensor,
    question: Tensor,
    options: Options,
    progress: Progress | None = None,
    *,
    how: Stretching,
    number: float,
) -> Unrotated:
    """The whole text, with RoPE stretched (see `baselines.stretched`) from the length that the model is made for.
    ValueError where that is not known, and for a rotation that is not Llama's."""
    attend = Stretched(spectrum_of(reader), how, number, trained(reader))
    return Unrotated(reader, _begun(text, options), attend, progress=progress)


def rectified(
    reader: HuggingFace,
    text: Tensor,
    question: Tensor,
    options: Options,
    progress: Progress | None = None,
    *,
    number: float = math.inf,
) -> Unrotated:
    """The whole text, with lags beyond half of the length that the model is made for growing 1 / `number` as fast: not
    at all in ReRoPE (Su 2023). ValueError as for `stretched`."""
    window = trained(reader) // 2
    attend = TwoSided(spectrum_of(reader), window + 1, lambda p: p / number + window * (1 - 1 / number), number)
    return Unrotated(reader, _begun(text, options), attend, progress=progress)


def streaming(
    reader: HuggingFace, text: Tensor, question: Tensor, options: Options, progress: Progress | None = None
) -> Unrotated:
    """StreamingLLM with a cache of `options.window` positions: see `baselines.Streaming`. ValueError for a window
    without room for recent keys, and for a rotation that is not Llama's."""
    window = options.window
    if window is None or window <= SINKS:
        raise ValueError(f"sinks = {SINKS} of a window of {window}; leave room for recent keys")
    attend = TwoSided(spectrum_of(reader), window - SINKS, partial(torch.clamp, max=window - 1), sinks=SINKS)
    return Unrotated(reader, _begun(text, options), attend, window, SINKS, progress)


def _begun(text: Tensor, options: Options) -> Tensor:
    return text if options.bos is None else torch.cat([text.new_tensor([options.bos]), text])


def trained(reader: HuggingFace) -> int:
    """The length that the model is made for. ValueError where it does not say."""
    most = getattr(reader.model.config, "max_position_embeddings", None)
    if not most:
        raise ValueError(
            f"{type(reader.model).__name__} does not say for how many positions it is made; set "
            "config.max_position_embeddings"
        )
    return most


@torch.inference_mode()
def spectrum_of(reader: HuggingFace) -> Spectrum:
    """The frequencies with which the model turns its planes.

    ValueError where it has none or several, and where a query at a position is not the one at 0 turned by them in the
    half-split layout: then another rotation cannot be put in the place of its own.
    """
    found = {tuple(each.inv_freq.double().tolist()) for each in reader.model.modules() if hasattr(each, "inv_freq")}
    if len(found) != 1:
        raise ValueError(f"{_kind(reader)} has {len(found)} sets of rotary frequencies, but one is needed; {_REMEDY}")
    (omega,) = found
    base = reader.model.config.rope_parameters.get("rope_theta")
    exact = rope(2 * len(omega), base).omega if base else omega
    same = all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(omega, exact, strict=True))
    spectrum = Spectrum(exact if same else omega)  # the model rounds to float32, and YaRN needs a geometric series
    at_zero, turned = (_queries(reader, position) for position in (0, PROBED))
    angles = PROBED * torch.tensor(spectrum.omega, dtype=torch.float64, device=reader.device)
    if at_zero.shape[-1] != 2 * len(omega):
        raise ValueError(f"{_kind(reader)} turns {2 * len(omega)} of {at_zero.shape[-1]} widths of a head; {_REMEDY}")
    if (half_split(at_zero, angles) - turned).norm() > 0.02 * turned.norm():
        raise ValueError(f"{_kind(reader)} turns its planes in another layout than Llama; {_REMEDY}")
    return spectrum


_REMEDY = "read it in a way that keeps its rotation (plain, last-window, chunks ...)"


def _kind(reader: HuggingFace) -> str:
    return type(reader.model).__name__


def _queries(reader: HuggingFace, position: int) -> Tensor:
    """The first layer's queries of a few tokens, all at one position."""
    seen: list[Tensor] = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
        if layer == 0:
            seen.append(q)
        return v.repeat_interleave(q.shape[1] // v.shape[1], 1)

    tokens = torch.arange(8, device=reader.device)
    reader.run(tokens[None], torch.full_like(tokens, position), attend, 1)
    return seen[0].float()
