"""A prior as the kernels take it: a row of numbers per head over lags, another over keys, and the row's derivatives.

A prior that is a power of the lag takes one launch, others PyTorch's operations. Where nothing is learned, a table is
made once for the values of the prior's parameters and a range of lags.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from ..positions.priors import DEEPEST, Power, Prior, RelativePrior
from .inputs import check_prior_device
from .kernels import BACK, FRONT, start
from .kernels_prior import power_table

LOG2E = 1.4426950408889634
MOST_PARAMETERS = 4
RANGES = 4  # of lags or keys that are kept for one prior
FEWEST_LAGS = 1024  # of a table for decoding, which grows by powers of two
Version = list[tuple[int, int]]


class Tables(NamedTuple):
    """`table` [heads, FRONT + lags + BACK] from the lag `lowest` on and `of_keys` [heads, keys], in base 2.

    `jacobian` = ∂T/∂θ [heads, parameters, as table] belongs to `theta` [parameters, heads]. `backwards`: the highest
    lag, `highest`, comes first. `power`: what stands for the table in decoding.
    """

    table: Tensor | None = None
    lowest: int = 0
    highest: int = 0
    of_keys: Tensor | None = None
    jacobian: Tensor | None = None
    theta: Tensor | None = None
    power: Power | None = None
    backwards: bool = False

    def entry(self, lag: int) -> int:
        """The column of a lag."""
        return FRONT + (self.highest - lag if self.backwards else lag - self.lowest)


KEPT: WeakKeyDictionary[Prior, dict[tuple, tuple[Version, Any]]] = WeakKeyDictionary()  # by range of lags or keys
READ: WeakKeyDictionary[Prior, list] = WeakKeyDictionary()  # by CUDA graphs, which do not own what they read


def of_prior(prior: Prior, lowest: int, highest: int, keys: int, device: torch.device, decoding: bool) -> Tables:
    """The tables of a prior for the lags lowest .. highest and so many keys.

    Parameters that one head has for itself get their gradient through the jacobian, where there are at most four; all
    others through the table. ValueError where a table holds NaN: not in compiled code, nor on a GPU while gradients
    are asked for, which would have to wait for it.
    """
    relative, own = prior.split()
    power = relative[0].power() if len(relative) == 1 else None
    if power is not None and power.strength.device != device:
        check_prior_device(prior, device)
    if decoding and power is not None:
        _kept(prior, ("power",), lambda: [_checked(x) for x in power[:3] if x is not None])
        if not own:  # nothing is learned, and nothing has to be made
            return Tables(power=power, backwards=True)
    learned = []
    if torch.is_grad_enabled():
        learned = [(factor, name) for factor in relative for name, p in factor.named_parameters() if p.requires_grad]
    separate = all(factor.headwise for factor, _ in learned) and 0 < len(learned) <= MOST_PARAMETERS
    learning = len(learned) > 0
    wanted = _places(power, learned) if learning and separate else []
    if learning and separate and wanted is None and torch.compiler.is_compiling():
        separate = False  # forward differentiation cannot be traced
    theta = jacobian = table = of_keys = None
    waits = device.type != "cuda" or not torch.is_grad_enabled()
    if own:

        def over_keys() -> Tensor:
            check_prior_device(prior, device)
            found = in_base_2(prior.of_keys(torch.arange(keys, device=device), keys))
            return _checked(found) if waits else found

        of_keys = _kept(prior, ("keys", keys), over_keys)
    if learning and separate:
        theta = torch.stack([factor.get_parameter(name).float() for factor, name in learned])
    if relative and not (decoding and power is not None):
        if decoding:  # a table that serves the next tokens too
            highest = max(highest + 1, FEWEST_LAGS)
            highest = (1 << (highest - 1).bit_length()) - 1

        def make() -> tuple[Tensor, Tensor | None]:
            check_prior_device(prior, device)
            if power is not None and wanted is not None and (separate or not learning):
                made = _of_power(power, wanted, lowest, highest, decoding)
            else:
                made = _written(prior, learned if learning and separate else [], lowest, highest, device, decoding)
            return (_checked(made[0]), made[1]) if waits else made

        table, jacobian = _kept(prior, (lowest, highest, decoding), make)
    return Tables(table, lowest, highest, of_keys, jacobian, theta, power if decoding else None, decoding)


def forget() -> None:
    """Make every table anew.

    Changes in place (`load_state_dict`) and optimizers' steps are noticed, also of fused optimizers, which PyTorch does
    not count. Call this after others that it does not count: through `.data`, or by replaying a CUDA graph.
    """
    KEPT.clear()


def _stepped(*_: object) -> None:
    """Fused optimizers change parameters without counting it."""
    forget()


register_optimizer_step_post_hook(_stepped)


def _kept(prior: Prior, span: tuple, make: Callable[[], Any]) -> Any:
    """`make()`, or what it gave before for the same range and the same parameters, unless these are being trained."""
    if torch.compiler.is_compiling():
        return make()
    version, differentiable = [], torch.is_grad_enabled()
    for x in _tensors(prior):
        if type(x) not in (Tensor, nn.Parameter) or x.is_inference() or (differentiable and x.requires_grad):
            return make()
        version.append((x.data_ptr(), x._version))
    capturing = torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    kept = KEPT.setdefault(prior, {})
    known, made = kept.get(span, (None, None))
    if known != version:
        with torch.inference_mode(False), torch.no_grad():
            made = make()
        if capturing:  # memory of the graph
            return made
        while len(kept) >= RANGES:
            del kept[next(iter(kept))]
        kept[span] = (version, made)
    if capturing:
        READ.setdefault(prior, []).append(made)
    return made


def _tensors(module: nn.Module) -> list[Tensor]:
    """Parameters and buffers, without the time that `parameters()` takes."""
    own = [x for x in (*module._parameters.values(), *module._buffers.values()) if x is not None]
    return own + [x for child in module._modules.values() for x in _tensors(child)]


def _places(power: Power | None, learned: list[tuple[RelativePrior, str]]) -> list[int] | None:
    """Which of the numbers of a power are learned, in their order; None where other parameters are."""
    numbers = [] if power is None else list(power[:3])
    found = [[place for place, x in enumerate(numbers) if x is factor.get_parameter(name)] for factor, name in learned]
    places = [some[0] for some in found] if all(found) else None
    return places if places is None or places == sorted(places) else None


def _of_power(
    power: Power, wanted: list[int], lowest: int, highest: int, backwards: bool
) -> tuple[Tensor, Tensor | None]:
    """Table and jacobian of one factor by the kernel; the parameters `wanted` stand in the order of `Power`."""
    numbers = [None if x is None else x.detach() for x in power[:3]]
    make = power_tables if torch.compiler.is_compiling() else run_power_tables
    table, jacobian = make(*numbers, *power[3:], wanted, lowest, highest, backwards)
    return table, jacobian if wanted else None


def run_power_tables(
    strength: Tensor,
    beta: Tensor | None,
    mu: Tensor | None,
    epsilon: float,
    exponential: bool,
    wanted: list[int],
    lowest: int,
    highest: int,
    backwards: bool,
) -> tuple[Tensor, Tensor]:
    """The kernel's launch; `Power` says what the numbers are."""
    table, jacobian = _rows(strength, wanted, lowest, highest)
    near, block, heads, width = ctypes.c_float(epsilon).value, 1024, len(strength), table.shape[1]
    start(
        power_table,
        (-(-width // block), heads),
        table,
        jacobian if wanted else table,
        *(strength if x is None else x.contiguous() for x in (strength, beta, mu)),
        table.stride(0),
        jacobian.stride(0) if wanted else 0,
        jacobian.stride(1) if wanted else 0,
        lowest,
        highest - lowest + 1,
        near,
        epsilon - near,
        FRONT=FRONT,
        BLOCK=block,
        SHAPED=beta is not None,
        EXPONENTIAL=exponential,
        GRAD_S=0 in wanted,
        GRAD_B=1 in wanted,
        GRAD_M=2 in wanted,
        BACKWARDS=backwards,
        num_warps=4,
    )
    return table, jacobian


def _rows(strength: Tensor, wanted: list[int], lowest: int, highest: int) -> tuple[Tensor, Tensor]:
    """Memory for table and jacobian; no element of the latter where nothing is wanted."""
    width = FRONT + highest - lowest + 1 + BACK
    heads, count = strength.shape[0], len(wanted)
    table = strength.new_empty(heads, width, dtype=torch.float32)
    return table, strength.new_empty(heads if count else 0, count, width, dtype=torch.float32)


power_tables = torch.library.custom_op("attention_priors::power_tables", mutates_args=())(run_power_tables)


@power_tables.register_fake
def _(strength: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return _rows(strength, *rest[4:7])


def _written(
    prior: Prior,
    learned: list[tuple[RelativePrior, str]],
    lowest: int,
    highest: int,
    device: torch.device,
    backwards: bool,
) -> tuple[Tensor, Tensor | None]:
    """Table and jacobian by the priors' formulas."""
    lags = torch.arange(lowest, highest + 1, device=device)
    lags = lags.flip(0) if backwards else lags
    if not learned:
        return settled(prior.table(lags), None)
    with torch.no_grad():
        derivatives = [derivative(factor, name, lags) for factor, name in learned]
        return settled(prior.table(lags), torch.stack(derivatives, 1))


def settled(table: Tensor, jacobian: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Both padded, less what they are at the table's peak, the table in base 2; -inf stands for DEEPEST.

    A row of scores does not feel a constant, whose rounding the sums of dS T would feel; nor does Σ_j dS_ij = 0.
    """
    table = table.clamp(min=DEEPEST)
    table = (table - table.detach().amax(-1, keepdim=True)).float()
    if jacobian is not None:
        peak = table.argmax(-1)[:, None, None].expand(-1, jacobian.shape[1], 1)
        jacobian = F.pad(jacobian.float() - jacobian.float().gather(2, peak), (FRONT, BACK)).contiguous()
    return F.pad(table * LOG2E, (FRONT, BACK)), jacobian


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


def in_base_2(of_keys: Tensor) -> Tensor:
    """A row over keys as the kernels take it."""
    return (of_keys.float().clamp(min=DEEPEST) * LOG2E).contiguous()


def _checked(x: Tensor) -> Tensor:
    """`x`. ValueError where it holds NaN; inside compiled or captured code nobody looks."""
    if torch.compiler.is_compiling() or (x.is_cuda and torch.cuda.is_current_stream_capturing()):
        return x
    if bool(x.detach().isnan().any()):
        raise ValueError("the prior's table holds NaN; check the prior's parameters")
    return x
