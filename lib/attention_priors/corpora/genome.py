"""Genomes as streams of the four bases: FASTA in, two bits a base on disk, runs of N cut out.

| name    | sequence                                                                                      |
|---------|-----------------------------------------------------------------------------------------------|
| `chr22` | human chromosome 22, bases 20,000,001 to 21,000,000, which ships (data/genome/README.md)       |
| `hg38`  | the whole human genome, from a copy of its file                                                |

The rows stand in data/corpora.yaml under `genomes`. Nothing is downloaded. Where a copy of the file of `hg38` is,

    python -m attention_priors.commands.genome hg38 test.parquet

packs it below .cache/genomes/, from where it can be carried to the same place on any machine.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int, UInt8
from pydantic import Field

from attention_priors import config, store
from attention_priors.config import Frozen
from attention_priors.corpora import corpora
from attention_priors.store.registry import nearest

BASES = "ACGT"  # codes 0 to 3; the complement of a code c is 3 - c
UNKNOWN = 4  # the code of N
FORMAT = 1
TRAINING = 0.8  # share of the known bases, the first ones; the last fifth is for validation
SHARED = 32  # bases: the longest run that fits 64 bits
CHUNK = 2**20  # bases looked through at once

Codes = UInt8[np.ndarray, " bases"]
Range = tuple[int, int]  # first base and number of bases, counted in known bases


@dataclass(frozen=True)
class Stretch:
    """Known bases without a gap: the sequence they are in, the place of the first one there, how many they are."""

    sequence: str
    start: int
    length: int


@dataclass(frozen=True, eq=False)
class Genome:
    """The known bases of some sequences in order, four to a byte, the first in the two highest bits.

    Windows are cut from within a stretch, so that none crosses a run of N or the end of a sequence.
    """

    name: str
    packed: UInt8[np.ndarray, " bytes"]
    stretches: tuple[Stretch, ...]

    @property
    def length(self) -> int:
        """Known bases."""
        return sum(stretch.length for stretch in self.stretches)

    def bases(self, start: int, count: int) -> Codes:
        """Codes of the known bases `start` to `start + count - 1`. ValueError beyond the end."""
        if start < 0 or count < 1 or start + count > self.length:
            raise ValueError(
                f"bases {start} to {start + count} of genome {self.name!r}, which has {self.length} known "
                "bases; ask for at least one of these"
            )
        first = start // 4
        return unpack(self.packed[first : -(-(start + count) // 4)])[start - 4 * first :][:count]

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Every stretch as a range."""
        ends = np.cumsum([0, *(stretch.length for stretch in self.stretches)])
        return tuple((int(end), stretch.length) for end, stretch in zip(ends, self.stretches, strict=False))

    def part(self, split: str) -> tuple[Range, ...]:
        """Stretches of the first four fifths of the known bases ("train") or of the last fifth ("validation")."""
        if split not in corpora.SPLITS:
            raise ValueError(f"unknown split {split!r}; use one of {', '.join(corpora.SPLITS)}")
        border = int(TRAINING * self.length)
        low, high = (0, border) if split == "train" else (border, self.length)
        cut = ((max(start, low), min(start + length, high)) for start, length in self.ranges)
        return tuple((start, stop - start) for start, stop in cut if start < stop)

    @property
    def sha256(self) -> str:
        """Hash of the known bases, written as letters one after another."""
        digest, letters = hashlib.sha256(), np.frombuffer(BASES.encode(), dtype=np.uint8)
        for start, length in self.ranges:
            for piece in _pieces(start, length):
                digest.update(letters[self.bases(*piece)].tobytes())
        return digest.hexdigest()

    def write(self, path: Path | str) -> None:
        """Write the genome as one .npz file, atomically."""
        places = [[stretch.sequence, stretch.start, stretch.length] for stretch in self.stretches]
        meta = {"format": FORMAT, "name": self.name, "stretches": places, "sha256": self.sha256}
        buffer = io.BytesIO()
        np.savez(buffer, packed=self.packed, meta=np.frombuffer(store.canonical(meta).encode(), dtype=np.uint8))
        store.write_bytes(path, buffer.getvalue())

    @classmethod
    def read(cls, path: Path | str, sha256: str | None = None) -> Genome:
        """Read what `write` wrote. ValueError if the file is missing or damaged, or if the sum of its bases is not
        the one that stands in it, or `sha256`."""
        if not Path(path).is_file():
            raise ValueError(f"there is no packed genome {str(path)!r}; pack it, or copy the .npz file there")
        try:
            with np.load(path, allow_pickle=False) as file:
                meta = json.loads(file["meta"].tobytes())
                genome = cls(meta["name"], file["packed"], tuple(Stretch(*place) for place in meta["stretches"]))
            expected = sha256 or meta["sha256"]
            found = genome.sha256
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, OSError, ValueError) as error:
            raise store.DamagedFile(f"packed genome {str(path)!r} is damaged ({error}); restore or pack it") from None
        if found != expected:
            raise store.DamagedFile(
                f"packed genome {str(path)!r} has bases with the sum {found[:16]}, not "
                f"{expected[:16]}; restore or pack it again"
            )
        return genome


