"""Survey, additive biases: T5's buckets and ALiBi.

Independent evidence: transformers' T5, whose code the survey lists, and BLOOM.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.buckets import bucket_starts
from attention_priors.theory.inference import printed_t5_bucket, softmax

FAR = 2000  # lags that are tried
SINGLE = 1e-5  # transformers keeps slopes in float32


# T5: buckets, widths, sharing


@functools.cache
def transformers_bucket(bidirectional: bool, farthest: int = FAR) -> np.ndarray:
    """Bucket of the lags 0..farthest-1 in transformers, which is the code that the survey lists."""
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    lags = torch.arange(farthest)
    return T5Attention._relative_position_bucket(-lags, bidirectional=bidirectional).numpy()


def check_scalars(count) -> Evidence:
    """`count(buckets, heads)` numbers decide the bias of one layer, and each is free (transformers' T5Attention)."""
    import torch
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=8, d_kv=4, num_heads=3, is_decoder=True, num_layers=1)
    torch.manual_seed(0)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    with torch.no_grad():
        bias = layer.compute_bias(400, 400)[0].double().numpy()
    lags = np.subtract.outer(np.arange(400), np.arange(400))
    bucket = transformers_bucket(False)[np.maximum(lags, 0)]
    table = layer.relative_attention_bias.weight.detach().double().numpy().T
    gap = float(np.abs(bias - table[:, bucket]).max())
    distinct = sum(len(np.unique(rows)) for rows in bias) if gap == 0 else -1
    expected = count(config.relative_attention_num_buckets, config.num_heads)
    return compare(distinct, "==", expected, 0, detail="different values in the bias of 3 heads over 400 positions")


def check_sharing(owners) -> Evidence:
    """`owners(layers)`: the layers that own a table of biases."""
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Model

    config = T5Config(d_model=8, d_kv=4, d_ff=8, num_heads=2, num_layers=4, vocab_size=8)
    found = [name for name, _ in T5Model(config).decoder.named_parameters() if "relative_attention_bias" in name]
    layers = [int(name.split(".")[1]) for name in found]
    return compare(str(layers), "==", str(list(owners(4))), detail="layers with a table, T5 decoder of 4 layers")


def check_buckets(bucket) -> Evidence:
    """`bucket(d)` for d = 0..FAR - 1 against transformers."""
    actual = transformers_bucket(False)
    wrong = int(sum(bucket(d) != actual[d] for d in range(FAR)))
    return compare(wrong, "==", 0, 0, detail=f"lags below {FAR} in another bucket than in transformers")


def check_far_buckets(bucket) -> Evidence:
    """As `check_buckets`, from the lag 16 on."""
    actual = transformers_bucket(False)
    found = smallest_counterexample(bucket_of, bucket, ({"d": d} for d in range(16, FAR)))
    wrong = sum(bucket(d) != actual[d] for d in range(16, FAR))
    return compare(int(wrong), "==", 0, 0, counterexample=found, detail=f"lags 16..{FAR - 1} in another bucket")


def bucket_of(bucket, d):
    """(claimed, actual) bucket of the lag d; the actual one by comparing whole numbers."""
    return int(bucket(d)), sum(start <= d for start in bucket_starts()) - 1


def log_bucket(d):
    return d if d < 16 else min(31, 16 + math.floor(16 * math.log(d / 16) / math.log(128 / 16)))


def first_shared(bidirectional: bool) -> int:
    """The least lag whose bucket all farther lags have."""
    actual = transformers_bucket(bidirectional)
    return int(np.flatnonzero(actual != actual[-1])[-1]) + 1


def check_shared_beyond(offset) -> Evidence:
    """All causal lags from `offset` on have one bucket."""
    buckets = transformers_bucket(False)[offset:]
    return compare(len(np.unique(buckets)), "==", 1, 0, detail=f"buckets of the lags {offset}..{FAR - 1}, causal")


def first_of_last(start, bidirectional):
    """(claimed, actual) first lag of the last bucket."""
    return start(bool(bidirectional)), first_shared(bool(bidirectional))


def check_last_bucket(start) -> Evidence:
    """`start(bidirectional)`: the first lag of the farthest bucket on one side."""
    grid = [{"bidirectional": side} for side in (0, 1)]
    found = smallest_counterexample(first_of_last, start, grid)
    measured = [first_shared(side) for side in (False, True)]
    expected = [start(side) for side in (False, True)]
    return compare(str(measured), "==", str(expected), counterexample=found, detail="causal and bidirectional")


def far_tables(count, bidirectional):
    """(claimed, actual) number of embeddings of the offsets beyond 128 in either direction."""
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    offsets = torch.tensor([-1000, -129, 129, 1000])
    found = T5Attention._relative_position_bucket(offsets, bidirectional=bool(bidirectional))
    found = found if bidirectional else found[offsets < 0]  # a decoder sees no key after the query
    return count(bool(bidirectional)), len(found.unique())


