"""A Llama-style decoder whose positional encoding is a row of ENCODINGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from .attention import Visible, attention, bidirectional, causal, documents, window
from .attention.reference import weights
from .config import ModelConfig
from .positions.encodings import Encoding, encoding
from .positions.forget import ForgetGate
from .positions.priors import Prior, share
from .positions.rotary import BiasedRotary, Keys, Queries

# BAM App. C, Table 1. The tokenizer there has 32,768 tokens, RoPE in the authors' code the base 500,000.
_COMMON = {"vocabulary": 32768, "rope_base": 500_000.0}
PAPER_MODELS = {
    "bam-120m": {**_COMMON, "width": 768, "layers": 12, "heads": 16, "hidden": 2 * 768},
    "bam-432m": {**_COMMON, "width": 1536, "layers": 14, "heads": 24, "hidden": 2 * 1536},
    "bam-1.1b": {**_COMMON, "width": 2048, "layers": 15, "heads": 32, "hidden": 4 * 2048},
}

Scales = Float[Tensor, "*batch heads queries"]
BLOCK = 256  # queries at once where a rotation holds for a few queries only, or a bias is made for every pair


def paper_model(name: str, encoding: str = "bam-ssmax") -> ModelConfig:
    """One of the three architectures of BAM's Table 1. Raises ValueError for another name."""
    if name not in PAPER_MODELS:
        raise ValueError(f"unknown model {name!r}; choose one of {', '.join(PAPER_MODELS)}")
    return ModelConfig(encoding=encoding, **PAPER_MODELS[name])


@dataclass
class Cache:
    """Keys and values of every layer with their positions; grows by append, shrinks by select.

    A call of the model that raises leaves it as it was.
    """

    layers: list[tuple[Keys, Keys]] = field(default_factory=list)
    positions: Int[Tensor, " keys"] | None = None  # of the cached keys
    length: int = 0  # positions handed out so far
    complete: bool = True  # no key has been dropped: positions are 0 .. length - 1

    def place(self, positions: Int[Tensor, " new"]) -> Int[Tensor, " keys"]:
        """Hand out the positions of new keys; returns those of all keys that the next `append` makes."""
        self.positions = positions if self.positions is None else torch.cat([self.positions, positions])
        self.length += len(positions)
        return self.positions

    def append(
        self, layer: int, k: Float[Tensor, "batch kv_heads new width"], v: Float[Tensor, "batch kv_heads new width"]
    ) -> tuple[Keys, Keys]:
        """Add new keys and values to a layer; returns all of the layer's."""
        if layer == len(self.layers):
            self.layers.append((k, v))
        else:
            old_k, old_v = self.layers[layer]
            self.layers[layer] = (torch.cat([old_k, k], 2), torch.cat([old_v, v], 2))
        return self.layers[layer]

    def restore(self, layers: int, positions: Int[Tensor, " keys"] | None, length: int) -> None:
        """Back to the first so many layers, these positions and this length, from before some `place` and `append`."""
        self.layers = [(k[:, :, : len(positions)], v[:, :, : len(positions)]) for k, v in self.layers[:layers]]
        self.positions, self.length = positions, length

    def select(self, kept: Int[Tensor, " kept"]) -> None:
        """Keep the cached entries with these indices, in this order, in every layer (eviction).

        Raises ValueError where nothing is cached.
        """
        if self.positions is None:
            raise ValueError("the cache is empty; run the model on a prompt before selecting from it")
        self.layers = [(k[:, :, kept], v[:, :, kept]) for k, v in self.layers]
        self.complete = self.complete and len(kept) == len(self.positions) and bool((kept.diff() == 1).all())
        self.positions = self.positions[kept]


