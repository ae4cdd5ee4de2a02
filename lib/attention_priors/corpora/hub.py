"""Corpora of the Hugging Face hub at pinned revisions: rows of data/corpora.yaml under `hub`.

| name          | what language models train on                                                                |
|---------------|----------------------------------------------------------------------------------------------|
| `hub:NAME`    | the first characters of the training split, as many as its row says, packed into a file       |
| `stream:NAME` | the whole training split, read while training (`tasks.streams`); the same file holds the rest |

NAME is a row, or several joined by `+`: the first trains, the others are further domains to validate on, such as long
Wikipedia articles beside FineWeb (BAM App. C). Runs download nothing by themselves. Once, on a machine with a network,

    python -m attention_priors.commands.corpus hub:fineweb+wikipedia --vocabulary 8192

writes the packed file below .cache/corpora/, from where it can be carried to the same place on any machine. A copy of a
repository's files below .cache/hub/<owner>/<repository>/ is read instead of the hub.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from attention_priors import config, store
from attention_priors.config import Frozen
from attention_priors.corpora import corpora, packing

KINDS = ("hub", "stream")
MIRROR = config.CACHE / "hub"


class Part(Frozen):
    """One split of a corpus."""

    files: tuple[str, ...] = Field(min_length=1, description="paths in the repository, or globs")
    characters: int = Field(ge=1, description="that are packed at most")
    shortest: int = Field(default=1, ge=1, description="characters; shorter documents are left out")


class Remote(Frozen):
    """A corpus on the hub. `obtained` says how the revision, a commit, was established."""

    repository: str
    revision: str = Field(pattern="^[0-9a-f]{40}$")
    obtained: str
    format: Literal["parquet", "json"]
    text: str = "text"
    train: Part
    validation: Part

    def part(self, split: str) -> Part:
        return self.train if split == "train" else self.validation


def is_remote(name: str) -> bool:
    """True for the names of this module."""
    return name.partition(":")[0] in KINDS


def remotes(name: str) -> dict[str, Remote]:
    """The rows behind `name`, the one that trains first. ValueError for a name that has none."""
    kind, _, rows = name.partition(":")
    pins = corpora.pinned("hub") or {}
    chosen = rows.split("+")
    for row in chosen:
        if kind not in KINDS or row not in pins:
            near = difflib.get_close_matches(row, pins, n=1, cutoff=0.0)
            raise ValueError(f"unknown hub corpus {row!r} in {name!r}; nearest is {near[0]!r}; all: {', '.join(pins)}")
    return {row: config.parse(Remote, pins[row], f"corpora.yaml: hub.{row}") for row in chosen}


def versions(name: str) -> dict[str, str]:
    """Repositories and their revisions."""
    return {remote.repository: remote.revision for remote in remotes(name).values()}


def rows(remote: Remote, split: str, lane: int = 0, lanes: int = 1) -> Any:
    """The documents of a split as a `datasets.IterableDataset`: those of one of `lanes` equal parts of its files.

    Parquet is divided by row groups, other formats by files. ValueError where the files cannot be reached or read.
    """
    from datasets import load_dataset

    wanted = {"columns": [remote.text]} if remote.format == "parquet" else {}
    with _explained(remote):
        found = load_dataset(
            remote.format, data_files={split: _files(remote, split)}, split=split, streaming=True, **wanted
        ).reshard()
    if found.num_shards < lanes:
        raise ValueError(
            f"{remote.repository} ({split}) has {found.num_shards} parts, fewer than the {lanes} lanes of "
            "a stream; use 'hub:' instead of 'stream:'"
        )
    return found.shard(lanes, lane, contiguous=False)


def texts(remote: Remote, split: str, found: Any) -> Iterator[str]:
    """The texts of some rows, without those that are too short."""
    shortest = remote.part(split).shortest
    with _explained(remote):
        for row in found:
            text = row.get(remote.text)
            if not isinstance(text, str):
                raise KeyError(f"no text in column {remote.text!r} of {', '.join(row)}")
            if len(text) >= shortest:
                yield text.replace("\r\n", "\n").replace("\r", "\n")


def read(name: str) -> corpora.Corpus:
    """The packed part of `name`: training and validation text of the first row, validation text of the others."""
    chosen = remotes(name)
    parts = {}
    for split in corpora.SPLITS:
        for row, remote in chosen.items():
            if split == "validation" or not parts:
                parts[split, row] = tuple(_documents(row, remote, split))
    return corpora.Corpus(_packed_name(name), parts, versions(name))


def _documents(row: str, remote: Remote, split: str) -> Iterator[corpora.Document]:
    left = remote.part(split).characters
    for number, text in enumerate(texts(remote, split, rows(remote, split))):
        yield corpora.Document(f"{row}/{split}#{number}", text, remote.repository)
        left -= len(text)
        if left <= 0:
            return


def build(name: str, vocabulary: int, cache_dir: Path | str) -> packing.PackedCorpus:
    """The packed corpus, if it is on this machine. ValueError with what to do if it is not."""
    path = cache_path(name, vocabulary, cache_dir)
    if not path.exists():
        command = f".venv/bin/python -m attention_priors.commands.corpus {_packed_name(name)} --vocabulary {vocabulary}"
        raise ValueError(
            f"corpus {name!r} is not on this machine, and nothing is downloaded here: run `{command}` where there is a "
            f"network, and copy the file that it writes to {path.parent.name}/{path.name} in the cache (.cache, or "
            "what ATTENTION_PRIORS_CACHE names)"
        )
    return packing.PackedCorpus.read(path)


def fetch(name: str, vocabulary: int, cache_dir: Path | str) -> Path:
    """Read the hub and write the packed corpus, unless it is there."""
    path = cache_path(name, vocabulary, cache_dir)
    if not path.exists():
        packing.pack(read(name), vocabulary).write(path)
    return path


def cache_path(name: str, vocabulary: int, cache_dir: Path | str) -> Path:
    """Where the packed corpus lies: one file for `hub:` and `stream:`, with a key of all that it depends on."""
    pins = {row: remote.model_dump(exclude={"obtained"}) for row, remote in remotes(name).items()}
    library = importlib.metadata.version("tokenizers")
    key = store.key("hub corpus", pins, vocabulary, library, packing.VERSION)
    return Path(cache_dir) / f"hub-{re.sub('[^a-z0-9]', '-', name.partition(':')[2])}-{vocabulary}-{key}.npz"


def _packed_name(name: str) -> str:
    return f"hub:{name.partition(':')[2]}"


def _files(remote: Remote, split: str) -> list[str]:
    patterns, copy = remote.part(split).files, MIRROR / remote.repository
    if not copy.is_dir():
        return [f"hf://datasets/{remote.repository}@{remote.revision}/{pattern}" for pattern in patterns]
    found = sorted({path for pattern in patterns for path in copy.glob(pattern)})
    if not found:
        raise ValueError(f"the copy of {remote.repository} has no file {' or '.join(patterns)}; copy them or remove it")
    return list(map(str, found))


@contextlib.contextmanager
def _explained(remote: Remote) -> Iterator[None]:
    """What goes wrong with files or the network in one line."""
    try:
        yield
    except Exception as error:  # the client raises the classes of whatever library it talks to the network with
        reason = " ".join(str(error.__cause__ or error).split())[:200]
        raise ValueError(
            f"{remote.repository} at {remote.revision[:7]} cannot be read ({reason}); do this where there is a "
            f"network, or put a copy of its files below {MIRROR.parent.name}/{MIRROR.name}/"
        ) from None
