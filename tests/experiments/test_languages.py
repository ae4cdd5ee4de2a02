"""The language experiment: the arithmetic by hand, and a run on a few lines of text."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import evaluation
from attention_priors.experiments import corpus, documents, languages


def frame():
    rows = [
        (seed, length, document, loss)
        for seed, shift in ((0, 0.0), (1, 0.2))
        for length, more in ((8, 0.0), (16, 0.5))
        for document, loss in ((0, 1.0 + shift + more), (1, 3.0 + shift + more))
    ]
    table = pd.DataFrame(rows, columns=["seed", "length", "document", "loss"])
    return table.assign(domain="text", encoding="bam", times=1, run="r", passed=True)


def test_perplexity_is_exp_of_the_mean_over_documents():
    found = documents.perplexity(frame()).set_index(["seed", "length"])
    assert found.loc[(0, 8), "perplexity"] == pytest.approx(np.exp(2.0))
    assert found.loc[(1, 16), "loss"] == pytest.approx(2.7)
    assert set(found["documents"]) == {2}


def test_over_seeds_is_the_interval_of_the_mean_loss():
    found = languages.perplexities(frame()).set_index("length").loc[8]
    low, high = evaluation.seed_interval([2.0, 2.2])
    assert found["perplexity"] == pytest.approx(np.exp(2.1))
    assert (found["low"], found["high"]) == (pytest.approx(np.exp(low)), pytest.approx(np.exp(high)))
    # two seeds 0.2 apart: t = 12.706 at one degree of freedom, so the half width is 12.706 x 0.1
    assert np.log(found["high"]) - 2.1 == pytest.approx(1.2706, abs=1e-4)


def test_growth_is_taken_within_a_seed():
    found = documents.growth(frame(), 8)
    assert found.set_index(["seed", "length"])["growth"].round(12).to_dict() == {
        (0, 8): 0.0,
        (0, 16): 0.5,
        (1, 8): 0.0,
        (1, 16): 0.5,
    }


def test_losses(small, tmp_path, cache):
    found = languages.losses(small, tmp_path / "runs", cache)
    wanted = {"domain", "encoding", "times", "seed", "document", "length", "loss", "run", *documents.GATE}
    assert set(found.columns) == wanted and set(found["times"]) == {1}
    assert found.groupby(["encoding", "length"]).size().eq(1).all() and len(found) == 9
    runs = found.groupby("encoding")["run"].unique().map(list).to_dict()
    assert runs["rope-local"] == runs["rope"] != runs["alibi"]
    assert len(list((tmp_path / "runs").glob("*/record.json"))) == 2
    # at the training length the window holds everything
    at = found.groupby(["encoding", "length"])["loss"].mean()
    assert at["rope-local", 16] == pytest.approx(at["rope", 16], abs=1e-6)
    assert at["rope-local", 64] != pytest.approx(at["rope", 64], abs=1e-6)


def test_the_gate_is_the_cost_of_a_swap(small, tmp_path, cache):
    strict = small.language.model_copy(update={"swap_gate": 50.0, "encodings": ("alibi",)})
    found = languages.losses(small.model_copy(update={"language": strict}), tmp_path / "runs", cache)
    assert not found["passed"].any() and found["pairs"].between(1, strict.pairs).all()
    free = strict.model_copy(update={"swap_gate": found["swap"].iloc[0]})
    again = languages.losses(small.model_copy(update={"language": free}), tmp_path / "runs", cache)
    assert again["passed"].all()


def test_a_second_model_sees_more_of_the_same_tokens_and_is_a_row_of_its_own(small, tmp_path, cache):
    settings = small.language.model_copy(update={"encodings": ("nope",), "more_steps": {"nope": 3}})
    profile = small.model_copy(update={"language": settings})
    first, second = languages.wanted(profile, corpus(profile, cache))
    assert second.task == "language-more" and second.recipe.steps == 3 * first.recipe.steps
    made = languages.measure(profile, tmp_path / "runs", cache)
    assert sorted(made["language_order"]["times"]) == [1, 3]
    told = made["language_perplexity"].set_index(["times", "length"])
    assert told.loc[(3, 64), "growth"] == pytest.approx(told.loc[(3, 64), "loss"] - told.loc[(3, 16), "loss"])
    assert len(languages.perplexities(made["language_losses"])) == 2 * len(settings.lengths)


def test_beyond_the_windows_of_its_layers_rope_local_is_blind(small, tmp_path, cache):
    language = small.language.model_copy(update={"lengths": (16, 64, 128), "encodings": ("rope-local",)})
    found = languages.losses(small.model_copy(update={"language": language}), tmp_path / "runs", cache)
    reach = language.size.layers * (language.recipe.length - 1) + language.scored
    assert reach <= 64
    at = found.groupby("length")["loss"].mean()
    assert at[64] == pytest.approx(at[128], abs=1e-6)


def test_scored_tokens_do_not_depend_on_the_length(small, cache):
    _, path = corpus(small, cache)
    documents = evaluation.language_documents(str(path), "text", 64, 1)
    rows = evaluation.document_losses(_Teller(), documents, (16, 32, 64), 8)
    assert len({row["loss"] for row in rows}) == 1


class _Teller:
    """Stands in for a model: bets on the token that it reads, so that its losses tell which tokens are scored."""

    def parameters(self):
        yield torch.zeros(1)

    def __call__(self, tokens, last, local, backend):
        return torch.nn.functional.one_hot(tokens[:, -last:], 300).float()


def test_too_short_documents_are_named(small, tmp_path, cache):
    language = small.language.model_copy(update={"lengths": (16, 100_000)})
    with pytest.raises(RuntimeError, match="100000"):
        languages.losses(small.model_copy(update={"language": language}), tmp_path / "runs", cache)