@dataclass(frozen=True)
class Rows:
    """What all layers share in one forward pass: positions, visibility and the way to attend."""

    q_positions: Int[Tensor, " queries"]
    k_positions: Int[Tensor, " keys"]
    visible: Visible
    near: Visible | None  # what heads with a window see; None where the encoding has none
    offset: int
    exact: bool  # keys stand at 0 .. keys - 1 and queries from `offset` on, so that a table backend can serve
    backend: str
    cache: Cache | None

    def part(self, start: int, stop: int | None = None) -> Rows:
        """The same for the queries start .. stop - 1; None: to the end."""
        return replace(
            self,
            q_positions=self.q_positions[start:stop],
            visible=self.visible.rows(start, stop),
            near=self.near and self.near.rows(start, stop),
            offset=self.offset + start,
        )

    def last(self, count: int) -> Rows:
        """The same for the last queries only."""
        return self.part(len(self.q_positions) - count)


@dataclass(frozen=True)
class Group:
    """Heads that see the same keys, with the part of the prior that is theirs."""

    heads: slice
    kv_heads: slice
    prior: Prior | None
    near: bool  # they have a window

    @classmethod
    def of(cls, heads: tuple[int, int], kv_heads: tuple[int, int], prior: Prior | None, near: bool) -> Group:
        return cls(slice(*heads), slice(*kv_heads), prior and share(prior, *heads), near)


