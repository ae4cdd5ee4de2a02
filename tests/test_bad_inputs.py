"""Bad input of every kind: one line that names the value and what to do, and a command that does not succeed.

Profiles are edits of `smoke`, of each kind in test_config a few; command lines, calls and damaged files stand here. All
run in this process, but for what make and a call without the tests' shape checks have to say.
"""

import errno
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

from attention_priors import checks, claims, config, evaluation, experiments, runtime, store
from attention_priors.commands import (
    bench,
    benchmarks,
    corpus,
    encoding,
    figures,
    first_look,
    reproduce,
    verify,
)
from attention_priors.commands import claim as ledger
from attention_priors.commands import genome as pack
from attention_priors.commands import train as training
from attention_priors.config import ModelConfig
from attention_priors.corpora import genome
from attention_priors.figures import FIGURES, TABLES
from attention_priors.model import Cache, Transformer, paper_model
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.publish import report
from attention_priors.publish.pipeline import progress
from attention_priors.publish.study import Study
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.registry import Table
from attention_priors.tasks import algorithms, needles, passkey
from attention_priors.training.extension import extend
from attention_priors.training.runs import load
from test_config import BAD_VALUES, NO_PROFILES, UNKNOWN_KEYS, changed
from test_config import written as profile_of

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "pipeline": reproduce.main,
    "report": figures.main,
    "verify": verify.main,
    "claims": ledger.main,
    "bench": bench.main,
    "experiments": training.main,
    "corpus": corpus.main,
    "genome": pack.main,
    "own": encoding.main,
    "first_look": first_look.main,
    "parallel.benchmarks": benchmarks.main,
}


def refused(capsys, command: str, *arguments: str) -> str:
    """The one line with which a command ends that did not succeed."""
    try:
        status = COMMANDS[command](list(arguments))
    except SystemExit as stop:
        status = stop.code
    said = capsys.readouterr().err
    assert status in (1, 2) and said.endswith("\n"), (status, said)
    return one_line(said[:-1])


def one_line(said: str) -> str:
    assert said and "\n" not in said and "Traceback" not in said and "pydantic" not in said, said
    return said


# Profiles: an edit of `smoke` or a text, read by a command.

EDITS = [(changed(path, 1), f"'{path}'.* nearest valid key is '{near}'") for path, near in UNKNOWN_KEYS[:2]]
EDITS += [(changed(path, value), message) for path, value, message in BAD_VALUES[:2]]


