"""Laws of the model: whatever way the tokens are given, the same logits; and the sizes of BAM's Table 1."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch

from attention_priors import model
from attention_priors.config import ModelConfig
from attention_priors.model import PAPER_MODELS, Cache, Transformer, count, paper_model
from attention_priors.positions.composite import Content
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.rotary import rope
from attention_priors.training.extension import extend

LENGTH, VOCABULARY, CLOSE = 23, 31, 1e-10


def shares_heads(encoding):
    """Whether the heads of a row hold position beside content, and have to be wide enough for both."""
    rotary = ENCODINGS[encoding].rotary if encoding in ENCODINGS else None
    return rotary is not None and isinstance(rotary(96, 10_000.0), Content)


def small(encoding, **changes):
    """A model in float64 whose position parameters are not those of the start, where many encodings coincide."""
    width = 96 if shares_heads(encoding) else 32
    config = {"vocabulary": VOCABULARY, "width": width, "layers": 3, "heads": 4, "hidden": 16, "encoding": encoding}
    torch.manual_seed(7)
    made = Transformer(ModelConfig(**{**config, **changes})).double().eval()
    made.trained = LENGTH
    with torch.no_grad():
        for block in made.blocks:
            own = block.attention
            for part in (own.prior, own.scale, own.rotary, own.pairs):
                for parameter in part.parameters() if part is not None else ():
                    parameter.add_(0.4 * torch.randn_like(parameter))
    return made


MODELS = [name for name, row in ENCODINGS.items() if row.local or row.trained_as is None]  # the rest extends one


def tokens(batch=2, length=LENGTH, seed=3):
    return torch.randint(VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def window(encoding):
    return 6 if ENCODINGS[encoding].local else None


def apart(a, b):
    return float((a - b).abs().max())


@torch.no_grad()
@pytest.mark.parametrize("encoding", [name for name in MODELS if not ENCODINGS[name].whole])
def test_decoding_gives_the_rows_of_prefill(encoding):
    model, x, local = small(encoding), tokens(), window(encoding)
    whole = model(x, local=local)
    cache = Cache()
    rows = [model(x[:, :5], local=local, cache=cache), model(x[:, 5:9], local=local, cache=cache)]
    rows += [model(x[:, i : i + 1], local=local, cache=cache) for i in range(9, LENGTH)]
    assert apart(torch.cat(rows, 1), whole) < CLOSE
    assert cache.length == LENGTH and cache.complete


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["xpos", "group-damped", "group-defective-ssmax"])
@pytest.mark.parametrize("length", [LENGTH, 20])
def test_rotations_that_fade_are_the_same_in_blocks_of_queries(encoding, length, monkeypatch):
    net, x, ids = small(encoding), tokens(length=length), torch.tensor([[0] * 9 + [1] * (length - 9), [0] * length])
    for arguments in ({}, {"document_ids": ids}, {"local": 7}, {"last": 9}):
        whole = net(x, **arguments)
        monkeypatch.setattr(model, "BLOCK", 4)
        assert apart(net(x, **arguments), whole) < CLOSE
        monkeypatch.undo()


@torch.no_grad()
def test_rotations_that_fade_stay_in_range_far_beyond_one_block(monkeypatch):
    """At 1/4 per position one block of 768 tokens needs factors of e^96, which float64 has and float32 has not."""
    net, x = small("group-damped"), tokens(1, 3 * model.BLOCK)
    for block in net.blocks:
        block.attention.rotary.damping.fill_(10.0)
    monkeypatch.setattr(model, "BLOCK", len(x[0]))
    whole = net(x)
    with pytest.raises(ValueError, match=r"overflows torch.float32"):
        net.float()(x)
    monkeypatch.undo()
    assert apart(net(x), whole) < 1e-4


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["nope", "bam-ssmax", "rope", "t5"])
def test_an_encoder_sees_the_future_and_agrees_with_the_reference(encoding):
    net, x = small(encoding, causal=False), tokens()
    whole = net(x, backend="reference")
    assert apart(net(x), whole) < CLOSE
    changed = x.clone()
    changed[:, -1] = (x[:, -1] + 1) % VOCABULARY
    assert (net(changed)[:, 0] - whole[:, 0]).abs().max() > 1e-6
    assert apart(small(encoding)(changed)[:, 0], small(encoding)(x)[:, 0]) == 0, "a causal model does not"
    with pytest.raises(ValueError, match="a cache is for causal models"):
        net(x, cache=Cache())


@torch.no_grad()
@pytest.mark.parametrize("encoding", [name for name in MODELS if not ENCODINGS[name].pairs])
def test_backends_agree(encoding):
    model, x, ids = small(encoding), tokens(), torch.tensor([[0] * 9 + [1] * 14, [0] * 23])
    for arguments in ({"local": window(encoding)}, {"document_ids": ids}):
        assert apart(model(x, backend="reference", **arguments), model(x, backend="sdpa", **arguments)) < CLOSE


@torch.no_grad()
@pytest.mark.parametrize(
    "encoding",
    [
        name
        for name in MODELS
        if ENCODINGS[name].absolute is None
        and not ENCODINGS[name].whole
        and not name.startswith("goat-code")
        and name != "fire"
    ],
)
def test_packed_documents_do_not_see_each_other(encoding):
    model, x = small(encoding), tokens(batch=1)
    lengths = (4, 1, 11, 7)
    ids = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))[None]
    alone = torch.cat([model(part) for part in x.split(lengths, 1)], 1)
    assert apart(model(x, document_ids=ids), alone) < CLOSE
    # without the mask the first document is the only one left as it was
    open_ = model(x)
    assert apart(open_[:, :4], alone[:, :4]) < CLOSE < 1e-4 < apart(open_[:, 4:], alone[:, 4:])


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["sinusoidal", "goat-code", "fire"])
def test_packed_positions_are_not_reset(encoding):
    # an absolute encoding, a prior over keys, or one that the row sets, sees where in the stream its document
    # stands: alone it is another text
    model, x = small(encoding), tokens(batch=1)
    ids = torch.tensor([[0] * 9 + [1] * 14])
    packed = model(x, document_ids=ids)
    assert apart(packed[:, :9], model(x[:, :9])) < CLOSE
    assert apart(packed[:, 9:], model(x[:, 9:])) > 1e-4


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["sinusoidal", "rope", "alibi-ssmax", "bam-ssmax"])
@pytest.mark.parametrize("local", [None, 5])
def test_last_gives_the_last_rows(encoding, local):
    model, x = small(encoding), tokens()
    whole = model(x, local=local)
    for last in (1, 4, LENGTH):
        assert apart(model(x, last=last, local=local), whole[:, -last:]) < CLOSE


@torch.no_grad()
def test_a_window_of_one_layer_ends_where_it_should():
    model, x = small("rope", layers=1), tokens(batch=1)
    far, edge = x.clone(), x.clone()
    far[:, LENGTH - 7] = (far[:, LENGTH - 7] + 1) % VOCABULARY  # lag 6: the first key outside a window of 6
    edge[:, LENGTH - 6] = (edge[:, LENGTH - 6] + 1) % VOCABULARY  # lag 5: the last one inside
    row = model(x, local=6)[:, -1]
    assert apart(model(far, local=6)[:, -1], row) == 0 < apart(model(edge, local=6)[:, -1], row)
    assert apart(model(x, local=LENGTH), model(x)) < CLOSE


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["nope-ssmax", "rope", "alibi", "bam-ssmax"])
def test_grouped_queries_are_heads_that_share_keys(encoding):
    grouped, x = small(encoding, kv_heads=2), tokens()
    spread = small(encoding)
    state = dict(grouped.state_dict())
    for layer in range(3):
        name = f"blocks.{layer}.attention.key_value.weight"
        k, v = state[name].unflatten(0, (2, 2, 8)).unbind(0)  # [kv_heads, head width, width] each
        state[name] = torch.stack([k.repeat_interleave(2, 0), v.repeat_interleave(2, 0)]).flatten(0, 2)
    spread.load_state_dict(state)
    assert apart(grouped(x), spread(x)) < CLOSE
    assert grouped.blocks[0].attention.key_value.out_features == spread.blocks[0].attention.key_value.out_features // 2


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["rope", "bam-ssmax"])
def test_selecting_a_suffix_is_a_window(encoding):
    # one layer: what a key and a value hold depends on their own token alone
    model, x = small(encoding, layers=1), tokens(batch=1)
    cache = Cache()
    model(x[:, :-1], cache=cache)
    cache.select(torch.arange(LENGTH - 1 - 5, LENGTH - 1))
    assert cache.positions.tolist() == list(range(LENGTH - 6, LENGTH - 1)) and not cache.complete
    assert apart(model(x[:, -1:], cache=cache)[:, -1], model(x, local=6)[:, -1]) < CLOSE
    assert cache.length == LENGTH and cache.layers[0][0].shape[2] == 6


@torch.no_grad()
@pytest.mark.parametrize("read", [0, 8])
@pytest.mark.parametrize("wrong", ["tokens", "local", "backend", "interrupted"])
def test_a_call_that_raises_leaves_the_cache_as_it_was(wrong, read, monkeypatch):
    net, x, cache = small("bam-ssmax"), tokens(), Cache()
    if read:
        net(x[:, :read], cache=cache)
    held, rest = [k.clone() for pair in cache.layers for k in pair], x[:, read:]
    given = {"tokens": torch.full_like(rest, VOCABULARY), "local": 0, "backend": "flash"}
    with pytest.raises((ValueError, KeyboardInterrupt)), monkeypatch.context() as patch:
        if wrong == "interrupted":  # when the first layer has its keys
            patch.setattr(net.blocks[1], "forward", Mock(side_effect=KeyboardInterrupt))
        net(**{"tokens": rest, **({wrong: given[wrong]} if wrong in given else {})}, cache=cache)
    assert cache.length == read and cache.complete
    assert all(map(torch.equal, held, [k for pair in cache.layers for k in pair])) and len(cache.layers) * 2 == len(
        held
    )
    assert apart(net(rest, cache=cache), net(x)[:, read:]) < CLOSE


@torch.no_grad()
def test_selecting_everything_changes_nothing():
    model, x = small("bam-ssmax"), tokens()
    cache = Cache()
    model(x[:, :-1], cache=cache)
    cache.select(torch.arange(LENGTH - 1))
    assert cache.complete
    assert apart(model(x[:, -1:], cache=cache)[:, -1], model(x)[:, -1]) < CLOSE


@torch.no_grad()
def test_selected_keys_keep_their_positions():
    # an evicted cache must not read the remaining keys as if they stood closer together
    model, x = small("alibi", layers=1), tokens(batch=1)
    kept = torch.tensor([0, 3, 4, 20])
    cache = Cache()
    model(x[:, :-1], cache=cache)
    cache.select(kept)
    wide = model(x[:, -1:], cache=cache)[:, -1]
    close_up = model(torch.cat([x[:, kept], x[:, -1:]], 1))[:, -1]
    assert apart(wide, close_up) > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["rope", "bam-ssmax", "alibi-ssmax"])
def test_attention_maps_are_rows_of_probabilities(encoding):
    model, x = small(encoding), tokens()
    maps = model.attention_maps(x, queries=4)
    assert len(maps) == 3 and maps[0].shape == (2, 4, 4, LENGTH)
    for p in maps:
        assert apart(p.sum(-1), torch.ones(2, 4, 4)) < CLOSE
        assert float(p[..., 0, LENGTH - 3 :].abs().max()) == 0  # the fourth row from the end sees no later key
    mixed = maps[-1] @ values(model, x)
    assert apart(model.blocks[-1].attention.output(mixed.transpose(1, 2).flatten(2)), last_attention(model, x)) < CLOSE


def before_last(model, x):
    rows = model._rows(x, None, None, None, "auto")
    h = model._embed(x, rows)
    for layer, block in enumerate(model.blocks[:-1]):
        h = block(h, rows, layer)
    return model.blocks[-1], model.blocks[-1].attention_norm(h), rows


def values(model, x):
    block, h, rows = before_last(model, x)
    return block.attention.project(h, rows, len(model.blocks) - 1)[2]


def last_attention(model, x):
    block, h, rows = before_last(model, x)
    return block.attention(h, rows, len(model.blocks) - 1)[:, -4:]


@pytest.mark.parametrize(
    ("name", "embedding", "transformer", "prior", "with_location"),
    # V d; L (4 d^2 + 3 d h + 2 d) + d + V d; 2 H L and 3 H L
    [
        ("bam-120m", 25_165_824, 95_963_904, 384, 576),
        ("bam-432m", 50_331_648, 380_677_632, 672, 1008),
        ("bam-1.1b", 67_108_864, 1_073_805_312, 960, 1440),
    ],
)
def test_parameters_of_table_1(name, embedding, transformer, prior, with_location):
    assert set(PAPER_MODELS) == {"bam-120m", "bam-432m", "bam-1.1b"}
    with torch.device("meta"):  # no memory: only shapes are counted
        plain, scaled = (count(Transformer(paper_model(name, encoding))) for encoding in ("nope", "nope-ssmax"))
    assert (plain["embedding"], plain["transformer"], plain["prior"]) == (embedding, transformer, 0)
    assert scaled["transformer"] - plain["transformer"] == prior // 2  # SSMax: one factor for every head and layer
    narrow = {"vocabulary": 2, "width": 2 * PAPER_MODELS[name]["heads"], "hidden": 1}  # as many heads and layers
    for encoding, trained in (("bam", prior), ("bam-ssmax", prior), ("bam-location-ssmax", with_location)):
        counted = count(Transformer(paper_model(name, encoding).model_copy(update=narrow)))
        assert (counted["prior"], counted["prior"] + counted["prior_fixed"]) == (trained, with_location)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, row in ENCODINGS.items()
        if row.rotary
        and row.trained_as is None
        and (name == "goat-rope" or not shares_heads(name))
        and name not in ("sinusoidal-undivided", "alibi-undivided")
        and not name.startswith("half-window")
    ],
)
def test_every_rotation_starts_from_the_base_of_the_size(name):
    made = {base: small(name, rope_base=base) for base in (10_000.0, 500_000.0)}
    for near, far in zip(*(each(tokens()) for each in made.values()), strict=True):
        assert torch.equal(near[0], far[0]) and not torch.equal(near, far), "the first row has nothing to turn against"
    if name == "rope":
        assert made[500_000.0].blocks[0].attention.rotary.spectrum == rope(8, 500_000.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_runs_in_half_precision_and_keeps_it(name, dtype):
    """Reading near what float32 gives, and learning with finite gradients."""
    torch.manual_seed(0)
    row = ENCODINGS[name]
    width = 96 if shares_heads(name) else 16
    size = {"vocabulary": 11, "width": width, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 16}
    made = Transformer(ModelConfig(encoding=row.trained_as or name, **size))
    made.trained = 20
    tokens = torch.randint(11, (1, 20))
    found = {}
    for each in (torch.float32, dtype):
        made.to(each)
        found[each] = (extend(made, name, 8) if row.trained_as else made)(tokens)
        assert found[each].dtype == each
    if "randomised" not in name:  # whose positions are drawn anew
        torch.testing.assert_close(found[dtype].float(), found[torch.float32], rtol=0, atol=0.03)
    found[dtype].float().sin().sum().backward()
    grads = [p.grad for p in made.parameters() if p.grad is not None]
    assert (grads or row.trained_as) and all(g.isfinite().all() for g in grads)


@torch.no_grad()
@pytest.mark.parametrize("changes", [{"rotated_layers": (1, 2, 3)}, {"rotated_heads": 1.0}, {"window": 1.0}])
def test_a_rotation_in_every_layer_and_head_is_rope(changes, monkeypatch):
    whole = small("rope")
    monkeypatch.setitem(ENCODINGS, "half-rope", replace(ENCODINGS["rope"], name="half-rope", **changes))
    assert apart(small("half-rope")(tokens()), whole(tokens())) < CLOSE


@torch.no_grad()
@pytest.mark.parametrize("prior", ["bam", "kerple-power"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_heads_and_layers_that_do_not_rotate_are_those_of_the_prior_alone(prior, kv_heads):
    """Of the first layer, where both models read the same: the first two heads turn with RoPE, the rest do not."""
    plain, turned = small(prior, kv_heads=kv_heads), small(f"rope-{prior}", kv_heads=kv_heads)
    for name, share in ((f"half-rope-{prior}", 2), (f"rope-layer-1-{prior}", 4), (f"rope-layer-2-{prior}", 0)):
        divided = small(name, kv_heads=kv_heads)
        for other in (plain, turned):
            other.load_state_dict(divided.state_dict())
        expected = [each.attention_maps(tokens(), LENGTH)[0] for each in (turned, plain)]
        found = divided.attention_maps(tokens(), LENGTH)[0]
        assert apart(found[:, :share], expected[0][:, :share]) < CLOSE if share else True
        assert apart(found[:, share:], expected[1][:, share:]) < CLOSE if share < 4 else True
    assert [block.attention.turned for block in divided.blocks] == [0, 4, 0]


@torch.no_grad()
@pytest.mark.parametrize("name", ["half-rope-window", "half-rope-window-bam", "half-rope-window-kerple-power"])
def test_heads_that_rotate_see_their_window_and_the_rest_all(name):
    net, x = small(name), tokens()
    whole = small(name.replace("-window", ""))
    whole.load_state_dict(net.state_dict())
    near, free = net.attention_maps(x, LENGTH)[0], whole.attention_maps(x, LENGTH)[0]
    lags = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    seen = (lags >= 0) & (lags < 6)  # a quarter of 23 tokens
    assert float(near[:, :2, ~seen].abs().max()) == 0 and float(near[:, :2, seen].min()) > 0
    masked = free[:, :2] * seen
    assert apart(near[:, :2], masked / masked.sum(-1, keepdim=True)) < CLOSE
    assert apart(near[:, 2:], free[:, 2:]) < CLOSE
    net.trained = 4 * LENGTH
    assert apart(net(x), whole(x)) < CLOSE, "a window of the whole text is none"


@torch.no_grad()
def test_scalable_softmax_counts_the_keys_of_each_head(monkeypatch):
    row = replace(ENCODINGS["half-rope-window-bam"], ssmax=True, scales_prior=True)
    monkeypatch.setitem(ENCODINGS, row.name, row)
    net, x, ids = small(row.name), tokens(), torch.tensor([[0] * 9 + [1] * 14, [0] * 23])
    rows = net._rows(x, ids, 8, None, "auto")
    own = net.blocks[0].attention
    counts = torch.stack([rows.near.count] * 2 + [rows.visible.count] * 2, 1)
    expected = own.scale.scale[:, None] * counts.double().log()
    assert apart(own.factors(rows), expected) < CLOSE
    assert rows.near.count.max() == 6 and rows.visible.count.max() == 8
    for given in ({}, {"document_ids": ids, "local": 8}, {"last": 3}):
        assert apart(net(x, backend="reference", **given), net(x, backend="sdpa", **given)) < CLOSE
    cache = Cache()
    parts = torch.cat([net(x[:, :11], cache=cache), net(x[:, 11:12], cache=cache), net(x[:, 12:], cache=cache)], 1)
    assert apart(parts, net(x)) < CLOSE


@pytest.mark.parametrize("name", ["half-rope-window-bam", "half-rope-window-kerple-power", "rope-layer-2-bam"])
def test_gradients_of_divided_heads_agree_between_backends(name):
    net, found = small(name, kv_heads=2), []
    for backend in ("reference", "sdpa"):
        net.zero_grad()
        net(tokens(), backend=backend).sin().sum().backward()
        found.append({key: p.grad.clone() for key, p in net.named_parameters() if p.requires_grad})
    assert all(apart(found[0][key], found[1][key]) < 1e-8 for key in found[0])
    assert all(float(g.abs().max()) > 0 for key, g in found[0].items() if "prior" in key)


def test_a_shared_prior_is_one_prior():
    found = {name: count(small(name))["prior"] for name in ("bam-ssmax", "bam-shared-ssmax", "alibi", "nope")}
    assert found == {"bam-ssmax": 2 * 4 * 3, "bam-shared-ssmax": 2 * 4, "alibi": 0, "nope": 0}


def test_bam_starts_as_nope():
    torch.manual_seed(0)
    bam = Transformer(ModelConfig(vocabulary=31, width=24, layers=2, heads=4, hidden=16, encoding="bam"))
    torch.manual_seed(0)
    nope = Transformer(ModelConfig(vocabulary=31, width=24, layers=2, heads=4, hidden=16, encoding="nope"))
    with torch.no_grad():
        assert apart(bam(tokens()), nope(tokens())) < 1e-5


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: small("half-rope", kv_heads=1), "rotates 0.5 of the heads, which 4 heads with 1 key heads cannot do"),
        (lambda: small("rope-layer-2-bam", layers=1), "'rope-layer-2-bam' rotates layer 2, but the model has 1"),
        (lambda: small("half-rope-window", causal=False), "windows that look back, but an encoder looks both ways"),
    ],
)
def test_bad_input_is_named(attempt, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        attempt()


@torch.no_grad()
@pytest.mark.parametrize(("name", "local"), [("rope", 4), ("half-rope-window", None)])
def test_a_window_over_an_evicted_cache_is_refused(name, local):
    model, cache = small(name), Cache()
    model(tokens(), cache=cache)
    cache.select(torch.tensor([0, 5, 6]))
    with pytest.raises(ValueError, match="dropped no key"):
        model(tokens(length=1), local=local, cache=cache)


def test_windows_of_an_unknown_training_length_are_refused():
    net = small("half-rope-window")
    net.trained = None
    with pytest.raises(ValueError, match=r"has windows of 0.25 of the length .* set model.trained"):
        net(tokens())
