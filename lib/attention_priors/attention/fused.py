"""Backend "triton": any relative prior, a prior over keys and both row scales, at the memory of plain attention.

A relative prior enters as its table T[h, lag], made by ordinary PyTorch; what depends on the key alone as u[h, j]. The
gradient of the parameters either returns to the table and goes on by autograd or, for up to four parameters that each
head has for itself, is summed in the kernel against the table's derivatives.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..positions.priors import DEEPEST, Prior, RelativePrior
from .decode import fits, formula, fused_decode
from .inputs import check_rows, check_tensors
from .launch import BACK, FRONT, INTERPRETED, LOG2E, fused_forward
from .skipping import first_needed
from .tiles import DTYPES, padded
from .visible import Visible, causal

MOST_PARAMETERS = 4


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: Prior | None,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible,
    offset: int,
    tolerance: float = 0.0,
) -> Tensor:
    """Backend of `attention`; see there. `tolerance`: see `table_attention`."""
    queries, keys = q.shape[2], k.shape[2]
    given: dict[str, Any] = {"logit_scale": logit_scale, "visible": visible, "offset": offset, "tolerance": tolerance}
    if prior is None:
        return table_attention(q, k, v, **given)
    # Autocast would round lags to half precision, where 256 and 257 are one number.
    with torch.autocast(q.device.type, enabled=False):
        given["of_keys"] = prior.of_keys(torch.arange(keys, device=q.device), keys)
        if decodes(q, k, v, logit_scale, prior_scale, *prior.parameters()) and not tolerance:
            given["formula"] = formula(prior)
        if given.get("formula") is None:
            given["lowest"] = 0 if visible.sees_no_future(offset) else offset - keys + 1
            lags = torch.arange(given["lowest"], offset + queries, device=q.device)
            given["table"], given["jacobian"], given["theta"] = tabulate(prior, lags)
    return table_attention(q, k, v, prior_scale=prior_scale, **given)


def decodes(q: Tensor, k: Tensor, v: Tensor, *others: Tensor | None) -> bool:
    """Whether the decoding kernels take this call: few queries, many keys, nothing to differentiate."""
    differentiable = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, *others))
    return not differentiable and fits(q.shape[2], q.shape[1] // k.shape[1], k.shape[2])


def tabulate(prior: Prior, lags: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Table [heads, lags], and for a few parameters by head also ∂T/∂θ [heads, parameters, lags] and θ."""
    relative, _ = prior.split()
    learned = [(factor, name) for factor in relative for name, p in factor.named_parameters() if p.requires_grad]
    separate = all(factor.headwise for factor, _ in learned) and 0 < len(learned) <= MOST_PARAMETERS
    if not separate or not torch.is_grad_enabled():
        return prior.table(lags), None, None
    theta = torch.stack([factor.get_parameter(name).float() for factor, name in learned])
    with torch.no_grad():
        table = prior.table(lags)
        derivatives = [derivative(factor, name, lags) for factor, name in learned]
    return table, torch.stack(derivatives, 1), theta


def derivative(factor: RelativePrior, name: str, lags: Tensor) -> Tensor:
    """∂T[h, lag] / ∂θ[h] of a prior whose heads are independent, by forward differentiation: [heads, lags]."""

    def table(value: Tensor) -> Tensor:
        return torch.func.functional_call(_Table(factor), {f"prior.{name}": value}, (lags,))

    value = factor.get_parameter(name).detach()
    return torch.func.jvp(table, (value,), (torch.ones_like(value),))[1].float()


class _Table(nn.Module):
    def __init__(self, prior: RelativePrior) -> None:
        super().__init__()
        self.prior = prior

    def forward(self, lags: Tensor) -> Tensor:
        return self.prior.table(lags)