@pytest.mark.parametrize(("content", "message"), EDITS + NO_PROFILES)
def test_profiles(content: dict | str | bytes, message: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(config.profile, "__defaults__", (tmp_path,))
    with pytest.raises(ValueError, match=message):
        profile_of(tmp_path, content)
    said = refused(capsys, "pipeline", "--profile", "mine", "--results", str(tmp_path / "results"))
    assert said.startswith("error: mine.yaml") and not (tmp_path / "results").exists()


# Command lines: the value that has to be named, and what to do about it. {here} is an empty folder.

LINES = [
    *(
        (f"{command} --profile smok", "'smok'", "nearest is 'smoke'")
        for command in ("pipeline", "report", "verify", "claims", "bench", "experiments", "own {file}", "first_look")
    ),
    ("pipeline --profile ''", "''", "all: c4, cpu, full"),
    ("pipeline --profile ../profiles/cpu", "'../profiles/cpu'", "nearest is 'cpu'"),
    ("pipeline --only 10_passkey", "'passkey'", "nearest: passkeys"),
    ("pipeline --only passkeys,needels", "'needels'", "nearest: needles"),
    ("pipeline --step nothing-like-it", "'nothing-like-it'", "known are how_to_read, "),
    ("pipeline --seed -1", "-1", "a number from 0 to"),
    ("pipeline --seed x", "x", "a number from 0 to"),
    ("pipeline --device tpu", "'tpu'", "use 'auto', 'cpu', 'cuda' or 'cuda:<number>'"),
    ("pipeline --device cuda:x", "'cuda:x'", "use 'auto', 'cpu', 'cuda' or 'cuda:<number>'"),
    ("pipeline --nonsense", "--nonsense", "--help"),
    ("pipeline --rules {here} --profile smoke", "Is a directory", "choose another folder"),
    ("pipeline --profile smoke --only how_to_read --results {file}", "file", "RESULTS="),
    ("report --results {here}/missing", "missing", "run make reproduce"),
    ("report --results {file}", "file", "run make reproduce"),
    ("verify --results {here}/missing", "missing", "run make reproduce"),
    ("verify --results {file}", "file", "run make reproduce"),
    ("claims {here}", "is a folder", "name a claims.json"),
    ("claims {file}", "file is no ledger", "name a claims.json"),
    ("claims {here}/none.json", "none.json", "run `make reproduce` or name a claims.json"),
    ("claims --results {here}/missing", "missing", "run `make reproduce`"),
    ("claims --id BAM-T4 --results {here}/missing", "missing", "run `make reproduce`"),
    ("claims --id BAM-T44 --results {here}", "'BAM-T44'", "nearest: BAM-T4"),
    ("bench --device tpu", "'tpu'", "choose from"),
    ("experiments --profile smoke", "such as passkey/nope/0", "--list names all of profile smoke"),
    ("experiments passkey/bam-ssmaxx/0 --profile smoke", "'passkey/bam-ssmaxx/0'", "nearest: passkey/bam-ssmax/0"),
    ("experiments passkey/bam-ssmax/0 --parallel tp", "'tp'", "choose from"),
    ("experiments language-stream/bam-ssmax/0 --profile paper", "is not on this machine", "corpus hub:fineweb"),
    ("corpus hub:finewebb --vocabulary 300", "'finewebb'", "nearest is 'fineweb'"),
    ("corpus docstrings --vocabulary 300", "'docstrings' is no corpus of the hub", "such as hub:fineweb"),
    ("corpus hub:fineweb --vocabulary 0", "0", "a number from 2 to"),
    ("corpus hub:fineweb", "--vocabulary", "--help"),
    ("genome hg39 {file}", "'hg39'", "nearest: hg38"),
    ("genome hg38 {here}/none.fa", "none.fa", "give the FASTA"),
    ("genome hg38 {here}/none.parquet", "none.parquet", "give the FASTA"),
    ("genome hg38 {file}", "begins with 'no folder'", "give a FASTA file"),
    ("genome hg38", "file", "--help"),
    ("own", "file", "--help"),
    ("own {here}/none.py", "none.py", "give FILE= the path of a Python file"),
    ("own {here}", "here", "give FILE= the path of a Python file"),
    ("parallel.benchmarks", "no model", "give --model or --preset"),
    ("parallel.benchmarks --keep 0", "0", "a number from 1 to"),
    ("parallel.benchmarks --device tpu", "'tpu'", "use 'auto'"),
]


@pytest.mark.parametrize(("line", "value", "remedy"), LINES, ids=[line for line, *_ in LINES])
def test_command_lines(line: str, value: str, remedy: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    here, file = tmp_path / "here", tmp_path / "file"
    here.mkdir()
    file.write_text("no folder")
    said = refused(capsys, *(word.format(here=here, file=file) for word in shlex.split(line)))
    assert value in said and remedy in said
    assert list(here.iterdir()) == [] and file.read_text() == "no folder", "nothing is written before it is refused"


@pytest.fixture
def results(tmp_path: Path) -> Layout:
    """Results that `claims`, `report` and `pipeline` can read: one metric, a ledger, a record of times."""
    layout = Layout(tmp_path / "results", "smoke")
    frame = pd.DataFrame({"length": [128, 256], "accuracy": [1.0, 0.5]})
    report.Report(layout, "passkeys").metrics("made_up", frame, "0" * 16)
    claims.merge(layout.results, "smoke")
    progress.record(layout, "passkeys", {"wall_seconds": 1.0, "key": "0" * 16})
    manifest.add(layout, [layout.own / "claims.json"])
    return layout


# Files: which, what stands in it instead, who reads it, what has to be said.
FILES = [
    ("claims.json", b'{"schema": 1, "cla', "claims", "not complete JSON (", "or run the notebook that writes it"),
    ("claims.json", b"[]", "claims", "is no ledger", "name a claims.json"),
    ("claims.json", b'{"schema": 1, "claims": {}}', "claims", "schema 2", "run the notebook that writes it"),
    ("claims.json", b'{"schema": 2, "claims": {"BAM-T44": {}}}', "claims", "'BAM-T44'", "nearest: BAM-T4"),
    ("claims.json", b'{"schema": 2, "claims": {"BAM-T4": {}}}', "claims", "BAM-T4", "run the notebook"),
    ("claims.json", b'{"schema": 2, "claims": {"BAM-T4": 3}}', "claims", "BAM-T4", "run the notebook"),
    ("claims.json", b"\xff\xfe", "claims", "claims.json", "restore it (git checkout)"),
    ("claims.json", b'{"schema": 1, "cla', "claims --id BAM-T4", "claims.json", "restore it (git checkout)"),
    ("claims.json", b'{"schema": 1, "cla', "report", "claims.json", "restore it (git checkout)"),
    ("claims.json", b'{"schema": 1, "cla', "verify --no-training", "claims.json", ""),
    ("sha256.txt", b"no sum", "report", "sha256.txt, line 1", "restore it"),
    ("sha256.txt", b"\xff\xfe", "report", "sha256.txt", "restore it"),
    ("provenance.json", b'{"notebooks": ', "pipeline", "provenance.json", "delete it and run"),
    ("provenance.json", b"[]", "pipeline", "provenance.json", "delete it"),
    ("provenance.json", b'{"notebooks": {"passkeys": {}}}', "pipeline", "provenance.json", "delete it"),
]


@pytest.mark.parametrize(("name", "content", "line", "value", "remedy"), FILES)
def test_files(name: str, content: bytes, line: str, value: str, remedy: str, results: Layout, capsys) -> None:
    (results.own / name).write_bytes(content)
    command, *more = line.split()
    if command == "verify":  # it goes on, and lists what differs
        assert verify.main([*more, "--profile", "smoke", "--results", str(results.results)]) == 1
        found = [said for said in capsys.readouterr().out.splitlines() if value in said]
        assert len(found) == 2, "the sum, and why it stopped"
        return
    said = refused(capsys, command, *more, "--profile", "smoke", "--results", str(results.results))
    assert value in said and remedy in said


def failing(error: int) -> Callable[..., None]:
    def write(path: str | Path, data: bytes) -> None:
        raise OSError(error, os.strerror(error), str(path))

    return write


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EROFS, "RESULTS="),
        (errno.EACCES, "RESULTS="),
        (errno.ENOSPC, "it resumes"),
        (errno.EFBIG, "it resumes"),
    ],
)
def test_results_that_cannot_be_written(number: int, remedy: str, results: Layout, monkeypatch, capsys) -> None:
    monkeypatch.setattr(store, "write_bytes", failing(number))
    here = ("--profile", "smoke", "--results", str(results.results))
    for command, *more in (("pipeline", "--only", "how_to_read"), ("report",)):
        said = refused(capsys, command, *here, *more)
        assert remedy in said and ("smoke" in said or "results" in said)


