"""BAM's algorithm (appendix C): decoding with a cache and a relative bias, and documents packed into one sequence."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_priors.attention import causal, documents
from attention_priors.claims.law import Law, claim, claims
from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer

LONG = 10_240  # tokens: the paper caches above 10,000
LENGTHS = (5, 1, 9, 8)  # of packed documents
EXACT = 1e-9


def small_model(encoding: str, layers: int = 2) -> Transformer:
    """A small model in float64 whose priors and scales have left their start, where BAM is NoPE."""
    torch.manual_seed(0)
    shape = {"vocabulary": 17, "width": 8, "layers": layers, "heads": 2, "hidden": 8}
    made = Transformer(ModelConfig(encoding=encoding, **shape)).double().eval()
    with torch.no_grad():
        for block in made.blocks:
            for part in (block.attention.prior, block.attention.scale):
                for parameter in part.parameters() if part is not None else ():
                    parameter.add_(0.5 * torch.randn_like(parameter))
    return made


def text(length: int) -> Tensor:
    return torch.randint(17, (1, length), generator=torch.Generator().manual_seed(1))


def document_ids() -> Tensor:
    return torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))[None]


@torch.no_grad()
def decoded(says: int, encoding: str, length: int, last: int) -> tuple[Tensor, Tensor]:
    """Logits of the last tokens, one at a time on a cache whose bias is off by `says` lags, and those of one forward
    pass without a cache (over the whole matrix of scores where that is small)."""
    built, tokens, cache, start = small_model(encoding), text(length), Cache(), length - last
    for left in range(0, start, 1024):
        built(tokens[:, left : min(left + 1024, start)], last=1, cache=cache)
    rows = []
    for index in range(start, length):
        cache.length -= says
        rows.append(built(tokens[:, index : index + 1], cache=cache))
        cache.length += says
    return torch.cat(rows, 1), built(tokens, last=last, backend="reference" if length < 1024 else "auto")


@torch.no_grad()
def packed(says: bool, encoding: str) -> tuple[Tensor, Tensor]:
    """Logits of documents in one sequence, masked from each other or not, and of each of them alone."""
    built, tokens = small_model(encoding), text(sum(LENGTHS))
    alone = torch.cat([built(part, backend="reference") for part in tokens.split(LENGTHS, 1)], 1)
    return built(tokens, document_ids=document_ids() if says else None), alone


def counted() -> list[int]:
    """n of each query, as SSMax gets it."""
    return (causal(sum(LENGTHS)) & documents(document_ids())).count[0].tolist()


CHECKS = claims(
    claim(
        "BAM-ALG1",
        Law("Decoding with a cache gives what the whole matrix of scores and biases gives (the bias is off by 0 lags).",
            0, decoded, [{"encoding": name, "length": 40, "last": 16} for name in ("alibi", "bam", "bam-ssmax")],
            wrong=1, tolerance=EXACT),
        Law(f"The same at {LONG:,} tokens, with the relative bias in blocks.",
            0, decoded, [{"encoding": "bam-ssmax", "length": LONG, "last": 4}], wrong=1, tolerance=EXACT),
        Law("Under the mask a packed document gives what it gives alone.",
            True, packed, [{"encoding": name} for name in ("nope-ssmax", "rope", "alibi", "bam-ssmax")],
            wrong=False, tolerance=EXACT),
        Law("The n of SSMax is the number of tokens of the same document up to the query: 1 to 5, 1, 1 to 9, 1 to 8.",
            [*range(1, 6), 1, *range(1, 10), *range(1, 9)], counted, [{"documents": LENGTHS}],
            wrong=[*range(1, 24)]),
        practice="A relative prior needs no reset of positions at a document's start; a sinusoidal encoding does.",
    ),
)  # fmt: skip
