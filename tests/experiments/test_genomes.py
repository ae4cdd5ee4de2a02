"""What is trained on a genome and asked of it: the gate, continuations, correlations, the cost of a step."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.attention import BACKENDS, attention, causal
from attention_priors.config import ModelConfig, Size
from attention_priors.corpora import genome
from attention_priors.corpora.markov import Markov
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


def test_new_windows_share_no_run_of_20_and_those_that_are_continued_none_of_32():
    settings = SETTINGS.model_copy(update={"windows": 400})
    found, (first, new) = genome.find(settings.genome), genomes.windows(settings)
    apart = {run: genome.novel(found, first, settings.recipe.length + 1, found.part("train"), run) for run in (20, 32)}
    assert new.tolist() == apart[20].tolist() != apart[32].tolist()
    every = settings.model_copy(update={"texts": int(apart[32].sum())})
    assert genomes.continued(every).tolist() == first[apart[32]].tolist()


def test_the_gate_is_the_mean_over_new_windows_against_the_chain_of_order_3_on_them(monkeypatch, tmp_path):
    """By hand: on two new windows GATE is 1.9; what a model knows by heart does not help it."""
    chains = pd.DataFrame(
        [
            (part, order, bits, 2)
            for part, each in ((genomes.NEW, (2.0, 1.98, 1.95, 1.9)), (genomes.ALL, (2.0, 1.9, 1.7, 1.5)))
            for order, bits in enumerate(each)
        ],
        columns=["windows", "order", "bits", "count"],
    )
    read = {
        "rope": (1.7, 2.0, 1.9),
        "nope": (1.7, 2.15, 0.1),
        "alibi": (1.7, 2.1, 0.1),
    }  # means of new 1.85, 1.925, 1.9
    losses = pd.DataFrame(
        [(name, 0, bits, window, "run") for name, each in read.items() for window, bits in enumerate(each)],
        columns=["encoding", "seed", "bits", "window", "run"],
    )
    monkeypatch.setattr(genomes, "orders", lambda _: chains)
    monkeypatch.setattr(genomes, "windows", lambda _: (np.arange(3), np.array([True, True, False])))
    monkeypatch.setattr(genomes, "per_run", lambda *_: None)
    monkeypatch.setattr(genomes, "gather_tables", lambda *_: {"losses": losses, "texts": pd.DataFrame({"text": [0]})})
    made = genomes.measure(PROFILE, tmp_path, tmp_path)["genomes_losses"]
    assert made.groupby("encoding")["passed"].first().to_dict() == {"rope": True, "nope": False, "alibi": False}
    assert set(made["floor"]) == {1.9} and made["new"].tolist() == [True, True, False] * 3
    both = genomes.beside(made, chains.assign(scored=1, trained=8))
    models = genomes.over_models(both).set_index("encoding")
    assert models.loc["rope", [genomes.NEW, genomes.ALL]].tolist() == pytest.approx([1.85, 5.6 / 3])
    assert models["below"].to_dict() == {"rope": pytest.approx(float("nan"), nan_ok=True), "nope": 3, "alibi": 3}


def test_a_correlation_has_its_95_percent_of_resampled_texts():
    rng = np.random.default_rng(0)
    texts = pd.DataFrame(
        {
            "encoding": "rope",
            "seed": 0,
            "text": np.repeat(range(20), 3),
            "piece": [*range(3)] * 20,
            "true": rng.random(60),
            "written": rng.random(60),
            "before": np.repeat(rng.random(20), 3),
        }
    )
    row = genomes.correlations(texts).iloc[0]
    written, true = (texts.pivot(index="text", columns="piece", values=part).to_numpy() for part in ("written", "true"))
    for size, names in ((None, ["low", "high"]), (genomes.FEW, ["few_low", "few_high"])):
        each = continuations.spread(written, true, continuations.resampled(20, size))
        assert row[names].tolist() == pytest.approx(np.nanpercentile(each, [2.5, 97.5]).tolist())


def test_chains_are_scored_on_the_last_bases_of_the_windows():
    found, (first, _) = genome.find(SETTINGS.genome), genomes.windows(SETTINGS)
    chain, near = Markov(found, found.part("train"), SETTINGS.order), int(first[0]) + np.arange(100)
    bits = dict(zip(found.bases(near[0], 100).tolist(), chain.bits(found, near)[0], strict=True))  # of order 0
    text = genomes.text_of(SETTINGS, first)[:, -SETTINGS.scored :]
    row = genomes.orders(SETTINGS).query("windows == 'all' and order == 0").iloc[0]
    assert row["bits"] == pytest.approx(np.mean([bits[base] for base in text.flatten().tolist()]))
