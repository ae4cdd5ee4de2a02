"""Encodings in models of transformers, against attention that is written out here.

what                                              agrees to
logits with a prior, all families and encodings   1e-9 absolute, in float64
a row with padding, and alone                     the same
decoding from a cache, and reading at once        the same
gradients with checkpointing, and without         1e-9
saved and opened in a fresh process               1e-12
compiled to one graph in float32, and not         1e-5 of the logits' standard deviation
the whole matrix, and the operator                1e-9 of it, in float32 1e-4, in bfloat16 0.15
bfloat16 and float64                              0.15 of it
"""

import json
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, StaticCache

from attention_priors.integrations.transformers import add_prior, available, prior_parameters

from .tiny import FAMILIES, VOCABULARY, explicit, made, plain, tokens

LENGTH = 11
LEFT = torch.ones(3, LENGTH, dtype=torch.long)
LEFT[1, :4] = LEFT[2, :9] = 0
RIGHT = LEFT.flip(1)


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-9)


@torch.no_grad()
def logits(model: torch.nn.Module, ids: Tensor, mask: Tensor | None = None, **more: object) -> Tensor:
    return model(ids, attention_mask=mask, **more).logits


SOME = [
    "alibi", "bam", "bam-ssmax", "bam-ssmax-content", "kerple-power", "kerple-log", "t5", "lag-table", "sandwich",
    "sandwich-ssmax-prior", "goat", "goat-ssmax", "bam-shared-ssmax", "bam-location-ssmax",
]  # fmt: skip


@pytest.mark.parametrize("encoding", SOME)
def test_logits(encoding):
    model, ids = made(encoding), tokens(3, LENGTH)
    found = logits(model, ids)
    close(found, explicit(model, ids))
    assert (found - logits(plain(), ids)).abs().max() > 0.1, "the prior has a part"
    for mask in (LEFT, RIGHT):
        close(logits(model, ids, mask)[mask.bool()], explicit(model, ids, mask)[mask.bool()])


@pytest.mark.parametrize("rope", [True, False])
@pytest.mark.parametrize("encoding", ["bam-ssmax", "goat"])
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family, encoding, rope):
    model, ids = made(encoding, family, rope), tokens(3, LENGTH)
    found = logits(model, ids, LEFT)
    close(found[LEFT.bool()], explicit(model, ids, LEFT)[LEFT.bool()])
    assert (found - logits(made(encoding, family, not rope), ids, LEFT))[LEFT.bool()].abs().max() > 0.1


def test_every_encoding_that_is_available_runs():
    for encoding in available():
        assert logits(made(encoding, num_hidden_layers=1), tokens(1, 4)).isfinite().all(), encoding


@pytest.mark.parametrize("encoding", ["bam-ssmax", "sandwich"])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("family", ["llama", "gpt-neox"])
def test_decoding_from_a_cache_equals_reading_at_once(family, static, encoding):
    model, ids = made(encoding, family), tokens(3, LENGTH)
    wanted = logits(model, ids, LEFT)
    cache = StaticCache(model.config, max_cache_len=16) if static else DynamicCache(config=model.config)
    found = []
    for start, stop in ((0, 6), (6, 7), (7, 10), (10, 11)):
        found.append(logits(model, ids[:, start:stop], LEFT[:, :stop], past_key_values=cache, use_cache=True))
    close(torch.cat(found, 1)[LEFT.bool()], wanted[LEFT.bool()])


@pytest.mark.parametrize("window", [3, 40])
@pytest.mark.parametrize("encoding", ["bam-ssmax", "alibi"])
def test_a_window_is_kept_beside_the_prior(encoding, window):
    model, ids = made(encoding, "mistral", sliding_window=window), tokens(3, LENGTH)
    wanted = logits(model, ids)
    close(wanted, explicit(model, ids, sliding_window=window))
    assert (window < LENGTH) == bool((wanted - logits(made(encoding, "mistral"), ids)).abs().max() > 1e-3)
    cache, found = DynamicCache(config=model.config), []
    for start, stop in ((0, 5), (5, 6), (6, 7), (7, 11)):
        found.append(logits(model, ids[:, start:stop], past_key_values=cache, use_cache=True))
    close(torch.cat(found, 1), wanted)


@pytest.mark.parametrize("encoding", ["bam-ssmax", "goat"])
def test_documents_that_are_packed_into_a_row(encoding):
    model, ids = made(encoding), tokens(1, LENGTH)
    places = torch.cat([torch.arange(5), torch.arange(LENGTH - 5)])[None]
    found = logits(model, ids, position_ids=places, use_cache=False)
    close(found, torch.cat([logits(model, ids[:, :5]), logits(model, ids[:, 5:])], 1))


@pytest.mark.parametrize(
    ("dtype", "rounding"), [(torch.float64, 1e-9), (torch.float32, 1e-4), (torch.bfloat16, 0.15)], ids=str
)
@pytest.mark.parametrize(
    "encoding", ["bam", "bam-ssmax", "bam-bounded", "kerple-power", "kerple-log", "sandwich", "goat"]
)
def test_a_mask_of_the_caller_and_the_weights(encoding, dtype, rounding):
    """In the dtypes that models have: priors of a closed form are float64 whatever the model is."""
    model, ids = made(encoding).to(dtype), tokens(2, LENGTH)
    wanted, seen = logits(model, ids), torch.ones(LENGTH, LENGTH).tril().bool()[None, None]
    with torch.no_grad():
        asked = model(ids, output_attentions=True)
    added = torch.zeros(seen.shape).double().masked_fill(~seen, -1e30)
    for found in (asked.logits, logits(model, ids, seen), logits(model, ids, added)):
        assert found.dtype == dtype and (found - wanted).std() <= rounding * wanted.std()
    assert len(asked.attentions) == 3 and asked.attentions[0].dtype == dtype
    assert (asked.attentions[0].double().sum(-1) - 1).abs().max() <= rounding


