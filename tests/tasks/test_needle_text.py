"""What each parameter of the needle tasks does, what their text is drawn from, and what is refused."""

import re
import zlib
from collections import Counter
from dataclasses import replace

import pytest
import torch

from attention_priors import runtime
from attention_priors.corpora import corpora, packing
from attention_priors.tasks import needle_source, needle_words, needles
from attention_priors.tasks.needle_source import Source
from attention_priors.tasks.needle_text import NOISE, TASKS
from refusals import refused

from .test_needles import STATED, asked

# --- what each parameter of the table does ---


def test_in_noise_every_line_is_as_likely(sources, tokenizers, draw):
    drawn = draw("single-1", 180, sources["words"], 500)
    decode = tokenizers["words"].decode
    counts = Counter(decode(t[: int(n[0, 0])]).count(NOISE) for t, n in zip(drawn.tokens, drawn.needles, strict=True))
    lines = max(counts) + 1
    assert 4 <= lines == len(counts) == decode(drawn.tokens[0]).count(NOISE) + 1  # also before the line that is cut
    spread = (500 / lines * (1 - 1 / lines)) ** 0.5
    assert max(abs(count - 500 / lines) for count in counts.values()) < 5 * spread


def test_in_prose_needles_have_forty_depths(sources, tokenizers, draw):
    drawn = draw("single-2", 800, sources["words"], 300)
    decode = tokenizers["words"].decode
    percents = {int(percent) for percent in torch.linspace(0, 100, 40).round()}
    found = set()
    for tokens, needle in zip(drawn.tokens, drawn.needles, strict=True):
        before, behind = (
            len(re.findall(r"of the old house in \w+\.", decode(part)))
            for part in (tokens[: int(needle[0, 0])], tokens[int(needle[0, 1]) :])
        )
        reached = {int((before + behind) * percent / 100): percent for percent in percents}
        assert len(reached) == 40 and before in reached  # sentences enough to tell the depths apart
        found.add(reached[before])
    assert found == percents


@pytest.mark.parametrize("hops, chains", [(4, 1), (1, 1), (6, 3)])
def test_chains_of_assignments_lead_to_the_answers(hops, chains, source, decode, draw):
    row = replace(TASKS["variable-tracking"], hops=hops, chains=chains)
    drawn = draw(row, 1000, source)
    for tokens, start, places, answers in zip(drawn.tokens, drawn.starts, drawn.needles, drawn.answers, strict=True):
        text = decode(tokens[:start])
        stated = re.findall(r"\nVAR ([A-Z]{5}) = (?:VAR ([A-Z]{5})|([1-9]\d{4}))\n", text.replace("\n", "\n\n"))
        assert len(stated) == len({name for name, *_ in stated}) == chains * (hops + 1)
        copied = [other for _, other, _ in stated if other]
        assert len(set(copied)) == len(copied) == chains * hops  # a chain, not a tree
        values = {}
        for name, other, amount in stated:  # a copy never stands before what it copies
            values[name] = values[other] if other else amount
        assert list(Counter(values.values()).values()) == [hops + 1] * chains
        (query,) = set(re.findall(r"the value (\d+)", text))
        assert list(answers) == [name for name, value in values.items() if value == query]
        assert f"The {hops + 1} variables" in text
        assert places[:, 0].tolist() == sorted(places[:, 0].tolist())


# --- draws ---


def test_words_are_lists_of_different_plain_words():
    words = [*needle_words.ADJECTIVES, *needle_words.NOUNS]
    assert len(set(words)) == len(words) > 300
    assert all(re.fullmatch("[a-z]+", word) for word in words)


def test_a_distractor_never_has_the_key_asked_for(source, decode, monkeypatch, draw):
    few = ("red-fox", "old-oak", "wet-hat")
    monkeypatch.setitem(needle_words.KINDS, "words", lambda g: few[int(torch.randint(3, (), generator=g))])
    for tokens in draw("multikey-2", 2000, source, 5).tokens:
        text = decode(tokens)
        counts = Counter(key for _, key, _ in STATED.findall(text))
        assert counts[asked(text)[0]] == 1 and sum(counts.values()) > 20


def test_used_up_strings_are_an_error_with_a_remedy(source, monkeypatch, draw):
    monkeypatch.setitem(needle_words.KINDS, "words", lambda g: "red-fox")
    with pytest.raises(ValueError, match="1 strings are in use and no other words were found: use numbers or uuids"):
        draw("multiquery", 1000, source)


