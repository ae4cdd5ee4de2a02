"""The page on priors in one's own models: its code runs, and its tables are what is measured."""

import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_priors import config
from attention_priors.attention import attention
from attention_priors.positions.priors import GeneralizedGaussian

PAGE = config.ROOT / "lib" / "attention_priors" / "publish" / "site" / "pages" / "own_models.md"
HEADS, LENGTH, WIDTH = 8, 1024, 64


def test_the_code_runs(tmp_path):
    """In a process of its own, since the shape checks of these tests break compiled graphs; without a C++ compiler."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 6
    before = "import functools, torch\ntorch.compile = functools.partial(torch.compile, backend='aot_eager')\n"
    script = tmp_path / "page.py"
    script.write_text(before + "\n".join(blocks))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("backend", ["reference", "auto"])
def test_the_reference_alone_has_second_derivatives_and_transforms(backend):
    q, prior = torch.randn(1, HEADS, 5, 4, requires_grad=True), GeneralizedGaussian.laplace(HEADS)

    def total(x: Tensor) -> Tensor:
        return attention(x, q.detach(), q.detach(), prior=prior, backend=backend).pow(2).sum()

    def second() -> Tensor:
        (slope,) = torch.autograd.grad(total(q), q, create_graph=True)
        return torch.autograd.grad(slope.pow(2).sum(), q)[0]

    for call in (second, lambda: torch.func.grad(total)(q), lambda: torch.vmap(total)(q[None])):
        if backend == "reference":
            assert call().isfinite().all()
        else:
            with pytest.raises((RuntimeError, ValueError)):
                call()


def results(dtype: torch.dtype, mask: bool = False) -> list[Tensor]:
    """The output, and the gradients of q, k, v, θ_α and θ_β, for inputs that bfloat16 has."""
    draw = torch.Generator().manual_seed(0)
    prior = GeneralizedGaussian(torch.linspace(-3, 0, HEADS), torch.linspace(0.3, 1, HEADS))
    q, k, v, w = (
        torch.randn(1, HEADS, LENGTH, WIDTH, generator=draw).bfloat16().to(dtype).requires_grad_() for _ in range(4)
    )
    if mask:
        lags = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
        bias = prior.log_prior(lags.flatten()).unflatten(1, lags.shape).masked_fill(lags < 0, -torch.inf)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(dtype)[None])
    else:
        out = attention(q, k, v, prior=prior)
    learned = [q, k, v, prior.theta_alpha, prior.theta_beta]
    return [out.detach(), *torch.autograd.grad((out * w.detach()).sum(), learned)]


def errors(dtype: torch.dtype, mask: bool = False) -> list[float]:
    found = zip(results(dtype, mask), results(torch.float64), strict=True)
    return [float((x.double() - y).abs().max() / y.abs().max()) for x, y in found]


ROWS = {"float32": (torch.float32, False), "float16": (torch.float16, False), "bfloat16": (torch.bfloat16, False),
        "bfloat16, mask": (torch.bfloat16, True)}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_the_errors_are_measured(row):
    """Within a factor of two, which another processor may need."""
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {row} | "))
    said = [float(cell.replace(" ", "")) for cell in line.strip("| ").split(" | ")[1:]]
    assert len(said) == 6
    for cell, found in zip(said, errors(*ROWS[row]), strict=True):
        assert cell / 2 < found < 2 * cell, f"{row}: {found:.1e}, the page says {cell:.1e}"