def test_a_cache_that_is_a_file(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    said = refused(capsys, "experiments", "passkey/nope/0", "--profile", "smoke")
    assert "cache" in said and "ATTENTION_PRIORS_CACHE=" in said


def test_a_loss_that_is_not_finite(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(config, "CACHE", tmp_path)
    monkeypatch.setattr(config.profile, "__defaults__", (tmp_path,))
    profile_of(tmp_path, changed("passkey.recipe.rate", 1e20))
    said = refused(capsys, "experiments", "passkey/nope/0", "--profile", "mine")
    assert "the loss is nan at step" in said and "lower the rate (1e+20)" in said


# A reader's own encoding: a file that begins with HEAD, the line that is at fault (0: none), the value, the remedy.

HEAD = """import torch
from attention_priors.positions.encodings import ENCODINGS, Encoding
from attention_priors.positions.priors import RelativePrior


class Mine(RelativePrior):
    def __init__(self, heads):
        super().__init__()
        self.heads, self.scale = heads, torch.nn.Parameter(torch.ones(heads))

    def log_prior(self, lags):
"""
ROW = '\nENCODINGS["mine"] = Encoding("mine", "Mine", prior=Mine)\n'
GOOD = "        return -self.scale[:, None] * lags.abs()\n"
KEYS = """
from attention_priors.positions.priors import KeyPrior


class Mine(KeyPrior):
    def __init__(self, heads):
        super().__init__()
        self.heads, self.scale = heads, torch.nn.Parameter(torch.ones(heads))

    def log_prior(self, keys, length):
        return {}
"""
EMBEDDED = """
class Embedding(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, positions, *more):
        return (positions / positions)[:, None].expand(-1, self.width)


ENCODINGS["mine"] = Encoding("mine", "Mine", absolute=Embedding)
"""
OWN = [
    (GOOD, 0, "adds no encoding", 'end it with ENCODINGS["my-prior"] = Encoding('),
    (GOOD + ROW + ROW.replace("mine", "yours"), 0, "'mine' (line 14) and 'yours' (line 16)", "keep one in a file"),
    ("        return -(self.scale\n" + ROW, 12, "'(' was never closed", "correct the syntax"),
    ("        return 1\n" + ROW + "x = 1 / 0\n", 15, "ZeroDivisionError", "correct it"),
    (GOOD + ROW + "import nothing_like_it\n", 15, "'nothing_like_it'", "install the package into .venv"),
    (GOOD + ROW.replace("mine", "bam"), 14, "'bam' is an encoding that ships", "choose another name"),
    (GOOD + ROW.replace('"mine"]', '"other"]'), 14, "'other'", "give it one name"),
    (GOOD + ROW.replace('"mine"', '"my prior"'), 14, "'my prior'", "small letters, digits and hyphens"),
    (GOOD + '\nENCODINGS["mine"] = Mine\n', 14, "Encoding", "correct it"),
    (GOOD + '\nENCODINGS["mine"] = Encoding("mine", "Mine")\n', 14, "which is NoPE", "give it one"),
    (GOOD + ROW.replace("=Mine", "=Mine, ssmax=True"), 14, "'mine' has SSMax", "SSMAX=1"),
    (GOOD + ROW.replace("=Mine", '=Mine, trained_as="bam"'), 14, "weights of 'bam'", "leave out trained_as"),
    (GOOD + ROW.replace("=Mine", "=torch.nn.Linear"), 0, "Linear", "correct it"),
    (GOOD + ROW.replace("=Mine", "=lambda heads: Mine(2)"), 7, "has heads = 2, but was made for 1", "self.heads"),
    (GOOD + "\nMine.__init__ = lambda self, heads: super(Mine, self).__init__()\n" + ROW, 0, "no heads", "set self"),
    ("        -self.scale[:, None] * lags.abs()\n" + ROW, 11, "returns None, not a tensor", "return it"),
    ("        return lags.numpy()\n" + ROW, 11, "returns ndarray, not a tensor", "return it"),
    ("        return -self.scale * lags\n" + ROW, 12, "The size of tensor", "correct it"),
    ("        return -lags.abs().float()\n" + ROW, 11, "has shape [512] for 512 lags", "as in scale[:, None]"),
    ("        return lags.expand(self.heads, -1)\n" + ROW, 11, "torch.int64", "floating-point"),
    ("        return self.scale[:, None] * (lags - lags) / lags\n" + ROW, 11, "is nan at lag 0 (head 0)", "finite"),
    ("        return -self.scale[:, None] * lags.float().log()\n" + ROW, 11, "is inf at lag 0", "finite there"),
    ("        return torch.where(lags > 9, -torch.inf, -self.scale[:, None])\n" + ROW, 11, "-inf at lag 10", "-1e+09"),
    ("        return -self.scale[:, None] * lags.sqrt()\n" + ROW, 11, "nan at lag -128", "use lags.abs()"),
    ("        return -self.scale[:, None] * lags.abs() / len(lags)\n" + ROW, 11, "more than the lag", "each lag alone"),
    ("        return -self.scale[:, None] * torch.arange(len(lags))\n" + ROW, 11, "in another order", "each lag alone"),
    ("        return -self.scale[:, None] * torch.rand(len(lags))\n" + ROW, 11, "more than the lag", "each lag alone"),
    ("        return -(self.scale[:, None] * lags.abs()).sqrt()\n" + ROW, 11, "gradient of 'scale'", "torch.where"),
    (GOOD + KEYS.format("keys / length") + ROW, 22, "has shape [64] for 64 keys", "each head a row"),
    (GOOD + KEYS.format("self.scale[:, None] * (keys - 9) / (keys - 9)") + ROW, 22, "nan at key 9", "finite there"),
    (GOOD + EMBEDDED, 0, "logits that are not finite", "a quotient, a root or a logarithm"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "line", "value", "remedy"), OWN, ids=[value for _, _, value, _ in OWN])
def test_own_encodings(body: str, line: int, value: str, remedy: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(config, "CACHE", tmp_path / "cache")
    path, before = tmp_path / "wrong.py", dict(ENCODINGS)
    path.write_text(HEAD + body)
    said = refused(capsys, "own", str(path), "--profile", "smoke", "--into", str(tmp_path / "cards"))
    assert said.startswith(f"error: wrong.py, line {line}: " if line else "error: wrong.py") and "line 0" not in said
    assert value in said and remedy in said
    assert [each.name for each in tmp_path.iterdir()] == ["wrong.py"]
    for name in ENCODINGS.keys() - before.keys():  # of a file that could be read, for those that come after
        del ENCODINGS[name]


# Calls of the library.


def model(encoding: str = "rope") -> Transformer:
    return Transformer(ModelConfig(vocabulary=31, width=8, layers=1, heads=2, hidden=8, encoding=encoding)).eval()


def tokens(*values: int) -> torch.Tensor:
    return torch.tensor([values])


def grown() -> Cache:
    cache = Cache()
    model()(tokens(1, 2), cache=cache)
    return cache


INF, NAN = float("inf"), float("nan")
STREAM = runtime.generator(0, "bad inputs")
WORDS = torch.zeros(1, 9, dtype=torch.long)
ROWS = Table("row", "attention_priors", {"lost": "store.layout:Lost", "there": "store.layout:THEORY"})
CALLS = [
    (lambda: extend(model(), "rope-pi", NAN), "trained = nan", "at least 2 tokens"),
    (lambda: extend(model(), "rope-pi", INF), "trained = inf", "at least 2 tokens"),
    (lambda: extend(model(), "rope-pii", 8), "'rope-pii'", "nearest: rope-pi"),
    (lambda: model("ropee"), "'ropee'", "nearest: rope"),
    (lambda: paper_model("bam-7b"), "'bam-7b'", "choose one of bam-120m"),
    (lambda: model()(tokens(1, 31)), "tokens from 1 to 31", "the vocabulary is 0 to 30"),
    (lambda: model()(tokens(-1, 3)), "tokens from -1 to 3", "the vocabulary is 0 to 30"),
    (lambda: model()(tokens()[:, :0].long()), "shape [1, 0]", "length >= 1"),
    (lambda: model()(tokens(1, 2), last=0), "last = 0 of 2", "ask for 1 to all"),
    (lambda: model()(tokens(1, 2), last=-1), "last = -1 of 2", "ask for 1 to all"),
    (lambda: model()(tokens(1, 2), last=3), "last = 3 of 2", "ask for 1 to all"),
    (lambda: model()(tokens(1, 2), local=0), "= 0", "at least 1"),
    (lambda: model()(tokens(1, 2), backend="fast"), "'fast'", "auto"),
    (lambda: model()(tokens(1, 2), document_ids=tokens(0, 0), cache=Cache()), "document_ids", "without a cache"),
    (lambda: model()(tokens(1, 2).expand(3, 2), cache=grown()), "3 rows", "a new cache"),
    (lambda: Cache().select(torch.tensor([0])), "empty", "run the model on a prompt"),
    (lambda: model().attention_maps(tokens(1, 2), 0), "queries = 0", "ask for 1 to all"),
    (lambda: load("passkey/*/0"), "'passkey/*/0'", "there are: "),
    (lambda: load("/nowhere/*.safetensors"), "/nowhere/*.safetensors", "give the path"),
    (lambda: evaluation.passkey_samples(model(), 128, 0, 0), "samples = 0", "at least 1"),
    (lambda: evaluation.passkey_samples(model(), 128, -1, 0), "samples = -1", "at least 1"),
    (lambda: evaluation.passkey_samples(model(), 20, 2, 0), "length = 20", "use a longer one"),
    (lambda: evaluation.passkey_samples(model(), 128, 2, 0, "loud"), "'loud'", "choose 'plain' or 'hard'"),
    (lambda: passkey.prompts(128, torch.tensor([1.5]), STREAM), "1.5", "between 0 and 1"),
    (lambda: passkey.prompts(128, torch.tensor([NAN]), STREAM), "nan", "between 0 and 1"),
    (lambda: passkey.prompts(128, torch.tensor([]), STREAM), "depths = []", "non-empty"),
    (lambda: needles.prompts("single-1", 128, 0, STREAM, None), "samples = 0", "at least 1"),
    (lambda: algorithms.strings("copy", 4, -1, STREAM), "count = -1", "at least one"),
    (lambda: evaluation.document_losses(model(), WORDS, [], 2), "lengths []", "at least one"),
    (lambda: evaluation.document_losses(model(), WORDS, [4], 0), "0 scored tokens", "at least one"),
    (lambda: evaluation.document_losses(model(), WORDS, [9], 2), "lengths [9]", "documents of 10 tokens"),
    (lambda: evaluation.binomial_interval(3, 2), "successes = 3 of trials = 2", "need 0 <= successes"),
    (lambda: evaluation.binomial_interval(0, 0), "trials = 0", "trials >= 1"),
    (lambda: evaluation.binomial_interval(1, 2, 1.5), "confidence = 1.5", "between 0 and 1"),
    (lambda: evaluation.seed_interval([1.0, 2.0], NAN), "confidence = nan", "between 0 and 1"),
    (lambda: evaluation.share_interval([1], [2, 2]), "1 successes and 2 trials", "one of each"),
    (lambda: evaluation.share_interval([], []), "0 successes and 0 trials", "one of each"),
    (lambda: genome.find("hg38"), "'hg38' is not on this machine", "FILE` with a copy of test.parquet"),
    (lambda: genome.assemble("mine", [("one", genome.codes("NN"))]), "'mine'", "give a file with some ACGT"),
    (lambda: Study("smoke", "passkey", "results"), "'passkey'", "known are how_to_read"),
    (lambda: Study("smok", "passkeys", "results"), "'smok'", "nearest is 'smoke'"),
    (lambda: Study("smoke", "passkeys", "results", device="tpu"), "'tpu'", "use 'auto'"),
    (lambda: FIGURES["passkey_by_lenght"], "'passkey_by_lenght'", "nearest: passkey_by_length"),
    (lambda: TABLES["passkey_reech"], "'passkey_reech'", "nearest: passkey_reach"),
    (lambda: checks.CHECKS["BAM-T44"], "'BAM-T44'", "nearest: BAM-T4"),
    (lambda: claims.find("GOAT-1"), "'GOAT-1'", "nearest: "),
    (lambda: experiments.EXPERIMENTS["passkey"], "'passkey'", "nearest: passkeys"),
    (lambda: ROWS["lost"], "'lost'", "correct the row"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda number: CALLS[number][1])
def test_calls(number: int) -> None:
    call, value, remedy = CALLS[number]
    with pytest.raises(ValueError) as caught:
        call()
    said = one_line(str(caught.value))
    assert value in said and remedy in said


# In processes of their own: what make says, and calls without the checks of shapes that the tests put in.

MAKE = [
    ("help PROFLE=smoke", "PROFLE", "known are PROFILE"),
    ("help PROFILE=a'b", "PROFILE = a'b", "leave it out"),
    ("help JOBS=x", "JOBS = x", "a number from 1 to 16"),
    ("help JOBS=0", "JOBS = 0", "a number from 1 to 16"),
    *((f"help {name}=0", f"{name} = 0 is not 1", "leave it out") for name in ("FORCE", "FULL", "ANSWERS", "SSMAX")),
    ("claim", "which claim?", "make claim ID=BAM-T4"),
    ("encoding", "which file?", "make encoding FILE=my_encoding.py"),
    ("encoding FILE=none.py", "'none.py'", "ends with ENCODINGS"),
    ("figures PROFILE=cpuu", "'cpuu'", "nearest is 'cpu'"),
    ("reproduce SEED=-1", "-1", "a number from 0 to"),
]


@pytest.mark.parametrize(("line", "value", "remedy"), MAKE, ids=[line for line, *_ in MAKE])
def test_make(line: str, value: str, remedy: str, root: Path) -> None:
    if not (root / ".venv" / ".built").exists():
        pytest.skip("make would build an environment first")
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "-o", ".venv/.built", *line.split()], cwd=root, capture_output=True, text=True, env=alone
    )
    ours = [said for said in done.stderr.splitlines() if not said.startswith("make: ***")]
    said = one_line("\n".join(ours))
    assert done.returncode == 2 and value in said and remedy in said


def test_calls_without_checks_of_shapes() -> None:
    code = """
        import torch
        from attention_priors.config import ModelConfig
        from attention_priors.model import Transformer
        model = Transformer(ModelConfig(vocabulary=31, width=8, layers=1, heads=2, hidden=8, encoding="rope"))
        for tokens in (torch.tensor([1, 2]), torch.tensor([[1.5]]), torch.tensor([[True]]), torch.zeros(1, 0).long()):
            try:
                model(tokens)
            except ValueError as error:
                print(error)
        for ids in (torch.zeros(1, 3).long(), torch.zeros(2, 2).long()):
            try:
                model(torch.tensor([[1, 2]]), document_ids=ids)
            except ValueError as error:
                print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.stderr == "" and [line.partition("; ")[0].removeprefix("tokens of shape ") for line in lines] == [
        "[2], torch.int64",
        "[1, 1], torch.float32",
        "[1, 1], torch.bool",
        "[1, 0], torch.int64",
        "document_ids have shape [1, 3], tokens [1, 2]",
        "document_ids have shape [2, 2], tokens [1, 2]",
    ]
