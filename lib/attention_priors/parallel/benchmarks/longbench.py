"""LongBench (Bai et al. 2024): its sixteen English tasks, which ParallelComp's Table 1 lists.

Lines {input, context, answers, length, dataset, language, all_classes, _id}, one file a task, all in data.zip. The
repository also has a loading script, which `datasets` refuses since its version 4; it is not used. Lengths of answers
and metrics are the benchmark's (Table 1 and the configuration of its evaluation).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .files import Pinned, lines
from .task import Fields, Row, Task, table

DATA = Pinned(
    "THUDM/LongBench",
    "5e628be450b7e67fb7ae6e201bd6d8f7056f7672",
    "commit at which public code reads data.zip (SHA-256 cb45b11a...857f7f64); not looked up on the hub",
)
ARCHIVE = "data.zip"
_PASSAGES = "\n\nThe passages above hold what this question needs. Reply with the answer alone.\n{input}\nAnswer:"
_SHOTS = {"chat": False, "first_line": True}

TASKS = table(
    Task("narrativeqa", "NtrvQA",
         "\n\nThis question is about the story above. Reply in a few words.\n{input}\nAnswer:", 128, "f1"),
    Task("qasper", "Qasper",
         "\n\nThis question is about the article above. Reply in a few words, with yes or no where that is an answer, "
         'and with "unanswerable" where the article does not tell.\n{input}\nAnswer:', 128, "f1"),
    Task("multifieldqa_en", "MF-en",
         "\n\nThis question is about the text above. Reply with the answer alone.\n{input}\nAnswer:", 64, "f1"),
    Task("hotpotqa", "HotpotQA", _PASSAGES, 32, "f1"),
    Task("2wikimqa", "2WikiMQA", _PASSAGES, 32, "f1"),
    Task("musique", "Musique", _PASSAGES, 32, "f1"),
    Task("gov_report", "GovReport",
         "\n\nWhat does the report above say? Sum it up on one page.\nSummary:", 512, "rouge-l"),
    Task("qmsum", "QMSum",
         "\n\nAsked about the meeting above: {input}\nReply in some sentences.\nAnswer:", 512, "rouge-l"),
    Task("multi_news", "MultiNews",
         "\n\nWhat do the articles above report? Sum them up on one page.\nSummary:", 512, "rouge-l"),
    Task("trec", "TREC", "\n{input}", 64, "class", **_SHOTS),
    Task("triviaqa", "TriviaQA", "\n\n{input}", 32, "f1", **_SHOTS),
    Task("samsum", "SAMSum", "\n\n{input}", 128, "rouge-l", **_SHOTS),
    Task("passage_count", "PCount",
         "\n\nSome of the numbered paragraphs above are repeats. How many different ones are there? Reply with that "
         "number.\nAnswer:", 32, "count"),
    Task("passage_retrieval_en", "PRe",
         "\n\nOne of the numbered paragraphs above is summed up here:\n{input}\n\nReply with its name, such as "
         "Paragraph 3.\nAnswer:", 32, "paragraph", keep=1),
    Task("lcc", "LCC", "\nThe line that comes next:\n", 64, "code", chat=False),
    Task("repobench-p", "RB-P", "{input}\nThe line that comes next:\n", 64, "code", chat=False),
)  # fmt: skip


def rows(task: str, folder: Path | None = None) -> Iterator[Row]:
    """The prompts of a task, in the order of its file. ValueError for a line that is none."""
    for where, values in lines(DATA, f"{task}.jsonl", folder, ARCHIVE):
        fields = Fields(values, where)
        yield Row(
            fields.text("_id"),
            fields.text("context", empty=False),
            fields.text("input"),
            fields.texts("answers"),
            fields.texts("all_classes", empty=True),
        )
