"""What the classification by one-parameter groups covers: its families, and real systems of each.

Independent evidence: the library's rotations and ReRoPE, transformers' RoPE and lightning attention, none of them built
from a generator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from scipy.linalg import expm, logm

from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import DampedRotary, Spectrum
from attention_priors.theory import groups as theory
from attention_priors.theory import rerope

BLOCKS = {  # (rate, frequency, size) of generators of all four families
    "growth and decay": ((-0.3, 0.0, 1), (0.2, 0.0, 1), (0.0, 0.0, 1)),
    "rotations": ((0.0, 1.0, 1), (-0.2, 2.3, 1)),
    "a chain": ((-0.3, 0.0, 3),),
    "a chain of rotations": ((0.1, 1.4, 2), (-0.5, 0.0, 1)),
}
KINDS = [{"decays": decays, "turns": turns} for decays, turns in product((False, True), repeat=2)]


def family(rate: float, omega: float, power: int, t: np.ndarray) -> list[np.ndarray]:
    """t^k e^{λt} cos ωt and t^k e^{λt} sin ωt."""
    return [t**power * np.exp(rate * t) * wave for wave in (np.cos(omega * t), np.sin(omega * t))]


def spanned(says: Callable, blocks: str) -> tuple[np.ndarray, np.ndarray]:
    """Every entry of e^{tX} in a random basis, relative: as the functions said span it (least squares), as it is."""
    t, parts = np.linspace(-1, 3, 60), BLOCKS[blocks]
    x = theory.direct_sum([theory.Block(*part) for part in parts])
    s = np.random.default_rng(len(x)).normal(size=x.shape) + 2 * np.eye(len(x))
    entries = np.stack([(s @ expm(u * x) @ np.linalg.inv(s)).ravel() for u in t])
    entries /= np.abs(entries).max()
    basis = np.stack([f for rate, w, size in parts for k in range(size) for f in says(rate, w, k, t)], axis=1)
    return basis @ np.linalg.lstsq(basis, entries, rcond=None)[0], entries


# Real systems by kind, each measured on its own code


def factors_of(module: torch.nn.Module, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F(t) and G(s) of a rotation module, [times n n]: it is applied to the unit vectors."""
    width = 2 * len(module.spectrum.omega)
    units = torch.eye(width, dtype=torch.float64)[:, None, None].expand(width, 1, len(times), width)
    t = torch.as_tensor(times)
    return tuple(x[:, 0].permute(1, 2, 0).numpy() for x in module(units, units, t, t))


def steps() -> dict[str, np.ndarray]:
    """A(1) of one system of each kind: what a key of the token before is multiplied by."""
    from transformers import MiniMaxConfig
    from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention

    config = MiniMaxConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=4, block_size=4)
    lightning = MiniMaxLightningAttention(config, layer_idx=1).diagonal_decay[0, :, 1, 0].double().numpy()
    unit, angles = torch.eye(4, dtype=torch.float64)[:, None], torch.tensor([[1.0, 0.01]], dtype=torch.float64)
    turned, _ = oracles.rotate_half(unit, unit, angles)
    retnet = factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.2, 0.2))), np.arange(2))
    return {
        "attention alone": np.eye(4),
        "MiniMax's lightning attention": np.diag(lightning),
        "Llama's RoPE": turned[:, 0].numpy().T,
        "RetNet's rotation": theory.score_table(*retnet)[1, 0],
    }


@functools.cache
def kinds() -> tuple[tuple[bool, bool], ...]:
    """(decays, turns) of every system, from the eigenvalues of log A(1)."""
    values = [np.linalg.eigvals(np.real(logm(step))) for step in steps().values()]
    return tuple((bool((v.real < -1e-6).all()), bool((np.abs(v.imag) > 1e-6).all())) for v in values)


def systems(decays: bool, turns: bool) -> int:
    return kinds().count((decays, turns))


def rectified(omega: float, window: int, lag: int) -> float:
    """The score of two equal unit vectors `lag` apart in ReRoPE, one plane."""
    unit, at = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64), torch.tensor([lag])
    return round(float(rerope.scores(unit, unit, Spectrum((omega,)), at, 0 * at, window=window)), 12)


CHECKS = claims(
    claim(
        "OPG-16",
        Law(
            "The admissible encodings are a handful of families: entries t^k e^{lambda t} cos and sin of omega t, with "
            "or without a frequency, with or without a defect.",
            family,
            spanned,
            [{"blocks": name} for name in BLOCKS],
            wrong=lambda rate, omega, power, t: family(rate, omega, 0, t),
        ),
        Law(
            "Each family without growth or defect is found in a real system (at least one decays or does not, turns or "
            "does not, measured on its code).",
            1,
            systems,
            KINDS,
            wrong=2,
            relation="<=",
            tolerance=0,
        ),
        Law(
            "No encoding that makes sense lies outside of them. ReRoPE then scores lag 2 by A(2) = A(1)^2.",
            lambda omega, window, lag: round(math.cos(lag * min(1, window) * omega), 12),
            rectified,
            [{"omega": math.pi / n, "window": 1, "lag": 2} for n in (2, 3)],
            wrong=lambda omega, window, lag: round(math.cos((lag + 1) * min(1, window) * omega), 12),
            ours=True,
        ),
        corrected=Law(
            "The families are all that there is under the axioms (linear, translation invariant, of finite "
            "dimension, continuous in real time; in whole time there is more, OPG-7). T5's buckets, KERPLE, "
            "ReRoPE and added sinusoids are in use and break one each (X-9): ReRoPE's A(d) is R(omega d) up "
            "to its window, and stands still beyond it.",
            lambda omega, window, lag: round(math.cos(min(lag, window) * omega), 12),
            rectified,
            [
                {"omega": math.pi / n, "window": window, "lag": lag}
                for n in (2, 3)
                for window in (1, 2)
                for lag in (0, 2, 9)
            ],
            wrong=lambda omega, window, lag: round(math.cos(lag * omega), 12),
        ),
        practice="The classification says what one dot product can carry, not what can encode position: a table of "
        "biases is not bound by it. Notebook 18 compares both sides by their tails.",
    ),
)
