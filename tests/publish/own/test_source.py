"""The file of a reader's encoding: what it registers, and what that is worth. What is wrong: test_bad_inputs.py."""

from pathlib import Path

import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments.arms import passkey_run
from attention_priors.model import Transformer
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.publish import own
from attention_priors.publish.own import source
from attention_priors.training import runs as training
from attention_priors.training.runs import Run
from test_bad_inputs import GOOD, HEAD, ROW

TEXT = HEAD + GOOD + ROW


def written(tmp_path: Path, text: str = TEXT, name: str = "mine.py") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_registers_its_encoding_and_that_with_ssmax(tmp_path: Path) -> None:
    read = own.read(written(tmp_path))
    assert (read.name, read.scaled) == ("mine", "mine-ssmax")
    row, scaled = ENCODINGS["mine"], ENCODINGS["mine-ssmax"]
    assert scaled.unscaled == "mine" and scaled.prior is row.prior and scaled.scale is ScalableSoftmax
    assert not scaled.scales_prior and (row.label, scaled.label) == ("Mine", "Mine SSMax")
    for name in ("mine", "mine-ssmax"):
        Transformer(ModelConfig(encoding=name, vocabulary=5, width=8, layers=1, heads=2, hidden=8))
    assert not list(tmp_path.glob("__pycache__"))


def test_a_row_that_ships_with_ssmax_keeps_its_own(tmp_path: Path) -> None:
    before = ENCODINGS["bam-ssmax"]
    ENCODINGS["bam"] = ENCODINGS["bam"]
    assert ENCODINGS["bam-ssmax"] is before


def test_reading_again_replaces(tmp_path: Path) -> None:
    first = own.read(written(tmp_path))
    prior = ENCODINGS["mine"].prior
    second = own.read(written(tmp_path, TEXT.replace("lags.abs()", "lags.abs().sqrt()")))
    assert ENCODINGS["mine"].prior is not prior and first.digest != second.digest


def test_comments_and_layout_are_not_what_a_run_depends_on(tmp_path: Path) -> None:
    texts = (
        TEXT,
        "# mine\n" + TEXT.replace("Mine)\n", "Mine)  # here\n"),
        TEXT.replace("lags.abs()", "( lags.abs() )"),
    )
    assert len({own.read(written(tmp_path, text)).digest for text in texts}) == 1


def test_a_file_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    before = dict(ENCODINGS)
    with pytest.raises(source.Wrong, match="2 encodings"):
        own.read(written(tmp_path, TEXT + ROW.replace("mine", "yours")))
    assert dict(ENCODINGS) == before
    with pytest.raises(source.Wrong, match="ships"):
        own.read(written(tmp_path, HEAD + GOOD + ROW.replace("mine", "bam")))
    assert ENCODINGS["bam"] is before["bam"] and ENCODINGS["bam-ssmax"] is before["bam-ssmax"]


def test_a_model_opens_where_its_encoding_is_registered(tmp_path: Path) -> None:
    path = written(tmp_path)
    own.read(path)
    spec = passkey_run(config.profile("smoke"), "mine", 0)
    run = Run(spec, tmp_path, torch.device("cpu"))
    run.train()
    file, tokens = run.path / "model.safetensors", torch.arange(30)[None]
    before = training.load(str(file))(tokens)
    for name in ("mine", "mine-ssmax"):
        del ENCODINGS[name]
    with pytest.raises(
        training.Unregistered, match=r"'mine'.*own\.read\('my_encoding\.py'\), then load again"
    ) as caught:
        training.load(str(file))
    assert "\n" not in str(caught.value)
    own.read(path)
    assert torch.equal(training.load(str(file))(tokens), before)
