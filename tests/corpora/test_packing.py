import itertools
import shutil

import numpy as np
import pytest
import torch

from attention_priors import store
from attention_priors.corpora import corpora, packing

VOCABULARY = 270


def text(n):
    return "".join(f"{n}: line {i} of the document, {i * n}\n" for i in range(3 + 5 * (n % 4)))


@pytest.fixture(scope="module")
def corpus():
    documents = [corpora.Document(f"{n}.txt", text(n), f"package{n % 2}") for n in range(24)]
    parts = {
        ("train", "prose"): tuple(documents[:10]),
        ("train", "code"): tuple(documents[10:14]),
        ("validation", "prose"): tuple(documents[14:22]),
        ("validation", "code"): tuple(documents[22:]),
    }
    return corpora.Corpus("sample", parts, {"package0": "1.0"})


@pytest.fixture(scope="module")
def packed(corpus):
    return packing.pack(corpus, VOCABULARY)


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "texts").mkdir()
    for n in range(12):
        (tmp_path / "texts" / f"{n}.txt").write_text(text(n))
    return tmp_path


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


# --- the stream ---


def test_every_document_lies_between_its_bos_and_eos(corpus, packed):
    number = 0
    for (split, domain), documents in corpus.parts.items():
        assert packed.documents(split, domain) == range(number, number + len(documents))
        for document in documents:
            ids = packed.document(number)
            assert ids[0] == packed.tokenizer.bos and ids[-1] == packed.tokenizer.eos
            assert not {packed.tokenizer.bos, packed.tokenizer.eos} & set(ids[1:-1].tolist())
            assert packed.tokenizer.decode(ids) == document.text
            assert (packed.meta["names"][number], packed.meta["packages"][number]) == (document.name, document.package)
            number += 1
    assert packed.offsets[-1] == len(packed.tokens) and packed.tokens.dtype == np.uint16


def test_packing_twice_gives_the_same_bytes(corpus, packed, tmp_path):
    packed.write(tmp_path / "a.npz")
    packing.pack(corpus, VOCABULARY).write(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_tokenizer_sees_the_training_split_only(corpus):
    seen = set(packing.training_text(corpus))
    train = {d.text for (split, _), documents in corpus.parts.items() if split == "train" for d in documents}
    assert seen == train


def test_status_compares_with_the_pinned_tokens(packed, monkeypatch):
    assert packed.status()["same"] is None
    pin = {"sha256": packed.meta["sha256"], "packages": {"package0": "1.0"}, "tokens": {}}
    monkeypatch.setattr(corpora, "pinned", lambda _: pin)
    assert packed.status()["same"] is True
    pin["tokens"][VOCABULARY] = packed.meta["tokens_sha256"]
    assert packed.status()["same"] is True
    pin["tokens"][VOCABULARY] = "0" * 64
    assert packed.status()["same"] is False


# --- one file, built at first use ---


def test_build_writes_once_and_reads_afterwards(directory, monkeypatch):
    name, cache = f"text:{directory / 'texts'}", directory / "cache"
    built = packing.build(name, VOCABULARY, cache)
    assert [p.suffix for p in cache.iterdir()] == [".npz"]
    monkeypatch.setattr(packing, "pack", None)
    monkeypatch.setattr(packing, "cache_path", lambda *_: next(cache.iterdir()))
    again = packing.build(name, VOCABULARY, cache)
    assert np.array_equal(again.tokens, built.tokens) and np.array_equal(again.offsets, built.offsets)
    assert again.meta == built.meta and again.tokenizer.encode("a 1") == built.tokenizer.encode("a 1")


def test_other_text_and_other_vocabulary_get_other_files(directory):
    name = f"text:{directory / 'texts'}"
    paths = {packing.cache_path(name, v, directory) for v in (VOCABULARY, VOCABULARY + 1)}
    (directory / "texts" / "0.txt").write_text("changed")
    paths.add(packing.cache_path(name, VOCABULARY, directory))
    assert len(paths) == 3


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_truncated_file_is_refused_by_read_and_replaced_by_build(directory, kept):
    name = f"text:{directory / 'texts'}"
    packing.build(name, VOCABULARY, directory / "cache")
    path = packing.cache_path(name, VOCABULARY, directory / "cache")
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(kept * len(whole))])
    with pytest.raises(store.DamagedFile, match=r"is damaged .*: build it again") as caught:
        packing.PackedCorpus.read(path)
    assert "\n" not in str(caught.value)
    packing.build(name, VOCABULARY, directory / "cache")
    assert path.read_bytes() == whole


def test_an_altered_byte_is_noticed(packed, tmp_path):
    packed.write(tmp_path / "a.npz")
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[200] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(store.DamagedFile):
        packing.PackedCorpus.read(tmp_path / "a.npz")