@pytest.mark.parametrize("family", FAMILIES)
def test_generate(family):
    model, ids = made("bam-ssmax", family), tokens(2, 5)
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    how = {"attention_mask": mask, "max_new_tokens": 6, "pad_token_id": 0, "eos_token_id": None}
    greedy = model.generate(ids, do_sample=False, **how)
    torch.testing.assert_close(model.generate(ids, do_sample=False, cache_implementation="static", **how), greedy)
    torch.testing.assert_close(model.generate(ids, do_sample=False, use_cache=False, **how), greedy)
    alone = model.generate(ids[1:, 2:], do_sample=False, **how | {"attention_mask": mask[1:, 2:]})
    torch.testing.assert_close(greedy[1:, 2:], alone)
    torch.manual_seed(5)
    drawn = model.generate(ids, do_sample=True, **how)
    assert drawn.shape == greedy.shape and (drawn[:, :5] == ids).all() and (drawn < VOCABULARY).all()


def gradients(model: torch.nn.Module, ids: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    model(ids, attention_mask=LEFT, labels=ids.masked_fill(LEFT == 0, -100), use_cache=False).loss.backward()
    return {name: own.grad.clone() for name, own in model.named_parameters() if own.requires_grad}


@pytest.mark.parametrize("encoding", ["bam-ssmax", "goat", "t5"])
def test_gradient_checkpointing_changes_no_gradient(encoding):
    model, ids = made(encoding).train(), tokens(3, LENGTH)
    wanted = gradients(model, ids)
    model.activation_checkpointing_enable()
    assert model.is_activation_checkpointing
    found = gradients(model, ids)
    assert {name for name, _ in prior_parameters(model)} & set(wanted)
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-9)
        assert ".positional." not in name or value.abs().max() > 0, f"{name} has a gradient"


READ = """
    import sys, torch
    from transformers import AutoModelForCausalLM
    try:
        AutoModelForCausalLM.from_pretrained(sys.argv[2])
    except ValueError as error:
        print(error)
    import attention_priors.integrations.transformers
    for place in sys.argv[2:]:
        model = AutoModelForCausalLM.from_pretrained(place)
        with torch.no_grad():
            torch.save(model(torch.load(sys.argv[1])).logits, place + "/logits.pt")
    compiled = torch.compile(model.float(), backend="aot_eager", fullgraph=True)  # shape checks would break the graph
    found = compiled(torch.load(sys.argv[1])).logits
    found.sum().backward()
    torch.save(found.detach(), place + "/compiled.pt")
"""


def test_saved_and_opened_in_a_fresh_process(tmp_path):
    ids, places = tokens(2, LENGTH), {}
    torch.save(ids, tmp_path / "ids.pt")
    for family, encoding, rope in (("llama", "goat-ssmax", False), ("gpt-neox", "t5", True), ("qwen3", "bam", True)):
        model = made(encoding, family, rope)
        model.save_pretrained(tmp_path / encoding)
        said = json.loads((tmp_path / encoding / "config.json").read_text())
        assert said["attention_prior"] == encoding and said["attention_prior_heads"] == 4
        assert said["attention_prior_rope"] is rope
        places[str(tmp_path / encoding)] = logits(model, ids)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READ), str(tmp_path / "ids.pt"), *places], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-1000:]
    assert "attention_priors_llama" in done.stdout, "without this module it is refused: no prior is left out"
    for place, wanted in places.items():
        torch.testing.assert_close(torch.load(f"{place}/logits.pt"), wanted, rtol=0, atol=1e-12)
    compiled, wanted = torch.load(tmp_path / "bam" / "compiled.pt"), places[str(tmp_path / "bam")]
    assert (compiled - wanted).std() < 1e-5 * wanted.std()
    opened = AutoModelForCausalLM.from_pretrained(tmp_path / "bam", dtype=torch.bfloat16)
    assert {own.dtype for _, own in prior_parameters(opened)} == {torch.float32}, "few numbers, kept whole"
    assert logits(opened, ids).dtype == torch.bfloat16


def test_from_a_configuration():
    config = add_prior(plain().config, "kerple-log", rope=False)
    model = AutoModelForCausalLM.from_config(config)
    assert config.attention_prior == "kerple-log" and logits(model, tokens(1, 4)).isfinite().all()
    assert len({own.detach().sum().item() for name, own in prior_parameters(model) if "r1" in name}) <= 3
    assert type(AutoConfig.for_model(config.model_type)) is type(config)


def test_a_plain_checkpoint_opened_with_a_prior_starts_it(tmp_path):
    model = plain()
    model.save_pretrained(tmp_path)
    config = add_prior(model.config, "bam-laplace-ssmax")
    opened, ids = type(add_prior(model, "bam-laplace-ssmax")).from_pretrained(tmp_path, config=config), tokens(1, 5)
    close(logits(opened, ids), logits(model, ids))


def test_bfloat16():
    model, ids = made("bam-ssmax"), tokens(2, LENGTH)
    wanted = logits(model, ids)
    with torch.autocast("cpu", torch.bfloat16):
        cast, whole = logits(model, ids), logits(model, ids, output_attentions=True)
    assert (whole.double() - cast.double()).std() < 0.01 * wanted.std(), "no product of the written-out form is in half"
    for found in (logits(model.bfloat16(), ids).double(), cast.double()):
        assert (found - wanted).std() < 0.15 * wanted.std()
