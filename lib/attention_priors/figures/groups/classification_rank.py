"""Coordinates that relative priors need inside one attention call: exactly by context, approximately by error."""

import numpy as np
import torch

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import GeneralizedGaussian, Laplace
from attention_priors.positions.rotary import rope
from attention_priors.theory import classification as theory
from attention_priors.theory.classification import Kernel, Mode
from attention_priors.theory.generalised_gaussian import of

EXACT = 1e-12  # relative size of a singular value that counts as zero: finite ranks end here, infinite ones do not
SHOWN = 1e-6  # nats; below lies rounding
# colour, dashes, marker; blue and green: finite rank, orange and pink: infinite but smooth, black: a table
PRIORS = {
    "ALiBi": (style.BLUE, style.SOLID, "s"),
    "damped mode": (style.SKY, (5, 1.5), "v"),
    "BAM, beta = 2": (style.ORANGE, (5, 1, 1, 1), "o"),
    "Goat, 2 modes": (style.RED, style.SOLID, "*"),
    "Sandwich": (style.BROWN, (1, 2, 4, 2), "h"),
    "KERPLE, logarithm": (style.TEAL, (2, 1), "p"),
    "KERPLE, square root": (style.INDIGO, (7, 1, 1, 1), "P"),
    "BAM, beta = -1/5": (style.ORANGE, (1, 1), "o"),
    "T5": (style.PURPLE, (8, 2, 3, 2), "<"),
}


def survey() -> dict[str, Kernel]:
    """One head of every kind of relative prior, scales that matter at 1000 lags; T5's table is random.

    Sandwich is a sum of 64 cosines (Chi et al. 2023), here in float64: rounding to float32 has full rank.
    """
    buckets = T5Buckets(1)
    with torch.no_grad():
        buckets.values.normal_(generator=torch.Generator().manual_seed(0))
    modes = [Mode(1, 0.5, (1.0,), (0.6,)), Mode(1, 0.05, (0.8,), (-0.4,))]
    return {
        "ALiBi": of(Laplace([0.25]).double()),
        "damped mode": theory.kernel([Mode(0.98, 0.2, (1.0,), (0.5,))]),
        "Goat, 2 modes": theory.kernel(modes),
        "BAM, beta = 2": of(GeneralizedGaussian([-6.0], [2.0], epsilon=1e-12).double()),
        "Sandwich": theory.kernel([Mode(1, omega, (1 / 8,)) for omega in rope(128).omega]),
        "KERPLE, logarithm": of(KerpleLog([1.0], [1.0]).double()),
        "KERPLE, square root": of(KerplePower([1.0], [0.5]).double()),
        "BAM, beta = -1/5": of(GeneralizedGaussian([0.0], [-0.2]).double()),
        "T5": of(buckets.double()),
    }


def rows(size: Size, seed: int, most=24) -> Rows:
    """Coordinates by keys n and, at the last n, largest logit error by coordinates.

    The block has n queries and n keys, all visible (`causal_block`), its row means removed, which softmax ignores. The
    error is that of the truncated singular value decomposition.
    """
    found = []
    for name, kappa in survey().items():
        for n in (2**k for k in range(2, 12) if 2**k <= size.length):
            left, values, right = np.linalg.svd(theory.centred(theory.causal_block(kappa, n)))
            rank = int((values > EXACT * values[0]).sum())
            found.append({"panel": "rank", "prior": name, "x": n, "value": rank})
        residual = (left * values) @ right
        for r in range(min(most, n) + 1):
            found.append({"panel": "error", "prior": name, "x": r, "value": float(np.abs(residual).max())})
            if r < n:
                residual = residual - np.outer(left[:, r] * values[r], right[r])
    return found


def draw(frame: Frame) -> Figure:
    fig, (rank, error) = style.figure(style.MIDDLE, 2.9, ncols=2, width_ratios=(1, 1.1))
    by_panel = dict(tuple(frame.set_index("prior").loc[list(PRIORS)].reset_index().groupby("panel")))
    exact, inexact = by_panel["rank"], by_panel["error"]
    lines.plot(rank, exact, "x", "value", "prior", PRIORS, _written)
    above = (inexact["value"] > SHOWN).groupby(inexact["prior"]).shift(fill_value=True)
    shown = inexact[above].assign(value=inexact["value"].clip(lower=SHOWN))  # down to the floor, and no further
    lines.plot(error, shown, "x", "value", "prior", PRIORS, _written, markersize=3)
    keys = exact["x"].astype(int)
    style.length_axis(rank, keys, most=8)
    rank.set_yscale("log", base=2)
    ticks = [1, 2, 4, 8, 16, 32, 64, 128]
    rank.set_yticks(ticks, [str(tick) for tick in ticks])
    rank.set(xlabel="visible keys $n$", ylabel="coordinates of query and key", title="exactly")
    error.set(yscale="log", ylim=(SHOWN / 2, None))
    error.set_xlim(-0.6, inexact["x"].max() + 0.6)
    lines.level(error, 0.01)
    error.set(xlabel="coordinates of query and key", ylabel="largest error of a logit (nats)",
              title=f"approximately, $n = {keys.max()}$")  # fmt: skip
    fig.legend(*rank.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def _written(name: str) -> str:
    return name.replace("beta", "β")


def caption(frame: Frame) -> str:
    rank, error = frame[frame["panel"] == "rank"], frame[frame["panel"] == "error"]
    exact = rank[rank["x"] == rank["x"].max()].set_index("prior")["value"].astype(int)
    enough = error[error["value"] <= 0.01].groupby("prior")["x"].min().astype(int)
    listed = ", ".join(f"{exact[name]} ({_written(name)})" for name in PRIORS)
    close = ", ".join(
        f"{enough[name]} ({_written(name)})" for name in PRIORS if name in enough and enough[name] < exact[name]
    )
    waves = rank[rank["prior"] == "Sandwich"].sort_values("x")["value"]
    when = "beyond what is drawn" if waves.iloc[-1] > waves.iloc[-2] else "late"
    return (
        f"Left: coordinates that queries and keys need to carry a relative prior through plain attention, n queries "
        f"seeing n keys, up to a row constant (singular values above 1e-12 of the largest). At n = "
        f"{int(rank['x'].max())}: {listed}. Finite ranks level off, Sandwich's 64 cosines {when}; powers "
        f"and logarithms grow like ln n; T5's table grows up to its last bucket. Right: largest error of a logit if "
        f"fewer coordinates are used; errors below {SHOWN:g} are drawn there. Within 0.01 nats (dotted): {close}."
    )


FIGURE = FigureSpec(
    "classification_rank", draw, caption, notebook="one_parameter_groups", paper="Goat, Theorem 2", rows=rows,
    columns=("panel", "prior", "x", "value"), claims=("GOAT-DF.1", "GOAT-F.T2", "GOAT-F.T2c"),
    alt="Left, coordinates by number of keys on logarithmic axes: four lines level off at once, three rise slowly, "
    "Sandwich's and T5's rise steeply, the latter to about a hundred. Right, error by number of coordinates: straight "
    "falls for powers and logarithms, sudden drops for small ranks, no gain for Sandwich and T5.",
)  # fmt: skip
