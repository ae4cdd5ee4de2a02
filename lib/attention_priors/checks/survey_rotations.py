"""The survey on sinusoids and on RoPE: definitions, forms, indices, two dimensions.

Independent evidence: sympy, mpmath in 40 digits, scipy's matrix exponential, transformers' tables.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import mpmath
import numpy as np

from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.absolute import Sinusoidal

WIDTHS = (2, 8, 64)


def frequencies(width: int) -> np.ndarray:
    return 10_000.0 ** (-np.arange(0, width, 2) / width)


# Sinusoids


def check_entry(entry: Callable) -> Evidence:
    """entry(pos, column, d) in 40 digits against transformers' table (RoFormer: sines, then cosines) and our module."""
    import torch
    from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding as Table

    worst, positions = 0.0, 40
    for d in WIDTHS:
        theirs = np.empty((positions, d))
        halves = Table(positions, d).create_weight().double().numpy()
        theirs[:, ::2], theirs[:, 1::2] = halves[:, : d // 2], halves[:, d // 2 :]
        ours = Sinusoidal(d)(torch.arange(positions)).double().numpy()
        with mpmath.workdps(40):
            stated = np.array([[float(entry(p, c, d)) for c in range(d)] for p in range(positions)])
        worst = max(worst, float(np.abs(stated - theirs).max()), float(np.abs(stated - ours).max()))
    return compare(worst, "<=", 1e-6, detail="40 positions, widths 2, 8, 64; the tables are float32")


def check_additions(layers: tuple[int, ...]) -> Evidence:
    """Models without positions, the formula's rows added by hand below these layers, against the models that have them.

    The models are XLM of transformers, with a table of its own, and ours; three layers each, float64.
    """
    import torch

    tokens, width, worst = torch.arange(1, 13)[None], 8, {}
    rows = torch.tensor([[float(_entry(p, c, width)) for c in range(width)] for p in range(12)], dtype=torch.float64)
    with torch.no_grad():
        for name, (model, remove, inputs) in _sinusoidal_models(width).items():
            theirs = model(tokens)[0]
            remove()
            for layer in layers:
                inputs[layer].register_forward_hook(lambda module, given, out: out + rows)
            worst[name] = float((model(tokens)[0] - theirs).abs().max())
    detail = ", ".join(f"{name} {error:.1e}" for name, error in worst.items())
    return compare(max(worst.values()), "<=", 1e-5, detail=f"outputs of three layers: {detail}")


def _sinusoidal_models(width: int) -> dict:
    """name -> (model, what takes its positions away, the modules whose outputs enter layer 0, 1, 2)."""
    import torch
    from transformers import XLMConfig, XLMModel

    from attention_priors.config import ModelConfig
    from attention_priors.model import Transformer

    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "emb_dim": width, "n_layers": 3, "n_heads": 2, "max_position_embeddings": 32}
    theirs = XLMModel(XLMConfig(sinusoidal_embeddings=True, embed_init_std=1.0, pad_index=0, **sizes)).double().eval()
    sizes = {"vocabulary": 16, "width": width, "layers": 3, "heads": 2, "hidden": 16}
    ours = Transformer(ModelConfig(encoding="sinusoidal", **sizes)).double()
    return {
        "XLM": (theirs, theirs.position_embeddings.weight.zero_, [theirs.embeddings, *theirs.layer_norm2]),
        "ours": (ours, lambda: setattr(ours, "absolute", None), [ours.embedding, *ours.blocks]),
    }


def _entry(position, column, d):
    argument = position / mpmath.mpf(10_000) ** (mpmath.mpf(column - column % 2) / d)
    return mpmath.cos(argument) if column % 2 else mpmath.sin(argument)


def check_shift(block: Callable) -> Evidence:
    """block(k, ω) maps (sin, cos)(pos ω) to (sin, cos)((pos + k) ω) for every pos, and is a rotation; in sympy."""
    import sympy

    k, w, pos = sympy.symbols("k omega pos", real=True)
    matrix = sympy.Matrix(block(k, w, sympy))
    here, there = (sympy.Matrix([sympy.sin(x * w), sympy.cos(x * w)]) for x in (pos, pos + k))
    left = [*(matrix * here - there), matrix.det() - 1, *(matrix * matrix.T - sympy.eye(2))]
    wrong = sum(sympy.simplify(sympy.expand_trig(x)) != 0 for x in left)
    free = pos in matrix.free_symbols
    return compare(wrong + free, "==", 0, 0.0, detail="of 8 identities: the map, det 1, orthogonal, free of pos")


