"""The call that a user makes, and what it refuses: one line that names the value and the remedy."""

from functools import partial

import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM, GPT2Config, GPT2LMHeadModel

from attention_priors.parallel import Calibration, Options, condense, generate, open_reader
from attention_priors.parallel.baselines import Streaming
from attention_priors.parallel.generate import decode
from attention_priors.parallel.select import overlapping
from parallel.tiny import VOCABULARY, export, ours, theirs
from refusals import refused


class Letters:
    """A token a character: enough of a tokenizer."""

    eos_token_id: int | None = None

    def __init__(self, size: int = VOCABULARY) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % VOCABULARY for letter in text]

    def decode(self, tokens: list[int]) -> str:
        return "".join(chr(50 + token) for token in tokens)


TEXT, QUESTION = "a long text about nothing " * 20, "what is it?"


def ask(model: torch.nn.Module, **options: object) -> str:
    options = {"window": 64, "keep": 3, "max_new_tokens": 8} | options
    return generate(model, Letters(), TEXT, QUESTION, **options)


@pytest.mark.parametrize("budget", [None, 10])
def test_the_same_answer_through_transformers(budget):
    model = ours("rope", width=64)
    answer = ask(model, budget=budget)
    assert len(answer) == 8 and answer == ask(export(model), budget=budget)


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral"])
def test_progress_is_told_by_chunk(family):
    said: list[tuple[int, int]] = []
    answer = ask(theirs(family), progress=lambda *step: said.append(step), at_once=4)
    assert len(answer) == 8 and said == [(4, 12), (8, 12), (12, 12)]


def test_decoding_ends_at_a_stop():
    model = ours("alibi")
    greedy = ask(model)
    stop = Letters().encode(chr(ord(greedy[2]) - 50))[0]
    assert stop == ord(greedy[2]) - 50
    assert ask(model, stop=[stop]) == greedy[: greedy.index(greedy[2])]


def test_greedy_tokens_are_those_of_one_pass():
    reader, text = open_reader(ours("bam")), torch.arange(40) % 7
    question = torch.tensor([3, 4])
    made = decode(condense(reader, text, question, Options(window=64, reserve=6)), question, 5)
    again = condense(reader, text, question, Options(window=64, reserve=6))
    logits = again.feed(torch.cat([question, torch.tensor(made[:-1])]))
    assert logits[1:].argmax(-1).tolist() == made
    least = condense(reader, text, question, Options(window=64, reserve=6))
    assert decode(least, question, 1, lambda logits: int(logits.argmin())) == [int(logits[1].argmin())]


def model() -> torch.nn.Module:
    return ours("rope")


def options(**values: object) -> Options:
    return Options(**{"window": 64} | values)


def read(text: int = 100, question: int = 5, **values: object) -> object:
    generator = torch.Generator().manual_seed(0)
    given = [torch.randint(VOCABULARY, (count,), generator=generator) for count in (text, question)]
    return condense(open_reader(model()), *given, options(**values))


SMALL = {"hidden_size": 16, "n_layer": 1, "n_head": 2, "vocab_size": VOCABULARY}
test_refusals = refused(
    (lambda: read(window=5), "a window of 5", "widen the window"),
    (lambda: read(reserve=60), "a reserve of 60", "shorten them"),
    (lambda: read(window=6, bos=1), "a window of 6", "widen the window"),
    (lambda: read(text=0), "the text has 0 tokens", "give at least 1"),
    (lambda: read(question=0), "the question has 0 tokens", "give at least 1"),
    *(
        (partial(options, **{name: 0}), f"{name} = 0", "at least 1")
        for name in ("window", "keep", "budget", "last", "pool", "at_once")
    ),
    *((partial(options, **{name: -1}), f"{name} = -1", "give 0 or") for name in ("reserve", "overlap")),
    (lambda: options(pool=4), "pool = 4", "an odd width"),
    (lambda: read(overlap=59), "overlap = 59", "repeat fewer"),
    (lambda: Calibration(threshold=0.0), "threshold = 0.0", "between 0 and 1"),
    (lambda: Calibration(threshold=1.0), "threshold = 1.0", "between 0 and 1"),
    (lambda: Calibration(threshold=float("nan")), "threshold = nan", "between 0 and 1"),
    (lambda: Calibration(edge=0), "edge = 0", "at least 1"),
    (lambda: Calibration(sink=(0, 4)), "sink = (0, 4)", "from 1 to 32"),
    (lambda: Calibration(middle=(5, 4)), "middle = (5, 4)", "the first and the last layer"),
    (lambda: read(calibration=Calibration(edge=30)), "a chunk has 59 tokens", "at most half of it"),
    (lambda: read(choose=overlapping([(0, 59)], (70, 80))), "no chunk was chosen", "picks at least one"),
    (lambda: open_reader(model().train()), "training mode", "model.eval()"),
    (lambda: open_reader(theirs("llama").train()), "training mode", "model.eval()"),
    (lambda: open_reader(ours("goat")), "'goat' depends on the length", "whose encoding does not"),
    (lambda: open_reader(ours("xpos")), "'xpos' holds only for near queries", "whose encoding does not"),
    (lambda: open_reader(ours("half-rope-window-bam")), "has windows", "whose encoding does not"),
    (lambda: open_reader(ours("rope-yarn")), "the weights of another", "whose encoding does not"),
    (lambda: open_reader(torch.nn.Linear(2, 2)), "Linear is neither", "give one of these"),
    (lambda: open_reader(theirs("mistral", sliding_window=16)), "a sliding window of 16", "sliding_window=None"),
    (
        lambda: open_reader(theirs("qwen2", use_sliding_window=True, sliding_window=8, max_window_layers=1)),
        "a sliding window of 8",
        "sliding_window=None",
    ),
    (lambda: open_reader(GPT2LMHeadModel(GPT2Config(n_embd=16, **SMALL)).eval()), "no rotary positions", "with RoPE"),
    (lambda: open_reader(BloomForCausalLM(BloomConfig(**SMALL)).eval()), "no rotary positions", "with RoPE"),
    (lambda: generate(model(), Letters(60), TEXT, QUESTION, window=64), "has 60 tokens", "the model's own tokenizer"),
    (lambda: generate(theirs("llama"), Letters(60), TEXT, QUESTION, window=99), "has 60 tokens", "own tokenizer"),
    (
        lambda: condense(open_reader(model()), torch.tensor([50]), torch.tensor([1]), options()),
        "tokens from 1 to 50",
        "the vocabulary is 0 to 49",
    ),
    (
        lambda: condense(open_reader(theirs("llama")), torch.tensor([-1]), torch.tensor([1]), options()),
        "tokens from -1 to 1",
        "the vocabulary is 0 to 49",
    ),
    (lambda: ask(model(), max_new_tokens=0), "max_new_tokens = 0", "at least 1"),
    (lambda: ask(model(), reserve=8), "no option 'reserve'", "choose from at_once"),
    (lambda: Streaming(ours("sinusoidal"), torch.arange(9), 8), "'sinusoidal'", "relative positions"),
    (lambda: Streaming(model(), torch.arange(9), 4), "sinks = 4 of a window of 4", "leave room"),
)
