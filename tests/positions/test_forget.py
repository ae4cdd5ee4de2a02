"""FoX against its definition, token by token."""

import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer
from attention_priors.positions.encodings import Encoding
from attention_priors.positions.forget import ForgetGate
from attention_priors.positions.priors import Uniform


def model(kv_heads=None):
    torch.manual_seed(0)
    size = {"vocabulary": 11, "width": 24, "layers": 2, "heads": 4, "hidden": 16, "kv_heads": kv_heads}
    return Transformer(ModelConfig(encoding="fox", **size)).double().eval()


def by_definition(own, x):
    """Lin et al. 2025, section 3: o_i = Σ_j softmax_j(<q_i, k_j> / sqrt(d) + Σ_{l=j+1..i} ln f_l) v_j, by loops."""
    length, width = x.shape[1], own.head_width
    q = own.query(x)[0].unflatten(-1, (own.heads, width))
    k, v = own.key_value(x)[0].unflatten(-1, (2, own.kv_heads, width)).unbind(1)
    f = torch.sigmoid(own.forget.gate(x))[0]
    rows = []
    for i in range(length):
        heads = []
        for h in range(own.heads):
            g = h // (own.heads // own.kv_heads)
            logits = torch.stack(
                [q[i, h] @ k[j, g] / width**0.5 + f[j + 1 : i + 1, g].log().sum() for j in range(i + 1)]
            )
            heads.append(logits.softmax(0) @ v[: i + 1, g])
        rows.append(torch.cat(heads))
    return own.output(torch.stack(rows))[None]


@pytest.mark.parametrize("kv_heads", [None, 2])
def test_a_layer_is_its_definition(kv_heads):
    own = model(kv_heads).blocks[0].attention
    x = torch.randn(1, 9, 24, dtype=torch.float64)
    rows = model(kv_heads)._rows(torch.zeros(1, 9, dtype=torch.int64), None, None, None, "auto")
    torch.testing.assert_close(own(x, rows, 0), by_definition(own, x), atol=1e-12, rtol=1e-12)


def test_a_gate_sums_over_all_keys():
    made, cache, tokens = model(), Cache(), torch.randint(11, (1, 12))
    whole = made(tokens)
    parts = torch.cat(
        [made(tokens[:, :7], cache=cache), *(made(tokens[:, i : i + 1], cache=cache) for i in range(7, 12))], 1
    )
    torch.testing.assert_close(parts, whole)
    cache.select(torch.tensor([0, 5, 11]))
    with pytest.raises(ValueError, match="some have been dropped; keep the whole cache"):
        made(tokens[:, :1], cache=cache)
    with pytest.raises(ValueError, match="'mine' has a forget gate beside a prior, a rotation or SSMax"):
        Encoding("mine", "Mine", prior=Uniform, forgets=True)


def test_gates_start_at_one_half_or_at_decay_times_up_to_the_slowest():
    for slowest, expected in ((None, [2, 2, 2]), (512, [2, 32, 512])):
        gates = ForgetGate(8, 3, slowest).gate.bias.sigmoid()
        torch.testing.assert_close(1 / (1 - gates), torch.tensor(expected, dtype=torch.float32), rtol=1e-3, atol=0)
    with pytest.raises(ValueError, match="slowest = 1 keys, but at least 2 are needed"):
        ForgetGate(8, 3, 1)
