"""What the theory of priors predicts of the heads of trained models, beside what was measured on passkeys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from ..positions.priors import GeneralizedGaussian
from ..tasks import passkey
from .experiment import Experiment
from .heads import FIGURE_LENGTH

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
            {
                **{name: head[name] for name in ("seed", "layer", "head", "beta")},
                "predicted": predicted,
                "measured": measured,
                "required": required,
                "supplied": _logit(measured) + required,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _inside(mass: float) -> float:
    """A probability away from 0 and 1: metrics keep seven digits."""
    return float(np.clip(mass, 1e-7, 1 - 1e-7))


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


EXPERIMENT = Experiment(
    name="predictions",
    sections=("passkey",),
    needs=("learned_heads",),
    derive={"phase_heads": ("learned_heads", heads)},
)
