"""The kernels against the formula where the drawn cases may not come by, and broken on purpose."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from attention_priors.attention import launch, tiles

from ..test_properties import Case, Setting, problems

case = partial(
    Case, 4, group=2, queries=45, relative="gaussian", strength=-0.5, place=0.7, logit="signed", prior="signed"
)
SMALL, TILES = (32, 32), {"narrow tiles": (32, 16), "flat tiles": (16, 32)}
CASES = {
    "one": case(queries=1, logit="none", prior="none"),
    "two": case(queries=2),
    "ragged": case(),
    "exact tiles": case(queries=64, logit="none", prior="none"),
    "narrow tiles": case(prior="samples"),
    "flat tiles": case(logit="samples"),
    "width 48": case(width=48),
    "width 256": case(width=256, queries=20),
    "no prior": case(relative="none", prior="none"),
    "uniform": case(relative="uniform"),
    "laplace": case(relative="laplace"),
    "table without a row scale": case(relative="kerple-power", prior="none"),
    "t5": case(relative="t5"),
    "keys": case(batch=2, relative="none", keys=True, prior="samples"),
    "free with keys": case(batch=2, relative="free", keys=True, prior="samples"),
    "four parameters": case(relative="product", logit="none"),
    "five parameters": case(relative="five parameters", prior="none"),
    "grouped": case(batch=2, kv_heads=2, logit="samples"),
    "decode with gradients": case(queries=1, more_keys=69),
    "chunk": case(queries=20, more_keys=50, relative="free", prior="samples"),
    "chunk of a window": case(queries=20, more_keys=50, mask="window"),
    "window": case(mask="window", relative="free"),
    "window of one": case(queries=33, mask="itself", prior="none"),
    "packed": case(batch=2, mask="packed", prior="samples"),
    "documents both ways": case(batch=2, mask="documents", relative="free"),
    "bidirectional": case(mask="bidirectional", relative="free", keys=True),
    "fewer keys": case(queries=50, more_keys=-13, mask="bidirectional"),
    "uneven": case(batch=2, queries=70, mask="uneven"),
    "uneven free": case(batch=2, queries=70, mask="uneven", relative="free"),
    "bfloat16": case(dtype="bfloat16", logit="rows", prior="rows"),
    "bfloat16 with keys": case(dtype="bfloat16", relative="t5", keys=True, logit="rows", prior="rows"),
    "float16": case(dtype="float16", relative="laplace", logit="rows", prior="rows"),
}


@pytest.fixture(autouse=True)
def tile(request, monkeypatch):
    shape = tiles.Tile(*TILES.get(getattr(request.node, "callspec", None) and request.node.callspec.id, SMALL), 4, 1)
    shapes = dict.fromkeys(("forward", "backward_queries", "backward_keys"), shape)
    monkeypatch.setattr(tiles, "INTERPRETER", tiles.INTERPRETER | shapes)


@pytest.mark.parametrize("name", CASES)
def test_outputs_and_all_gradients_are_the_formula_s(name):
    assert not problems(CASES[name], "triton")


def test_bitwise_equal_from_run_to_run():
    first, second = (Setting(CASES["free with keys"], "triton").run() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


ORDER = ("q", "k", "v", "table", "of_keys", "logit_scale", "prior_scale", "theta")
MUTANTS = {
    "delta left out": ("kernels_backward", " - b_delta[:, None])", ")", "ragged", "q"),
    "delta left out of keys": ("kernels_backward", "- (b_delta * b_a)[:, None]", "", "ragged", "k"),
    "weights not transposed": (
        "kernels_backward", "tl.trans(narrow(b_p, b_do.dtype))", "narrow(b_p, b_do.dtype)", "ragged", "v"),
    "one parameter less": ("kernels_backward", "tl.store(p_dj + 2, ", "tl.store(p_dj + 1, ", "ragged", "0.theta_mu"),
    "row scale left out of parameters": (
        "kernels_backward", "tl.where(m_m, b_b, 0.0) if", "tl.where(m_m, 1.0, 0.0) if", "ragged", "0.theta_alpha"),
    "one side of the diagonal": (
        "kernels_table", "tl.sum(tl.where(m_upper, 0.0, b_skewed), 0)", "tl.sum(b_skewed, 0) * 0.0",
        "chunk", "0.values"),
    "bias of the next lag": (
        "kernels_forward", "(p_t - i_n + o_m)[:, None]", "(p_t - i_n + o_m + 1)[:, None]", "ragged", "out"),
    "no mask": ("kernels_forward", "(o_key <= b_last[:, None])", "(o_key >= 0)", "window", "out"),
}  # fmt: skip


@contextmanager
def mutated(module: str, text: str, other: str, folder: Path) -> Iterator[None]:
    """launch's kernels from a copy of `module` in which `text` is replaced."""
    source = Path(launch.__file__).with_name(f"{module}.py").read_text()
    assert source.count(text) >= 1
    path = folder / f"{module}_mutant.py"
    path.write_text(source.replace(text, other))
    spec = importlib.util.spec_from_file_location(f"attention_priors.attention.{module}_mutant", path)
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy
    spec.loader.exec_module(copy)
    names = [name for name in ("forward", "backward_queries", "backward_keys", "backward_table") if name in vars(copy)]
    kept = {name: getattr(launch, name) for name in names}
    try:
        for name in names:
            setattr(launch, name, getattr(copy, name))
        yield
    finally:
        for name, kernel in kept.items():
            setattr(launch, name, kernel)


