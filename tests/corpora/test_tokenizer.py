import subprocess
import sys

import pytest

from attention_priors.corpora import tokenizer

TEXTS = [f"attention is inference {n} and position is a prior over the keys {n * 7}\n" for n in range(200)]
STRANGE = [
    "",
    " ",
    "\n\t  x",
    "na\xefve \u2200\u03b1\u2208\u211d \U0001f40d",
    "a\x00b\x7f",
    "\u00b2 \u0663 1e10",
    "don't 'll",
]


@pytest.fixture(scope="module")
def trained():
    return tokenizer.train(TEXTS, 280)


@pytest.mark.parametrize("text", [*STRANGE, *TEXTS[:3], "pass key 90210, 007 and 3.14"])
def test_any_text_round_trips(trained, text):
    assert trained.decode(trained.encode(text)) == text


def test_each_digit_is_one_token(trained):
    digits = {trained.encode(str(d))[0] for d in range(10)}
    assert len(digits) == 10
    for text in ("90210", "x42y", " 12345", "3.14"):
        ids = trained.encode(text)
        assert [trained.decode([i]) for i in ids if i in digits] == [c for c in text if c.isdigit()]
        assert all(not any(c.isdigit() for c in trained.decode([i])) for i in ids if i not in digits)


def test_special_tokens_are_the_first_ids_and_are_never_made_from_text(trained):
    assert (trained.bos, trained.eos, trained.size) == (0, 1, 280)
    ids = trained.encode(f"{tokenizer.BOS} and {tokenizer.EOS}")
    assert trained.bos not in ids and trained.eos not in ids
    assert trained.decode([trained.bos, *ids, trained.eos]) == f"{tokenizer.BOS} and {tokenizer.EOS}"


def test_encoding_many_texts_equals_encoding_each(trained):
    assert trained.encode_all(STRANGE + TEXTS) == [trained.encode(t) for t in STRANGE + TEXTS]


def test_training_is_deterministic_across_processes(trained):
    code = "from attention_priors.corpora import tokenizer; from hashlib import sha256; "
    code += f"print(sha256(tokenizer.train({TEXTS!r}, 280).json.encode()).hexdigest())"
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)}
    from hashlib import sha256

    assert runs == {sha256(trained.json.encode()).hexdigest() + "\n"}


def test_saved_and_loaded_is_the_same(trained, tmp_path):
    trained.save(tmp_path / "tokenizer.json")
    loaded = tokenizer.Tokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.json == trained.json
    assert loaded.encode(tokenizer.BOS + TEXTS[0]) == trained.encode(tokenizer.BOS + TEXTS[0])


def test_bad_files_and_sizes_say_what_to_do(trained, tmp_path):
    with pytest.raises(ValueError, match="vocabulary 100 is too small: at least 258"):
        tokenizer.train(TEXTS, 100)
    with pytest.raises(ValueError, match="no tokenizer file"):
        tokenizer.Tokenizer.load(tmp_path / "missing.json")
    (tmp_path / "cut.json").write_text(trained.json[:200])
    with pytest.raises(ValueError, match=r"cut\.json' is no tokenizer \(.*\): write it again"):
        tokenizer.Tokenizer.load(tmp_path / "cut.json")


def test_a_short_text_gives_a_smaller_vocabulary():
    assert tokenizer.train(["ab"], 1000).size == tokenizer.SMALLEST + 1
