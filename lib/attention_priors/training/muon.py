"""Muon (Jordan et al. 2024) with one product for all matrices of a shape: the many small ones are its time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


class BatchedMuon(torch.optim.Muon):
    """`torch.optim.Muon` with adjust_lr_fn="match_rms_adamw": the same state, and steps up to the rounding of bfloat16.

    On a CPU that multiplies in bfloat16 they are the same to the bit.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """One step. ValueError for a closure."""
        if closure is not None:
            raise ValueError("BatchedMuon takes no closure; compute the gradients before step()")
        for group in self.param_groups:
            parameters: list[Tensor] = []
            gradients: list[Tensor] = []
            buffers: list[Tensor] = []
            self._init_group(group, parameters, gradients, buffers)
            if not parameters:
                continue
            torch._foreach_lerp_(buffers, gradients, 1 - group["momentum"])
            updates = torch._foreach_lerp(gradients, buffers, group["momentum"]) if group["nesterov"] else buffers
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            shapes: dict[torch.Size, list[int]] = {}
            for place, parameter in enumerate(parameters):
                shapes.setdefault(parameter.shape, []).append(place)
            for shape, places in shapes.items():
                flat = torch.stack([updates[i] for i in places])
                made = orthogonal(flat, group["ns_coefficients"], group["ns_steps"], group["eps"]).float()
                rate = -group["lr"] * 0.2 * math.sqrt(max(shape))
                torch._foreach_add_([parameters[i] for i in places], list(made), alpha=rate)


def orthogonal(
    x: Float[Tensor, "matrices rows columns"], coefficients: tuple[float, float, float], steps: int, eps: float
) -> Float[Tensor, "matrices rows columns"]:
    """Newton-Schulz: U Vᵀ of x = U S Vᵀ, roughly, in bfloat16.

    A processor without products in bfloat16 takes them in float32 and rounds them: the same up to the order of sums,
    where torch's own loops would take half of a training's time.
    """
    a, b, c = coefficients
    x, tall = x.bfloat16(), x.shape[1] > x.shape[2]
    norms = torch.stack(torch._foreach_norm(list(x)))  # of one matrix at a time: its sum has an order, and so bits
    x = (x.mT if tall else x) / norms.clamp(min=eps)[:, None, None]
    single = x.device.type == "cpu" and not has_bfloat16()
    x = x.float() if single else x
    for _ in range(steps):
        gram = _rounded(x @ x.mT)
        x = _rounded(torch.baddbmm(x, _rounded(torch.baddbmm(gram, gram, gram, beta=b, alpha=c)), x, beta=a))
    return x.mT if tall else x


def _rounded(x: Tensor) -> Tensor:
    """To what bfloat16 holds, in the dtype of x."""
    return x.bfloat16().to(x.dtype)


@functools.cache
def has_bfloat16() -> bool:
    """Whether this processor multiplies matrices of bfloat16 by oneDNN: AVX-512 or ARM's BF16, not AVX2."""
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
