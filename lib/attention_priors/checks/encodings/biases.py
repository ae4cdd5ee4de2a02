"""The survey on additive biases: T5's buckets and ALiBi.

Independent evidence: transformers' T5, whose code the survey lists, and BLOOM, whose weights are read off at zero
content.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import torch

from attention_priors.claims.law import Law, claim, claims

FAR = 2000  # lags that are looked at
SINGLE = 1e-5  # transformers keeps slopes in float32
BELOW, BEYOND = [{"lag": d} for d in range(16)], [{"lag": d} for d in (*range(16, 300), 1000, FAR - 1)]
SIDES = [{"bidirectional": 0}, {"bidirectional": 1}]
BIAS = [{"slope": 2.0**-h, "lag": d} for h in range(1, 9) for d in range(1, 24)]
SLOPES = [{"i": i, "n": n} for n in (1, 2, 4, 8, 16, 32) for i in range(1, n + 1)]


@functools.cache
def buckets(bidirectional: bool) -> np.ndarray:
    """Of the lags 0 .. FAR - 1 in transformers, which is the code that the survey lists."""
    from transformers.models.t5.modeling_t5 import T5Attention

    return T5Attention._relative_position_bucket(-torch.arange(FAR), bidirectional=bidirectional).numpy()


def bucket(lag: int) -> int:
    return int(buckets(False)[lag])


def scalars(buckets: int, heads: int) -> int:
    """Different values in the bias of one layer over 400 positions, drawn at random."""
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    sizes = {"d_model": 8, "d_kv": 4, "num_heads": heads, "is_decoder": True, "num_layers": 1}
    torch.manual_seed(0)
    config = T5Config(relative_attention_num_buckets=buckets, **sizes)
    bias = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).compute_bias(400, 400)
    return sum(len(rows.unique()) for rows in bias[0])


def owners(layers: int) -> list[int]:
    """The layers of a T5 decoder that own a table of biases."""
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Model

    config = T5Config(d_model=8, d_kv=4, d_ff=8, num_heads=2, num_layers=layers, vocab_size=8)
    found = [name for name, _ in T5Model(config).decoder.named_parameters() if "relative_attention_bias" in name]
    return [int(name.split(".")[1]) for name in found]


def logarithmic(lag: int, first: int = 16, divisor: float = math.log(128 / 16)) -> int:
    return lag if lag < 16 else min(31, first + math.floor(16 * math.log(lag / 16) / divisor))


def shared_from(says: int, bidirectional: int) -> tuple[int, int]:
    """One bucket, and those that the lags from `says` on have."""
    return 1, len(np.unique(buckets(bool(bidirectional))[says:]))


def first_of_last(bidirectional: int) -> int:
    """The least lag whose bucket all farther lags have."""
    found = buckets(bool(bidirectional))
    return int(np.flatnonzero(found != found[-1])[-1]) + 1


def far_embeddings(bidirectional: int) -> int:
    """Of the offsets beyond 128 in either direction; a decoder sees no key after the query."""
    from transformers.models.t5.modeling_t5 import T5Attention

    offsets = torch.tensor([-1000, -129, 129, 1000] if bidirectional else [-1000, -129])
    return len(T5Attention._relative_position_bucket(offsets, bidirectional=bool(bidirectional)).unique())


@functools.cache
def bloom(width: int, layers: int = 2) -> np.ndarray:
    """Weights of the last query [layers heads lags] of transformers' BLOOM when queries and keys are zero; 8 heads."""
    from transformers import BloomConfig, BloomModel

    torch.manual_seed(0)
    config = BloomConfig(vocab_size=8, hidden_size=8 * width, n_layer=layers, n_head=8)
    model = BloomModel._from_config(config, attn_implementation="eager").double().eval()
    with torch.no_grad():
        for block in model.h:
            block.self_attention.query_key_value.weight.zero_()
            block.self_attention.query_key_value.bias.zero_()
        found = model(torch.zeros(1, 24, dtype=torch.long), output_attentions=True).attentions
    return torch.cat(found).double().numpy()[:, :, -1, ::-1]


def logit(slope: float, lag: int, width: int = 4, layer: int = 0) -> float:
    """Of a key, relative to the query's own, in the head of BLOOM with that slope."""
    weights = bloom(width)[layer, -round(math.log2(slope)) - 1]
    return float(np.log(weights[lag] / weights[0]))


