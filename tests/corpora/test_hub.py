"""Corpora of the hub, read from files laid out as in their repositories; without those, a line that says what to do."""

import fnmatch
import gzip
import json
import shutil
import socket

import pyarrow
import pytest
from pyarrow import parquet

from attention_priors import config
from attention_priors.commands import corpus as command
from attention_priors.corpora import corpora, hub, packing
from attention_priors.experiments.arms import corpus, language_run

LONG = "An article of some length. " * 3000  # 81,000 characters
SHORT = "A short article."
PROSE = "Position is a prior over keys.\nIt does not look at content.\n"
# Columns of each corpus beside the text, and the names of all of its files.
COLUMNS = {
    "fineweb": {"id": "<urn:uuid:0>", "dump": "CC-MAIN-2013-20", "language_score": 0.9, "token_count": 3},
    "wikipedia": {"id": "12", "url": "https://en.wikipedia.org", "title": "Anarchism"},
    "c4": {"timestamp": "2019-04-25T12:57:54Z", "url": "https://example.org"},
    "pg19": {"short_book_title": "A book", "publication_date": 1850, "url": "https://www.gutenberg.org"},
}
FILES = {
    "fineweb": [f"sample/10BT/{n:03d}_00000.parquet" for n in range(15)],
    "wikipedia": [f"20231101.en/train-{n:05d}-of-00041.parquet" for n in range(41)],
    "c4": [f"en/c4-train.{n:05d}-of-01024.json.gz" for n in range(1024)]
    + [f"en/c4-validation.{n:05d}-of-00008.json.gz" for n in range(8)],
    "pg19": [f"data/train-{n:05d}-of-00023-{n:016x}.parquet" for n in range(23)]
    + [f"data/{split}-00000-of-00001-29a571947c0b5ccc.parquet" for split in ("test", "validation")],
}


def write(row: str, file: str, texts: list[str], column: str = "text") -> None:
    """One file of a corpus with these texts, in the copy of its repository; two rows to a row group."""
    path = hub.MIRROR / hub.remotes(f"hub:{row}")[row].repository / file
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{column: text, **COLUMNS[row]} for text in texts]
    if file.endswith(".parquet"):
        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=2)
    else:
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(one) + "\n" for one in rows)


