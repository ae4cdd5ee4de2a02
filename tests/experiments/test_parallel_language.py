"""Text read in chunks: what is scored, after what, and by which rules chunks are chosen."""

import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.evaluation import document_losses
from attention_priors.experiments import parallel_language as language
from attention_priors.model import Transformer
from attention_priors.parallel.methods import METHODS

PROFILES = {name: config.profile(name) for name in ("smoke", "cpu", "full", "gpu", "paper")}
DOCUMENTS = torch.randint(50, (3, 1025), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Transformer(ModelConfig(vocabulary=50, width=32, layers=2, heads=2, hidden=32, encoding="rope")).eval()


def test_as_trained_is_the_loss_of_documents(model):
    """The same tokens, after the same context, as `evaluation.document_losses` scores."""
    rows = language.losses(model, METHODS["plain"], DOCUMENTS, (128, 512), 64, 128, 0)
    for found, expected in zip(rows, document_losses(model, DOCUMENTS, (128, 512), 64), strict=True):
        assert {**found, "loss": None} == {**expected, "loss": None}
        assert found["loss"] == pytest.approx(expected["loss"], abs=1e-5)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "oracle"])
def test_all_ways_are_one_at_the_training_length_and_differ_beyond(model, method):
    """At 8T: PI by a quarter of L / T is none up to 4T."""
    plain, own = (
        [row["loss"] for row in language.losses(model, METHODS[name], DOCUMENTS, (128, 1024), 64, 128, 0)]
        for name in ("plain", method)
    )
    if method not in ("rerope", "snapkv") and "half" not in method and "quarter" not in method:
        assert own[:3] == pytest.approx(plain[:3], abs=1e-5)
    assert own[3:] != pytest.approx(plain[3:], abs=1e-4) or method == "plain"


def test_chunks_may_be_chosen_by_what_is_scored(model):
    by = [row["loss"] for row in language.losses(model, METHODS["k3"], DOCUMENTS, (512,), 64, 128, 0, True)]
    own = [row["loss"] for row in language.losses(model, METHODS["k3"], DOCUMENTS, (512,), 64, 128, 0)]
    assert by != own


def test_targets_have_to_leave_room(tmp_path):
    smoke = PROFILES["smoke"]
    settings = smoke.parallel_language.model_copy(update={"scored": 60})
    with pytest.raises(ValueError, match=r"scored = 60 .* a window of 64; score fewer tokens"):
        language.measure(smoke.model_copy(update={"parallel_language": settings}), tmp_path, tmp_path)
