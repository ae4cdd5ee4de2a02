"""A trained model, read at longer contexts through another encoding: position interpolation, NTK, YaRN, ReRoPE ..."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..model import Attention, Rows, Transformer
from ..positions.encodings import encoding, stretched
from ..positions.extensions import ExtendedRotary, RectifiedRotary
from ..theory.rerope import scores

ROWS = 256  # queries at once: memory grows with the number of keys alone


def extend(model: Transformer, name: str, trained: int, factor: float | None = None) -> Transformer:
    """A copy of `model` whose encoding is the row `name`, which extends the model's own; weights are those of `model`.

    `trained` is the length that the model was trained on, in tokens. `factor` is how many times longer the context
    becomes; None: the row's own. ValueError where `name` does not extend the model's encoding
    (ENCODINGS[name].trained_as), for a training length below 2, and for a factor where the row takes none or below 1.
    """
    row = encoding(name)
    if row.trained_as != model.config.encoding:
        whose = f"extends {row.trained_as!r}" if row.trained_as else "is trained by itself"
        raise ValueError(
            f"encoding {name!r} {whose}, but the model is {model.config.encoding!r}; train or open that one"
        )
    if not isinstance(trained, int) or trained < 2:
        raise ValueError(f"trained = {trained}, but a training length is a whole number of at least 2 tokens")
    if factor is not None and not factor >= 1:
        raise ValueError(f"factor = {factor}, but a context that grows needs one of at least 1")
    rotary = None if factor is None else stretched(row, factor)
    if factor is not None and rotary is None:
        raise ValueError(f"factor = {factor}, but {name!r} takes none: it goes by the length itself; leave it out")
    made = Transformer(model.config.model_copy(update={"encoding": name})).to(next(model.parameters()))
    made.load_state_dict(model.state_dict())
    made.trained = trained
    for block in made.blocks:
        own = block.attention
        if rotary is not None:
            own.rotary = rotary(own.head_width, model.config.rope_base)
        if isinstance(own.rotary, (ExtendedRotary, RectifiedRotary)):
            own.rotary.trained = trained
        if isinstance(own.rotary, RectifiedRotary):
            block.attention = RectifiedAttention(own)
    return made.train(model.training)


class RectifiedAttention(nn.Module):
    """Causal attention in which the rotation of a pair depends on its lag through a kink, in blocks of queries."""

    def __init__(self, inner: Attention) -> None:
        super().__init__()
        if inner.prior is not None:
            raise ValueError(
                "ReRoPE is for rotations; the model also has a log-prior, which it would have to leave out"
            )
        self.rotary, inner.rotary = inner.rotary, None
        self.inner = inner

    def forward(self, x: Tensor, rows: Rows, layer: int) -> Tensor:
        """[batch, length, width] -> [batch, queries, width]; queries are the last rows."""
        q, k, v, scale = self.inner.project(x, rows, layer)
        keys = torch.arange(k.shape[2], device=k.device)
        first, last = (edge.reshape(-1, 1, q.shape[2], 1) for edge in (rows.visible.first, rows.visible.last))
        v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
        parts = []
        for start in range(0, q.shape[2], ROWS):
            block = slice(start, start + ROWS)
            logits = scores(
                q[:, :, block] * q.shape[-1] ** -0.5,
                k,
                self.rotary.spectrum,
                rows.q_positions[block],
                rows.k_positions,
                window=self.rotary.window,
                factor=self.rotary.factor,
            )
            if scale is not None:
                logits = logits * scale[..., block, None]
            hidden = (keys < first[:, :, block]) | (keys > last[:, :, block])
            parts.append(logits.masked_fill(hidden, -torch.inf).softmax(-1) @ v)
        return self.inner.output(torch.cat(parts, 2).transpose(1, 2).flatten(2))
