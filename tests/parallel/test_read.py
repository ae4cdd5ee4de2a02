"""Laws of reading in chunks, for every kind of model, in float32 to 1e-5."""

from dataclasses import replace

import pytest
import torch

from attention_priors.attention import attention, bidirectional
from attention_priors.parallel import Calibration, Options, condense, decode, open_reader
from attention_priors.parallel.chunks import rows
from attention_priors.parallel.read import Joined
from attention_priors.parallel.select import Select
from attention_priors.theory import parallel as theory
from parallel.tiny import export, ours, theirs, whole

EXACT = {"atol": 1e-5, "rtol": 0}
CUT = Options(window=30, keep=None, budget=6, pool=3, bos=7)
HEAVY = replace(CUT, calibration=Calibration(threshold=0.06, edge=4, sink=(1, 32), middle=None, recency=(1, 32)))


@pytest.mark.parametrize("bos", [None, 7])
def test_one_chunk_without_eviction_is_the_ordinary_pass(model, reader, tokens, bos):
    text, question = tokens(60), tokens(9)
    found = condense(reader, text, question, Options(window=80, bos=bos))
    row = torch.cat([text.new_tensor([] if bos is None else [bos]), text, question])
    logits = whole(model, row)
    assert found.cache.entries == len(row) - 9 and found.spans == [(0, 60)]
    torch.testing.assert_close(found.feed(question), logits[-9:], **EXACT)
    surprise = torch.nn.functional.cross_entropy(logits[-10:-1], question, reduction="sum")
    assert found.information[0] == pytest.approx(float(surprise), abs=1e-4)
    more = tokens(3)  # one by one after the question
    expected = whole(model, torch.cat([row, more]))[-3:]
    torch.testing.assert_close(torch.cat([found.feed(one[None]) for one in more]), expected, **EXACT)


def test_a_budget_of_the_whole_chunk_changes_nothing(reader, tokens):
    text, question = tokens(70), tokens(9)
    free, full = (condense(reader, text, question, replace(CUT, budget=budget)) for budget in (None, 21))
    logits = free.feed(question)
    torch.testing.assert_close(full.feed(question), logits, **EXACT)
    fewer = condense(reader, text, question, CUT)
    assert (fewer.feed(question) - logits).abs().max() > 1e-3  # and a small one does change it


@pytest.mark.parametrize("options", [CUT, HEAVY], ids=["budget", "calibration"])
def test_gathering_is_masking(reader, tokens, options):
    text, question = tokens(70), tokens(9)
    gathered, masked = (condense(reader, text, question, replace(options, compact=each)) for each in (True, False))
    assert gathered.cache.entries == masked.cache.entries < 28
    assert gathered.cache.bytes < masked.cache.bytes
    torch.testing.assert_close(gathered.feed(question), masked.feed(question), **EXACT)


def test_batches_do_not_matter(reader, tokens):
    text, question = tokens(110), tokens(9)
    found = [condense(reader, text, question, replace(HEAVY, keep=2, at_once=count)) for count in (1, 2, 8)]
    assert len({each.kept for each in found}) == 1
    first, *others = (each.feed(question) for each in found)
    for other in others:
        torch.testing.assert_close(other, first, **EXACT)


def test_the_order_of_chunks_does_not_matter(reader, tokens):
    text, question = tokens(60), tokens(9)  # three chunks of twenty
    parts = text.split(20)
    options = replace(CUT, bos=None, window=29)
    a = condense(reader, text, question, options)
    b = condense(reader, torch.cat([parts[2], parts[0], parts[1]]), question, options)
    torch.testing.assert_close(b.information[[1, 2, 0]], a.information, atol=1e-5, rtol=0)
    torch.testing.assert_close(b.feed(question), a.feed(question), **EXACT)


def test_positions_stay_below_the_window(reader, tokens):
    text, question = tokens(203), tokens(9)
    found = condense(reader, text, question, replace(CUT, window=32, reserve=2, overlap=3))
    found.feed(question)
    assert found.position == 30
    assert max(int(each.positions.max()) for each in found.cache.layers) == 29
    found.feed(tokens(2))
    assert found.position == 32
    with pytest.raises(ValueError, match="leave the window of 32; reserve more"):
        found.feed(tokens(1))


