"""The post on one-parameter groups: dimensions, what the classification covers, what training makes of pucks.

Independent evidence: torch's own attention, scipy; the library's rotations and ReRoPE, transformers' RoPE and lightning
attention, none of them built from a generator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from operator import matmul

import numpy as np
import pandas as pd
import torch
from scipy.linalg import expm, logm

from attention_priors.checks.measured import measuring
from attention_priors.checks.rotations import oracles
from attention_priors.claims.finding import Estimate, lead, mean, smallest, unknown
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.experiments.pucks import ENCODINGS, STARTED
from attention_priors.positions.rotary import DampedRotary, Spectrum
from attention_priors.theory import groups as theory
from attention_priors.theory import rerope

Factors = tuple[np.ndarray, np.ndarray]
TIME = torch.arange(6, dtype=torch.float64)[:, None]
MAPS = {"x": lambda x: x, "(1 + t) x": lambda x: x * (1 + TIME), "tanh x + t/6": lambda x: torch.tanh(x) + TIME / 6}
CLOCK = [{"q": list(q), "quarter_turns": t} for q in ((1, 0), (0, 1)) for t in (0, 1)]
WIDE, TALL = ([{"rows": m, "columns": n} for m, n in shapes] for shapes in (((1, 2), (2, 4)), ((2, 1), (5, 3))))


def generated(generator: np.ndarray, times: np.ndarray) -> Factors:
    """F(t) = e^{tX^T} and G(s) = e^{-sX}."""
    return np.stack([expm(t * generator.T) for t in times]), np.stack([expm(-t * generator) for t in times])


def logits(queries: torch.Tensor, keys: torch.Tensor) -> np.ndarray:
    """What torch's attention adds up: logarithms of its weights, relative to the first key of each row."""
    values = torch.eye(len(keys), dtype=torch.float64)[None]
    scores = torch.nn.functional.scaled_dot_product_attention(queries[None], keys[None], values, scale=1.0)[0].log()
    return (scores - scores[:, :1]).numpy()


def scored(says: Callable, f: str, g: str) -> tuple[np.ndarray, np.ndarray]:
    q, k = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    fq, gk = MAPS[f](q), MAPS[g](k)
    claimed = np.array([[float(says(a, b)) for b in gk] for a in fq])
    return claimed - claimed[:, :1], logits(fq, gk)