def alibi_slope(i: int, n: int) -> float:
    """Of head i of n, as BLOOM computes it."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    alibi = build_alibi_tensor(torch.ones(1, 3), n, dtype=torch.float64).reshape(n, 3)[i - 1]
    return float(alibi[2] - alibi[1])


CHECKS = claims(
    claim(
        "PE-T5",
        Law(
            "A head of T5 has one learned scalar for each of 32 buckets of the offset.",
            lambda buckets, heads: buckets * heads,
            scalars,
            [{"buckets": 32, "heads": heads} for heads in (1, 3)],
            wrong=lambda buckets: buckets,
            tolerance=0,
        ),
        Law(
            "One lag a bucket below 16, logarithmic ranges after that, a maximum distance of 128, as the listed code "
            "computes them (the printed formula is judged as PE-E-T5).",
            logarithmic,
            bucket,
            [*BELOW, *BEYOND],
            wrong=lambda lag: logarithmic(lag, 16, math.log(128)),
            tolerance=0,
        ),
        Law(
            "All layers share the table of the first.",
            [0],
            owners,
            [{"layers": 4}],
            wrong=lambda layers: list(range(layers)),
        ),
        practice="a head may learn any histogram over its buckets, but none that fades beyond the last one: at long "
        "range T5 is NoPE with a constant discount",
    ),
    claim(
        "PE-E-T5",
        Law(
            "The bucket of a lag d >= 16 is min(31, floor(16 ln(d / 16) / (128 / 16))).",
            lambda lag: logarithmic(lag, 0, 128 / 16),
            bucket,
            BEYOND,
            wrong=lambda lag: logarithmic(lag, 0, 128 / 32),
            tolerance=0,
            quote=r"$\min(31, \lfloor \frac{\log \frac{m-n}{16}}{\frac{128}{16}} \cdot 16 \rfloor)$",
            place="T5 Bias",
        ),
        corrected=Law(
            "The bucket of a lag d >= 16 is min(31, 16 + floor(16 ln(d / 16) / ln(128 / 16))).",
            logarithmic,
            bucket,
            BEYOND,
            wrong=lambda lag: logarithmic(lag, 15),
            tolerance=0,
        ),
        practice="coded as printed, the lags 16 to 26 share the bucket of lag 0, and bucket 31 begins only at lag "
        "86,235,176",
        severity="editorial",
    ),
    claim(
        "PE-E-T5b",
        Law(
            "In a decoder all offsets past 128 share one embedding.",
            129,
            shared_from,
            SIDES[:1],
            wrong=112,
            tolerance=0,
        ),
        Law(
            "The ranges go on until an offset of 128, where the shared one begins.",
            128,
            first_of_last,
            SIDES,
            wrong=129,
            tolerance=0,
            ours=True,
        ),
        Law(
            "The same embedding serves all offsets past 128, in every T5 model.",
            1,
            far_embeddings,
            SIDES,
            wrong=2,
            tolerance=0,
            quote="up to an offset of 128 beyond which it assigns all relative positions to the same embedding",
            place="T5 Bias",
        ),
        corrected=Law(
            "The last embedding begins at the lag 113 in a decoder and at 91 in an encoder, which has one "
            "such embedding for the past and one for the future.",
            lambda bidirectional: 91 if bidirectional else 113,
            first_of_last,
            SIDES,
            wrong=113,
            tolerance=0,
            answers=(1, 2),
        ),
        practice="T5 tells no two keys apart from lag 113 on, 91 in an encoder; widths do not even grow steadily: the "
        "bucket after the lags 16 to 18 holds 19 and 20 only",
        severity="editorial",
    ),
    claim(
        "PE-ALIBI",
        Law(
            "The bias is fixed and the same in all layers.",
            lambda slope, lag: -slope * lag,
            lambda slope, lag, layer: logit(slope, lag, 4, layer),
            [{"slope": 2.0**-h, "lag": 7, "layer": layer} for h in range(1, 9) for layer in (0, 1)],
            wrong=lambda slope, lag, layer: -slope * lag / (1 + layer),
            tolerance=SINGLE,
        ),
        Law(
            "The bias is + slope * |m - n|.",
            lambda slope, lag: slope * lag,
            logit,
            BIAS,
            wrong=lambda slope, lag: 2 * slope * lag,
            tolerance=SINGLE,
            quote=r"$\mathbf{q}_m^T \mathbf{k}_n + \alpha \vert m-n \vert$",
            place="ALiBi (Attention with Linear Biases)",
        ),
        Law(
            "The slope of head i is 2^(-8 / i).",
            lambda i: 2.0 ** (-8 / i),
            alibi_slope,
            SLOPES,
            wrong=lambda i: 2.0 ** (-4 / i),
            tolerance=SINGLE,
            quote=r"For the $i$-th head, the slope is $\alpha_i = 2^{-8/i}$",
            place="ALiBi (Attention with Linear Biases)",
        ),
        Law(
            "The bias is not divided by sqrt(d_k).",
            lambda slope, lag: -slope * lag,
            logit,
            [{"slope": 2.0**-h, "lag": 1, "width": width} for h in range(1, 9) for width in (4, 16)],
            wrong=lambda slope, lag, width: -slope * lag / math.sqrt(width),
            tolerance=SINGLE,
        ),
        corrected=(
            Law(
                "The logit is qᵀk / sqrt(d_k) - slope * |m - n|.",
                lambda slope, lag: -slope * lag,
                logit,
                BIAS,
                wrong=lambda slope, lag: slope * -(lag**2),
                tolerance=SINGLE,
            ),
            Law(
                "Head i of n = 2^k heads has the slope 2^(-8 i / n).",
                lambda i, n: 2.0 ** (-8 * i / n),
                alibi_slope,
                SLOPES,
                wrong=lambda i, n: 2.0 ** (-8 * i / (n + 1)),
                tolerance=SINGLE,
            ),
        ),
        practice="as printed, attention favours the oldest key, and slopes rise towards 1 in no geometric order, "
        "whatever the number of heads",
        severity="needs a repair",
    ),
)
