"""RULER's needles and variable tracking at any length: prompts, scores and training batches (Hsieh et al. 2024).

A prompt is description, haystack with its needles, question and answers. Its length counts all of them: the answers too
are tokens of the prompt, its last ones. The haystack fills what the other parts leave, to the token: whole sentences,
then the beginning of one more, cut at a token. Needles stand between whole sentences, so the cut breaks none of them.
RULER's own generator steps by hundreds of words and thus needs about 800 tokens; this one needs `shortest`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..config import Varied
from .needle_source import Draws, Source, Widest
from .needle_text import DEPTHS, NOISE, SEPARATORS, TASKS, Content, Task, find


@dataclass(frozen=True)
class Prompts:
    """A batch of prompts of one task with their answers."""

    tokens: Tensor  # [samples, length]; what a model generates from tokens[n, : starts[n]] is to hold the answers
    starts: Tensor  # [samples] index of the first token of the answers, which reach to the end
    answers: tuple[tuple[str, ...], ...]  # [samples][required]
    answer: Tensor  # [samples, length] which required answer a token at the end belongs to; -1 for all other tokens
    needles: Tensor  # [samples, required, 2] where the needle that states an answer begins, and where it has ended
    depths: Tensor  # [samples, required] share of the filler that stands before that needle

    @property
    def longest(self) -> int:
        """Tokens of the longest answers, with the commas between them: what a model must predict."""
        return self.tokens.shape[1] - int(self.starts.min())


@dataclass(frozen=True)
class _Parts:
    """The ids of a `Content`."""

    description: list[int]
    needles: list[list[int]]
    echoes: list[list[bool]]  # for each token of a needle, whether it belongs to a value that the needle says again
    question: list[int]
    answers: list[int]
    answer: list[int]  # for each token of `answers`, which one it belongs to; -1 for commas

    @property
    def size(self) -> int:
        return len(self.description) + sum(map(len, self.needles)) + len(self.question) + len(self.answers)


@dataclass(frozen=True)
class _Text:
    """How a text of training departs from a prompt."""

    cut: float = 0.0  # share of the description that is left out at its beginning
    keyless: bool = False  # description and haystack alone


_WHOLE = _Text()


def shortest(task: str | Task, source: Source) -> int:
    """The smallest length of a task's prompts, answers included: no draw of keys and values needs more tokens."""
    return _encode(find(task).content(Widest(source)), source).size


def prompts(task: str | Task, length: int, samples: int, generator: torch.Generator, source: Source) -> Prompts:
    """Prompts of exactly `length` tokens, of which the last are the answers; `task` is a name or a row of one's own.

    Needles stand before uniformly drawn lines of noise or of other needles, and in prose at different ones of 40
    equidistant depths; two share a place only where lines or sentences are few. Prose begins at a random sentence and
    starts over at its end.
    ValueError for an unknown task, no samples, a length below `shortest`, or no prose for a task that needs it.
    """
    task = find(task)
    if samples < 1:
        raise ValueError(f"samples = {samples}, but at least 1 is needed")
    _check([task], length, 0, source)
    rows = [_sample(task, length, generator, source) for _ in range(samples)]
    tokens, starts, answers, answer, _, needles, depths = zip(*rows, strict=True)
    shares = torch.tensor(depths, dtype=torch.float64)
    return Prompts(*map(torch.tensor, (tokens, starts)), answers, *map(torch.tensor, (answer, needles)), shares)


def training_batch(
    length: int,
    batch: int,
    generator: torch.Generator,
    source: Source,
    tasks: Sequence[str | Task] = tuple(TASKS),
    varied: Varied | None = None,
) -> tuple[Tensor, Tensor]:
    """Tokens [batch, length + 1], each row of a random one of `tasks`, and a mask [batch, length] of the targets.

    The convention is `passkey.training_batch`'s: a model reads tokens[:, :-1], its targets are tokens[:, 1:], and the
    mask marks those that belong to answers, and to a value that its needle says again. A task named twice is drawn
    twice as often. `varied`: the length is the longest; all texts of a batch have one, drawn from the shortest on, some
    begin inside the description, and some have neither needles nor question. ValueError as for `prompts`, where one
    task or more does not fit.
    """
    if batch < 1 or not tasks:
        raise ValueError(f"a batch of {batch} from {len(tasks)} tasks: at least 1 of both is needed")
    found = [find(task) for task in tasks]
    _check(found, length if varied is None else varied.shortest, 1, source)
    texts = [_WHOLE] * batch
    if varied is not None:
        length = int(torch.randint(varied.shortest, length + 1, (), generator=generator))
        parts = torch.rand(batch, generator=generator, dtype=torch.float64)
        cut = torch.where(torch.rand(batch, generator=generator) < varied.cut, parts, 0.0)
        keyless = torch.rand(batch, generator=generator) < varied.keyless
        texts = list(map(_Text, cut.tolist(), keyless.tolist()))
    picks = torch.randint(len(found), (batch,), generator=generator).tolist()
    rows = [_sample(found[pick], length + 1, generator, source, text) for pick, text in zip(picks, texts, strict=True)]
    tokens, answer, echo = (torch.tensor([row[field] for row in rows]) for field in (0, 3, 4))
    return tokens, ((answer >= 0) | echo)[:, 1:]


