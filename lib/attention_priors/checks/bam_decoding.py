"""BAM's algorithm (appendix C): decoding with a cache and a relative bias, and documents packed into one sequence."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from attention_priors.attention import attention, causal, documents
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer

LONG = 10_240  # tokens: the paper caches above 10,000
LENGTHS = (5, 1, 9, 8)  # of packed documents
EXACT = 1e-9


def model(encoding: str, layers: int = 2) -> Transformer:
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


def decode(built: Transformer, tokens: Tensor, last: int, slip: int = 0) -> Tensor:
    """Logits of the last tokens, one at a time on top of a cache; `slip` moves the bias by so many lags."""
    cache, start = Cache(), tokens.shape[1] - last
    for left in range(0, start, 1024):
        built(tokens[:, left : min(left + 1024, start)], last=1, cache=cache)
    rows = []
    for index in range(start, tokens.shape[1]):
        cache.length -= slip
        rows.append(built(tokens[:, index : index + 1], cache=cache))
        cache.length += slip
    return torch.cat(rows, 1)


@torch.no_grad()
def check_cache(statement: tuple[int, int, Callable[..., Tensor]]) -> Evidence:
    """(length, last, decode): decoding with a cache against one forward pass without one."""
    length, last, decoding = statement
    tokens, errors = text(length), {}
    for encoding in ("alibi", "bam", "bam-ssmax") if length < LONG else ("bam-ssmax",):
        built = model(encoding)
        backend = "reference" if length < 1024 else "auto"  # the whole matrix where it is small
        whole = built(tokens, last=last, backend=backend)
        errors[encoding] = float((decoding(built, tokens, last) - whole).abs().max())
    return _compare(errors, f"at {length:,} tokens")


@torch.no_grad()
def check_packing(statement: Callable[[Transformer, Tensor, Tensor], Tensor]) -> Evidence:
    """Documents in one sequence against each of them alone."""
    tokens = text(sum(LENGTHS))
    ids = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))[None]
    errors = {}
    for encoding in ("nope-ssmax", "rope", "alibi", "bam-ssmax"):
        built = model(encoding)
        alone = torch.cat([built(part, backend="reference") for part in tokens.split(LENGTHS, 1)], 1)
        errors[encoding] = float((statement(built, tokens, ids) - alone).abs().max())
    return _compare(errors, f"documents of {', '.join(map(str, LENGTHS))} tokens")


def check_count(statement: Callable[[Tensor], Tensor]) -> Evidence:
    """n by document ids, put into s ln n: masked attention over the packed sequence against SSMax of each document."""
    ids = torch.repeat_interleave(torch.arange(len(LENGTHS)), torch.tensor(LENGTHS))[None]
    noise = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(1, 1, sum(LENGTHS), 4, generator=noise, dtype=torch.float64) for _ in range(3))
    scale = 0.7 * statement(ids)[:, None].double().log()
    packed = attention(q, k, v, logit_scale=scale, visible=causal(sum(LENGTHS)) & documents(ids))[0, 0]
    rows = []
    for start, length in zip(np.cumsum([0, *LENGTHS[:-1]]), LENGTHS, strict=True):
        for n in range(1, length + 1):
            seen, query = slice(start, start + n), q[0, 0, start + n - 1]
            logits = 0.7 * math.log(n) * (k[0, 0, seen] @ query) / math.sqrt(4)
            rows.append(logits.softmax(0) @ v[0, 0, seen])
    error = float((packed - torch.stack(rows)).abs().max())
    return _compare({"one head": error}, f"n runs over 1..{LENGTHS[0]}, then over 1..{LENGTHS[1]}, and so on")


def _compare(errors: dict[str, float], where: str) -> Evidence:
    """The largest difference of a number of the model; its last digits differ between machines and are dropped."""
    return compare(round(max(errors.values()), 10), "<=", EXACT, detail=f"{', '.join(errors)}; {where}")


CHECKS = {
    "BAM-ALG1": Check(
        "BAM-ALG1",
        printed=(
            Part(
                "Decoding with a cache gives what the whole matrix of scores and biases gives",
                (40, 16, decode),
                check_cache,
                false=(40, 16, lambda *given: decode(*given, slip=1)),
            ),
            Part(
                f"The same at {LONG:,} tokens, with the relative bias in blocks",
                (LONG, 4, decode),
                check_cache,
                false=(LONG, 4, lambda *given: decode(*given, slip=1)),
            ),
            Part(
                "Under the mask a packed document gives what it gives alone",
                lambda built, tokens, ids: built(tokens, document_ids=ids),
                check_packing,
                false=lambda built, tokens, ids: built(tokens),
            ),
            Part(
                "The n of SSMax is the number of tokens of the same document up to the query",
                lambda ids: (causal(ids.shape[1]) & documents(ids)).count,
                check_count,
                false=lambda ids: causal(ids.shape[1]).count.expand(ids.shape),
            ),
        ),
        practice="A relative prior needs no reset of positions at a document's start; a sinusoidal encoding does.",
    )
}