def check_inner_product(of_distance: Callable) -> Evidence:
    """of_distance(m, n, frequencies) against the product of the two rows, as sympy and in numbers."""
    import sympy

    m, n, w = sympy.symbols("m n omega", real=True)
    row = [sympy.sin(m * w) * sympy.sin(n * w) + sympy.cos(m * w) * sympy.cos(n * w)]
    symbolic = sympy.simplify(sympy.expand_trig(of_distance(m, n, [w], sympy) - row[0])) == 0
    worst = 0.0
    with mpmath.workdps(40):
        for d, (i, j) in product(WIDTHS, ((3, 0), (17, 90), (1000, 4096))):
            omega = [mpmath.mpf(10_000) ** (-mpmath.mpf(2 * p) / d) for p in range(d // 2)]
            rows = [[_entry(x, c, d) for c in range(d)] for x in (i, j)]
            exact = mpmath.fsum(a * b for a, b in zip(*rows, strict=True))
            worst = max(worst, abs(of_distance(i, j, omega, mpmath) - exact))
    return compare(float(worst) + (not symbolic), "<=", 1e-30, detail="sympy, and 9 pairs in 40 digits")


def _distances(m, n, omega, lib):
    return sum(lib.cos((m - n) * w) for w in omega)


def check_wavelengths(wavelength: Callable) -> Evidence:
    """Sign changes of every column in 4096 rows: two in a wavelength, give or take one."""
    import torch

    d, rows = 64, 4096
    table = Sinusoidal(d)(torch.arange(rows)).numpy()
    changes = (np.diff(np.signbit(table), axis=0)).sum(0)
    worst = max(abs(int(changes[c]) - 2 * rows / wavelength(c // 2, d)) for c in range(d))
    return compare(float(worst), "<=", 1.0, detail="sign changes of 64 columns against 2 rows / wavelength")


# RoPE: forms


def exponential(m: float, width: int) -> np.ndarray:
    """exp(m Σ θ_j J_j) by scipy, J_j the quarter turn of coordinates 2j and 2j + 1."""
    from scipy.linalg import expm

    generator = np.zeros((width, width))
    for j, theta in enumerate(frequencies(width)):
        generator[2 * j + 1, 2 * j], generator[2 * j, 2 * j + 1] = theta, -theta
    return expm(m * generator)


def check_form(form: Callable) -> Evidence:
    """form(q, m, θ) on neighbouring pairs against the matrix exponential."""
    draw, worst = np.random.default_rng(0), 0.0
    for width, m in product(WIDTHS, (0.0, 1.0, 7.0, 150.0)):
        q = draw.standard_normal(width)
        worst = max(worst, float(np.abs(form(q, m, frequencies(width)) - exponential(m, width) @ q).max()))
    return compare(worst, "<=", 1e-11, detail="against scipy.linalg.expm, widths 2, 8, 64")


def check_relative(turn: Callable) -> Evidence:
    """Scores at shifted positions are equal, at other distances not; norms are kept."""
    draw, worst, moved = np.random.default_rng(1), 0.0, np.inf
    theta = frequencies(8)
    for _ in range(20):
        q, k = draw.standard_normal((2, 8))
        m, n, shift = draw.integers(0, 1000, 3)
        here, there, other = (turn(q, a, theta) @ turn(k, b, theta)
                              for a, b in ((m, n), (m + shift, n + shift), (m, n + 1)))  # fmt: skip
        worst = max(worst, abs(here - there), abs(np.linalg.norm(turn(q, m, theta)) - np.linalg.norm(q)))
        moved = min(moved, abs(here - other))
    return compare(float(worst) + (moved < 1e-6), "<=", 1e-10, detail="scores under shifts, and norms, 20 draws")


def complex_form(q, m, theta):
    turned = (q[::2] + 1j * q[1::2]) * np.exp(1j * m * theta)
    return np.stack([turned.real, turned.imag], axis=1).ravel()


def block_form(q, m, theta, sign=-1):
    blocks = np.array([[[np.cos(a), sign * np.sin(a)], [np.sin(a), np.cos(a)]] for a in m * theta])
    return np.einsum("jab,jb->ja", blocks, q.reshape(-1, 2)).ravel()


def elementwise_form(q, m, theta, swapped=(-1, 1)):
    cos, sin = np.repeat(np.cos(m * theta), 2), np.repeat(np.sin(m * theta), 2)
    return q * cos + np.stack([swapped[0] * q[1::2], swapped[1] * q[::2]], axis=1).ravel() * sin


# RoPE: the chain of equalities


def polar(q: complex, angle: float) -> complex:
    """R_f e^{iΘ_f} with R_f = |q|, Θ_f = Θ(q) + mθ: the derivation's solution."""
    return abs(q) * np.exp(1j * (np.angle(q) + angle))


def rotated(q: complex, angle: float) -> complex:
    return q * np.exp(1j * angle)


def side(other: Callable) -> Callable:
    """evaluate(middle, ...) against one side of the chain, as complex numbers; q = re + i im, angle mθ."""

    def evaluate(middle: Callable, re: float, im: float, angle: float) -> tuple[str, str]:
        sides = (np.round(each(complex(re, im), angle), 3) + 0 for each in (middle, other))
        return tuple(f"{z.real:g} + {z.imag:g} i" for z in sides)

    return evaluate


def check_side(other: Callable) -> Callable:
    def check(middle: Callable) -> Evidence:
        draw = np.random.default_rng(2)
        cases = [complex(*draw.standard_normal(2)) for _ in range(20)]
        worst = max(abs(middle(q, a) - other(q, a)) for q, a in product(cases, (0.0, 0.3, 4.0)))
        grid = ({"re": r, "im": i, "angle": 0.0} for r, i in ((1.0, 0.0), (0.0, 1.0)))
        found = smallest_counterexample(side(other), middle, grid) if worst > 1e-9 else None
        return compare(float(worst), "<=", 1e-12, counterexample=found, detail="60 pairs of q and mθ")

    return check


def _middle(q, angle):
    return q * np.exp(1j * (np.angle(q) + angle))


# Indices


def first_frequency(theta: Callable, d: int, index: int) -> tuple[float, float]:
    """(frequency stated for the block `index` places after the first, the one it has)."""
    return theta(index, d), float(frequencies(d)[index])


def check_index(theta: Callable) -> Evidence:
    """theta(place, d), place = 0 for the first block, against transformers' inverse frequencies."""
    worst, trained = 0.0, 2048
    for d in (4, 8, 64):
        theirs = oracles.scaled("linear", d, 1.0, trained)[0]
        worst = max(worst, max(abs(theta(i, d) / theirs[i] - 1) for i in range(d // 2)))
    cases = ({"d": 2, "index": 0}, {"d": 4, "index": 0})
    found = smallest_counterexample(first_frequency, theta, cases) if worst > 1e-3 else None
    return compare(float(worst), "<=", oracles.FLOAT32, counterexample=found, detail="relative, against transformers")


# Two dimensions


def check_grid(score: Callable) -> Evidence:
    """score(q, k, (m, i), (n, j)): g₁(m - n) + g₂(i - j) with complex planes, 20 draws of width 16; and our module."""
    import torch

    from attention_priors.positions.compositions import GridRotary
    from attention_priors.positions.rotary import rope

    draw, worst = np.random.default_rng(3), 0.0
    for _ in range(20):
        q, k = draw.standard_normal((2, 16))
        here, there = draw.integers(0, 60, (2, 2))
        theta, stated = frequencies(8), score(q, k, here, there)
        exact = sum(
            oracles.score(oracles.planes(q[half], False), oracles.planes(k[half], False), 1j * lag * theta)
            for half, lag in zip((slice(0, 8), slice(8, 16)), here - there, strict=True)
        )
        # our module pairs coordinate c with c + 4 inside each half
        order = [half + c for half in (0, 8) for c in (0, 2, 4, 6, 1, 3, 5, 7)]
        rows = (torch.from_numpy(x[order])[None, None, None] for x in (q, k))
        turned = GridRotary(rope(8))(*rows, *(torch.from_numpy(p)[None] for p in (here, there)))
        worst = max(worst, abs(stated - exact), abs(float(turned[0].flatten() @ turned[1].flatten()) - exact))
    return compare(float(worst), "<=", 1e-11, detail="against complex planes per axis, and the library's module")


def _grid_score(q, k, here, there, axes=(0, 1)):
    halves = zip((slice(0, 8), slice(8, 16)), axes, strict=True)
    theta = frequencies(8)
    return float(sum(complex_form(q[h], here[a], theta) @ complex_form(k[h], there[a], theta) for h, a in halves))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-SIN",
            (
                Part("PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same.", _entry, check_entry,
                     lambda pos, c, d: _entry(pos, c + 1 - 2 * (c % 2), d)),
                Part("It is added to the embeddings once, below the first layer.", (0,), check_additions, (0, 1, 2)),
            ),
            practice="The formula needs an even width; the printed code fails at an odd one, where sine has a column "
                     "more than cosine. The exponent belongs in float64 for long contexts.",
        ),
        Check(
            "PE-SIN-L",
            (
                Part("PE_(pos+k) = M_k PE_pos with a block rotation M_k that does not involve pos.",
                     lambda k, w, lib: [[lib.cos(k * w), lib.sin(k * w)], [-lib.sin(k * w), lib.cos(k * w)]],
                     check_shift,
                     lambda k, w, lib: [[lib.cos(k * w), -lib.sin(k * w)], [lib.sin(k * w), lib.cos(k * w)]]),
            ),
            practice="Sinusoids are already a rotation group; RoPE applies the group to queries and keys instead of "
                     "adding one of its orbits to the embedding.",
        ),
        Check(
            "PE-SIN-DOT",
            (
                Part("<PE_m, PE_n> = Σ_i cos((m - n) ω_i).", _distances, check_inner_product,
                     lambda m, n, omega, lib: sum(lib.cos((m + n) * w) for w in omega)),
            ),
            practice="Relative only before the projections: with W_Q and W_K between the two rows it depends on m and "
                     "n. Sandwich keeps this product and drops the projections.",
        ),
        Check(
            "PE-F1",
            (
                Part("The map of PE(pos, i) (the table is judged, the printed picture is not in the text): column pair "
                     "i oscillates with wavelength 2π 10000^(2i/d).", lambda i, d: 2 * np.pi * 10_000 ** (2 * i / d),
                     check_wavelengths, lambda i, d: 2 * np.pi * 10_000 ** (i / d)),
            ),
            practice="Most columns are slower than any context in use: half of them have wavelengths above 600.",
        ),
        Check(
            "PE-ROPE",
            (
                Part("As a complex product: q_j e^(i m θ_j), θ_j = 10000^(-2j/d).", complex_form, check_form,
                     lambda q, m, theta: complex_form(q, -m, theta)),
                Part("As a block-diagonal matrix of M_j.", block_form, check_form,
                     lambda q, m, theta: block_form(q, m, theta, sign=1)),
                Part("Elementwise, with ⊙.", elementwise_form, check_form,
                     lambda q, m, theta: elementwise_form(q, m, theta, swapped=(1, -1))),
                Part("Scores depend on m - n, and norms are kept.", complex_form, check_relative,
                     lambda q, m, theta: complex_form(q, m, theta + 0.001j)),
            ),
            practice="Three codings of one rotation; the elementwise one is what runs.",
        ),
        Check(
            "PE-E-ROPE1",
            (
                Part("R_f e^(iΘ_f) = q e^(i(Θ(q) + mθ)).", _middle, check_side(polar),
                     lambda q, a: -_middle(q, a), side(polar), repaired=polar),
                Part("q e^(i(Θ(q) + mθ)) = Σ q_j e^(imθ_j) e_j.", _middle, check_side(rotated),
                     lambda q, a: -_middle(q, a), side(rotated), repaired=polar),
            ),
            Part("In each plane the middle is |q_j| e^(i(Θ(q_j) + mθ_j)): the printed one, with the complex q itself, "
                 "counts the phase of q twice. The two ends of the chain agree.", polar, check_side(rotated),
                 lambda q, a: polar(q, -a)),
            practice="Code written from the middle expression would rotate by the content's own angle; the sum on the "
                     "right is what everybody implements.",
        ),
        Check(
            "PE-E2",
            (
                Part("Matrix form: blocks j = 1 .. d/2 with θ_j = 10000^(-2j/d).",
                     lambda place, d: 10_000.0 ** (-2 * (place + 1) / d), check_index,
                     lambda place, d: 10_000.0 ** (-(place + 1) / d), first_frequency),
                Part("Elementwise form: pairs j = 0 .. d/2 - 1 with the same θ_j.",
                     lambda place, d: 10_000.0 ** (-2 * place / d), check_index,
                     lambda place, d: 10_000.0 ** (-place / d)),
            ),
            Part("With blocks counted from 1, θ_j = 10000^(-2(j-1)/d).",
                 lambda place, d: 10_000.0 ** (-2 * ((place + 1) - 1) / d), check_index,
                 lambda place, d: 10_000.0 ** (-2 * (place + 2) / d)),
            practice="Off by one, every plane turns 10000^(2/d) times slower (1.15 at d = 128, 10 at d = 8), and the "
                     "fastest is missing: a checkpoint does not survive it.",
        ),
        Check(
            "PE-2D",
            (
                Part("Half of the coordinates turn with (m, n), half with (i, j): the score is g_1(m-n) + g_2(i-j).",
                     _grid_score, check_grid,
                     lambda q, k, here, there: _grid_score(q, k, here, there, axes=(1, 0))),
            ),
            practice="The axes never interact: distance along a diagonal is not seen as such, and a picture turned by "
                     "45 degrees is another picture.",
        ),
    )
}  # fmt: skip
