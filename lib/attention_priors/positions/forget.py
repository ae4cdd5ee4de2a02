"""A forget gate: content decides how far a head looks back.

FoX (Lin et al. 2025, arXiv:2503.02130) adds Σ_{l=j+1..i} ln f_l to the logit of query i and key j, f_l in (0, 1) a gate
that the token at l sets. With c_j = Σ_{l<=j} ln f_l the sum is c_i - c_j, and softmax ignores c_i: what is left is a
log-prior -c_j on keys alone, one coordinate of an attention call. Equal gates f are ALiBi with the slope -ln f. CABLE
(Veisi et al. 2025, arXiv:2503.08067, the code of its first release) is the same: it adds -ln(1 + e^h) = ln σ(-h).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from .rotary import Keys, Queries

WideQueries = Float[Tensor, "batch heads queries width+1"]
WideKeys = Float[Tensor, "batch kv_heads keys width+1"]


class ForgetGate(nn.Module):
    """ln f_l = ln σ(w_h · x_l + b_h) for every key head h; w as in any linear map.

    At the start b = 0, so that f is near 1/2 and a head sees a key or two (the authors' default). Or, with `slowest`,
    1/(1 - f) is spaced evenly in the logarithm from 2 to that many keys over the heads (their option of decay times).
    """

    def __init__(self, width: int, kv_heads: int, slowest: int | None = None) -> None:
        """ValueError where `slowest` is below 2 keys."""
        super().__init__()
        if slowest is not None and slowest < 2:
            raise ValueError(f"slowest = {slowest} keys, but at least 2 are needed; leave it out for gates of 1/2")
        self.gate = nn.Linear(width, kv_heads)
        times = torch.full((kv_heads,), 2.0) if slowest is None else torch.logspace(1, math.log2(slowest), kv_heads, 2)
        with torch.no_grad():
            self.gate.bias.copy_((times - 1).log())

    def widen(
        self, q: Queries, k: Keys, v: Keys, x: Float[Tensor, "batch length channels"]
    ) -> tuple[WideQueries, WideKeys, WideKeys]:
        """[q, 0], [k, ln f] and [v, 0]: heads of one component more, keys in float32 at least."""
        logits = self.gate(x)
        gates = F.logsigmoid(logits.to(torch.promote_types(logits.dtype, torch.float32))).mT[..., None]
        return F.pad(q, (0, 1)), torch.cat([k.to(gates.dtype), gates], -1), F.pad(v, (0, 1))

    @staticmethod
    def place(q: Queries, k: Keys) -> tuple[Queries, Keys]:
        """Of widened q and k: <q', k'> / sqrt(d + 1) = <q, k> / sqrt(d) + c_n - c_j, where c_n is the last key's.

        `k` has every key from the first on. Both results are as precise as the keys.
        """
        width = q.shape[-1]
        q, sums = q[..., :-1].to(k.dtype), k[..., -1].cumsum(-1)
        fade = (sums[..., -1:] - sums)[..., None]
        q = torch.cat([q * (width / (width - 1)) ** 0.5, torch.full_like(q[..., :1], width**0.5)], -1)
        return q, torch.cat([k[..., :-1], fade], -1)
