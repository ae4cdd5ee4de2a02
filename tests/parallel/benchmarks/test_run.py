"""The command from prompts to a table, stopped and started again, on a tiny model that answers nonsense."""

import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch

from attention_priors import store
from attention_priors.commands import benchmarks as command
from attention_priors.parallel import generate
from attention_priors.parallel.benchmarks import infinitebench, opened, run
from attention_priors.parallel.benchmarks.prompts import Wording
from attention_priors.parallel.benchmarks.task import Row
from parallel.benchmarks.made import LONG, tokenizer

SMALL = shlex.split("--tasks passkey,kv_retrieval --length 900 --samples 2 --window 400 --budget 40 --device cpu")
METHODS = ["--methods", "plain,halves,k3,chunks-budget,random"]
ANSWERS = 20
TEXTS = ("table.csv", "table.md", "table.tex")


def asked(model: Path, out: Path, *more: str) -> int:
    return command.main(["--model", str(model), "--out", str(out), *SMALL, *more])


def both(model: Path) -> tuple:
    words = opened.tokenizer(str(model))
    return opened.model(str(model), words, torch.device("cpu")), words


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    """What a run writes that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    assert asked(model, folder, *METHODS) == 0
    return folder


def same(whole: Path, folder: Path) -> None:
    """But for the seconds that answers took."""
    for name in TEXTS:
        assert (folder / name).read_text() == (whole / name).read_text()
    frames = [pd.read_json(each / "answers.jsonl", lines=True).drop(columns="seconds") for each in (whole, folder)]
    pd.testing.assert_frame_equal(*frames)
    assert len(frames[0]) == ANSWERS and frames[0]["entries"].min() >= 40


def test_a_run_that_is_stopped_goes_on_to_the_same_table(model, whole, tmp_path, monkeypatch):
    made: list[str] = []
    real = run.answer

    def counted(*given: object) -> dict:
        if len(made) == 9:
            made.append("stopped")
            raise KeyboardInterrupt
        made.append("an answer")
        return real(*given)

    monkeypatch.setattr(run, "answer", counted)
    assert asked(model, tmp_path, *METHODS) == 130 and not (tmp_path / "table.csv").exists()
    files = sorted((tmp_path / "answers").rglob("*.json"))
    assert len(files) == 9
    files[0].write_text(files[0].read_text()[:20])  # as after a power cut
    assert asked(model, tmp_path, *METHODS) == 0
    assert made.count("an answer") == ANSWERS + 1
    assert asked(model, tmp_path, *METHODS) == 0 and made.count("an answer") == ANSWERS + 1
    same(whole, tmp_path)


def test_answers_are_those_of_generate(model, tmp_path):
    assert asked(model, tmp_path, "--methods", "chunks-budget", "--keep", "2", "--tasks", "passkey") == 0
    found, words = both(model)
    task = infinitebench.TASKS["passkey"]
    lines = command.rows("passkey", None, 900, 2, opened.counter(words))
    records = [store.read_json(path) for path in (tmp_path / "answers").rglob("*.json")]
    for row in lines:
        text, question = Wording.of(words).written(task, row)
        said = generate(found, words, text, question, window=400, keep=2, budget=40, max_new_tokens=task.answer)
        (record,) = (each for each in records if each["id"] == row.id)
        assert record["answer"] == said.replace("<s>", "")
        assert len(record["kept"]) == 2 and record["entries"] == 81


def test_other_settings_and_other_weights_make_other_answers(model, tmp_path):
    first = ["--methods", "k1", "--tasks", "passkey", "--samples", "1"]
    assert asked(model, tmp_path, *first) == asked(model, tmp_path, *first, "--window", "300") == 0
    assert len(list((tmp_path / "answers").rglob("*.json"))) == 2
    found, words = both(model)
    before = opened.identity(found, words)
    assert before == opened.identity(*both(model))
    assert before != opened.identity(found, tokenizer(None))
    found.model.norm.weight.data[0] += 1
    assert before != opened.identity(found, words)


def test_right_answers_score_one_on_files_of_both(model, data, tmp_path, monkeypatch):
    def right(model: object, wording: object, each: run.Wanted) -> dict:
        text = each.row.answers[0] if each.row.id[-1] != "2" else "?"
        return {"id": each.row.id, "answer": text, "tokens": 500, "question": 9, "entries": 4.0, "seconds": 0.1}

    monkeypatch.setattr(run, "answer", right)
    names = [*infinitebench.TASKS, *LONG]
    more = [
        "--tasks",
        ",".join(names),
        "--data",
        str(data),
        *shlex.split("--methods chunks --window 1024 --device cpu"),
    ]
    assert command.main(["--model", str(model), "--out", str(tmp_path), *more]) == 0
    table = pd.read_csv(tmp_path / "table.csv")
    assert len(table) == len(names) and (table["score"] == 0.667).all()
    share = table[table["task"] == "R.PK"].iloc[0]
    assert (share["score low"], share["score high"], share["prompts"]) == (0.094, 0.992, 3)  # Clopper-Pearson of 2 in 3
    graded = table[table["task"] == "GovReport"].iloc[0]
    assert (graded["score low"], graded["score high"]) == (0, 1)  # t: 0.667 -+ 4.303 / 3


def test_a_device_without_memory_is_one_line(model, tmp_path, monkeypatch, capsys):
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("many lines\nof numbers")

    monkeypatch.setattr(run, "answer", full)
    assert asked(model, tmp_path) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: the device is out of memory; give less than --at-once 4")


def test_a_model_in_half_precision_answers(model, tmp_path):
    names = "chunks-budget,snapkv,lexical,streaming,pi,yarn,dynamic-ntk,rerope"
    more = ["--methods", names, "--tasks", "passkey", "--samples", "1", "--dtype", "bfloat16"]
    assert asked(model, tmp_path, *more) == 0
    assert len(pd.read_csv(tmp_path / "table.csv")) == 8


def test_what_ends_an_answer(model):
    found, words = both(model)
    assert run.ends(found, words) == {257}
    found.generation_config.eos_token_id = [5, 257]
    assert run.ends(found, words) == {5, 257}


def test_a_tokenizer_of_another_model_is_refused(model):
    words = tokenizer()
    words.add_tokens(["more"])
    with pytest.raises(ValueError, match=r"has 259 tokens, but the model knows 258; use the model's own"):
        opened.model(str(model), words, torch.device("cpu"))


def test_rows_are_spread_over_the_file():
    rows = [Row(str(number), "a", "b", ("c",)) for number in range(10)]
    assert [row.id for row in run.spread(rows, 5)] == ["0", "2", "4", "6", "8"]
    assert run.spread(rows, None) == run.spread(rows, 99) == rows


def test_a_dry_run_loads_no_weight(model, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "without weights"
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    assert command.main(["--model", str(folder), "--dry-run", *SMALL, "--methods", "plain,k3"]) == 0
    *_, last = said = capsys.readouterr().out.splitlines()
    assert len(said) == 6 and last.split()[:2] == ["kv_retrieval", "k3"]
    assert command.main(["--preset", "llama-2", "--dry-run", "--length", "100000"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("6.74 billion weights") and said[-1].split()[:4] == ["passkey", "chunks", "99858", "25"]


SHORT = {"tasks": "passkey", "length": "900", "window": "400", "device": "cpu"}
REFUSED = [
    ({"tasks": "passkye"}, "unknown task 'passkye'", "nearest: passkey"),
    ({"tasks": "lcc"}, "'lcc' cannot be made", "leave --length out"),
    ({"tasks": ","}, "no model, task or method", "--tasks"),
    ({"methods": "chunk"}, "unknown method 'chunk'", "nearest: chunks"),
    ({"methods": "chunks-budget"}, "budget = None", "give --budget"),
    ({"methods": "chunks-calibrated", "window": "250"}, "edge = 100", "at most half"),
    ({"preset": "llama-4"}, "unknown preset 'llama-4'", "nearest: llama-"),
    ({"preset": "llama-2", "window": ""}, "window = 4096", "at most 1024"),
    ({"window": "1100"}, "window = 1100", "at most 1024"),
    ({"window": "60"}, "passkey, row 0: a question of", "widen the window"),
    ({"length": "9"}, "length = 9", "a longer one"),
    ({"length": "", "data": "{here}"}, "no passkey.jsonl", "a copy of xinrongzhang2022/InfiniteBench"),
    ({"length": "", "data": "{empty}"}, "passkey.jsonl has no row", "as the benchmark publishes it"),
    ({"model": "{here}"}, "has no model that can be opened", "configuration, weights and tokenizer"),
    ({"model": "nobody/nothing"}, "'nobody/nothing' is no folder", "your token"),
    ({"model": ""}, "no model", "give --model or --preset"),
    ({"out": ""}, "no folder for the answers", "--out FOLDER"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "value", "remedy"), REFUSED, ids=[f"{k}-{r[1]}" for k, r in enumerate(REFUSED)])
def test_what_cannot_be_done_is_one_line(changes, value, remedy, model, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "passkey.jsonl").write_text("")
    chosen = SHORT | {"model": str(model), "out": str(tmp_path / "out"), "methods": "chunks"} | changes
    places = {"here": str(tmp_path), "empty": str(empty)}
    line = [part for name, text in chosen.items() if text for part in (f"--{name}", text.format(**places))]
    assert command.main(line) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and value in said and remedy in said, said
    assert not (tmp_path / "out").exists()
