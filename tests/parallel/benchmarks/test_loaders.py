"""Files as the benchmarks publish them are read; what is missing or damaged is said in one line."""

from __future__ import annotations

import json
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from attention_priors.corpora import hub
from attention_priors.parallel.benchmarks import infinitebench, longbench, metrics
from attention_priors.parallel.benchmarks.task import Row, Task
from parallel.benchmarks.made import INFINITE, LONG, infinite_line, long_line, written

TABLE_1 = (
    "NtrvQA Qasper MF-en HotpotQA 2WikiMQA Musique GovReport QMSum MultiNews TREC TriviaQA SAMSum PCount PRe LCC RB-P"
)
TABLE_2 = "R.PK R.Num R.KV En.MC Math.F Code.Debug"


@pytest.fixture(autouse=True)
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a test asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(hub, "MIRROR", tmp_path / "hub")


def test_the_tasks_are_those_of_the_paper() -> None:
    assert [task.label for task in longbench.TASKS.values()] == TABLE_1.split()
    assert [task.label for task in infinitebench.TASKS.values()] == TABLE_2.split()
    one = {name for name, task in {**infinitebench.TASKS, **longbench.TASKS}.items() if task.keep == 1}
    assert one == {"passkey", "number_string", "kv_retrieval", "passage_retrieval_en"}  # appendix C


@pytest.mark.parametrize("task", [*infinitebench.TASKS.values(), *longbench.TASKS.values()], ids=lambda task: task.name)
def test_every_task_is_read_and_its_right_answer_scores_one(task: Task, data: Path) -> None:
    reader = infinitebench if task.name in INFINITE else longbench
    rows = list(reader.rows(task.name, data))
    assert [len(rows), len({row.id for row in rows})] == [3, 3]
    row = rows[0]
    question = task.question(row)
    assert row.context and row.input in question and "{" not in question.replace(row.input, "")
    assert metrics.score(task.metric, task.counted(row.answers[0]), row.answers, row.options) == 1
    assert metrics.score(task.metric, "", row.answers, row.options) == 0


def test_options_are_lettered_and_the_right_one_has_its_letter(data: Path) -> None:
    row = next(infinitebench.rows("longbook_choice_eng", data))
    assert row.answers == ("Ann", "B")
    assert "A. Bo\nB. Ann\nC. Cy\n" in infinitebench.TASKS["longbook_choice_eng"].question(row)
    line = infinite_line("longbook_choice_eng", 0) | {"answer": "B"}
    assert infinitebench.row(infinitebench.TASKS["longbook_choice_eng"], line, "here").answers == ("Ann", "B")


def test_a_number_may_be_a_text_a_number_or_a_list(data: Path) -> None:
    row = next(infinitebench.rows("math_find", data))
    assert row == Row("0", "[3, 9, 4]", "The largest number is: ", ("9",))


def test_the_files_may_lie_unpacked_or_in_a_copy_of_the_repository(tmp_path: Path) -> None:
    for folder in (tmp_path / "data", hub.MIRROR / longbench.DATA.repository / "data"):
        folder.mkdir(parents=True)
        (folder / "lcc.jsonl").write_text("\n" + written([long_line("lcc", 4)]))
    (row,), (same,) = longbench.rows("lcc", tmp_path), longbench.rows("lcc")
    assert row == same and row.id.endswith("4")


LINE = infinite_line("passkey", 0)


def read(content: str, task: str = "passkey", name: str = "passkey.jsonl") -> Callable[[Path], object]:
    def call(folder: Path) -> object:
        (folder / name).write_text(content, encoding="utf-8")
        return list((infinitebench if task in INFINITE else longbench).rows(task, folder))

    return call


def zipped(**texts: str) -> Callable[[Path], object]:
    def call(folder: Path) -> object:
        with zipfile.ZipFile(folder / "data.zip", "w") as archive:
            for name, text in texts.items():
                archive.writestr(f"data/{name}.jsonl", text)
        return list(longbench.rows("lcc", folder))

    return call


def without(name: str) -> str:
    return json.dumps({field: value for field, value in LINE.items() if field != name})


REFUSED: list[tuple[Callable[[Path], object], str, str]] = [
    (
        lambda folder: list(infinitebench.rows("passkey", folder)),
        "no passkey.jsonl or data/passkey.jsonl",
        "the folder of a copy of xinrongzhang2022/InfiniteBench",
    ),
    (lambda folder: list(longbench.rows("lcc", folder)), "data.zip in", "a copy of THUDM/LongBench"),
    (
        lambda folder: list(infinitebench.rows("passkey")),
        "passkey.jsonl of xinrongzhang2022/InfiniteBench at 90f0394",
        "--data FOLDER",
    ),
    (lambda folder: list(longbench.rows("lcc")), "data.zip of THUDM/LongBench at 5e628be", "--data FOLDER"),
    (zipped(trec=""), "has no lcc.jsonl", "copy data.zip"),
    (read("PK cut short", "lcc", "data.zip"), "is no zip archive", "copy it again"),
    (read(json.dumps(LINE) + "\n{'id': 1}\n"), "passkey.jsonl:2", "copy the file again"),
    (read("[1]\n"), "passkey.jsonl:1 is list", "one JSON object a line"),
    *(
        (read(without(name)), f"passkey.jsonl:1 has no field '{name}'", "as the benchmark publishes it")
        for name in ("id", "context", "input", "answer")
    ),
    (read(json.dumps(LINE | {"answer": []})), "answer = []", "at least one"),
    (read(json.dumps(LINE | {"answer": None})), "answer = None", "at least one"),
    *(
        (
            read(written([infinite_line("code_debug", 0) | {"answer": each}]), "code_debug", "code_debug.jsonl"),
            f"answer {each!r} is none of 4 options",
            "the option's text",
        )
        for each in ("", "AB", "E")
    ),
    (read(json.dumps(LINE | {"context": ""})), "context is empty", "with a text"),
    (
        read(written([infinite_line("code_debug", 0) | {"answer": "z"}]), "code_debug", "code_debug.jsonl"),
        "answer 'z' is none of 4 options",
        "the option's text",
    ),
    (read(written([long_line("lcc", 0) | {"answers": []}]), "lcc", "lcc.jsonl"), "answers = []", "at least one"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=lambda number: f"{number}-{REFUSED[number][1]}")
def test_what_cannot_be_read_is_one_line(number: int, tmp_path: Path) -> None:
    call, value, remedy = REFUSED[number]
    with pytest.raises(ValueError) as caught:
        call(tmp_path)
    said = str(caught.value)
    assert value in said and remedy in said and "\n" not in said


def test_every_published_file_is_tested() -> None:
    assert set(INFINITE) == set(infinitebench.TASKS) and set(LONG) == set(longbench.TASKS)
