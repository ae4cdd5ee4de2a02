"""A byte-level BPE tokenizer trained on the corpus itself: any text round-trips, each digit is a token of its own."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from attention_priors import store

BOS = "<|begin|>"
EOS = "<|end|>"
SMALLEST = 2 + 256  # the two special tokens and every byte


class Tokenizer:
    """Text to token ids and back. Ids 0 and 1 are `bos` and `eos`; `size` counts all ids.

    A special token that is written out in a text is encoded as ordinary characters: only `packing` places special ids.
    """

    def __init__(self, json: str):
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_str(json)
        self._tokenizer.encode_special_tokens = True
        self.json = json
        self.size = self._tokenizer.get_vocab_size()
        self.bos = self._tokenizer.token_to_id(BOS)
        self.eos = self._tokenizer.token_to_id(EOS)

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, without bos and eos."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text; the same as `encode` on each, faster."""
        return [e.ids for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; bos and eos leave no trace."""
        return self._tokenizer.decode([int(i) for i in ids], skip_special_tokens=True)

    def save(self, path: Path | str) -> None:
        store.write_text(Path(path), self.json)

    @classmethod
    def load(cls, path: Path | str) -> "Tokenizer":
        """Raises ValueError if the file is missing, or is no tokenizer written by `save`."""
        try:
            return cls(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(f"there is no tokenizer file {str(path)!r}: write one with Tokenizer.save") from None
        except Exception as error:  # the Rust library raises the bare class
            reason = str(error).splitlines()[0]
            raise ValueError(f"{str(path)!r} is no tokenizer ({reason}): write it again with Tokenizer.save") from None


def train(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Merges the most frequent pair of tokens of `texts` until there are `vocabulary` tokens, or no pair is left.

    Source: Sennrich, Haddow and Birch (2016), on bytes as in GPT-2. Raises ValueError if `vocabulary` has no room for
    the special tokens and all bytes.
    """
    if vocabulary < SMALLEST:
        raise ValueError(f"vocabulary {vocabulary} is too small: at least {SMALLEST} (256 bytes, 2 special tokens)")
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers

    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BOS, EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return Tokenizer(tokenizer.to_str())