def test_no_string_takes_more_tokens_than_the_widest(prose):
    class Uneven:
        def encode(self, text):
            return [1] * (50 if zlib.crc32(text.encode()) % 1000 == 1 else len(text) > 0)

    source, generator = Source(Uneven(), prose), runtime.generator(0, "uneven")
    draws = needle_source.Draws(source, generator)
    for kind in ("numbers", "uuids"):
        assert any(source.width(needle_words.KINDS[kind](generator)) == 50 for _ in range(4000))
        most = source.width(source.widest(kind))
        assert most == 1 and all(source.width(draws.other(kind)) <= most for _ in range(4000))


# --- prose, and what is refused ---


def test_sentences_are_those_of_plain_prose():
    text = """A heading of five words.
-------
The first sentence is
broken over lines. It (the second) has 3 digits, too!  lower case does not begin one.
Too short. Parameters ---------- x : int Some number of things.

>>> code(that, looks = 'odd') is left out.

Is a question with five words?"""
    assert needle_source.sentences(text) == [
        "The first sentence is broken over lines.",
        "Is a question with five words?",
    ]


def test_a_text_is_split_and_sentences_are_taken_as_they_are(tokenizers, prose):
    split = Source(tokenizers["bytes"], " ".join(prose) + "\n\n>>> left out, surely it is")
    assert split.prose == Source(tokenizers["bytes"], prose).prose
    odd = Source(tokenizers["bytes"], iter(["odd  one", "", " \n"]))
    assert [tokenizers["bytes"].decode(ids) for ids in odd.prose] == [" odd one"]


def test_prose_comes_from_the_documents_of_a_packed_corpus(draw, prose):
    documents = [corpora.Document(f"{n}.txt", f"x = {n}\n\n" + "\n".join(prose[n : n + 4]), "p") for n in range(20)]
    parts = {("train", "prose"): tuple(documents[:15]), ("validation", "prose"): tuple(documents[15:])}
    packed = packing.pack(corpora.Corpus("sample", parts, {}), 300)
    found = needle_source.corpus_prose(packed, "validation")
    assert sorted(found) == sorted(sentence for n in range(15, 20) for sentence in prose[n : n + 4])
    assert found == needle_source.corpus_prose(packed, "validation", limit=100)
    assert needle_source.corpus_prose(packed, "validation", limit=6) == found[:6]
    drawn = draw("single-2", 400, Source(packed.tokenizer, found))
    assert drawn.tokens.shape == (3, 400)


def without_prose():
    """A packed corpus in which no sentence is prose."""
    parts = {("train", "prose"): (corpora.Document("a", "x = 1\n" * 9, "p"),)}
    return packing.pack(corpora.Corpus("sample", parts, {}), 270)


test_bad_input_is_refused_in_one_line = refused(
    (
        lambda source: needles.training_batch(400, 4, runtime.generator(0, "x"), source, ()),
        "a batch of 4 from 0 tasks",
    ),
    (
        lambda source, draw: draw("single-4", 900, source),
        "unknown task 'single-4': did you mean 'single-1'|'single-.'",
    ),
    (lambda source, draw: draw("single-1", 900, source, samples=0), "samples = 0, but at least 1"),
    (
        lambda draw, word_tokenizer: draw("single-2", 900, Source(word_tokenizer())),
        "'single-2' hides needles in prose: give Source some",
    ),
    (lambda word_tokenizer: Source(word_tokenizer(special=[1])), r"adds the special tokens \[1\]"),
    (
        lambda: replace(TASKS["single-1"], haystack="hay"),
        "haystack 'hay'; choose from noise, prose, needles",
    ),
    (lambda: replace(TASKS["single-1"], value="amounts"), "made of 'amounts'; choose words"),
    (lambda: replace(TASKS["single-1"], queries=2), "2 of 1 keys"),
    (lambda: replace(TASKS["single-1"], values=0), "with 0 values each"),
    (lambda: replace(TASKS["multivalue"], values=41), "41 values are too many .* 40 depths"),
    (lambda: replace(TASKS["variable-tracking"], hops=0), "1 chains of 0 hops"),
    (
        lambda: needle_source.corpus_prose(without_prose(), "train"),
        "no sentence of prose in train",
    ),
)