def score(output: str, answers: Sequence[str]) -> float:
    """Share of the required answers that occur in a model's output, upper and lower case alike: RULER's measure."""
    if not answers:
        raise ValueError("no answers are required: give at least one")
    return sum(answer.lower() in output.lower() for answer in answers) / len(answers)


def matches(guess: Tensor, drawn: Prompts) -> Tensor:
    """[samples, required]: were all tokens of an answer right, each predicted from the true ones before it.

    guess: [samples, last], the predictions for the last tokens of each prompt. The commas between answers do not count.
    ValueError if `last` does not reach back to the first answer (`drawn.longest`) or the samples are not as many.
    """
    samples, last = guess.shape
    if samples != len(drawn.tokens) or not drawn.longest <= last <= drawn.tokens.shape[1]:
        raise ValueError(
            f"predictions of shape {list(guess.shape)} for {len(drawn.tokens)} samples: predict the last "
            f"{drawn.longest} tokens of each, or more"
        )
    right = guess == drawn.tokens[:, -last:].to(guess.device)
    which = drawn.answer[:, -last:].to(guess.device)
    return torch.stack([(right | (which != n)).all(1) for n in range(len(drawn.answers[0]))], 1)


def _check(tasks: Sequence[Task], length: int, unread: int, source: Source) -> None:
    """Refuses tasks that `length` tokens cannot hold (`unread` more are in the prompt) and prose that is not there."""
    sizes = {task.name: shortest(task, source) - unread for task in tasks}
    name = max(sizes, key=sizes.__getitem__)
    if length < sizes[name]:
        raise ValueError(
            f"length = {length}, but the task {name!r} needs at least {sizes[name]} tokens with this tokenizer "
            "(needles, question and answers); use a longer one"
        )
    if not source.prose and (needy := [task.name for task in tasks if task.haystack == "prose"]):
        raise ValueError(f"the task {needy[0]!r} hides needles in prose: give Source some, as from corpus_prose")


def _sample(task: Task, length: int, generator: torch.Generator, source: Source, text: _Text = _WHOLE) -> tuple:
    """The fields of `Prompts` for one sample and, after `answer`, which tokens are echoes."""
    draws = Draws(source, generator)
    content = task.content(draws)
    if text.keyless:
        content = replace(content, needles=(), question=(), answers=(), holders=())
    parts = _encode(content, source)
    parts = replace(parts, description=parts.description[round(text.cut * len(parts.description)) :])
    filler, ends = _cut(_sentences(task, draws), length - parts.size)
    tokens, done, places, depths = list(parts.description), 0, [], []
    echo = [False] * length
    gaps = _gaps(task, len(ends), len(parts.needles), generator)
    for needle, again, gap in zip(parts.needles, parts.echoes, gaps, strict=True):
        tokens += filler[done : ends[gap]]
        done = ends[gap]
        places.append((len(tokens), len(tokens) + len(needle)))
        depths.append(done / max(1, len(filler)))
        echo[slice(*places[-1])] = again
        tokens += needle
    tokens += filler[done:] + parts.question
    start = len(tokens)
    return (
        tokens + parts.answers,
        start,
        content.answers,
        [-1] * start + parts.answer,
        echo,
        [places[holder] for holder in content.holders],
        [depths[holder] for holder in content.holders],
    )


def _encode(content: Content, source: Source) -> _Parts:
    answers, answer = [], []
    for number, string in enumerate(content.answers):
        comma, ids = source.encode(",") if number else (), source.encode(f" {string}")
        answers += (*comma, *ids)
        answer += [-1] * len(comma) + [number] * len(ids)
    needles = [source.join(needle) for needle in content.needles]
    echoes = [
        [piece in needle[:place] for place, piece in enumerate(needle) for _ in source.encode(piece)]
        for needle in content.needles
    ]
    return _Parts(source.join(content.description), needles, echoes, source.join(content.question), answers, answer)


def _sentences(task: Task, draws: Draws) -> Iterator[Sequence[int]]:
    """Endless filler, sentence by sentence."""
    source = draws.source
    if task.haystack == "noise":
        yield from itertools.repeat(source.encode(SEPARATORS["noise"] + NOISE))
    if task.haystack == "prose":
        first = int(torch.randint(len(source.prose), (), generator=draws.generator))
        yield from (source.prose[index % len(source.prose)] for index in itertools.count(first))
    while True:
        yield source.join(task.distractor(draws))


def _cut(sentences: Iterator[Sequence[int]], count: int) -> tuple[list[int], list[int]]:
    """The first `count` tokens, and where a needle may stand: at the start and behind each whole sentence."""
    ids, ends = [], [0]
    while len(ids) < count:
        ids += next(sentences)
        if len(ids) <= count:
            ends.append(len(ids))
    return ids[:count], ends


def _gaps(task: Task, places: int, needles: int, generator: torch.Generator) -> list[int]:
    """The places of the needles, in order."""
    if task.haystack == "prose":
        depths = torch.randperm(DEPTHS, generator=generator)[:needles].tolist()
        percents = (round(100 * depth / (DEPTHS - 1)) for depth in depths)
        return sorted((places - 1) * percent // 100 for percent in percents)
    if needles <= places:
        return sorted(torch.randperm(places, generator=generator)[:needles].tolist())
    return sorted(torch.randint(places, (needles,), generator=generator).tolist())