def check_far_tables(count) -> Evidence:
    pairs = {side: far_tables(count, side) for side in (0, 1)}
    found = smallest_counterexample(far_tables, count, ({"bidirectional": side} for side in pairs))
    claimed, actual = zip(*pairs.values(), strict=True)
    return compare(str(list(actual)), "==", str(list(claimed)), counterexample=found, detail="decoder and encoder")


# ALiBi


@functools.cache
def bloom_weights(head_width: int, layers: int = 2) -> np.ndarray:
    """Attention weights [layers heads queries keys] of transformers' BLOOM when queries and keys are zero."""
    import torch
    from transformers import BloomConfig, BloomModel

    torch.manual_seed(0)
    config = BloomConfig(vocab_size=8, hidden_size=8 * head_width, n_layer=layers, n_head=8)
    model = BloomModel._from_config(config, attn_implementation="eager").double().eval()
    with torch.no_grad():
        for block in model.h:
            block.self_attention.query_key_value.weight.zero_()
            block.self_attention.query_key_value.bias.zero_()
        found = model(torch.zeros(1, 24, dtype=torch.long), output_attentions=True).attentions
    return torch.cat(found).double().numpy()


def bloom_slopes() -> np.ndarray:
    """-ln of the ratio of neighbouring weights: the slope of each of the 8 heads."""
    last = bloom_weights(4)[0][:, -1]
    return np.log(last[:, -1] / last[:, -2])


def check_static(layers) -> Evidence:
    """`layers(weights)` picks what must be equal: one bias in all layers, without any parameter."""
    from transformers import BloomConfig, BloomModel

    model = BloomModel(BloomConfig(vocab_size=8, hidden_size=8, n_layer=1, n_head=2))
    learned = sum("alibi" in name for name, _ in model.named_parameters())
    parts = layers(bloom_weights(4))
    gap = max(float(np.abs(part - parts[0]).max()) for part in parts) + learned
    return compare(gap, "<=", SINGLE, detail="difference between the layers of transformers' BLOOM at zero content")


def check_unscaled(factor) -> Evidence:
    """The bias is m_h |lag| times `factor(head width)`, whatever the width."""
    worst = 0.0
    for width in (4, 16):
        last = bloom_weights(width)[0][:, -1]
        slopes = np.log(last[:, -1] / last[:, -2])
        worst = max(worst, float(np.abs(slopes / (2.0 ** -np.arange(1, 9) * factor(width)) - 1).max()))
    return compare(worst, "<=", SINGLE, detail="relative error of the slope at head widths 4 and 16, BLOOM")


def sign_of_bias(bias, slope, lag):
    """(claimed, actual) logit of a key at a lag, relative to the query's own."""
    return float(bias(slope, lag) - bias(slope, 0)), float(-slope * lag)


def check_penalty(bias) -> Evidence:
    """softmax of `bias(slope, lag)` over the visible lags against BLOOM's weights at zero content."""
    lags, worst = np.arange(23, -1, -1.0), 0.0
    for slope, row in zip(bloom_slopes(), bloom_weights(4)[0][:, -1], strict=True):
        worst = max(worst, float(np.abs(softmax(bias(slope, lags)) - row).max()))
    grid = ({"slope": 0.5, "lag": lag} for lag in (1, 2))
    found = smallest_counterexample(sign_of_bias, bias, grid)
    return compare(worst, "<=", SINGLE, counterexample=found, detail="difference of weights from BLOOM's, 8 heads")


def slope_of_head(slope, i, n):
    """(claimed, actual) slope of head i of n."""
    return float(slope(i, n)), 2.0 ** (-8 * i / n)


def check_slopes(slope) -> Evidence:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    worst = 0.0
    for heads in (1, 2, 4, 8, 16, 32):
        alibi = build_alibi_tensor(_ones(), heads, dtype=_double()).reshape(heads, 1, 3)[:, 0]
        theirs = (alibi[:, 2] - alibi[:, 1]).numpy()
        ours = np.array([slope(i, heads) for i in range(1, heads + 1)])
        worst = max(worst, float(np.abs(ours / theirs - 1).max()))
    candidates = ({"i": i, "n": n} for n in (1, 2, 4, 8) for i in range(1, n + 1))
    found = smallest_counterexample(slope_of_head, slope, candidates)
    return compare(worst, "<=", SINGLE, counterexample=found, detail="relative error against BLOOM, 1 to 32 heads")


def check_alibi(pair) -> Evidence:
    """`pair` = (bias, slope): both at once."""
    bias, slope = pair
    penalty, slopes = check_penalty(bias), check_slopes(slope)
    return penalty if not penalty.holds else slopes