def wrong(name: str) -> list[str]:
    """The results that are off."""
    return [each.partition(" ")[0] for each in problems(CASES[name], "triton")]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_kernels_broken_on_purpose_are_found(mutant, tmp_path):
    module, text, other, name, result = MUTANTS[mutant]
    with mutated(module, text, other, tmp_path):
        assert result in wrong(name)


@pytest.mark.parametrize(
    ("term", "name", "result"),
    [
        ("q", "two", "q"),
        ("k", "two", "k"),
        ("v", "two", "v"),
        ("table", "free with keys", "0.values"),
        ("of_keys", "free with keys", "1.values"),
        ("logit_scale", "ragged", "logit_scale"),
        ("prior_scale", "ragged", "prior_scale"),
        ("theta", "ragged", "0.theta_beta"),
    ],
)
def test_a_dropped_gradient_is_found(term, name, result, monkeypatch):
    right = launch.fused_backward

    def dropped(*arguments: object) -> tuple[torch.Tensor, ...]:
        return tuple(x * (place != term) for place, x in zip(ORDER, right(*arguments), strict=True))

    monkeypatch.setattr(launch, "fused_backward", dropped)
    assert result in wrong(name)


@pytest.mark.parametrize("step", [-torch.inf, torch.inf])
@pytest.mark.parametrize("strength", [1.0, 1e5, 1e15])
def test_a_log_sum_exp_that_is_off_by_its_rounding_makes_no_weight_above_1(strength, step):
    """On a GPU scores of the two passes may round apart: by 1e7 at scores of 1e15, which 2^x turns into infinity."""
    generator = torch.Generator().manual_seed(3)
    q, k, v, d_out = (torch.randn(1, 2, 40, 16, generator=generator) for _ in range(4))
    table = F.pad(-strength * torch.rand(2, 79, generator=generator), (launch.FRONT, launch.BACK))
    rows = torch.rand(1, 2, 40, generator=generator) + 0.5
    first, last = torch.zeros(1, 40, dtype=torch.int32), torch.full((1, 40), 39, dtype=torch.int32)
    jacobian = torch.randn(2, 2, 79, generator=generator)
    jacobian, theta = F.pad(jacobian, (launch.FRONT, launch.BACK)).contiguous(), torch.zeros(2, 2)
    shift, given = launch.FRONT + 39, (table, None, rows, rows)
    out, lse = launch.fused_forward(q, k, v, *given, first, last, None, -1, jacobian, theta, shift, 0.25)
    lse = torch.nextafter(lse, torch.full_like(lse, step))
    grads = [True, False, True, True, True]
    place = (first, last, None, -1)
    made = launch.fused_backward(d_out, q, k, v, out, lse, *given, *place, jacobian, grads, shift, 0.25)
    assert all(gradient.isfinite().all() for gradient in made)
    assert (made[2].abs() <= d_out.abs().sum(2, keepdim=True) * (1 + 1e-5)).all(), "dv = pᵀ dO, and p is at most 1"