def table_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    table: Tensor | None = None,
    lowest: int | None = None,
    of_keys: Tensor | None = None,
    jacobian: Tensor | None = None,
    theta: Tensor | None = None,
    formula: tuple[Tensor, float] | None = None,
    logit_scale: Tensor | None = None,
    prior_scale: Tensor | None = None,
    visible: Visible | None = None,
    offset: int = 0,
    tolerance: float = 0.0,
    splits: int | None = None,
) -> Tensor:
    """p_ij ∝ exp(a_i <q_i, k_j> / sqrt(d) + b_i (T[offset + i - j] + u_j)) over the visible keys; Σ_j p_ij v_j.

    `table` [heads, lags] has the lags lowest, lowest + 1, ..; `of_keys` u [heads, keys]. Gradients reach both, or
    `theta` [parameters, heads] through `jacobian` = ∂T/∂θ [heads, parameters, lags], at most four. `tolerance` > 0
    leaves out keys whose weights in a row cannot sum to more (`skipping`). Without gradients, few queries on many keys
    are decoded: the keys in `splits` parts, and with `formula` (see `decode.formula`) in place of a table. -inf in a
    table stands for DEEPEST. Scores are float32: where even the best key of a row has a log-prior of -x, they are exact
    to about 1e-7 x. Needs a GPU, or Triton's interpreter. ValueError names the argument, its value and the remedy.
    """
    lowest = 0 if lowest is None else lowest
    _check(q, k, v, table, lowest, of_keys, jacobian, theta, offset, tolerance)
    visible = causal(q.shape[2], offset, q.device) if visible is None else visible
    check_rows(q, k, logit_scale, prior_scale, visible)
    if table is not None and visible.facts.ahead - offset > -lowest:
        raise ValueError(f"visible reaches lags below lowest = {lowest}; start the table at {offset - k.shape[2] + 1}")
    _check_values(table=table, of_keys=of_keys, formula=None if formula is None else formula[0])
    batch, heads, queries, width = q.shape
    wide = (batch, heads, queries)
    biased = table is not None or of_keys is not None or formula is not None
    logit = None if logit_scale is None else logit_scale.float().expand(wide)
    scale = None if prior_scale is None or not biased else prior_scale.float().expand(wide)
    first, last = (x.to(torch.int32).reshape(-1, queries).contiguous() for x in (visible.first, visible.last))
    needed = None
    if table is not None:
        # A row of scores does not feel a constant, whose rounding the sums of dS T would feel.
        table = table.clamp(min=DEEPEST)
        table = (table - table.detach().amax(-1, keepdim=True)).float()
        if tolerance:
            plain = (x if x is None else x.detach() for x in (q, k, table, of_keys, logit, scale))
            needed = first_needed(*plain, first, last, offset, lowest, tolerance)
        peak = None if jacobian is None else table.argmax(-1)
        table = F.pad(table * LOG2E, (FRONT, BACK))
    if jacobian is not None:  # nor does the row's Σ_j dS_ij = 0
        centre = jacobian.float().gather(2, peak[:, None, None].expand(-1, jacobian.shape[1], 1))
        jacobian = F.pad(jacobian.float() - centre, (FRONT, BACK)).contiguous()
    if of_keys is not None:
        of_keys = (of_keys.float().clamp(min=DEEPEST) * LOG2E).contiguous()
    shift, factor = FRONT + offset - lowest, width**-0.5
    if decodes(q, k, v, table, of_keys, logit, scale, theta):
        constants, epsilon = (None, 0.0) if formula is None else formula
        return fused_decode(
            q,
            k,
            v,
            table,
            of_keys,
            logit,
            scale,
            constants,
            first,
            last,
            needed,
            offset,
            shift,
            factor,
            epsilon,
            splits or 0,
        )
    if formula is not None or splits is not None:
        raise ValueError(
            "formula and splits belong to decoding (no gradients, few queries, many keys); give a table instead"
        )
    return fused_forward(q, k, v, table, of_keys, logit, scale, first, last, needed, jacobian, theta, shift, factor)[0]


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    lowest: int,
    of_keys: Tensor | None,
    jacobian: Tensor | None,
    theta: Tensor | None,
    offset: int,
    tolerance: float,
) -> None:
    if q.device.type != "cuda" and not INTERPRETED:
        raise ValueError(
            f"q is on {q.device}, but backend 'triton' needs a GPU; use backend='sdpa', or set TRITON_INTERPRET=1 "
            "before the first import to try the kernels slowly"
        )
    if q.dtype not in DTYPES:
        raise ValueError(f"q is {q.dtype}, but the kernels take float32, bfloat16 and float16; use backend='sdpa'")
    check_tensors(q, k, v, offset)
    padded(q.shape[3])
    heads, lags = q.shape[1], offset + q.shape[2] - lowest
    if table is not None and (table.ndim != 2 or table.shape[0] != heads or table.shape[1] < lags):
        raise ValueError(
            f"table has shape {list(table.shape)}, but lags {lowest} to {offset + q.shape[2] - 1} of {heads} heads "
            f"need [{heads}, {lags}] or more lags"
        )
    if of_keys is not None and of_keys.shape != (heads, k.shape[2]):
        raise ValueError(f"of_keys has shape {list(of_keys.shape)}, but [{heads}, {k.shape[2]}] is needed")
    if (jacobian is None) != (theta is None) or (jacobian is not None and table is None):
        raise ValueError("jacobian and theta belong together, with a table; give all of them or leave both out")
    if jacobian is not None:
        if not 1 <= jacobian.shape[1] <= MOST_PARAMETERS:
            raise ValueError(
                f"jacobian has {jacobian.shape[1]} parameters, but 1 to {MOST_PARAMETERS} fit; let the gradient go "
                "through the table instead"
            )
        if jacobian.shape != (heads, theta.shape[0], table.shape[1]) or theta.shape[1] != heads:
            raise ValueError(
                f"jacobian {list(jacobian.shape)} and theta {list(theta.shape)} do not fit a table "
                f"{list(table.shape)}: [heads, parameters, lags] and [parameters, heads] are needed"
            )
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance = {tolerance}, but it bounds a row's weight: give 0 <= tolerance < 1")


def _check_values(**tensors: Tensor | None) -> None:
    """What only the numbers tell, in one transfer; not inside compiled or captured code, which cannot wait for it."""
    given = {name: x for name, x in tensors.items() if x is not None}
    first = next(iter(given.values()), None)
    if first is None or torch.compiler.is_compiling() or (first.is_cuda and torch.cuda.is_current_stream_capturing()):
        return
    for name, found in zip(given, torch.stack([x.isnan().any() for x in given.values()]).tolist(), strict=True):
        if found:
            raise ValueError(f"{name} holds NaN; check the prior's parameters")