def by_projection(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(F', P) with F(t) = F'(t) P, P fixed and F' square: the best P is the row space of all F(t) together."""
    times, m, n = f.shape
    if m >= n:
        return by_padding(f)
    row_space = np.linalg.svd(f.reshape(times * m, n))[2][:m]
    return f @ row_space.T, row_space


def by_padding(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zero rows below F where it is wide, zero columns beside it where it is tall."""
    times, m, n = f.shape
    square = np.zeros((times, max(m, n), max(m, n)))
    square[:, :m, :n] = f
    return square, np.eye(max(m, n), n)


def upside_down(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square, fixed = by_padding(f)
    return square, fixed[::-1]


def kept(says: Callable, rows: int, columns: int) -> Factors:
    """Scores of a random encoding from `columns` into `rows` dimensions: square behind a fixed map, and as given."""
    f = np.random.default_rng(rows).normal(size=(7, rows, columns))
    square, fixed = says(f)
    return theory.score_table(square @ fixed, square @ fixed), theory.score_table(f, f)


def clock(says: Callable, q: list[float], quarter_turns: int) -> tuple[float, float]:
    """The score of q with itself at one time under F(t) = (cos t, sin t), with times of 0 and 1 quarter turns known."""
    f = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    square, fixed = says(f)
    claimed, actual = (round(float(np.sum((g[quarter_turns] @ q) ** 2)), 12) for g in (square @ fixed, f))
    return claimed, actual


def behind(says: Callable, rows: int, columns: int) -> tuple[list, list]:
    """Scores of an invariant encoding into fewer dimensions: through (C, X, E) made of scores at lags 0 .. 2, and so
    many dimensions at most; as given. Of 2 rows from 3 columns the row space turns, in a row that no key sees."""
    draw = np.random.default_rng(columns)
    x, (q, k) = draw.normal(size=(rows, rows)) / 2, draw.normal(size=(2, rows, columns))
    f, g = (lambda t: generated(x, [t])[0][0] @ q), (lambda s: generated(x, [s])[1][0] @ k)
    if (rows, columns) == (2, 3):
        f = lambda t: np.array([[math.exp(-0.3 * t), 0, 0], [0, math.cos(t), math.sin(t)]])  # noqa: E731
        g = lambda s: np.diag([math.exp(0.3 * s), 0])[:, [0, 1, 1]]  # noqa: E731
    c, own, e = says([f(d).T @ g(0.0) for d in np.arange(9) * 0.25])
    pairs = ((0.0, 0.0), (1.7, 0.4), (-0.6, 2.1))
    mine = [c.T @ expm((t - s) * own) @ e for t, s in pairs]
    return [*mine, max(len(own), rows)], [*(f(t).T @ g(s) for t, s in pairs), rows]


def by_range(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(C, X, E) with F(t)^T G(s) = C^T e^{(t-s)X} E, from scores at lags 0, 1/4, .., 2."""
    return theory.realise(scores, 0.25)


def backwards(scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c, x, e = by_range(scores)
    return c, -x, e


BLOCKS = {  # (rate, frequency, size) of generators of all four families
    "growth and decay": ((-0.3, 0.0, 1), (0.2, 0.0, 1), (0.0, 0.0, 1)),
    "rotations": ((0.0, 1.0, 1), (-0.2, 2.3, 1)),
    "a chain": ((-0.3, 0.0, 3),),
    "a chain of rotations": ((0.1, 1.4, 2), (-0.5, 0.0, 1)),
}
KINDS = grid(decays=(False, True), turns=(False, True))


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


METRIC = "groups_pucks"
OURS = "group-defective"
MARGIN = 0.02
BEYOND = (2, 4)


def ahead(frame: pd.DataFrame, multiples: tuple[int, ...]) -> Estimate:
    """The smallest lead of the defective generator over any other encoding at any of the multiples, within seeds."""

    def counts(name: str, multiple: int) -> dict[int, tuple[int, int]]:
        own = frame[(frame["encoding"] == name) & (frame["multiple"] == multiple)]
        return {int(row.seed): (int(row.correct), int(row.samples)) for row in own.itertuples()}

    others = [name for name in ENCODINGS if name != OURS]
    absent = {name for name in (OURS, *others) for multiple in multiples if not counts(name, multiple)}
    leads = {
        f"{name} at {multiple} times": lead(counts(OURS, multiple), counts(name, multiple))
        for name in others
        for multiple in multiples
        if not absent & {OURS, name}
    }
    return smallest(leads | {name: unknown(f"{name} was not trained") for name in absent})


def coupling(frame: pd.DataFrame) -> Estimate:
    """The largest coupling of the defective generator over the training lags, mean over seeds."""
    own = frame[frame["encoding"] == OURS].drop_duplicates("seed")
    return mean(dict(zip(own["seed"].astype(int), own["coupling"], strict=True)))


measured = measuring(METRIC)

CHECKS = claims(
    claim(
        "OPG-1",
        Law(
            "Attention scores a query at t and a key at s by <f_t(q), g_s(k)>.",
            matmul,
            scored,
            grid(f=MAPS, g=MAPS),
            wrong=lambda fq, gk: -(fq @ gk),
        ),
        Law(
            "To assume that f and g keep the dimension is no loss: what is padded with zeros has the same scores.",
            by_padding,
            kept,
            [*WIDE, *TALL],
            wrong=upside_down,
        ),
        Law(
            "An encoding into m > n dimensions is one that keeps the dimension, after a fixed linear map.",
            by_projection,
            kept,
            TALL,
            wrong=upside_down,
        ),
        Law(
            "An encoding into m < n dimensions is one that keeps the dimension, after a fixed projection (here F(t) = "
            "(cos t, sin t)).",
            by_projection,
            clock,
            CLOCK,
            wrong=upside_down,
            repaired=by_padding,
            quote="If we wanted a different dimension, we could have applied a time-independent "
            "projection to our keys and queries",
            place="Formalizing a positional encoding",
        ),
        corrected=(
            Law(
                "Where the remark stands, before any axiom, F(t) may look in another direction at each time: fill up "
                "the *results* with zeros.",
                by_padding,
                kept,
                WIDE,
                wrong=upside_down,
            ),
            Law(
                "Under translation invariance a fixed projection always exists.",
                by_range,
                behind,
                [{"rows": m, "columns": n} for m, n in ((1, 2), (2, 4), (3, 5), (2, 3))],
                wrong=backwards,
                tolerance=1e-6,
            ),
        ),
        practice="Extra coordinates (Goat's lanes, ALiBi's constant ones) are covered: project up first. One low-rank "
        "projection before an invariant encoding loses nothing against a low-rank encoding; before one that "
        "sees absolute time it may.",
        severity="editorial",
    ),
    claim(
        "OPG-16",
        Law(
            "The admissible encodings are a handful of families: entries t^k e^{lambda t} cos and sin of omega t, with "
            "or without a frequency, with or without a defect.",
            family,
            spanned,
            grid(blocks=BLOCKS),
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
        ),
        Law(
            "No encoding that makes sense lies outside of them. ReRoPE then scores lag 2 by A(2) = A(1)^2.",
            lambda omega, window, lag: round(math.cos(lag * min(1, window) * omega), 12),
            rectified,
            grid(omega=(math.pi / 2, math.pi / 3), window=[1], lag=[2]),
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
            grid(omega=(math.pi / 2, math.pi / 3), window=(1, 2), lag=(0, 2, 9)),
            wrong=lambda omega, window, lag: round(math.cos(lag * omega), 12),
        ),
        practice="The classification says what one dot product can carry, not what can encode position: a table of "
        "biases is not bound by it. Notebook 18 compares both sides by their tails.",
    ),
    claim(
        "OPG-19",
        measured(
            "Defective blocks lead every other encoding within the lags of training (smallest lead)",
            lambda frame: ahead(frame, (1,)),
            margin=MARGIN,
        ),
        measured(
            "They lead every other at two and four times these lags (smallest lead)",
            lambda frame: ahead(frame, BEYOND),
            margin=MARGIN,
        ),
        measured(
            "Training strengthens them: their largest coupling over the training lags ends above where it started",
            coupling,
            ">",
            STARTED,
        ),
        missing="a model that has both kinds of blocks and chooses",
        recipe="pucks",
    ),
)
