"""Batches from a stream: the same for any number of processes, and from where a run was stopped."""

from pathlib import Path

import pyarrow
import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file

from attention_priors.config import ModelConfig
from attention_priors.corpora import hub, packing
from attention_priors.tasks import streams
from attention_priors.training.runs import Run, RunSpec
from training.small import RECIPE

LANES, BATCH, LENGTH, VOCABULARY = 4, 8, 12, 300
TRAIN = [f"sample/10BT/{n:03d}_00000.parquet" for n in range(3)]


@pytest.fixture(autouse=True)
def corpus(tmp_path, monkeypatch):
    """A small copy of FineWeb, packed."""
    monkeypatch.setattr(hub, "MIRROR", tmp_path / "hub")
    monkeypatch.setattr(streams, "LANES", LANES)
    folder = hub.MIRROR / "HuggingFaceFW/fineweb"
    for number, file in enumerate([*TRAIN, "sample/10BT/014_00000.parquet"]):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        texts = [f"{number}.{row} " + "some words " * (row % 5) for row in range(16)]
        parquet.write_table(pyarrow.table({"text": texts}), folder / file, row_group_size=4)
    return hub.fetch("hub:fineweb", VOCABULARY, tmp_path / "corpora")


def spec(corpus: Path, **changes: object) -> RunSpec:
    given = {"prior_rate": 1.0, "steps": 5, "batch": BATCH, "length": LENGTH, "text_weight": 1.0}
    recipe = RECIPE.model_copy(update=given | changes)
    model = ModelConfig(vocabulary=VOCABULARY, width=8, layers=1, heads=2, hidden=8, encoding="bam")
    return RunSpec(task="language-stream", model=model, recipe=recipe, seed=0, corpus=str(corpus))


def as_process(monkeypatch, rank: int, world: int) -> None:
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: world > 1)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: rank)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: world)


def test_rows_are_windows_of_lanes_in_order(corpus):
    packed = packing.PackedCorpus.read(corpus)
    remote = hub.remotes("hub:fineweb")["fineweb"]
    batches = streams.StreamBatches(spec(corpus))
    drawn = [batches(step) for step in range(6)]
    for lane in range(LANES):
        texts = list(hub.texts(remote, "train", hub.rows(remote, "train", lane, LANES)))
        assert len(texts) == 12
        tokens = [[packed.tokenizer.bos, *packed.tokenizer.encode(text), packed.tokenizer.eos] for text in texts]
        stream = torch.tensor([token for one in tokens * 3 for token in one])
        windows = [
            (inputs[row], targets[row], ids[row])
            for inputs, targets, _, ids in drawn
            for row in range(lane, BATCH, LANES)
        ]
        assert len(windows) * LENGTH > sum(map(len, tokens)), "the lane began again"
        for number, (inputs, targets, ids) in enumerate(windows):
            start = number * LENGTH
            assert torch.equal(inputs, stream[start : start + LENGTH])
            assert torch.equal(targets, stream[start + 1 : start + LENGTH + 1])
            changes = (ids.diff() == 1) == (inputs[1:] == packed.tokenizer.bos)
            assert ids[0] == 0 and bool(changes.all()) and bool((ids.diff() >= 0).all())


def test_processes_read_their_own_lanes_of_the_same_batches(corpus, monkeypatch):
    batches = streams.StreamBatches(spec(corpus))
    whole = [batches(step)[0] for step in range(3)]
    for world in (2, 4):
        for rank in range(world):
            as_process(monkeypatch, rank, world)
            batches = streams.StreamBatches(spec(corpus))
            assert len(batches.lanes) == LANES // world
            for step, expected in enumerate(whole):
                inputs = batches(step)[0]
                assert torch.equal(inputs[rank::world], expected[rank::world])
                assert not inputs[[row for row in range(BATCH) if row % world != rank]].any()


def test_a_stream_goes_on_from_its_state_with_any_number_of_processes(corpus, monkeypatch):
    batches = streams.StreamBatches(spec(corpus))
    for step in range(5):
        batches(step)
    places = batches.state()
    wanted = [batches(step)[0] for step in range(5, 8)]
    as_process(monkeypatch, 1, 2)
    other = streams.StreamBatches(spec(corpus))
    read = []
    monkeypatch.setattr(hub, "texts", lambda *arguments, of=hub.texts: (read.append(t) or t for t in of(*arguments)))
    other.restore(5, places)
    assert all(torch.equal(other(5 + n)[0][1::2], tokens[1::2]) for n, tokens in enumerate(wanted))
    assert len(read) <= 2 * streams.CHUNK, "what was read before is not read again"


def test_a_step_can_be_reached_without_a_state(corpus):
    batches = streams.StreamBatches(spec(corpus))
    drawn = [batches(step)[0] for step in range(4)]
    assert torch.equal(streams.StreamBatches(spec(corpus))(3)[0], drawn[3])
    assert torch.equal(batches(1)[0], drawn[1])


class Interrupted(BaseException):
    """Ctrl-C, at a known place."""


def test_a_run_finds_its_place_in_the_stream(tmp_path, corpus, monkeypatch):
    made = spec(corpus)
    wanted = Run(made, tmp_path / "whole", torch.device("cpu")).train()
    run = Run(made, tmp_path / "parts", torch.device("cpu"))
    draw = streams.StreamBatches._windows
    drawn = []

    def windows(batches: streams.StreamBatches) -> torch.Tensor:
        drawn.append(batches.step + 1)
        if drawn == [0, 1, 2, 3]:
            raise Interrupted
        return draw(batches)

    monkeypatch.setattr(streams.StreamBatches, "_windows", windows)
    with pytest.raises(Interrupted):
        run.train()
    assert "source.3.place" in load_file(run.path / "checkpoint.safetensors")
    assert run.train()["loss"] == wanted["loss"]
    assert drawn == [0, 1, 2, 3, 2, 3, 4], "from the checkpoint on, nothing before it"


def test_what_cannot_be_streamed_says_so(corpus, monkeypatch):
    as_process(monkeypatch, 0, 3)
    with pytest.raises(ValueError, match="3 processes cannot share 4 lanes of a stream; use a divisor of 4"):
        streams.StreamBatches(spec(corpus))
    monkeypatch.setattr(hub, "versions", lambda name: {"HuggingFaceFW/fineweb": "0" * 40})
    with pytest.raises(ValueError, match=r"was packed from .*9bb295d.*, but .*0000.* is pinned; pack it again"):
        streams.StreamBatches(spec(corpus))
