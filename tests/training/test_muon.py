"""Muon in batches takes the steps of torch's, and losses that are read late are the same losses."""

import copy
import math

import pytest
import torch
from torch import nn

from attention_priors.training import muon, runs
from attention_priors.training.muon import BatchedMuon, orthogonal


def model() -> nn.Module:
    torch.manual_seed(0)
    shapes = [(16, 32), (32, 16), (16, 16), (16, 32), (48, 16), (16, 48), (16, 16)]
    return nn.ParameterList(nn.Parameter(torch.randn(*shape)) for shape in shapes)


def test_batches_take_the_steps_of_torch():
    """Up to bfloat16: a step of a matrix is one of length about the rate, and its entries are right to a hundredth."""
    one, two = model(), model()
    given = {"lr": 0.1, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    optims = torch.optim.Muon(one.parameters(), **given), BatchedMuon(two.parameters(), **given)
    start = copy.deepcopy(one)
    generator = torch.Generator().manual_seed(1)
    for step in range(3):
        for a, b in zip(one, two, strict=True):
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = None if step == 1 else a.grad.clone()
            a.grad = None if step == 1 else a.grad
        for optim in optims:
            optim.step()
    for a, b, before in zip(one, two, start, strict=True):
        assert (a - b).norm() < 0.02 * (a - before).norm()
    states = [optim.state_dict()["state"] for optim in optims]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][i]["momentum_buffer"], states[1][i]["momentum_buffer"]) for i in states[0])
    with pytest.raises(ValueError, match="takes no closure"):
        optims[1].step(lambda: None)


def test_products_in_float32_are_those_in_bfloat16_up_to_the_order_of_sums(monkeypatch):
    """A processor with neither AVX-512 nor ARM's BF16 has no others."""
    x = torch.randn(4, 32, 48, generator=torch.Generator().manual_seed(1))
    found = []
    for native in (True, False):
        monkeypatch.setattr(muon, "has_bfloat16", lambda native=native: native)
        found.append(orthogonal(x, (3.4445, -4.775, 2.0315), 5, 1e-7))
    assert [each.dtype for each in found] == [torch.bfloat16, torch.float32]
    found = [each.double() for each in found]
    assert torch.equal(found[1], found[1].bfloat16().double())
    assert (found[0] - found[1]).norm() < 0.01 * found[0].norm()
    assert (orthogonal(x.mT, (3.4445, -4.775, 2.0315), 5, 1e-7).mT - found[1]).norm() < 0.01 * found[1].norm()


def test_a_norm_is_that_of_one_matrix_to_the_bit():
    """Of these the norm over a batch of transposed matrices rounds one otherwise; in training, one of 4,800."""
    generator = torch.Generator().manual_seed(89)
    tails = [torch.randn(500, 96, 48, generator=generator) for _ in range(2)]
    x = tails[0] * torch.exp(2 * tails[1])
    own = torch.stack([each / each.norm() for each in x.bfloat16()])
    assert torch.equal(orthogonal(x, (1.0, 1.0, 1.0), 0, 1e-7), own), "before the first step of Newton-Schulz"


class Arrived:
    """A CUDA event of a machine without CUDA: everything is there at once."""

    def record(self) -> None: ...

    def synchronize(self) -> None: ...


def test_losses_that_are_read_late_are_the_same_and_a_bad_one_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Event", Arrived)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory=False: empty(*shape))
    found = []
    for late in (False, True):
        history = [0.5]
        losses = runs.Losses(history, late, 0.1)
        seen = []
        for step in (1, 2, 3):
            losses.refuse(torch.tensor(1.0), step)
            seen += losses.add(torch.tensor([step / 4, 2.0]), step)
            assert len(history) == step + 1, "as long as there were steps"
        seen += losses.rest()
        found.append((seen, history))
    assert found[0] == found[1] == ([(1, 0.25), (2, 0.5), (3, 0.75)], [0.5, 0.25, 0.5, 0.75])
    losses = runs.Losses([], True, 0.1)
    list(losses.add(torch.tensor([1.0, math.inf]), 0))
    with pytest.raises(FloatingPointError, match=r"the loss is inf at step 0; lower the rate \(0\.1\)"):
        list(losses.add(torch.tensor([1.0, 2.0]), 1))


def test_what_cannot_be_compiled_is_said_once_and_runs_as_it_is(capsys):
    calls = []

    def function(*given: object) -> tuple[object, ...]:
        calls.append(given)
        return given

    compiled = runs.Compiled(function)
    compiled.compiled = lambda *given: (_ for _ in ()).throw(RuntimeError("no compiler\nmore"))
    assert compiled(1, 2, 3) == (1, 2, 3) and compiled(4, 5, 6) == (4, 5, 6)
    assert capsys.readouterr().err.count("not compiled (RuntimeError: no compiler)") == 1 and len(calls) == 2
