"""What the theory of priors predicts of trained models, beside what was measured on passkeys and their heads."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from ..positions.encodings import encoding as row_of
from ..positions.mass import tail_mass
from ..positions.priors import GeneralizedGaussian, Laplace, Uniform, alibi_slopes
from ..tasks import passkey
from .arms import UNTRAINED
from .experiment import Experiment
from .heads import FIGURE_LENGTH

LEARNED = ("bam", "bam-ssmax")  # priors that a run's record holds; the other two families fix theirs
PRIORS = ("nope", "nope-ssmax", "alibi", "alibi-ssmax", *LEARNED)
COLUMNS = ["seed", "layer", "head", "beta", "predicted", "measured", "required", "supplied"]


@torch.no_grad()
def heads(learned: pd.DataFrame) -> pd.DataFrame:
    """Per head of bam-ssmax: mass that its prior alone puts on the key sentence, and the attention measured there.

    The prompt is that of `heads.heads_and_maps`. The prior of a head is exp(s ln(n) b(lag)) over the n visible keys
    of each answering query; `required` is the lead in content that half of the weight takes, `supplied` the one that
    the measured mass shows: logit measured - logit predicted.
    """
    start = passkey.DESCRIPTION_TOKENS
    rows = []
    for head in learned.to_dict("records"):
        prior = GeneralizedGaussian([head["theta_alpha"]], [head["beta"]])
        masses = []
        for query in range(FIGURE_LENGTH - passkey.DIGITS, FIGURE_LENGTH):
            lags = torch.arange(query + 1)
            bias = head["scale"] * np.log(query + 1) * prior.log_prior(lags)[0].double()
            sentence = (query - lags >= start) & (query - lags < start + passkey.KEY_TOKENS)
            masses.append(float(bias.softmax(0)[sentence].sum()))
        predicted, measured = _inside(np.mean(masses)), _inside(head["passkey_mass"])
        required = -_logit(predicted)
        rows.append(
            {**{name: head[name] for name in ("seed", "layer", "head", "beta")}, "predicted": predicted,
             "measured": measured, "required": required, "supplied": _logit(measured) + required}
        )  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def all_models(by_length: pd.DataFrame, learned: pd.DataFrame) -> pd.DataFrame:
    """`models` at every other length beyond training, of those at which all were asked: the untrained control too."""
    lengths = sorted(set(by_length[by_length["encoding"] == UNTRAINED]["length"]))
    lengths = [length for length in lengths if length > by_length["trained"].iloc[0]][::2]
    heads = int(learned["head"].max()) + 1
    return pd.concat([models(by_length, learned, length, heads) for length in lengths])


def models(by_length: pd.DataFrame, learned: pd.DataFrame, length: int, heads: int) -> pd.DataFrame:
    """Per model of PRIORS: accuracy at `length`, and the largest tail mass beyond the training length of its heads.

    `learned` is the metric `passkey_priors`; a model of LEARNED that has no row there is left out. `heads` are those of
    one layer: ALiBi's slopes follow from them.
    """
    plain = by_length[(by_length["form"] == "plain") & (by_length["length"] == length)]
    rows = []
    for row in plain[plain["encoding"].isin(PRIORS)].to_dict("records"):
        mine = learned[(learned["encoding"] == row["encoding"]) & (learned["seed"] == row["seed"])]
        if row["encoding"] in LEARNED and mine.empty:
            continue
        tail = tail_of(row["encoding"], mine, length, int(row["trained"]), heads)
        rows.append({"encoding": row["encoding"], "seed": row["seed"], "length": length, "trained": row["trained"],
                     "tail": tail, "accuracy": row["accuracy"]})  # fmt: skip
    return pd.DataFrame(rows, columns=["encoding", "seed", "length", "trained", "tail", "accuracy"])


@torch.no_grad()
def tail_of(encoding: str, learned: pd.DataFrame, length: int, window: int, heads: int) -> float:
    """max over heads of P(lag > window) at a query that sees `length` keys, under the prior alone.

    SSMax multiplies BAM's log-prior by s ln n and leaves the others' as they are; without it BAM's stands as learned.
    NoPE and ALiBi need no learned heads.
    """
    lags, row = torch.arange(length), row_of(encoding)
    if row.base == "nope":
        table = Uniform(1).log_prior(lags)
    elif row.base == "alibi":
        table = Laplace(alibi_slopes(heads)).log_prior(lags)
    else:
        prior = GeneralizedGaussian(learned["theta_alpha"].tolist(), learned["beta"].tolist())
        table = prior.log_prior(lags).double()
        if row.scales_prior:
            table = torch.tensor(learned["scale"].tolist(), dtype=torch.float64)[:, None] * np.log(length) * table
    return float(tail_mass(table, window).max())


def spearman(frame: pd.DataFrame, first: str, second: str) -> float:
    """Rank correlation; NaN where one of the columns is constant."""
    return float(frame[first].rank().corr(frame[second].rank()))


def _inside(mass: float) -> float:
    """A probability away from 0 and 1: metrics keep seven digits."""
    return float(np.clip(mass, 1e-7, 1 - 1e-7))


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


EXPERIMENT = Experiment(
    name="predictions",
    sections=("passkey",),
    recipe=lambda profile: profile.passkey.recipe.name,
    measure=lambda profile, runs, cache: {},
    frames=(),
    needs=("learned_heads", "passkey_by_length", "passkey_priors"),
    derive={
        "phase_heads": ("learned_heads", heads),
        "phase_models": (("passkey_by_length", "passkey_priors"), all_models),
    },
    code=(heads, all_models),
)
