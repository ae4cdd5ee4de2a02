"""What R waves can say of four log-priors: errors of the best fits, and the tables of what they cost."""

from collections.abc import Iterable

import numpy as np
import torch

from ...positions.spectral import Fourier, geometric
from ...theory import spectra
from ...theory.classification import causal_block, numerical_rank
from .. import panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, TableSpec
from ..words import farthest

NOTEBOOK = "spectra_and_sinks"
# of frequencies: colour, dashes, marker
LADDERS = {
    "RoPE's ladder": (style.BLUE, (5, 1.5), "s"), "harmonics": (style.ORANGE, style.SOLID, "o"),
    "slow waves": (style.GREEN, (3, 1), "^"), "greedy": (style.PINK, (1, 1), "D"),
}  # fmt: skip
BEYOND = (2, 4, 16)  # windows
NATS = {f"kl x{n}": f"KL on {n} windows" for n in BEYOND}


def rows(size: Size, seed: int, counts=(1, 2, 4, 8)) -> Rows:
    """Minimax fits on the window and, unchanged, on multiples of it.

    Largest error, KL(target ‖ fit), the largest coefficient (which has to be stored), KL on N windows.
    """
    length, found = size.length, []
    lags = np.arange(float(length))
    for name, log_prior in spectra.targets(length).items():
        values = log_prior(lags)
        free = spectra.greedy(values, max(counts))
        for ladder, omegas in (*spectra.LADDERS.items(), ("greedy", lambda modes, _, free=free: free[:modes])):
            for modes in counts:
                fit = spectra.minimax(values, omegas(modes, length))
                row = {"target": name, "frequencies": ladder, "modes": modes}
                row |= {"sup": float(np.abs(fit(lags) - values).max())}
                row |= {"kl": spectra.divergence_of(log_prior, fit, length), "coefficient": fit.largest}
                found.append(row | {f"kl x{n}": spectra.divergence_of(log_prior, fit, n * length) for n in BEYOND})
    return found


def storage(lengths: Iterable[int], modes: int) -> Rows:
    """Largest error of κ(i - j) from features stored in float32 and bfloat16, by context. Rows {dtype, keys, error}."""
    draw = np.random.default_rng(0)
    alpha, beta = (torch.as_tensor(draw.standard_normal((1, modes))) for _ in range(2))
    prior, found = Fourier(geometric(modes), alpha, beta), []
    for keys in lengths:
        positions = torch.as_tensor(np.unique(np.linspace(0, keys - 1, 257).astype(int)))
        with torch.no_grad():
            phi, psi = prior.features(positions)
            exact = prior.log_prior((positions[:, None] - positions).flatten()).view(len(positions), -1)
            for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
                stored = phi[0].to(dtype).double() @ psi[0].to(dtype).double().T
                found.append({"dtype": name, "keys": int(keys), "error": float((stored - exact).abs().max())})
    return found


def ranks(sizes: Iterable[int], exponents: Iterable[float], tolerances: Iterable[float]) -> Rows:
    """Singular values of the block of n queries after n keys under d^beta, d >= 1, above a share of the largest.

    Rows {beta, above, n, rank}.
    """
    blocks = [(beta, n, causal_block(lambda d, beta=beta: (d + 1) ** beta, n)) for beta in exponents for n in sizes]
    return [
        {"beta": beta, "above": t, "n": n, "rank": numerical_rank(block, t)}
        for beta, n, block in blocks
        for t in tolerances
    ]


def draw(frame: Frame) -> Figure:
    made = {
        name: panels.series(own, "modes", "sup", "frequencies", LADDERS)
        for name, own in frame.groupby("target", sort=False)
    }
    axis = {"base": 2, "xticks": {modes: f"{modes}" for modes in sorted(frame["modes"].unique())}, "yscale": "log"}
    labels = ("modes $R$", "largest error (nats)")
    fig, axes = panels.draw(made, *labels, height=1.8, sharey=False, legend="above", ncols=4, **axis)
    rough = frame[frame["target"] != next(iter(made))]["sup"]
    for ax in axes[1:]:
        ax.set_ylim(0.7 * rough.min(), 1.4 * rough.max())
    return fig


def caption(frame: Frame) -> str:
    most = farthest(frame, "modes")
    errors = ", ".join(f"{name} {part['sup'].min():.1e}" for name, part in most.groupby("target", sort=False))
    size = most["coefficient"].max()
    return (
        "Largest error of the best fit (a linear program in float64) of R waves to four log-priors on a window. Smooth "
        f"ones need few waves; a window's edge defies them. Best at {int(frame['modes'].max())} modes, in nats: "
        f"{errors}. The price is large coefficients, up to {size:.0e}, which in low precision no longer cancel."
    )


FIGURE = FigureSpec(
    "spectra_fits",
    draw,
    caption,
    notebook=NOTEBOOK,
    rows=rows,
    claims=("X-16",),
    alt="Largest error by number of waves for a slope, a root, a logarithm and a window, log-log: steep for the slope, "
    "moderate for root and logarithm, flat for the window.",
)


def build(frame: Frame) -> Frame:
    """A row for each target and ladder: the error by number of waves, then what the most waves cost and give beyond."""
    most, made = frame["modes"].max(), []
    for (target, ladder), own in frame.groupby(["target", "frequencies"], sort=False):
        errors = {f"error, R = {row.modes}": row.sup for row in own.itertuples()}
        last = own[own["modes"] == most].iloc[0]
        told = {"largest coefficient": last["coefficient"], "KL inside": last["kl"]}
        told |= {words: last[name] for name, words in NATS.items()}
        made.append({"target": target, "frequencies": ladder} | errors | told)
    return Frame(made)


def caption_table(frame: Frame) -> str:
    return (
        "Fits of R waves to four log-priors on one window: the largest error, in nats, as small as "
        f"float64 allows. Then of R = {frame['modes'].max()}: the largest coefficient, and KL from the target in nats, "
        "on the window and with the same coefficients on contexts 2, 4 and 16 times as long. Values below 1e-12 are "
        "rounding."
    )


TABLE = TableSpec(
    "spectra_fits",
    build,
    caption_table,
    notebook=NOTEBOOK,
)
