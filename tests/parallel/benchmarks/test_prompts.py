"""A chat template stands around the question, every row begins with one mark of begin, and nothing is lost."""

import pytest

from attention_priors.parallel.benchmarks import infinitebench, longbench
from attention_priors.parallel.benchmarks.prompts import Wording
from attention_priors.parallel.benchmarks.task import Row
from parallel.benchmarks.made import tokenizer

ROW = Row("0", "a text", "What is the pass key?", ("1",))
TASK = infinitebench.TASKS["passkey"]
ASKED = TASK.question(ROW)


def test_where_the_template_stands():
    made = Wording.of(tokenizer())
    assert made.bos == 256
    text, question = made.written(TASK, ROW)
    assert (text, question) == ("a text", "[user]" + ASKED.lstrip("\n") + "[model]")
    assert 256 not in made.tokens(text + question)
    assert tokenizer().decode(made.tokens(text + question)) == text + question


def test_without_a_template_and_where_the_benchmark_uses_none():
    assert Wording.of(tokenizer(None)).written(TASK, ROW) == ("a text", ASKED)
    for name in ("trec", "triviaqa", "samsum", "lcc", "repobench-p"):
        task = longbench.TASKS[name]
        assert Wording.of(tokenizer()).written(task, ROW) == ("a text", task.question(ROW))


def test_the_end_of_an_answer_that_does_not_count():
    assert longbench.TASKS["trec"].counted("\nHuman\nQuestion: more") == "Human"
    assert longbench.TASKS["lcc"].counted("x\ny") == "x\ny"


def test_what_is_refused():
    with pytest.raises(ValueError, match="changes its message; remove it"):
        Wording.of(tokenizer("{% for each in messages %}{{ each.content | upper }}{% endfor %}"))