def test_the_queue_keeps_the_chunks_that_expect_the_question(reader, tokens):
    text, question = tokens(200), tokens(9)
    every, three = (condense(reader, text, question, replace(CUT, keep=keep)) for keep in (None, 3))
    torch.testing.assert_close(three.information, every.information)
    assert three.kept == tuple(sorted(theory.lowest(every.information.tolist(), 3))) and len(every.spans) == 10
    assert three.cache.entries == 3 * 6 + 1  # and one BOS


@torch.no_grad()
def test_joined_attention_is_that_of_all_chunks_at_their_shared_positions():
    """One layer: keys of three chunks stand at 0 to 19 each, and the question at 20."""
    model = ours("bam", layers=1, kv_heads=4)
    generator = torch.Generator().manual_seed(1)
    text, question = (torch.randint(50, (count,), generator=generator) for count in (60, 1))
    found = condense(open_reader(model), text, question, Options(window=21, keep=None))
    block, own, entries = model.blocks[0], model.blocks[0].attention, found.cache.layers[0]
    embedded = model.embedding(question[None])
    x = block.attention_norm(embedded)
    q = own.query(x).unflatten(-1, (4, 8)).transpose(1, 2)
    itself = own.key_value(x).unflatten(-1, (2, 4, 8)).permute(2, 0, 3, 1, 4)
    k, v = (torch.cat(both, 2) for both in zip((entries.k, entries.v), itself, strict=True))
    places = torch.tensor([20]), torch.cat([torch.arange(20).repeat(3), torch.tensor([20])])
    joined = attention(q, k, v, prior=own.prior, positions=places, visible=bidirectional(1, 61))
    x = embedded + own.output(joined.transpose(1, 2).flatten(2))
    gate, up = block.gate_up(block.feedforward_norm(x)).chunk(2, -1)
    expected = model.head(model.norm(x + block.down(torch.nn.functional.silu(gate) * up)))[0]
    torch.testing.assert_close(found.feed(question), expected, **EXACT)


@pytest.mark.parametrize(
    "options",
    [
        Options(window=40, reserve=5, keep=3),
        Options(window=40, reserve=5, keep=3, budget=8),
        Options(window=40, reserve=5, keep=None, overlap=4),
        replace(HEAVY, window=40, reserve=5, bos=None),
    ],
)
def test_ours_reads_as_its_export_does(tokens, options):
    model = ours("rope", width=64)
    exported = export(model)
    text, question = tokens(400), tokens(9)
    torch.testing.assert_close(whole(exported, text), whole(model, text), **EXACT)
    a, b = (condense(open_reader(each), text, question, options) for each in (model, exported))
    assert a.kept == b.kept and a.cache.entries == b.cache.entries
    torch.testing.assert_close(b.information, a.information, atol=1e-4, rtol=0)
    assert decode(a, question, 5) == decode(b, question, 5)


def test_their_attention_is_theirs_again_afterwards(tokens):
    model = theirs("llama")
    before, text, question = model.config._attn_implementation, tokens(60), tokens(5)
    logits = whole(model, text)
    condense(open_reader(model), text, question, CUT).feed(question)
    assert model.config._attn_implementation == before
    assert torch.equal(whole(model, text), logits)


def test_the_joined_cache_has_one_begin_of_text(reader, tokens):
    text, question = tokens(50), tokens(9)  # chunks of 20, 20 and 10
    found = condense(reader, text, question, replace(CUT, budget=None))
    assert found.cache.entries == 51
    short = rows([text[:20], text[40:]], question, 20, 7)
    assert short.tokens[1, 10] == 7 and short.first.tolist() == [0, 10] and short.end == 21
    selected = Select(replace(CUT, budget=1), 3)
    kept = selected(0, torch.rand(2, 4, 8, 30), 2, short)
    assert kept[:, :, [0, 10]].tolist() == [[[True, False]] * 2, [[False, True]] * 2]
    assert (kept.sum(-1) == 2).all()


def test_memory_is_what_is_kept(tokens):
    """K chunks of B entries in 3 layers and 2 key heads of width 8, keys and values, float32."""
    text, question = tokens(2000), tokens(9)
    found = condense(open_reader(ours("rope")), text, question, Options(window=109, keep=3, budget=20))
    assert isinstance(found.cache, Joined) and found.cache.bytes == 3 * 20 * 3 * 2 * 8 * 2 * 4
