"""Packed genomes: what is written is what is read, windows keep to their stretch, and repeats are found."""

import gzip
import hashlib
import itertools

import numpy as np
import pytest

from attention_priors import config, store
from attention_priors.commands import genome as command
from attention_priors.corpora import genome
from refusals import refused

LETTERS = "ACGTNNacgtGATTACANNNNT"


def drawn(count, seed=0):
    return np.random.default_rng(seed).integers(0, 4, count).astype(np.uint8)


def letters(codes):
    return "".join("ACGTN"[code] for code in codes)


def reverse_complement(codes):
    return (3 - codes)[::-1]


@pytest.fixture(scope="module")
def shipped():
    return genome.find("chr22")


# --- the sequence that ships ---


def test_the_shipped_sequence_is_the_pinned_one(shipped):
    text = letters(shipped.bases(0, shipped.length)).encode()
    assert hashlib.sha256(text).hexdigest() == shipped.sha256 == genome.pin("chr22").sha256
    assert [(each.start, each.length) for each in shipped.stretches] == [(0, 509_431), (609_431, 390_569)]
    whole = text[:509_431] + b"N" * 100_000 + text[509_431:]
    readme = (config.ROOT / "data" / "genome" / "README.md").read_text()
    assert len(whole) == 1_000_000 and hashlib.sha256(whole).hexdigest() in readme and shipped.sha256 in readme
    share = sum(text.count(letter) for letter in (b"G", b"C")) / len(text)
    assert share == pytest.approx(0.526, abs=5e-4)


def test_the_last_fifth_is_kept_apart(shipped):
    train, validation = shipped.part("train"), shipped.part("validation")
    assert train == ((0, 509_431), (509_431, 210_569)) and validation == ((720_000, 180_000),)


# --- packing ---