def _ones():
    import torch

    return torch.ones(1, 3)


def _double():
    import torch

    return torch.float64


def penalty(slope, lags):
    return -slope * np.abs(lags)


def geometric_slope(i, n):
    return 2.0 ** (-8 * i / n)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-T5",
            (
                Part(
                    "a head of T5 has one learned scalar for each of 32 buckets of the offset",
                    lambda buckets, heads: buckets * heads,
                    check_scalars,
                    false=lambda buckets, heads: buckets,
                ),
                Part(
                    "one lag a bucket below 16, logarithmic ranges after that, a maximum distance of 128, as the "
                    "listed code computes them (the printed formula is judged as PE-E-T5)",
                    log_bucket,
                    check_buckets,
                    false=lambda d: d if d < 16 else min(31, 16 + math.floor(16 * math.log(d / 16) / math.log(128))),
                ),
                Part(
                    "all layers share the table of the first",
                    lambda layers: [0],
                    check_sharing,
                    false=lambda layers: list(range(layers)),
                ),
            ),
            practice="a head may learn any histogram over its buckets, but none that fades beyond the last one: at "
            "long range T5 is NoPE with a constant discount",
        ),
        Check(
            "PE-E-T5",
            (
                Part(
                    "the bucket of a lag d >= 16 is min(31, floor(16 ln(d / 16) / (128 / 16)))",
                    printed_t5_bucket,
                    check_far_buckets,
                    false=lambda d: min(31, math.floor(math.log(d / 16) * 16 / 4)),
                    evaluate=bucket_of,
                ),
            ),
            corrected=Part(
                "The bucket of a lag d >= 16 is min(31, 16 + floor(16 ln(d / 16) / ln(128 / 16))).",
                log_bucket,
                check_far_buckets,
                false=lambda d: min(31, 15 + math.floor(16 * math.log(d / 16) / math.log(128 / 16))),
            ),
            practice="coded as printed, the lags 16 to 26 share the bucket of lag 0, and bucket 31 begins only at lag "
            "86,235,176",
        ),
        Check(
            "PE-E-T5b",
            (
                Part(
                    "in a decoder all offsets past 128 share one embedding",
                    129,
                    check_shared_beyond,
                    false=100,
                ),
                Part(
                    "the ranges go on until an offset of 128, where the shared one begins",
                    lambda bidirectional: 128,
                    check_last_bucket,
                    false=lambda bidirectional: 64,
                    evaluate=first_of_last,
                ),
                Part(
                    "the same embedding serves all offsets past 128, in every T5 model",
                    lambda bidirectional: 1,
                    check_far_tables,
                    false=lambda bidirectional: 3,
                    evaluate=far_tables,
                    repaired=lambda bidirectional: 1 + bidirectional,
                ),
            ),
            corrected=Part(
                "The last embedding begins at the lag 113 in a decoder and at 91 in an encoder, which has one such "
                "embedding for the past and one for the future.",
                lambda bidirectional: 91 if bidirectional else 113,
                check_last_bucket,
                false=lambda bidirectional: 91,
            ),
            practice="T5 tells no two keys apart from lag 113 on, 91 in an encoder; widths do not even grow steadily: "
            "the bucket after the lags 16 to 18 holds 19 and 20 only",
        ),
        Check(
            "PE-ALIBI",
            (
                Part(
                    "the bias is fixed and the same in all layers",
                    list,
                    check_static,
                    false=lambda weights: list(weights[0]),
                ),
                Part(
                    "the bias is + slope * |m - n|",
                    lambda slope, lags: slope * np.abs(lags),
                    check_penalty,
                    false=lambda slope, lags: 2 * slope * np.abs(lags),
                    evaluate=sign_of_bias,
                    repaired=penalty,
                ),
                Part(
                    "the slope of head i is 2^(-8 / i)",
                    lambda i, n: 2.0 ** (-8 / i),
                    check_slopes,
                    false=lambda i, n: 2.0 ** (-4 / i),
                    evaluate=slope_of_head,
                    repaired=geometric_slope,
                ),
                Part(
                    "the bias is not divided by sqrt(d_k)",
                    lambda width: 1.0,
                    check_unscaled,
                    false=lambda width: width**-0.5,
                ),
            ),
            corrected=Part(
                "The logit is qᵀk / sqrt(d_k) - slope * |m - n| with slope 2^(-8 i / n) for head i of n = 2^k heads.",
                (penalty, geometric_slope),
                check_alibi,
                false=(penalty, lambda i, n: 2.0 ** (-8 * i / (n + 1))),
            ),
            practice="as printed, attention favours the oldest key, and slopes rise towards 1 in no geometric order, "
            "whatever the number of heads",
        ),
    )
}
