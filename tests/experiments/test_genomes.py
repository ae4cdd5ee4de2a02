"""What is trained on a genome and asked of it: the gate, continuations, correlations, the cost of a step."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.attention import BACKENDS, attention, causal
from attention_priors.config import ModelConfig, Size
from attention_priors.corpora import genome
from attention_priors.experiments import continuations, cost, genomes
from attention_priors.model import Cache, Transformer
from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import KeyPrior

PROFILE = config.profile("smoke")
SETTINGS = PROFILE.genomes
SIZE = Size(width=48, layers=2, heads=2, hidden=32)


def model(name, seed=0):
    torch.manual_seed(seed)
    made = Transformer(ModelConfig(vocabulary=4, encoding=name, **SIZE.model_dump())).eval()
    for parameter in made.parameters():  # a prior that says something
        torch.nn.init.normal_(parameter, std=0.3)
    return made


def drawn(texts, length, seed=0):
    return torch.randint(4, (texts, length), generator=torch.Generator().manual_seed(seed))


# --- runs and windows ---


def test_a_run_depends_on_the_sum_of_the_bases():
    for spec in genomes.asked(PROFILE):
        assert spec.inputs == ("chr22", genome.pin("chr22").sha256) and spec.corpus is None
        assert spec.model.vocabulary == 4 and spec.task == "genomes"
    assert len(genomes.asked(PROFILE)) == len(SETTINGS.encodings) * len(SETTINGS.seeds)


def test_too_few_windows_to_continue_are_refused():
    few = SETTINGS.model_copy(update={"windows": 3, "texts": 4})
    with pytest.raises(ValueError, match="share no run of 32 bases with the training part, but 4 texts are to be cont"):
        genomes.continued(few)


def test_bits_are_those_of_the_last_bases():
    made, text = model("rope"), drawn(5, 25)
    logits = made(text[:, :-1])
    shares = logits.double().log_softmax(-1).gather(-1, text[:, 1:, None])[..., 0] / np.log(2)
    assert np.allclose(genomes.bits(made, text, 7), -shares[:, -7:].mean(1).detach(), atol=1e-5)
    flat = model("nope")
    torch.nn.init.zeros_(flat.head.weight)
    assert np.allclose(genomes.bits(flat, text, 24), 2)


def test_models_and_chains_are_scored_on_the_same_bases():
    chains = genomes.orders(SETTINGS)
    first, new = genomes.windows(SETTINGS)
    assert chains.groupby("windows")["count"].first().to_dict() == {"all": len(first), "new": int(new.sum())}
    assert chains["bits"].between(1.8, 2.05).all()


# --- continuations ---


@pytest.mark.parametrize("name", ["rope", "goat-composite", "goat-code", "goat-no-sink", "alibi"])
def test_writing_base_by_base_is_reading_all_at_once(name):
    """At the length of training, where priors over keys do not depend on how far the text is written."""
    made, text = model(name), drawn(3, 20)
    fixed = continuations.fixed(made, 20)
    whole, cache = made(text), Cache()
    parts = [fixed(text[:, :12], cache=cache), *(fixed(text[:, at : at + 1], cache=cache) for at in range(12, 20))]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=0, atol=2e-5)


def test_the_model_itself_is_not_changed():
    made = model("goat-composite")
    before = made(drawn(1, 9))
    continuations.fixed(made, 50)
    assert torch.equal(made(drawn(1, 9)), before)
    assert not any(isinstance(module, continuations.AtLength) for module in made.modules())
    assert any(isinstance(module, KeyPrior) for module in made.modules())


def test_what_is_written_follows_the_model():
    made = model("nope")
    torch.nn.init.zeros_(made.head.weight)
    free = continuations.written(made, drawn(400, 4), 30, 0)
    assert np.allclose(np.bincount(free.flatten(), minlength=4) / free.numel(), 0.25, atol=0.02)
    assert torch.equal(free, continuations.written(made, drawn(400, 4, 1), 30, 0)), "the same random numbers for all"
    assert not torch.equal(free, continuations.written(made, drawn(400, 4), 30, 1))


def test_intervals_of_r_draw_whole_texts():
    generator = np.random.default_rng(0)
    true = generator.random((50, 4))
    samples, few = continuations.resampled(50), continuations.resampled(50, 3)
    assert (
        samples.shape == (2000, 50)
        and few.shape == (2000, 3)
        and (np.sort(few, 1)[:, 1:] != np.sort(few, 1)[:, :-1]).all()
    )
    assert continuations.correlation(true, true) == pytest.approx(1)
    assert np.allclose(continuations.spread(true, true, samples), 1)
    other = generator.random((50, 4))
    found = continuations.spread(other, true, samples)
    by_hand = [continuations.correlation(other[chosen], true[chosen]) for chosen in samples[:20]]
    assert np.allclose(found[:20], by_hand)
    low, high = np.percentile(found, [2.5, 97.5])
    assert low < 0 < high and high - low < 0.7
    wide = continuations.spread(other, true, few)
    assert np.ptp(np.nanpercentile(wide, [2.5, 97.5])) > 2 * (high - low), "three texts say little"
    assert np.isnan(continuations.correlation(np.ones((3, 2)), true[:3, :2]))


# --- what is derived ---


# --- what it costs ---


def test_all_ways_to_goats_prior_give_the_same():
    from attention_priors.experiments.cost import STORED, stored

    made = encoding("goat-composite")
    torch.manual_seed(0)
    prior = made.prior(2)
    for parameter in prior.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    q, k = made.rotary(24, 1e4)(
        *(torch.randn(1, 2, 9, 24, dtype=torch.float64) for _ in range(2)), *[torch.arange(9)] * 2
    )
    v = torch.randn(1, 2, 9, 24, dtype=torch.float64)
    prior = prior.double()
    reference = attention(q, k, v, prior=prior, backend="reference")
    arguments = {
        "prior": prior,
        "logit_scale": None,
        "prior_scale": None,
        "visible": causal(9, 0, q.device),
        "offset": 0,
    }
    torch.testing.assert_close(stored(q, k, v, **arguments), reference, rtol=0, atol=1e-6)
    torch.testing.assert_close(attention(q, k, v, prior=prior, backend="composite"), reference, rtol=0, atol=1e-6)
    assert STORED not in BACKENDS


@pytest.fixture(scope="module")
def measured():
    return pd.DataFrame(cost.cost(SIZE, (128, 256), torch.device("cpu"), 2))


def test_with_the_same_kernel_memory_is_the_same_and_grows_with_the_length(measured):
    held = measured.groupby(["length", "way"])["memory"].first()
    for length in (128, 256):
        assert held[length]["goat"] == pytest.approx(held[length]["rope"], rel=0.05)
        assert held[length]["goat"] < held[length]["goat, math"] < held[length]["goat, stored bias"]
    assert held[256]["goat"] / held[128]["goat"] < 2.1
    assert held[256]["goat, stored bias"] / held[128]["goat, stored bias"] > 2.4
