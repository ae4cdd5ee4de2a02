import json
import random
import socket
import sys

import pytest

from attention_priors.corpora import corpora

PROSE = "Position is a prior over keys.\nIt does not look at content.\n"


@pytest.fixture(scope="module")
def offline():
    return corpora.read("docstrings")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a local corpus asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes a package with the given files importable, and counts as installed."""

    def make(name, files):
        for relative, data in files.items():
            path = tmp_path / name / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(corpora, "_version", lambda _: "1.0")

    return make


# --- the offline corpus ---


def test_the_pinned_versions_give_the_pinned_hash(offline):
    status = corpora.status("docstrings", offline.sha256, offline.versions)
    if status["changed"]:
        pytest.skip(f"other package versions than data/corpora.yaml pins: {status['changed']}")
    assert status["same"] is True


def test_packages_are_not_imported(package):
    package("explosive", {"inner.py": b'"""' + b"Words. " * 30 + b'"""\nraise RuntimeError("imported")\n'})
    documents = dict(corpora._modules("explosive"))
    assert list(documents) == ["explosive/inner.py"]
    assert "explosive" not in sys.modules


def test_line_ends_and_encoding_are_normalised(package):
    lines = ["# -*- coding: latin-1 -*-", '"""Caf\xe9.', "", "    " + "Words. " * 20, '"""', ""]
    package("windows", {"a.py": "\r\n".join(lines).encode("latin-1"), "b.py": "\n".join(lines).encode("latin-1")})
    (_, first), (_, second) = corpora._modules("windows")
    assert first == second and "Caf\xe9" in first and "\r" not in first


def test_tables_of_numbers_are_no_documents(package):
    package("tables", {"long.py": b"x = [" + b"1, " * 1000 + b"]\n", "short.py": b"# " + b"word " * 40 + b"\n"})
    assert [name for name, _ in corpora._modules("tables")] == ["tables/short.py"]


def test_docstrings_come_in_source_order_without_their_indentation():
    source = '''"""Module."""
def first():
    """First.

        Indented
    more.
    """
    class Inner:
        "Inner."
    if inner:
        async def nested():
            """Nested."""
    x = "no docstring"
class Last:
    """\\ud800 Last."""
'''
    expected = "Module.\n\nFirst.\n\n    Indented\nmore.\n\nInner.\n\nNested.\n\n? Last."
    assert corpora.docstrings(source) == expected


def test_a_missing_package_says_what_to_do(monkeypatch):
    monkeypatch.setitem(
        corpora.OFFLINE, "other", corpora.Offline(("no_such_package",), (), {"train": 1, "validation": 1})
    )
    with pytest.raises(ValueError, match=r"package 'no_such_package' is not installed: run `make env`"):
        corpora.read("other")


def test_invalid_python_names_the_file():
    with pytest.raises(ValueError, match=r"p/a\.py line 1 is not Python"):
        corpora.docstrings("def (", "p/a.py")


def test_another_hash_is_recorded_and_is_no_error(offline):
    status = corpora.status("docstrings", "0" * 64, {**offline.versions, "numpy": "1.0"})
    assert status["same"] is False and status["changed"]["numpy"][1] == "1.0"
    assert corpora.status("text:novel.txt", "0" * 64, {})["same"] is None


def test_the_hash_sees_every_field():
    def corpus(split="train", domain="text", name="a", text="b", package="c"):
        return corpora.Corpus("x", {(split, domain): (corpora.Document(name, text, package),)}, {})

    hashes = {corpus().sha256, corpus(split="validation").sha256, corpus(domain="source").sha256}
    hashes |= {corpus(name="ab", text="").sha256, corpus(text="B").sha256, corpus(package="d").sha256}
    assert len(hashes) == 6
    assert corpus().sha256 == corpus().sha256


# --- local files ---


def write_rows(path, texts, column="text"):
    if path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({column: texts}), path)
    else:
        path.write_text("".join(json.dumps({column: text}) + "\n" for text in texts))


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_rows_are_documents(tmp_path, no_network, ending):
    texts = [f"row {n}\r\n{PROSE}" for n in range(20)]
    write_rows(tmp_path / f"rows{ending}", texts)
    corpus = corpora.read(f"parquet:{tmp_path / f'rows{ending}'}")
    train, validation = corpus.parts["train", "text"], corpus.parts["validation", "text"]
    assert (len(train), len(validation)) == (18, 2)
    assert {d.text for d in train + validation} == {t.replace("\r\n", "\n") for t in texts}
    assert corpus.sha256 == corpora.read(f"parquet:{tmp_path / f'rows{ending}'}").sha256


def test_text_files_below_a_directory_are_documents(tmp_path, no_network):
    for n in range(5):
        (tmp_path / f"part{n % 2}").mkdir(exist_ok=True)
        (tmp_path / f"part{n % 2}" / f"{n}.txt").write_text(f"{n}\n{PROSE}")
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    corpus = corpora.read(f"text:{tmp_path}")
    documents = [d for part in corpus.parts.values() for d in part]
    assert sorted(d.name for d in documents) == [
        "part0/0.txt",
        "part0/2.txt",
        "part0/4.txt",
        "part1/1.txt",
        "part1/3.txt",
    ]
    assert {d.text for d in documents} == {f"{n}\n{PROSE}" for n in range(5)}


def test_a_single_document_is_cut_near_its_end(tmp_path, no_network):
    (tmp_path / "novel.txt").write_text(PROSE * 100)
    corpus = corpora.read(f"text:{tmp_path / 'novel.txt'}")
    ((head,), (tail,)) = corpus.parts.values()
    assert head.text + tail.text == PROSE * 100
    assert head.text.endswith("\n") and 0.08 < len(tail.text) / len(PROSE * 100) < 0.13


def test_local_files_identify_themselves_by_content(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    before = corpora.identity(f"text:{file}")
    file.write_text("two")
    assert corpora.identity(f"text:{file}") != before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("docstring", r"unknown corpus 'docstring': did you mean 'docstrings'\?"),
        ("owner/web-text", r"unknown corpus 'owner/web-text': nothing is downloaded; .*save a hub corpus as Parquet"),
        ("hub:web-text", r"nothing is downloaded"),
        ("text:", r"unknown corpus 'text:'"),
        ("text:/no/such/place", r"there is no '/no/such/place'; give an existing file or directory"),
        ("parquet:/no/such/place", r"there is no '/no/such/place'"),
    ],
)
def test_bad_names_say_what_to_do_in_one_line(name, message):
    with pytest.raises(ValueError, match=message) as caught:
        corpora.read(name)
    assert "\n" not in str(caught.value)


def test_bad_local_files_say_what_to_do_in_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"has no \.parquet or \.jsonl file; name one"):
        corpora.read(f"parquet:{tmp_path}")
    write_rows(tmp_path / "other.parquet", ["a"], column="body")
    with pytest.raises(ValueError, match=r"no texts in a column 'text' \(of body\); rename one"):
        corpora.read(f"parquet:{tmp_path / 'other.parquet'}")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "other.parquet").read_bytes()[:100])
    with pytest.raises(ValueError, match=r"cut\.parquet' cannot be read") as caught:
        corpora.read(f"parquet:{tmp_path / 'cut.parquet'}")
    assert "\n" not in str(caught.value)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 " * 9)
    with pytest.raises(ValueError, match=r"latin\.txt' cannot be read"):
        corpora.read(f"text:{tmp_path / 'latin.txt'}")
    (tmp_path / "empty.txt").write_text("  \n")
    with pytest.raises(ValueError, match=r"holds no text"):
        corpora.read(f"text:{tmp_path / 'empty.txt'}")


def test_a_sample_is_whole_documents_in_order_whatever_their_order_was():
    documents = [corpora.Document(f"{n:03}", "x" * 10, "p") for n in range(100)]
    chosen = corpora.sample(documents, 200)
    assert len(chosen) == 20 and list(chosen) == sorted(chosen, key=lambda d: d.name)
    shuffled = random.Random(0).sample(documents, 100)
    assert set(corpora.sample(shuffled, 200)) == set(chosen)