class Attention(nn.Module):
    """Multi-head (grouped-query) attention with the position parts of an encoding in one layer."""

    def __init__(self, config: ModelConfig, row: Encoding, prior: Prior | None, layer: int = 0) -> None:
        super().__init__()
        self.heads, self.kv_heads = config.heads, config.kv_heads or config.heads
        self.head_width = config.width // config.heads
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key_value = nn.Linear(config.width, 2 * self.kv_heads * self.head_width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        self.turned, self.kv_turned = row.turned(layer, self.heads, self.kv_heads)
        self.rotary = row.rotary(self.head_width, config.rope_base) if self.turned else None
        if row.biased and self.turned:
            self.rotary = BiasedRotary(self.turned, self.kv_turned, self.rotary)
        self.prior = prior
        self.forget = ForgetGate(config.width, self.kv_heads, row.slowest) if row.forgets else None
        self.pairs = row.pairs(self.heads, self.head_width) if row.pairs else None
        self.sums = self.forget is not None or (self.pairs is not None and self.pairs.sums)  # over every key
        if self.sums and not config.causal:
            raise ValueError(f"encoding {row.name!r} sums over the keys up to the query; give an encoder another one")
        self.scale = row.scale(config.heads)
        self.scales_prior = row.scales_prior
        # Heads with a window and heads without attend apart, so that every backend has both; None: all heads at once.
        self.groups: tuple[Group, ...] | None = None
        if row.window and self.turned:
            turned, rest = (self.turned, self.heads), (self.kv_turned, self.kv_heads)
            self.groups = (Group.of((0, turned[0]), (0, rest[0]), prior, near=True),)
            if self.turned < self.heads:
                self.groups += (Group.of(turned, rest, prior, near=False),)

    def project(
        self, x: Float[Tensor, "batch length channels"], rows: Rows, layer: int
    ) -> tuple[Queries, Keys, Keys, Scales | None]:
        """q, k (not yet rotated), v and the factor of each row; queries are the last rows of `x`."""
        queries = len(rows.q_positions)
        q = self.query(x[:, -queries:]).unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)
        k, v = self.key_value(x).unflatten(-1, (2, self.kv_heads, self.head_width)).permute(2, 0, 3, 1, 4)
        if self.forget is not None:
            q, k, v = self.forget.widen(q, k, v, x)
        if rows.cache is not None:
            k, v = rows.cache.append(layer, k, v)
        return q, k, v, self.factors(rows)

    def factors(self, rows: Rows) -> Scales | None:
        """The factor of each row of logits, by the number of keys that its head sees."""
        far = self.scale(rows.visible.count)
        if self.groups is None or far is None:
            return far
        near = self.scale(rows.near.count)
        return torch.cat([near[..., : self.turned, :], far[..., self.turned :, :]], -2)

    def rotate(self, q: Queries, k: Keys, rows: Rows) -> tuple[Queries, Keys]:
        """q and k with their positions in them, for the queries and keys of `rows`.

        ValueError for what sums over every key where some are not there.
        """
        if self.sums and not rows.exact:
            raise ValueError("this encoding sums over every key, but some have been dropped; keep the whole cache")
        if self.forget is not None:
            return self.forget.place(q, k)
        if self.rotary is None:
            return q, k
        if self.turned == self.heads:
            return self.rotary(q, k, rows.q_positions, rows.k_positions)
        n, m = self.turned, self.kv_turned
        turned_q, turned_k = self.rotary(q[:, :n], k[:, :m], rows.q_positions, rows.k_positions)
        return torch.cat([turned_q, q[:, n:]], 1), torch.cat([turned_k, k[:, m:]], 1)

    def by_group(
        self, attend: Callable[..., Tensor], q: Queries, *kv: Keys, scale: Scales | None, rows: Rows, **how: Any
    ) -> Tensor:
        """`attend` for all heads, with the prior, the factors and the visible keys of each group of heads."""
        if self.pairs is not None:
            how["pairs"] = self.pairs
        if self.groups is None:
            scales = {"logit_scale": scale, "prior_scale": scale if self.scales_prior else None}
            return attend(q, *kv, prior=self.prior, visible=rows.visible, **scales, **how)
        parts = []
        for group in self.groups:
            own = None if scale is None else scale[..., group.heads, :]
            given = {
                "prior": group.prior,
                "visible": rows.near if group.near else rows.visible,
                "logit_scale": own,
                "prior_scale": own if self.scales_prior else None,
            }
            parts.append(attend(q[:, group.heads], *(x[:, group.kv_heads] for x in kv), **given, **how))
        return torch.cat(parts, 1)

    def mix(self, q: Queries, k: Keys, v: Keys, scale: Scales | None, rows: Rows) -> Queries:
        """Σ_j p_ij v_j for the queries and keys of `rows`, which are not yet rotated."""
        q, k = self.rotate(q, k, rows)
        how = {"offset": rows.offset, "backend": rows.backend}
        if not rows.exact:
            how["positions"] = (rows.q_positions, rows.k_positions)
        return self.by_group(attention, q, k, v.to(q.dtype), scale=scale, rows=rows, **how).to(v.dtype)

    def forward(
        self, x: Float[Tensor, "batch length channels"], rows: Rows, layer: int
    ) -> Float[Tensor, "batch queries channels"]:
        """Attention of the last rows of `x` to all of them, and to the cache."""
        q, k, v, scale = self.project(x, rows, layer)
        if self.pairs is None and (self.rotary is None or not self.rotary.blockwise):
            mixed = self.mix(q, k, v, scale, rows)
        else:
            mixed = self._by_blocks(q, k, v, scale, rows)
        return self.output(mixed[..., : self.head_width].transpose(1, 2).flatten(2))

    def _by_blocks(self, q: Queries, k: Keys, v: Keys, scale: Scales | None, rows: Rows) -> Queries:
        """`mix` for BLOCK queries at a time, each time with the keys that they see."""
        parts = []
        for start in range(0, q.shape[2], BLOCK):
            stop = min(start + BLOCK, q.shape[2])
            block = rows.part(start, stop)
            seen = block.visible.facts.last + 1
            block = replace(block, k_positions=block.k_positions[:seen])
            own = None if scale is None else scale[..., start:stop]
            parts.append(self.mix(q[:, :, start:stop], k[:, :, :seen], v[:, :, :seen], own, block))
        return torch.cat(parts, 2)