def test_the_file_can_be_carried_elsewhere(directory):
    built = packing.build(f"text:{directory / 'texts'}", VOCABULARY, directory / "cache")
    (file,) = (directory / "cache").iterdir()
    shutil.move(file, directory / "carried.npz")
    shutil.rmtree(directory / "texts")
    carried = packing.build(f"packed:{directory / 'carried.npz'}", VOCABULARY, directory / "unused")
    assert np.array_equal(carried.tokens, built.tokens) and not (directory / "unused").exists()
    with pytest.raises(ValueError, match=f"has a vocabulary of {VOCABULARY}, not 999"):
        packing.build(f"packed:{directory / 'carried.npz'}", 999, directory)
    with pytest.raises(ValueError, match="there is no packed corpus"):
        packing.build(f"packed:{directory / 'missing.npz'}", VOCABULARY, directory)


# --- windows ---


def test_windows_are_pieces_of_the_stream_with_their_document_ids(packed):
    numbers = packed.documents("train")
    stream = packed.tokens[: packed.offsets[numbers.stop]].astype(np.int64)
    owner = np.repeat(np.arange(len(numbers)), np.diff(packed.offsets[: numbers.stop + 1]))
    text_of = {tuple(stream[s : s + 33]): s for s in range(len(stream) - 32)}
    for tokens, ids in itertools.islice(packing.batches(packed, 32, 4, seeded()), 20):
        assert tokens.shape == (4, 33) and ids.shape == (4, 32)
        assert tokens.dtype == ids.dtype == torch.int64
        for row, row_ids in zip(tokens, ids, strict=True):
            start = text_of[tuple(row.tolist())]
            assert row_ids.tolist() == (owner[start : start + 32] - owner[start]).tolist()


def test_an_epoch_visits_each_window_once(packed):
    total = sum(len(packed.document(n)) for n in packed.documents("train"))
    starts = packing._starts(total - 1, 32, seeded())
    count = (total - 1) // 32 - 1  # at least: the offset may cost one window
    epoch = list(itertools.islice(starts, count))
    assert len(set(epoch)) == count and len({s % 32 for s in epoch}) == 1
    assert max(epoch) + 32 <= total - 1
    assert epoch != sorted(epoch)


def test_the_same_seed_gives_the_same_windows_and_skip_finds_the_place(packed):
    def take(seed, count, **options):
        return [t for t, _ in itertools.islice(packing.batches(packed, 16, 3, seeded(seed), **options), count)]

    first = take(1, 60)  # more than one epoch
    assert all(map(torch.equal, first, take(1, 60)))
    assert all(map(torch.equal, first[50:], take(1, 10, skip=50)))
    assert not torch.equal(first[0], take(2, 1)[0])


def test_windows_come_from_the_split_and_domain_that_was_asked_for(packed):
    for split, domain in packed.meta["parts"]:
        numbers = packed.documents(split, domain)
        part = packed.tokens[packed.offsets[numbers.start] : packed.offsets[numbers.stop]].astype(np.int64)
        pieces = {tuple(part[s : s + 41]) for s in range(len(part) - 40)}
        tokens, _ = next(packing.batches(packed, 40, 5, seeded(), split=split, domain=domain))
        assert all(tuple(row.tolist()) in pieces for row in tokens)


def test_the_smallest_stream_has_one_window(packed):
    total = sum(len(packed.document(n)) for n in packed.documents("validation", "code"))
    tokens, _ = next(packing.batches(packed, total - 1, 2, seeded(), split="validation", domain="code"))
    assert torch.equal(tokens[0], tokens[1]) and tokens[0, -1] == packed.tokenizer.eos
    with pytest.raises(ValueError, match=rf"windows of length {total} need {total + 1} tokens, validation has {total}"):
        packing.batches(packed, total, 2, seeded(), split="validation", domain="code")


def test_bad_requests_are_refused_at_once(packed):
    with pytest.raises(ValueError, match="must be at least 1"):
        packing.batches(packed, 0, 2, seeded())
    with pytest.raises(ValueError, match="no part test/prose; its parts are train/prose, train/code"):
        packing.batches(packed, 8, 2, seeded(), split="test")


# --- long documents ---


def test_long_documents_score_the_same_tokens_at_every_context(packed):
    documents = packing.long_documents(packed, "validation", "prose", 128)
    expected = [packed.document(n) for n in packed.documents("validation") if len(packed.document(n)) > 128]
    assert len(documents) == len(expected) > 2
    for row, whole in zip(documents, expected, strict=True):
        assert row.tolist() == whole[:129].tolist()
    for context in (16, 64, 128):
        inputs = documents[:, -context - 1 : -1]
        assert inputs.shape[1] == context
        assert torch.equal(inputs[:, -15:], documents[:, -16:-1])


def test_a_limit_takes_documents_evenly(packed):
    every = packing.long_documents(packed, "validation", "prose", 16)
    some = packing.long_documents(packed, "validation", "prose", 16, limit=3)
    assert len(some) == 3 and torch.equal(some[0], every[0]) and torch.equal(some[-1], every[-1])


def test_too_long_a_length_says_what_there_is(packed):
    longest = max(len(packed.document(n)) for n in packed.documents("validation"))
    assert len(packing.long_documents(packed, "validation", "prose", longest - 1)) >= 1
    with pytest.raises(ValueError, match=f"the length must be 1 to {longest - 1}"):
        packing.long_documents(packed, "validation", "prose", longest)
