"""A tokenised corpus as one stream in one file, and what is cut from it: training windows and long documents."""

import hashlib
import importlib.metadata
import io
import itertools
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attention_priors import store
from attention_priors.corpora import corpora, tokenizer

FORMAT = 1
VERSION = 1  # raise it when the same texts would be packed otherwise
TRAINING_TEXT = 6_000_000  # characters of the training split from which the merges of the tokenizer are learned
CHUNK = 64  # documents tokenised at once


@dataclass(frozen=True, eq=False)
class PackedCorpus:
    """Documents as one token stream: BOS, text, EOS, one document after another, grouped by (split, domain).

    tokens:  [tokens], uint16, or int32 for more than 65,536 ids
    offsets: [documents + 1]; document n is tokens[offsets[n] : offsets[n + 1]]
    parts:   [documents]; the index of each document's (split, domain) in meta["parts"]
    meta:    corpus, vocabulary, sha256 (of the text), tokens_sha256, versions, parts, names, packages,
             tokenizer (JSON), tokenizers (the library's version), format
    """

    tokens: np.ndarray
    offsets: np.ndarray
    parts: np.ndarray
    meta: dict

    @cached_property
    def tokenizer(self) -> tokenizer.Tokenizer:
        return tokenizer.Tokenizer(self.meta["tokenizer"])

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(domain for _, domain in self.meta["parts"]))

    def documents(self, split: str, domain: str | None = None) -> range:
        """Numbers of the documents of a split and domain (the corpus's first domain if None)."""
        domain = self.domains[0] if domain is None else domain
        if [split, domain] not in self.meta["parts"]:
            known = ", ".join("/".join(part) for part in self.meta["parts"])
            raise ValueError(f"corpus {self.meta['corpus']!r} has no part {split}/{domain}; its parts are {known}")
        (numbers,) = np.nonzero(self.parts == self.meta["parts"].index([split, domain]))
        return range(int(numbers[0]), int(numbers[-1]) + 1)

    def document(self, number: int) -> np.ndarray:
        """Tokens of one document with its BOS and EOS."""
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]

    def status(self) -> dict:
        """Whether this is the data that data/corpora.yaml pins: `corpora.status`, and the tokens where they are pinned.

        Adds tokens_sha256, expected_tokens (None if this vocabulary is not pinned) and the version of tokenizers.
        """
        status = corpora.status(self.meta["corpus"], self.meta["sha256"], self.meta["versions"])
        tokens = (corpora.pinned(self.meta["corpus"]) or {}).get("tokens", {}).get(self.meta["vocabulary"])
        found = self.meta["tokens_sha256"]
        if tokens is not None and tokens != found:
            status["same"] = False
        return status | {"tokens_sha256": found, "expected_tokens": tokens, "tokenizers": self.meta["tokenizers"]}

    def counts(self, *lengths: int) -> list[dict]:
        """One row per part: documents, tokens, and how many documents are longer than each of `lengths` tokens."""
        rows = []
        for split, domain in self.meta["parts"]:
            numbers = self.documents(split, domain)
            sizes = np.diff(self.offsets[numbers.start : numbers.stop + 1])
            row = {"split": split, "domain": domain, "documents": len(sizes), "tokens": int(sizes.sum())}
            rows.append(row | {f"over {length}": int((sizes > length).sum()) for length in lengths})
        return rows

    def write(self, path: Path | str) -> None:
        """Write the whole corpus as one .npz file, atomically."""
        buffer = io.BytesIO()
        meta = np.frombuffer(json.dumps(self.meta, sort_keys=True).encode(), dtype=np.uint8)
        np.savez_compressed(buffer, tokens=self.tokens, offsets=self.offsets, parts=self.parts, meta=meta)
        store.write_bytes(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path | str) -> "PackedCorpus":
        """Read what `write` wrote, on any machine. ValueError if the file is missing, cut short or altered."""
        if not Path(path).is_file():
            raise ValueError(f"there is no packed corpus {str(path)!r}: build it, or copy the .npz file there")
        try:
            with zipfile.ZipFile(path) as archive:
                if (member := archive.testzip()) is not None:
                    raise zipfile.BadZipFile(f"wrong checksum of {member}")
            with np.load(path, allow_pickle=False) as file:
                meta = json.loads(file["meta"].tobytes())
                corpus = cls(file["tokens"], file["offsets"], file["parts"], meta)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, ValueError) as error:
            raise store.DamagedFile(f"packed corpus {str(path)!r} is damaged ({error}): build it again") from None
        if meta.get("format") != FORMAT:
            raise ValueError(f"packed corpus {str(path)!r} has format {meta.get('format')}, not {FORMAT}: rebuild it")
        return corpus


def build(name: str, vocabulary: int, cache_dir: Path | str) -> PackedCorpus:
    """The corpus `name` with a tokenizer of `vocabulary` ids: read from `cache_dir`, or built there at first use.

    The cached file's name has a key of the package versions (or the local files' hashes), of the vocabulary and of the
    code that makes it; a damaged file is built again. `packed:FILE` reads a file that was built on another machine.
    Errors: those of `corpora.read`, `tokenizer.train` and `PackedCorpus.read`.
    """
    if name.startswith("packed:"):
        corpus = PackedCorpus.read(name.removeprefix("packed:"))
        if corpus.meta["vocabulary"] != vocabulary:
            found = corpus.meta["vocabulary"]
            raise ValueError(f"{name!r} has a vocabulary of {found}, not {vocabulary}: ask for {found}")
        return corpus
    path = cache_path(name, vocabulary, cache_dir)
    if path.exists():
        try:
            return PackedCorpus.read(path)
        except store.DamagedFile:
            path.unlink()
    corpus = pack(corpora.read(name), vocabulary)
    corpus.write(path)
    return corpus