@pytest.fixture(autouse=True)
def mirror(tmp_path, monkeypatch):
    """An empty place for copies of repositories, and no network."""

    def refuse(*_):
        raise AssertionError("a test asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(hub, "MIRROR", tmp_path / "hub")


@pytest.mark.parametrize(("row", "train"), [("fineweb", 14), ("wikipedia", 40), ("c4", 1024), ("pg19", 23)])
def test_pins_are_commits_and_splits_share_no_file(row, train):
    remote = hub.remotes(f"hub:{row}")[row]
    assert len(remote.revision) == 40 and len(remote.obtained) > 20
    chosen = {
        split: {f for f in FILES[row] for pattern in remote.part(split).files if fnmatch.fnmatch(f, pattern)}
        for split in corpora.SPLITS
    }
    assert len(chosen["train"]) == train and chosen["validation"]
    assert chosen["train"].isdisjoint(chosen["validation"])


def test_every_pin_is_tested():
    assert set(corpora.pinned("hub")) == set(FILES)


@pytest.mark.parametrize("row", FILES)
def test_files_as_in_the_repository_are_read(row):
    names = FILES[row]
    remote = hub.remotes(f"hub:{row}")[row]
    shortest = remote.validation.shortest
    for file in (names[0], names[1], names[-1]):
        write(row, file, [f"{file}\r\n{LONG}", f"{file} {SHORT}"])
    corpus = hub.read(f"hub:{row}")
    validates = [f for f in names if any(fnmatch.fnmatch(f, p) for p in remote.validation.files)]
    held = [f for f in (names[0], names[1], names[-1]) if f in validates]
    trained = [f for f in (names[0], names[1], names[-1]) if f not in held and "test" not in f]
    wanted = {
        "train": {text for f in trained for text in (f"{f}\n{LONG}", f"{f} {SHORT}")},
        "validation": {text for f in held for text in (f"{f}\n{LONG}", f"{f} {SHORT}") if len(text) >= shortest},
    }
    assert corpus.domains == (row,) and held
    for split in corpora.SPLITS:
        assert {d.text for d in corpus.parts[split, row]} == wanted[split]
    assert corpus.versions == {remote.repository: remote.revision}


def test_the_packed_part_ends_where_its_row_says(monkeypatch):
    pins = corpora.pinned("hub")
    pins["c4"]["train"]["characters"] = 25
    monkeypatch.setattr(corpora, "pinned", lambda name: pins)
    write("c4", FILES["c4"][0], ["ten letter", "ten letter", "ten letter", "ten letter"])
    write("c4", FILES["c4"][-1], ["held out"])
    assert len(hub.read("hub:c4").parts["train", "c4"]) == 3


def test_further_rows_only_validate(tmp_path):
    for file in FILES["fineweb"][:2] + FILES["fineweb"][-1:]:
        write("fineweb", file, [f"{file} {PROSE}" for _ in range(4)])
    write("wikipedia", FILES["wikipedia"][0], [LONG, SHORT])
    name = "hub:fineweb+wikipedia"
    corpus = hub.read(name)
    assert list(corpus.parts) == [("train", "fineweb"), ("validation", "fineweb"), ("validation", "wikipedia")]
    path = hub.fetch(name, 300, tmp_path / "there")
    # Carried to another machine, where there are no files and is no network.
    here = hub.cache_path("stream:fineweb+wikipedia", 300, tmp_path / "here")
    here.parent.mkdir()
    shutil.copy(path, here)
    shutil.rmtree(hub.MIRROR)
    packed = hub.build(name, 300, tmp_path / "here")
    assert packed.meta["corpus"] == name and packed.domains == ("fineweb", "wikipedia")
    assert len(packed.documents("validation", "wikipedia")) == 1
    assert packed.status()["same"] is None


@pytest.mark.parametrize("row", ["fineweb", "c4"])
def test_lanes_share_the_documents(row):
    texts = [f"document {n}" for n in range(24)]
    for index in range(6):
        write(row, FILES[row][index], texts[4 * index : 4 * index + 4])
    remote = hub.remotes(f"hub:{row}")[row]
    lanes = [list(hub.texts(remote, "train", hub.rows(remote, "train", lane, 3))) for lane in range(3)]
    assert [len(lane) for lane in lanes] == [8, 8, 8]
    assert sorted(text for lane in lanes for text in lane) == sorted(texts)
    with pytest.raises(ValueError, match=r"has \d+ parts, fewer than the 13 lanes of a stream; use 'hub:'"):
        hub.rows(remote, "train", 0, 13)


def test_without_a_network_one_line_says_what_to_do(tmp_path, capsys):
    with pytest.raises(ValueError, match=r"nothing is downloaded here: run `.venv/bin/python -m") as said:
        hub.build("stream:fineweb+wikipedia", 8192, tmp_path / "corpora")
    advice = "commands.corpus hub:fineweb+wikipedia --vocabulary 8192` where there is a network, and copy the file"
    assert advice in str(said.value) and "\n" not in str(said.value) and str(tmp_path) not in str(said.value)
    with pytest.raises(ValueError, match=r"HuggingFaceFW/fineweb at 9bb295d cannot be read \(.*offline") as said:
        hub.read("hub:fineweb")
    assert "put a copy of its files below" in str(said.value) and "\n" not in str(said.value)
    assert command.main(["hub:pg19", "--vocabulary", "300"]) == 2
    assert "emozilla/pg19 at c021754 cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["hub:finewebs", "stream:fineweb+wiki", "hub:", "hubs:fineweb"])
def test_unknown_rows_are_named_with_the_nearest(name):
    with pytest.raises(ValueError, match=r"unknown hub corpus '.*'; nearest is '.*'; all: fineweb, wiki"):
        hub.remotes(name)


def test_files_that_do_not_fit_say_what_to_do():
    write("wikipedia", FILES["wikipedia"][0], [LONG], column="body")
    with pytest.raises(ValueError, match=r"has no file .*; copy them or remove it"):
        hub.read("hub:wikipedia")
    write("wikipedia", FILES["wikipedia"][1], [LONG], column="body")
    with pytest.raises(ValueError, match="wikimedia/wikipedia at b04c8d1 cannot be read") as said:
        hub.read("hub:wikipedia")
    assert "\n" not in str(said.value)
    write("c4", FILES["c4"][0], [LONG], column="body")
    with pytest.raises(ValueError, match="no text in column 'text' of body, timestamp, url"):
        hub.read("hub:c4")


@pytest.mark.parametrize(("kind", "task"), [("hub", "language"), ("stream", "language-stream")])
def test_a_profile_may_name_a_hub_corpus(kind, task, tmp_path):
    for file in FILES["pg19"]:
        write("pg19", file, [f"{file} {PROSE}"])
    small = config.profile("smoke")
    settings = small.language.model_copy(update={"corpus": f"{kind}:pg19", "vocabulary": 300})
    small = small.model_copy(update={"language": settings})
    with pytest.raises(ValueError, match="is not on this machine"):
        corpus(small, tmp_path)
    hub.fetch("hub:pg19", 300, tmp_path)
    packed, path = corpus(small, tmp_path)
    assert isinstance(packed, packing.PackedCorpus) and path.exists()
    spec = language_run(small, "bam", 0, packed, path)
    assert (spec.task, spec.inputs, spec.corpus) == (task, (packed.meta["tokens_sha256"],), str(path))
