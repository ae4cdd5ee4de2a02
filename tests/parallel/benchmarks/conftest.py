"""A tiny random model with a tokenizer in a folder, and a folder of files as the benchmarks publish them."""

import zipfile

import pytest
import torch

from parallel.benchmarks.made import INFINITE, LONG, infinite_line, long_line, tokenizer, written
from parallel.tiny import FAMILIES, SIZES


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The folder of a model of 258 tokens and 1024 positions."""
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config, kind, more = FAMILIES["llama"]
    sizes = (
        SIZES | more | {"vocab_size": 258, "max_position_embeddings": 1024, "num_hidden_layers": 2, "eos_token_id": 257}
    )
    kind(config(**sizes)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def data(tmp_path):
    """A folder with the files of InfiniteBench, and LongBench's data.zip: three lines each."""
    folder = tmp_path / "data of both"
    folder.mkdir()
    for task in INFINITE:
        (folder / f"{task}.jsonl").write_text(written([infinite_line(task, number) for number in range(3)]))
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        for task in LONG:
            archive.writestr(f"data/{task}.jsonl", written([long_line(task, number) for number in range(3)]))
            archive.writestr(f"data/{task}_e.jsonl", "")
    return folder
