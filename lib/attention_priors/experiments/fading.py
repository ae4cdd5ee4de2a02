"""How attention thins out as the context grows: the largest weight and the entropy of a row, by length."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from ..config import Profile
from ..model import Transformer
from .documents import Reader
from .experiment import Question
from .grid import Rows

FADING = Question("fading")


def measured(reader: Reader, profile: Profile) -> Rows:
    """A row per length, layer and head: means over the last queries of the documents."""
    wanted, settings = profile.language, profile.readings
    longest, asked = max(wanted.lengths), settings.fading_lengths
    texts = wanted.scored, wanted.documents, longest, wanted.domains[0], reader.run.spec.inputs
    about = asked, settings.fading_documents, *texts

    def measure() -> Rows:
        documents = reader.texts(wanted.domains[0])[: settings.fading_documents]
        return [row for length in asked for row in rows(reader.model, documents, length, wanted.scored, reader.local)]

    return FADING.put(reader.run, (about, reader.local, reader.extension), measure)


@torch.no_grad()
def rows(
    model: Transformer, documents: Int[Tensor, "documents tokens"], length: int, queries: int, local: int | None
) -> Rows:
    """Per layer and head: mean of ln(largest weight) and of the entropy (nats) over the last `queries` rows."""
    device, made = next(model.parameters()).device, {}
    for document in documents:
        tokens = document[None, -length - 1 : -1].to(device)
        for layer, weights in enumerate(model.attention_maps(tokens, queries, local)):
            p = weights[0].double()  # [heads, queries, length]
            entropy = -torch.special.xlogy(p, p).sum(-1).mean(-1)
            peak = p.amax(-1).log().mean(-1)
            for head, pair in enumerate(zip(peak.tolist(), entropy.tolist(), strict=True)):
                made.setdefault((layer, head), []).append(pair)
    return [
        {
            "length": length,
            "layer": layer,
            "head": head,
            "peak": round(sum(peak for peak, _ in found) / len(found), 6),
            "entropy": round(sum(entropy for _, entropy in found) / len(found), 6),
        }
        for (layer, head), found in made.items()
    ]