class Pin(Frozen):
    """A row of data/corpora.yaml under `genomes`: a file that ships, with its sum, or one of a repository."""

    sequence: str
    obtained: str
    file: str
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="of the known bases as letters")
    repository: str | None = None
    revision: str | None = Field(default=None, pattern="^[0-9a-f]{7,40}$", description="a commit")


def pins() -> dict[str, Pin]:
    """All genomes by name."""
    rows = corpora.pinned("genomes") or {}
    return {name: config.parse(Pin, row, f"corpora.yaml: genomes.{name}") for name, row in rows.items()}


def pin(name: str) -> Pin:
    """The row of a genome. ValueError for a name that has none."""
    known = pins()
    if name not in known:
        raise ValueError(f"unknown genome {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    return known[name]


def identity(name: str) -> str:
    """What a run on a genome depends on, known before it is read: the sum of its bases, or a commit."""
    row = pin(name)
    return row.sha256 or f"{row.repository}@{row.revision}"


def path_of(name: str) -> Path:
    """Where the packed genome lies."""
    row = pin(name)
    return config.CACHE / "genomes" / f"{name}.npz" if row.repository else config.ROOT / row.file


@lru_cache(maxsize=2)
def find(name: str) -> Genome:
    """The packed genome of that name. ValueError with what to do if it is not on this machine."""
    row, path = pin(name), path_of(name)
    if row.repository and not path.is_file():
        raise ValueError(
            f"genome {name!r} is not on this machine, and nothing is downloaded here: run `.venv/bin/python -m "
            f"attention_priors.commands.genome {name} FILE` with a copy of "
            f"{row.file} of {row.repository} at {row.revision}"
        )
    return Genome.read(path, row.sha256)


def codes(letters: str | bytes, where: str = "the sequence") -> Codes:
    """Letters to codes: A, C, G, T and N in either case. ValueError for any other letter."""
    data = letters.encode("ascii", "replace") if isinstance(letters, str) else letters
    table = np.full(256, 255, dtype=np.uint8)
    for code, letter in enumerate(f"{BASES}N"):
        table[[ord(letter), ord(letter.lower())]] = code
    found = table[np.frombuffer(data, dtype=np.uint8)]
    if (found == 255).any():
        place = int(np.argmax(found == 255))
        raise ValueError(
            f"base {chr(data[place])!r} at place {place} of {where} is none of {BASES}N; write N for what is ambiguous"
        )
    return found


def pack(bases: Codes) -> UInt8[np.ndarray, " bytes"]:
    """Four known bases to a byte; the last byte is filled up with A."""
    filled = np.concatenate([bases, np.zeros(-len(bases) % 4, dtype=np.uint8)]).reshape(-1, 4)
    return (filled << np.array([6, 4, 2, 0], dtype=np.uint8)).sum(1, dtype=np.uint8)


def unpack(packed: UInt8[np.ndarray, " bytes"]) -> Codes:
    """Codes of all bases of the bytes."""
    return ((packed[:, None] >> np.array([6, 4, 2, 0], dtype=np.uint8)) & 3).reshape(-1)


def assemble(name: str, sequences: Iterable[tuple[str, Codes]]) -> Genome:
    """A genome of sequences of codes, each cut at its runs of N. ValueError if no base is known."""
    stretches, pieces, left = [], [], np.empty(0, dtype=np.uint8)
    for sequence, found in sequences:
        known = np.concatenate([[False], found != UNKNOWN, [False]])
        edges = np.flatnonzero(known[1:] != known[:-1]).reshape(-1, 2)
        stretches += [Stretch(sequence, int(start), int(stop - start)) for start, stop in edges]
        left = np.concatenate([left, found[found != UNKNOWN]])
        whole = len(left) - len(left) % 4
        pieces.append(pack(left[:whole]))
        left = left[whole:]
    if not stretches:
        raise ValueError(
            f"genome {name!r} has no known base, only a run of N or nothing; give a file with some {BASES}"
        )
    return Genome(name, np.concatenate([*pieces, pack(left)]), tuple(stretches))


def read_fasta(path: Path | str) -> Iterator[tuple[str, Codes]]:
    """The sequences of a FASTA file, plain or gzipped: (name, codes). ValueError where it holds none."""
    name, lines, any_found = None, [], False
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        for line in map(bytes.strip, file):
            if line.startswith(b">"):
                if name is not None:
                    yield name, codes(b"".join(lines), name)
                name, lines, any_found = line[1:].decode("utf-8", "replace").partition(" ")[0], [], True
            elif line and name is None:
                raise ValueError(
                    f"{path} begins with {line[:20].decode('ascii', 'replace')!r}, not with a '>' line; "
                    "give a FASTA file"
                )
            else:
                lines.append(line)
    if not any_found:
        raise ValueError(f"{path} is an empty FASTA file; give one with at least one sequence")
    yield name, codes(b"".join(lines), name)


def read_parquet(path: Path | str) -> Iterator[tuple[str, Codes]]:
    """The sequences of a parquet file with columns ID and Sequence, as GenerTeam/hg38 has them."""
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        for batch in file.iter_batches(1, columns=["ID", "Sequence"]):
            for row in batch.to_pylist():
                yield row["ID"], codes(row["Sequence"], row["ID"])
    except (ArrowException, OSError, KeyError) as error:
        raise ValueError(
            f"{path} has no columns ID and Sequence ({' '.join(str(error).split())[:100]}); give the "
            "parquet file of the repository, or a FASTA file"
        ) from None


def starts(ranges: Sequence[Range], length: int, limit: int | None = None) -> Int[np.ndarray, " windows"]:
    """First bases of windows of `length` that do not overlap; at most `limit`, evenly spaced.

    ValueError where no stretch is that long.
    """
    longest = max((count for _, count in ranges), default=0)
    if not 1 <= length <= longest:
        raise ValueError(f"windows of {length} bases, but the longest stretch has {longest}; ask for 1 to {longest}")
    found = np.concatenate([start + length * np.arange(count // length) for start, count in ranges])
    if limit is not None and limit < len(found):
        found = found[np.linspace(0, len(found) - 1, limit).round().astype(int)]
    return found


def words(bases: Codes, length: int = SHARED) -> np.ndarray:
    """Every run of `length` <= 32 bases as a number, the smaller one of the run and its reverse complement.

    A run and the same run read from the other strand are one word. [bases - length + 1], uint64.
    """
    forward = np.zeros(max(0, len(bases) - length + 1), dtype=np.uint64)
    backward = forward.copy()
    two = np.uint64(2)
    for shift in range(length):
        column = bases[shift : shift + len(forward)].astype(np.uint64)
        forward = (forward << two) | column
        backward |= (np.uint64(3) - column) << np.uint64(2 * shift)
    return np.minimum(forward, backward)


def novel(
    genome: Genome, first: Int[np.ndarray, " windows"], length: int, ranges: Sequence[Range], run: int = SHARED
) -> Bool[np.ndarray, " windows"]:
    """Which windows of `length` bases share no run of `run` <= 32 bases with the ranges, on either strand."""
    each = np.stack([words(genome.bases(int(start), length), run) for start in first])
    order = np.argsort(each, axis=None)
    known, hit = each.reshape(-1)[order], np.zeros(each.size, dtype=bool)
    for start, count in ranges:
        for at, size in _pieces(start, count, overlap=run - 1):
            found = np.unique(words(genome.bases(at, size), run))
            low, high = np.searchsorted(known, found, "left"), np.searchsorted(known, found, "right")
            for begin, end in zip(low[low < high], high[low < high], strict=True):
                hit[order[begin:end]] = True
    return ~hit.reshape(each.shape).any(1)


def _pieces(start: int, length: int, overlap: int = 0) -> Iterator[Range]:
    """A range in pieces of at most CHUNK bases, each reaching `overlap` bases into the one after it."""
    for at in range(start, start + length, CHUNK):
        yield at, min(CHUNK + overlap, start + length - at)