def cache_path(name: str, vocabulary: int, cache_dir: Path | str) -> Path:
    """Where `build` keeps the packed corpus."""
    kind, _ = corpora.kind_and_path(name)
    rules = asdict(corpora.OFFLINE[kind]) if kind in corpora.OFFLINE else {}
    library = importlib.metadata.version("tokenizers")
    key = store.key("packed corpus", kind, rules, corpora.identity(name), vocabulary, library, VERSION)
    return Path(cache_dir) / f"{re.sub(r'[^a-z]', '', kind)}-{vocabulary}-{key}.npz"


def pack(corpus: corpora.Corpus, vocabulary: int) -> PackedCorpus:
    """Train the tokenizer on the training split and encode every document as BOS, text, EOS."""
    trained = tokenizer.train(training_text(corpus), vocabulary)
    dtype = np.uint16 if trained.size <= 2**16 else np.int32
    pieces, parts, names, packages = [], [], [], []
    for index, documents in enumerate(corpus.parts.values()):
        for start in range(0, len(documents), CHUNK):
            chunk = documents[start : start + CHUNK]
            for document, ids in zip(chunk, trained.encode_all([d.text for d in chunk]), strict=True):
                pieces.append(np.array([trained.bos, *ids, trained.eos], dtype=dtype))
                parts.append(index)
                names.append(document.name)
                packages.append(document.package)
    tokens = np.concatenate(pieces)
    meta = {
        "format": FORMAT,
        "corpus": corpus.name,
        "vocabulary": vocabulary,
        "sha256": corpus.sha256,
        "tokens_sha256": hashlib.sha256(tokens.astype("<i4").tobytes()).hexdigest(),
        "versions": dict(corpus.versions),
        "tokenizers": importlib.metadata.version("tokenizers"),
        "parts": [list(part) for part in corpus.parts],
        "names": names,
        "packages": packages,
        "tokenizer": trained.json,
    }
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return PackedCorpus(tokens, offsets, np.array(parts, dtype=np.uint8), meta)


def training_text(corpus: corpora.Corpus) -> Iterator[str]:
    """About `TRAINING_TEXT` characters of the training split, an equal share from each domain."""
    share = TRAINING_TEXT // len(corpus.domains)
    for (split, _), documents in corpus.parts.items():
        if split == "train":
            yield from (document.text for document in corpora.sample(documents, share))


def batches(
    corpus: PackedCorpus,
    length: int,
    batch: int,
    generator: torch.Generator,
    *,
    split: str = "train",
    domain: str | None = None,
    skip: int = 0,
) -> Iterator[tuple[Int[Tensor, "batch length+1"], Int[Tensor, "batch length"]]]:
    """Endless training windows in random order: (tokens, document ids of the inputs tokens[:, :-1]).

    An epoch cuts the part's stream from a random offset into windows of `length` inputs and visits each once. A window
    may begin inside a document and hold several; their ids count from 0, and attention stays where ids are equal.
    `skip` batches are left out at the start, which is how a resumed run finds its place.
    Raises ValueError if `length` or `batch` is not positive or the part is shorter than one window.
    """
    if length < 1 or batch < 1:
        raise ValueError(f"windows of length {length} in batches of {batch}: both must be at least 1")
    numbers = corpus.documents(split, domain)
    offsets = corpus.offsets[numbers.start : numbers.stop + 1] - corpus.offsets[numbers.start]
    stream = corpus.tokens[corpus.offsets[numbers.start] : corpus.offsets[numbers.stop]]
    if len(stream) < length + 1:
        raise ValueError(
            f"windows of length {length} need {length + 1} tokens, {split} has {len(stream)}: shorten them"
        )
    return _windows(stream, offsets, length, batch, generator, skip)


def _windows(stream, offsets, length, batch, generator, skip):
    starts = itertools.islice(_starts(len(stream) - 1, length, generator), skip * batch, None)
    while True:
        first = np.fromiter(itertools.islice(starts, batch), dtype=np.int64, count=batch)
        places = first[:, None] + np.arange(length + 1)
        ids = np.searchsorted(offsets, places[:, :-1], side="right")
        yield torch.from_numpy(stream[places].astype(np.int64)), torch.from_numpy(ids - ids[:, :1])


def _starts(inputs: int, length: int, generator: torch.Generator) -> Iterator[int]:
    while True:
        slack = min(length, inputs - length + 1)
        offset = int(torch.randint(slack, (), generator=generator))
        yield from (offset + length * torch.randperm((inputs - offset) // length, generator=generator)).tolist()


def long_documents(
    corpus: PackedCorpus, split: str, domain: str, length: int, limit: int | None = None
) -> Int[Tensor, "documents length+1"]:
    """The first `length` + 1 tokens of every document that has more than `length`; at most `limit`, evenly spaced.

    To score the same tokens at every context length L <= length, give a model the inputs documents[:, -L - 1 : -1] and
    take the loss of the last K <= L targets, documents[:, -K:]: they do not depend on L.
    Raises ValueError if no document is that long.
    """
    numbers = corpus.documents(split, domain)
    sizes = np.diff(corpus.offsets[numbers.start : numbers.stop + 1])
    found = [number for number, size in zip(numbers, sizes, strict=True) if size > length]
    if not found or length < 1:
        raise ValueError(
            f"no {split}/{domain} document can give {length} inputs: the length must be 1 to {sizes.max() - 1}"
        )
    if limit is not None and limit < len(found):
        found = [found[i] for i in np.linspace(0, len(found) - 1, limit).round().astype(int)]
    return torch.from_numpy(np.stack([corpus.document(n)[: length + 1] for n in found]).astype(np.int64))
