"""Needles from end to end on local text, and scores against models that know what they answer."""

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import config, evaluation, runtime
from attention_priors.experiments import corpus, needles
from attention_priors.tasks import SOURCES, needle_batches
from attention_priors.tasks.needle_reading import reading
from attention_priors.tasks.needle_text import TASKS
from attention_priors.tasks.needles import prompts as prompts_of
from attention_priors.tasks.needles import training_batch
from attention_priors.training.runs import Run
from figures.committed import frame


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A folder of prose, and where its corpora are built."""
    folder = tmp_path_factory.mktemp("text")
    names = ("Anna", "Boris", "Clara", "David", "Edith", "Frank", "Greta", "Hugo", "Ida", "Jonas")
    for name in names:
        sentences = [
            f"{name} {verb} the {thing} in {when}."
            for verb in ("paints", "sells", "draws")
            for thing in ("door", "roof", "kitchen")
            for when in ("spring", "summer", "winter")
        ]
        (folder / f"{name}.txt").write_text(" ".join(sentences * 4), encoding="utf-8")
    return folder


@pytest.fixture
def small(text):
    """The smoke profile on local text: two models, three encodings."""
    smoke = config.profile("smoke")
    language = smoke.language.model_copy(update={"corpus": f"text:{text}", "domains": ("text",), "vocabulary": 300})
    changes = {"encodings": ("rope", "rope-local", "bam-ssmax"), "tasks": ("single-1", "multiquery")}
    section = smoke.needles.model_copy(update=changes)
    return smoke.model_copy(update={"needles": section, "language": language, "seeds": (0, 1), "workers": 1})


@pytest.fixture
def packed(small, tmp_path_factory):
    return corpus(small, tmp_path_factory.getbasetemp() / "corpora")


def test_a_key_follows_the_mixture_the_tasks_and_the_words(small, packed, monkeypatch):
    def key(profile=small):
        return needles.spec(profile, "rope", 0, *packed).key()

    before = key()
    first, last = small.needles.lessons
    other = last.model_copy(update={"mixture": {**last.mixture, "single-1": 9}})
    changed = small.needles.model_copy(update={"lessons": (first, other)})
    assert key(small.model_copy(update={"needles": changed})) != before
    easier = first.model_copy(update={"mixture": {"single-1": 5}})
    changed = small.needles.model_copy(update={"lessons": (easier, last)})
    assert key(small.model_copy(update={"needles": changed})) != before, "what it starts from counts"
    monkeypatch.setitem(TASKS, "multivalue", TASKS["multikey-1"])
    assert key() != before, "a row of the table counts"
    monkeypatch.undo()
    assert key() == before


def test_step_and_seed_determine_a_batch(small, packed):
    spec = needles.spec(small, "rope", 0, *packed)
    source = SOURCES["needles"](spec)
    tokens, targets, answer, documents = source(3)
    length, recipe = tokens.shape[1], spec.recipe
    assert tokens.shape == targets.shape == answer.shape == (recipe.batch, length)
    assert recipe.varied.shortest <= length <= recipe.length
    assert torch.equal(tokens[:, 1:], targets[:, :-1]) and documents is None and bool(answer.any())
    assert torch.equal(SOURCES["needles"](spec)(3)[0], tokens) and not torch.equal(source(4)[0], tokens)
    other = SOURCES["needles"](spec.model_copy(update={"seed": 1}))
    assert not torch.equal(other(3)[0], tokens)
    lesson = SOURCES["needles-lesson"](spec.start)(3)[0]
    assert spec.start.recipe.varied.shortest <= lesson.shape[1] <= spec.start.recipe.length


def test_the_gate_asks_held_out_prompts_of_every_task_once(small, packed):
    spec = needles.spec(small, "rope", 0, *packed).start
    source, gate = SOURCES["needles-lesson"](spec), config.Gate(lengths=(96, 120), samples=2, accuracy=0.9, every=1)
    read = []

    class Half:
        """Knows the answers to prompts of 96 tokens."""

        def parameters(self):
            yield torch.zeros(1)

        def __call__(self, tokens, last):
            read.append(tokens)
            right = torch.cat([tokens[:, 1:], torch.zeros(len(tokens), 1, dtype=torch.long)], 1)[:, -last:]
            right[:, -1] = answers[len(read) - 1][:, -1]
            return torch.nn.functional.one_hot(right if tokens.shape[1] == 96 else right + 1, 2000).float()

    answers = []
    for task in ("echo-1", "echo-2"):
        for length in gate.lengths:
            generator = runtime.generator(0, f"needles-lesson/gate/{task}/{length}")
            answers.append(prompts_of(task, length + 1, 2, generator, source.source).tokens)
    assert source.accuracy(Half(), gate) == 0.5
    assert [tuple(tokens.shape) for tokens in read] == [(2, 96), (2, 120)] * 2, "once a task, whatever its weight"


def test_from_training_to_averages(small, packed, tmp_path, tmp_path_factory, monkeypatch):
    cache = tmp_path_factory.getbasetemp() / "corpora"
    found = needles.answers(small, tmp_path / "runs", cache)
    settings = small.needles
    per_model = len(settings.tasks) * len(settings.evaluation.lengths)
    assert found.groupby(["encoding", "seed"], sort=False).size().to_dict() == {
        (name, seed): per_model for name in (*settings.encodings, needles.UNTRAINED) for seed in small.seeds
    }
    assert list(dict.fromkeys(found["task"])) == list(settings.tasks) and set(found["trained"]) == {200}
    longest = sum(lesson.recipe.steps for lesson in settings.lessons)
    assert found.groupby("encoding")["steps"].max().between(0, longest).all()
    assert (found["steps"] == 0).equals(found["encoding"] == needles.UNTRAINED)
    assert (found["right"] <= found["required"] * found["samples"]).all()
    assert not found[(found["length"] > 200) & (found["right"] == 0)]["asked"].any(), "give_up is 1 at smoke"
    control = found[found["encoding"] == needles.UNTRAINED]
    assert control[control["length"] <= 200]["asked"].all(), "what is guessed at T is measured"
    runs = found.groupby("encoding")["run"].unique().map(set).to_dict()
    assert runs["rope-local"] == runs["rope"] != runs["bam-ssmax"]
    monkeypatch.setattr(Run, "model", None)  # whoever opens a model now fails
    pd.testing.assert_frame_equal(needles.answers(small, tmp_path / "runs", cache), found)


class Oracle:
    """Stands in for a model: knows the prompts, and what it should get wrong."""

    def __init__(self, prompts, wrong=()):
        self.prompts, self.wrong = prompts, set(wrong)

    def parameters(self):
        yield torch.zeros(1)

    def __call__(self, tokens, last, local, backend):
        rows = [int((self.prompts.tokens[:, :-1] == row).all(1).nonzero()[0]) for row in tokens]
        guess = self.prompts.tokens[rows][:, -last:].clone()
        for place, row in enumerate(rows):
            for number in (number for sample, number in self.wrong if sample == row):
                (where,) = (self.prompts.answer[row, -last:] == number).nonzero(as_tuple=True)
                guess[place, where[0]] += 1
        return torch.nn.functional.one_hot(guess, 2000).float()


@pytest.mark.parametrize("task", ["single-1", "multikey-3", "multiquery", "variable-tracking"])
def test_an_answer_counts_when_all_its_tokens_are_right(task, small, packed):
    source, _ = needle_batches.read(str(packed[1]), small.needles.vocabulary)
    for length in (192, 9000):  # the second does not fit at once
        prompts = needles.drawn(task, length, 3, 0, source)
        assert prompts.tokens.shape == (3, length + 1)
        every = 3 * needles.required(task)
        assert every == sum(map(len, prompts.answers))
        assert needles.answered(Oracle(prompts), task, length, 3, 0, source) == every
        last = needles.required(task) - 1
        wrong = Oracle(prompts, [(1, last), (2, 0)])
        assert needles.answered(wrong, task, length, 3, 0, source) == every - 2


def test_who_misses_too_often_is_asked_no_more(small):
    calls = []

    class Ask:
        seed = 0

        def __call__(self, task, length, samples):
            calls.append((task, length))
            return int(task == "single-1" or (task == "single-2" and length == 384))

    asked = small.needles.evaluation.model_copy(update={"lengths": (192, 384, 768, 1536), "give_up": 2})
    changes = {"evaluation": asked, "tasks": ("single-1", "single-2", "single-3")}
    profile = small.model_copy(update={"needles": small.needles.model_copy(update=changes)})
    rows = pd.DataFrame(needles._table(Ask(), profile)).set_index(["task", "length"])
    assert rows.loc["single-1", "asked"].all() and rows.loc["single-2", "asked"].all()
    assert list(rows.loc["single-3", "asked"]) == [True, True, False, False]
    assert set(calls) == set(rows.index[rows["asked"]]) and not rows.loc["single-3", "right"].any()
    patient = pd.DataFrame(needles._table(Ask(), profile, always=768)).set_index(["task", "length"])
    assert list(patient.loc["single-3", "asked"]) == [True, True, True, False]


def test_the_average_is_over_the_tasks_that_enough_encodings_learned_or_over_all():
    answers = frame("ruler_answers")
    hard = answers.query("task == 'single-1'").assign(required=4)  # a quarter of the answers, at most
    both = pd.concat(
        [answers, hard.assign(task="multiquery"), hard.assign(task="variable-tracking")], ignore_index=True
    )
    assert needles.gates(both).groupby("task")["passed"].sum()[["multiquery", "variable-tracking"]].eq(0).all()
    told = needles.averages(both)
    assert set(told["tasks"]) == {2} and told["score"].tolist() == needles.averages(answers)["score"].tolist()
    few = needles.averages(both.query("encoding in ['bam', 'rope']"))
    assert set(few["tasks"]) == {3} and not few["passed"].any(), "all but tracking, of which one was not learned"


def test_the_interval_of_a_score_is_no_narrower_than_that_of_whole_prompts():
    perfect = needles.score_interval([1.0] * 5, [10] * 5)
    assert perfect == evaluation.share_interval([10] * 5, [10] * 5)
    hits = needles.score_interval([0.5] * 4, [10] * 4)
    assert hits == pytest.approx(evaluation.binomial_interval(20, 40))
    between = needles.score_interval([0.5125] * 4, [10] * 4)  # 20.5 prompts
    assert between == pytest.approx((evaluation.binomial_interval(20, 40)[0], evaluation.binomial_interval(21, 40)[1]))
    thirds = needles.score_interval(np.array([1, 2, 3]) / 3 * 0.9, [10] * 3)
    assert thirds[0] <= 0.6 <= thirds[1] and needles.score_interval([0.4], [10]) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["smoke", "cpu", "full", "gpu", "paper"])
def test_the_tasks_of_every_profile_fit_its_lengths(name, packed):
    settings = config.profile(name).needles
    source, words = needle_batches.read(str(packed[1]), settings.vocabulary)
    for lesson in settings.lessons:
        how = (source, tuple(lesson.mixture), lesson.recipe.varied)
        made = training_batch(lesson.recipe.length, 2, runtime.generator(0, "fits"), *how)
        assert lesson.recipe.varied.shortest <= made[1].shape[1] <= lesson.recipe.length
    trained, lengths = settings.lessons[-1].recipe.length, settings.evaluation.lengths
    assert trained in lengths and len([length for length in lengths if length < trained]) >= 1
    among = [task for task in settings.tasks if TASKS[task].haystack == "needles"]
    for task in among:
        for tokens in needles.drawn(task, min(lengths), 5, 0, source).tokens:
            read = reading(words.decode(tokens.tolist()))
            assert read["keys"] >= 2, f"{task} at {min(lengths)} tokens: a needle alone is in no haystack of needles"