class Block(nn.Module):
    """Pre-norm attention and SwiGLU: x + A(norm x), then x + W_down(silu(W_gate norm x) * W_up norm x)."""

    def __init__(self, config: ModelConfig, row: Encoding, prior: Prior | None, layer: int) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=1e-5)
        self.attention = Attention(config, row, prior, layer)
        self.feedforward_norm = nn.RMSNorm(config.width, eps=1e-5)
        self.gate_up = nn.Linear(config.width, 2 * config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length channels"], rows: Rows, layer: int
    ) -> Float[Tensor, "batch queries channels"]:
        """The queries are the last rows of `x`."""
        x = x[:, -len(rows.q_positions) :] + self.attention(self.attention_norm(x), rows, layer)
        gate, up = self.gate_up(self.feedforward_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Transformer(nn.Module):
    """Tokens to logits. Initialised with PyTorch's defaults, like the models of BAM.

    Raises ValueError for an encoding that the sizes, or an encoder, cannot have.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        row = encoding(config.encoding)
        if max(row.rotated_layers, default=0) > config.layers:
            raise ValueError(
                f"encoding {row.name!r} rotates layer {max(row.rotated_layers)}, but the model has {config.layers}; "
                "give it as many layers, or take another encoding"
            )
        if row.window and not config.causal:
            raise ValueError(
                f"encoding {row.name!r} has windows that look back, but an encoder looks both ways; give "
                "it an encoding without windows"
            )
        self.config = config
        self.window = row.window
        self.trained: int | None = None  # length that it is trained on, of which windows are shares
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.absolute = row.absolute(config.width) if row.absolute else None
        priors = [row.prior(config.heads) for _ in range(1 if row.shared else config.layers)] if row.prior else [None]
        self.blocks = nn.ModuleList(
            Block(config, row, priors[layer % len(priors)], layer) for layer in range(config.layers)
        )
        self.norm = nn.RMSNorm(config.width, eps=1e-5)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        *,
        document_ids: Int[Tensor, "batch length"] | None = None,
        local: int | None = None,
        last: int | None = None,
        cache: Cache | None = None,
        backend: str = "auto",
    ) -> Float[Tensor, "batch queries vocabulary"]:
        """Logits of all queries, or of the `last` so many, for which alone the top layer is computed.

        `document_ids`: attention stays within runs of equal ids. `local`: a sliding window of that many keys. `cache`:
        keys and values of earlier calls; the new tokens are appended to it. In parts a text has the logits that it has
        at once, except where `Encoding.whole` says that the row needs all of it (drawn or stretched positions, Goat's
        bias on keys): there each part is read as if the text ended with it.

        Raises ValueError for tokens outside the vocabulary, for ids, a window or `last` that do not fit them, for a
        cache beside ids or in an encoder, and for what `attention` refuses; the cache then stays as it was.
        """
        if cache is None:
            return self._logits(tokens, document_ids, local, last, None, backend)
        before = len(cache.layers), cache.positions, cache.length
        try:
            return self._logits(tokens, document_ids, local, last, cache, backend)
        except BaseException:
            cache.restore(*before)
            raise

    def _logits(
        self,
        tokens: Tensor,
        document_ids: Tensor | None,
        local: int | None,
        last: int | None,
        cache: Cache | None,
        backend: str,
    ) -> Tensor:
        if last is not None and not 1 <= last <= tokens.shape[-1]:
            raise ValueError(f"last = {last} of {tokens.shape[-1]} queries; ask for 1 to all of them, or leave it out")
        rows = self._rows(tokens, document_ids, local, cache, backend)
        x = self._embed(tokens, rows)
        for layer, block in enumerate(self.blocks):
            if layer == len(self.blocks) - 1 and last is not None:
                rows = rows.last(last)
            x = block(x, rows, layer)
        return self.head(self.norm(x))

    @torch.no_grad()
    def attention_maps(
        self, tokens: Int[Tensor, "batch length"], queries: int, local: int | None = None
    ) -> list[Float[Tensor, "batch heads queries length"]]:
        """p_ij of the last `queries` rows in every layer. Raises ValueError for more of them than tokens, or none."""
        if not 1 <= queries <= tokens.shape[-1]:
            raise ValueError(f"queries = {queries} of {tokens.shape[-1]} tokens; ask for 1 to all of them")
        rows = self._rows(tokens, None, local, None, "auto")
        x, maps, asked = self._embed(tokens, rows), [], rows.last(queries)
        for layer, block in enumerate(self.blocks):
            own = block.attention
            q, k, _, scale = own.project(block.attention_norm(x), asked, layer)
            q, k = own.rotate(q, k, asked)
            places = {"q_positions": asked.q_positions, "k_positions": asked.k_positions}
            maps.append(own.by_group(weights, q, k, scale=scale, rows=asked, **places))
            x = block(x, rows, layer)
        return maps

    def _rows(self, tokens: Tensor, ids: Tensor | None, local: int | None, cache: Cache | None, backend: str) -> Rows:
        if tokens.ndim != 2 or not tokens.shape[1] or tokens.dtype not in (torch.int64, torch.int32):
            given = f"{list(tokens.shape)}, {tokens.dtype}"
            raise ValueError(f"tokens of shape {given}; integers [batch, length >= 1] are needed")
        if ids is not None and ids.shape != tokens.shape:
            shapes = f"{list(ids.shape)}, tokens {list(tokens.shape)}"
            raise ValueError(f"document_ids have shape {shapes}; make them equal")
        if cache is not None and ids is not None:
            raise ValueError("document_ids and a cache are both given; documents are for training without a cache")
        if cache is not None and not self.config.causal:
            raise ValueError("an encoder reads the whole text at once; a cache is for causal models")
        cached, length, device = cache or Cache(), tokens.shape[1], tokens.device
        if cached.layers and len(cached.layers[0][0]) != len(tokens):
            held = len(cached.layers[0][0])
            raise ValueError(f"{len(tokens)} rows of tokens, but the cache holds {held}; begin a new cache for others")
        exact, offset = cached.complete, cached.length
        q_positions = torch.arange(offset, offset + length, device=device)
        k_positions = cached.place(q_positions)
        if not exact:
            offset, backend = len(k_positions) - length, "reference"
        visible = causal(length, offset, device) if self.config.causal else bidirectional(length, length, device)
        if not exact and (local is not None or self.window is not None):
            raise ValueError("a window needs a cache that has dropped no key; select the window's keys instead")
        if local is not None:
            visible = visible & window(length, local, offset, device)
        if ids is not None:
            visible = visible & documents(ids)
        near = None if self.window is None else visible & window(length, self._near(), offset, device)
        return Rows(q_positions, k_positions, visible, near, offset, exact, backend, cache)

    def _near(self) -> int:
        """The keys that heads with a window see. ValueError where the length that it is a share of is not known."""
        if self.trained is None:
            raise ValueError(
                f"encoding {self.config.encoding!r} has windows of {self.window:g} of the length that the model is "
                "trained on; set model.trained"
            )
        return round(self.window * self.trained)

    def _embed(self, tokens: Tensor, rows: Rows) -> Tensor:
        try:
            x = self.embedding(tokens)
        except IndexError:
            low, high, top = int(tokens.min()), int(tokens.max()), self.config.vocabulary - 1
            said = f"tokens from {low} to {high}, but the vocabulary is 0 to {top}; use the model's tokenizer"
            raise ValueError(said) from None
        return x if self.absolute is None else x + self.absolute(rows.q_positions).to(x.dtype)


def count(model: nn.Module) -> dict[str, int]:
    """Parameters by part: embedding, transformer (all else, head included), and prior (trained scalars)."""
    priors = {id(p): p for m in model.modules() if isinstance(m, Prior) for p in m.parameters()}
    parameters = list(model.parameters())
    embedding = model.embedding.weight.numel()
    return {
        "embedding": embedding,
        "transformer": sum(p.numel() for p in parameters if id(p) not in priors) - embedding,
        "prior": sum(p.numel() for p in priors.values() if p.requires_grad),
        "prior_fixed": sum(p.numel() for p in priors.values() if not p.requires_grad),
    }
