"""What tests of several backends compare with."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor


@pytest.fixture(scope="session")
def written_out() -> Callable[..., Tensor]:
    """Attention over the whole matrix in the dtype of its inputs, rounding every step: as much error as is usual."""

    def attend(q, k, v, *, prior, visible, offset=0, logit_scale=None, prior_scale=None) -> Tensor:
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
        logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if logit_scale is not None:
            logits = logits * logit_scale[..., None].to(logits)
        lags = torch.arange(offset, offset + q.shape[2])[:, None] - torch.arange(k.shape[2])
        table, keys = prior.table(lags.flatten()), prior.of_keys(torch.arange(k.shape[2]), k.shape[2])
        bias = 0 if table is None else table.unflatten(1, lags.shape).to(logits)
        bias = bias if keys is None else bias + keys[:, None].to(logits)
        logits = logits + (bias if prior_scale is None else bias * prior_scale[..., None].to(logits))
        mask = visible.dense(k.shape[2])
        return logits.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -torch.inf).softmax(-1) @ v

    return attend