@pytest.mark.parametrize("count", range(1, 10))
def test_what_is_packed_is_unpacked(count):
    bases = drawn(count)
    packed = genome.pack(bases)
    assert len(packed) == -(-count // 4) and (genome.unpack(packed)[:count] == bases).all()
    made = genome.assemble("mine", [("one", bases)])
    for start, stop in itertools.combinations(range(count + 1), 2):
        assert (made.bases(start, stop - start) == bases[start:stop]).all()


def test_runs_of_n_cut_and_coordinates_stay():
    made = genome.assemble(
        "mine", [("one", genome.codes(LETTERS)), ("two", genome.codes("NNNN")), ("three", genome.codes("GG"))]
    )
    assert made.stretches == (
        genome.Stretch("one", 0, 4),
        genome.Stretch("one", 6, 11),
        genome.Stretch("one", 21, 1),
        genome.Stretch("three", 0, 2),
    )
    assert letters(made.bases(0, made.length)) == LETTERS.upper().replace("N", "") + "GG"
    assert made.ranges == ((0, 4), (4, 11), (15, 1), (16, 2))


def test_long_sequences_are_looked_through_in_pieces(monkeypatch):
    made = genome.assemble("mine", [("one", drawn(1000))])
    whole = made.sha256
    monkeypatch.setattr(genome, "CHUNK", 7)
    assert made.sha256 == whole == hashlib.sha256(letters(drawn(1000)).encode()).hexdigest()


def test_a_file_is_read_as_it_was_written(tmp_path):
    made = genome.assemble("mine", [("one", genome.codes(LETTERS))])
    made.write(tmp_path / "mine.npz")
    again = genome.Genome.read(tmp_path / "mine.npz", made.sha256)
    assert again.stretches == made.stretches and (again.packed == made.packed).all() and again.name == "mine"
    first = (tmp_path / "mine.npz").read_bytes()
    made.write(tmp_path / "mine.npz")
    assert (tmp_path / "mine.npz").read_bytes() == first


# --- bad input: one line that names the value and the remedy ---


def written(folder, name, data):
    (folder / name).write_bytes(data)
    return folder / name


def altered(folder):
    """A packed genome with one base changed, under the old sum."""
    made = genome.assemble("mine", [("one", drawn(40))])
    bad = genome.Genome("mine", made.packed ^ np.uint8(1), made.stretches)
    object.__setattr__(bad, "packed", bad.packed)
    path = folder / "mine.npz"
    meta = {"format": 1, "name": "mine", "sha256": made.sha256, "stretches": [["one", 0, 40]]}
    np.savez(path, packed=bad.packed, meta=np.frombuffer(store.canonical(meta).encode(), dtype=np.uint8))
    return path


test_bad_input = refused(
    (lambda: genome.codes("ACGR"), "base 'R' at place 3", "write N"),
    (lambda: genome.codes("AC GT"), "base ' ' at place 2", "write N"),
    (lambda: genome.codes("Aé"), "base '?'", "write N"),
    (lambda: genome.assemble("mine", [("one", genome.codes("NNNNN"))]), "only a run of N", "give a file"),
    (lambda: genome.assemble("mine", []), "'mine' has no known base", "give a file"),
    (
        lambda tmp_path: list(genome.read_fasta(written(tmp_path, "no.fa", b""))),
        "no.fa is an empty FASTA",
        "at least one",
    ),
    (
        lambda tmp_path: list(genome.read_fasta(written(tmp_path, "no.fa", b"ACGT\n"))),
        "begins with 'ACGT'",
        "give a FASTA file",
    ),
    (
        lambda tmp_path: list(genome.read_fasta(written(tmp_path, "x.fa", b">one\nACX\n"))),
        "'X' at place 2 of one",
        "write N",
    ),
    (
        lambda tmp_path: list(genome.read_parquet(written(tmp_path, "x.parquet", b"none"))),
        "x.parquet",
        "or a FASTA file",
    ),
    (lambda tmp_path: genome.Genome.read(tmp_path / "none.npz"), "no packed genome", "pack it"),
    (
        lambda tmp_path: genome.Genome.read(written(tmp_path, "cut.npz", b"PK")),
        "cut.npz' is damaged",
        "restore or pack it",
    ),
    (lambda tmp_path: genome.Genome.read(altered(tmp_path)), "bases with the sum", "pack it again"),
    (lambda: genome.Genome.read(genome.path_of("chr22"), "0" * 64), "not 0000000000000000", "restore"),
    (lambda: genome.find("chr23"), "'chr23' (nearest: chr22)", "there are chr22"),
    (lambda: genome.find("chr22").bases(899_999, 2), "899999 to 900001", "900000 known bases"),
    (lambda: genome.find("chr22").bases(3, 0), "bases 3 to 3", "at least one"),
    (lambda: genome.find("chr22").part("test"), "'test'", "use one of train"),
    (lambda: genome.starts(((0, 9), (20, 12)), 13), "windows of 13", "ask for 1 to 12"),
    (lambda: genome.starts(((0, 9),), 0), "windows of 0", "ask for 1 to 9"),
)


def test_a_genome_that_is_not_here_says_how_to_bring_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(config, "CACHE", tmp_path)
    with pytest.raises(ValueError, match=r"nothing is downloaded here: run `.venv/bin/python -m .*genome hg38 FILE`"):
        genome.find("hg38")
    assert genome.identity("hg38") == "GenerTeam/hg38@a878e69"
    assert command.main(["hg38", str(tmp_path / "none.fa")]) == 2 and "none.fa" in capsys.readouterr().err


# --- files ---


def test_fasta_and_parquet_give_the_same_genome(tmp_path, monkeypatch, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    sequences = {"chr1": letters(drawn(50)) + "NN", "chr2": letters(drawn(33, 1)).lower()}
    fasta = "".join(f">{name} some words\n{text[:40]}\n{text[40:]}\n\n" for name, text in sequences.items())
    (tmp_path / "a.fa").write_text(fasta)
    (tmp_path / "a.fa.gz").write_bytes(gzip.compress(fasta.encode()))
    table = pyarrow.table({"ID": list(sequences), "Sequence": list(sequences.values())})
    parquet.write_table(table, tmp_path / "a.parquet")
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    sums = set()
    for file in ("a.fa", "a.fa.gz", "a.parquet"):
        assert command.main(["hg38", str(tmp_path / file)]) == 0
        genome.find.cache_clear()
        found = genome.find("hg38")
        assert [each.sequence for each in found.stretches] == ["chr1", "chr2"] and found.length == 83
        sums.add(found.sha256)
    assert len(sums) == 1
    genome.find.cache_clear()


def test_another_sequence_does_not_take_the_place_of_the_shipped_one(tmp_path, capsys):
    (tmp_path / "a.fa").write_text(">one\nACGT\n")
    before = genome.path_of("chr22").read_bytes()
    assert command.main(["chr22", str(tmp_path / "a.fa")]) == 2 and "give its own file" in capsys.readouterr().err
    assert genome.path_of("chr22").read_bytes() == before


# --- windows and repeats ---


def test_windows_do_not_overlap_and_keep_to_their_stretch():
    ranges = ((0, 10), (10, 3), (13, 9))
    assert genome.starts(ranges, 4).tolist() == [0, 4, 13, 17]
    assert genome.starts(ranges, 4, 2).tolist() == [0, 17]


@pytest.mark.parametrize("chunk", [2**20, 50])
@pytest.mark.parametrize("strand", [lambda run: run, reverse_complement])
@pytest.mark.parametrize(
    ("run", "length", "shared"), [(32, 31, False), (32, 32, True), (20, 19, False), (20, 20, True)]
)
def test_a_window_that_shares_a_run_with_training_is_found(chunk, strand, run, length, shared, monkeypatch):
    monkeypatch.setattr(genome, "CHUNK", chunk)
    bases = drawn(1000)
    new = drawn(1000, 1)
    new[150 : 150 + length] = strand(bases[430 : 430 + length])
    # The neighbours differ, so that the shared run is not longer.
    new[149], new[150 + length] = (3 - strand(bases[429 : 431 + length]))[[0, -1]]
    made = genome.assemble("mine", [("one", np.concatenate([bases, new]))])
    first = genome.starts(((1000, 1000),), 100)
    expected = [True, not shared, *[True] * 8]
    assert genome.novel(made, first, 100, ((0, 1000),), run).tolist() == expected
