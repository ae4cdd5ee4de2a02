"""Backend "triton": any relative prior, a prior over keys and both row scales, at the memory of plain attention.

A relative prior enters as its table T[h, lag] (`tables`), what depends on the key alone as u[h, j]. The gradient of the
parameters either returns to the table and goes on by autograd or, for up to four parameters that each
head has for itself, is summed in the kernel against the table's derivatives.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..positions.priors import DEEPEST, Power, Prior
from .decode import fits, fused_decode, run_decode
from .inputs import check_rows, check_tensors
from .kernels import INTERPRETED
from .launch import fused_forward, run_forward
from .precision import no_autocast
from .skipping import first_needed
from .tables import MOST_PARAMETERS, Tables, in_base_2, of_prior, settled
from .tiles import DTYPES, padded
from .visible import Visible, plain

NO_POWER, NO_TABLES = Power(None), Tables()


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: Prior | None,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible | None,
    offset: int,
    tolerance: float = 0.0,
) -> Tensor:
    """Backend of `attention`; see there. `visible` None: every key up to the query. `tolerance`: `table_attention`.

    A table that nothing is learned through is kept until its prior's parameters change: `tables.forget` says how.
    """
    queries, keys = q.shape[2], k.shape[2]
    given: dict[str, Any] = {"logit_scale": logit_scale, "visible": visible, "offset": offset}
    _check(q, tolerance)
    if prior is None:
        return _run(q, k, v, NO_TABLES, prior_scale=None, decoding=decodes(q, k, v, logit_scale), **given)
    lowest = 0 if visible is None or visible.sees_no_future(offset) else offset - keys + 1
    with no_autocast(q):
        if tolerance:
            lags = torch.arange(lowest, offset + queries, device=q.device)
            rows = {"table": prior.table(lags), "of_keys": prior.of_keys(torch.arange(keys, device=q.device), keys)}
            return table_attention(
                q, k, v, prior_scale=prior_scale, lowest=lowest, tolerance=tolerance, **rows, **given
            )
        learned = prior.parameters() if torch.is_grad_enabled() else ()
        decoding = decodes(q, k, v, logit_scale, prior_scale, *learned)
        tables = of_prior(prior, lowest, offset + queries - 1, keys, q.device, decoding)
    return _run(q, k, v, tables, prior_scale=prior_scale, decoding=decoding, **given)


def decodes(q: Tensor, k: Tensor, v: Tensor, *others: Tensor | None) -> bool:
    """Whether the decoding kernels take this call: few queries, many keys, nothing to differentiate."""
    differentiable = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, *others))
    return not differentiable and fits(q.shape[2], q.shape[1] // k.shape[1], k.shape[2])


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
    are decoded: the keys in `splits` parts. -inf in a table stands for DEEPEST. Scores are float32: where even the best
    key of a row has a log-prior of -x, they are exact to about 1e-7 x. Needs a GPU, or Triton's interpreter. ValueError
    names the argument, its value and the remedy; NaN in a table is looked for where nothing waits for it, on the CPU.
    """
    lowest = 0 if lowest is None else lowest
    _check(q, tolerance)
    check_tensors(q, k, v, offset)
    check_rows(q, k, logit_scale, prior_scale, visible, offset)
    _check_tables(q, k, table, lowest, of_keys, jacobian, theta, offset)
    queries = q.shape[2]
    if table is not None and visible is not None and visible.facts.ahead - offset > -lowest:
        raise ValueError(f"visible reaches lags below lowest = {lowest}; start the table at {offset - k.shape[2] + 1}")
    decoding = decodes(q, k, v, table, of_keys, logit_scale, prior_scale, theta)
    if splits is not None and not decoding:
        raise ValueError("splits belong to decoding (no gradients, few queries, many keys); leave it out")
    needed = None
    if table is not None and tolerance:
        seen = plain(queries, offset, q.device) if visible is None else visible
        row = (table.detach() - table.detach().amax(-1, keepdim=True)).float().clamp(min=DEEPEST)
        scales = (None if x is None else x.detach().float().expand(q.shape[:3]) for x in (logit_scale, prior_scale))
        u = None if of_keys is None else of_keys.detach().float()
        needed = first_needed(q.detach(), k.detach(), row, u, *scales, *seen.narrow, offset, lowest, tolerance)
    highest = offset + queries - 1 if table is None else lowest + table.shape[1] - 1
    if table is not None:
        table, jacobian = settled(table.flip(-1) if decoding else table, jacobian)
    tables = Tables(
        table, lowest, highest, None if of_keys is None else in_base_2(of_keys), jacobian, theta, backwards=decoding
    )
    given = {"logit_scale": logit_scale, "prior_scale": prior_scale, "visible": visible, "offset": offset}
    return _run(q, k, v, tables, decoding=decoding, needed=needed, splits=splits or 0, **given)


def _run(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    tables: Tables,
    *,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible | None,
    offset: int,
    decoding: bool,
    needed: Tensor | None = None,
    splits: int = 0,
) -> Tensor:
    """The kernels, with all that they take checked and made."""
    biased = tables.table is not None or tables.of_keys is not None or tables.power is not None
    wide = q.shape[:3]
    logit = None if logit_scale is None else logit_scale.float().expand(wide)
    scale = None if prior_scale is None or not biased else prior_scale.float().expand(wide)
    factor, shift = q.shape[3] ** -0.5, tables.entry(offset)
    rows = (tables.table, tables.of_keys, logit, scale)
    if decoding:
        simple = visible is None or visible.is_plain(offset)
        first, last = (None, None) if simple else visible.narrow
        power = tables.power or NO_POWER
        decode = fused_decode if _traced(q) else run_decode
        return decode(q, k, v, *rows, *power, first, last, needed, offset, shift, factor, splits)
    visible = plain(q.shape[2], offset, q.device) if visible is None else visible
    learning = torch.is_grad_enabled() and any(
        x is not None and x.requires_grad for x in (q, k, v, *rows, tables.theta)
    )
    place = offset if visible.is_plain(offset) else -1
    given = (*rows, *visible.narrow, needed, place, tables.jacobian, tables.theta, shift, factor)
    return (fused_forward if learning or _traced(q) else run_forward)(q, k, v, *given)[0]


def _traced(q: Tensor) -> bool:
    """Whether a compiler or a mode of torch must see an operator, which costs 50 microseconds a call."""
    return torch.compiler.is_compiling() or type(q) not in (Tensor, nn.Parameter)


def _check(q: Tensor, tolerance: float) -> None:
    if q.device.type != "cuda" and not INTERPRETED:
        raise ValueError(
            f"q is on {q.device}, but backend 'triton' needs a GPU; use backend='sdpa', or set TRITON_INTERPRET=1 "
            "before the first import to try the kernels slowly"
        )
    if q.dtype not in DTYPES:
        raise ValueError(f"q is {q.dtype}, but the kernels take float32, bfloat16 and float16; use backend='sdpa'")
    padded(q.shape[-1])
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance = {tolerance}, but it bounds a row's weight: give 0 <= tolerance < 1")


def _check_tables(
    q: Tensor,
    k: Tensor,
    table: Tensor | None,
    lowest: int,
    of_keys: Tensor | None,
    jacobian: Tensor | None,
    theta: Tensor | None,
    offset: int,
) -> None:
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
    for name, x in (("table", table), ("of_keys", of_keys)):
        looks = x is not None and not x.is_cuda and not torch.compiler.is_compiling()
        if looks and bool(x.isnan().any()):
            raise ValueError(f"{name} holds NaN; check the prior's parameters")
