"""Predictions of the theory against closed forms, on metrics as the notebooks write them."""

import math

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments.heads import FIGURE_LENGTH
from attention_priors.experiments.learned import predicted
from attention_priors.tasks import passkey


def learned(**changes) -> pd.DataFrame:
    row = {
        "encoding": "bam-ssmax",
        "seed": 0,
        "layer": 0,
        "head": 0,
        "theta_alpha": 0.0,
        "beta": 0.0,
        "scale": 1.0,
        "passkey_mass": 0.5,
    }
    return pd.DataFrame([{**row, **changes}])


def test_a_uniform_head_gives_the_sentence_its_share_of_the_keys():
    found = predicted(learned()).iloc[0]
    counts = np.arange(FIGURE_LENGTH - passkey.DIGITS + 1, FIGURE_LENGTH + 1)
    assert found["predicted"] == pytest.approx(np.mean(passkey.KEY_TOKENS / counts), rel=1e-6)
    assert found["supplied"] == pytest.approx(found["required"])  # half measured is half required


def test_a_local_head_gives_it_nothing_and_ssmax_sharpens_it():
    near = predicted(learned(beta=1.0, theta_alpha=math.log(0.1))).iloc[0]
    assert near["predicted"] == pytest.approx(1e-7) and near["supplied"] == pytest.approx(near["required"])
    mild = [predicted(learned(beta=0.2, theta_alpha=-2.0, scale=s)).iloc[0]["predicted"] for s in (0.5, 2.0)]
    assert mild[1] < mild[0]
