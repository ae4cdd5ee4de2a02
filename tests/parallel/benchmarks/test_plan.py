"""What a dry run says against what a reading does, and the presets' sizes."""

import pytest
import torch

from attention_priors.parallel.benchmarks import infinitebench, opened, plan
from attention_priors.parallel.benchmarks.methods import METHODS, Settings
from attention_priors.parallel.benchmarks.task import Row
from attention_priors.parallel.hf import HuggingFace
from attention_priors.parallel.read import Condensed

ROW = Row("0", "a text", "What?", ("1",))
TASK = infinitebench.TASKS["passkey"]


@pytest.mark.parametrize("name", [name for name, each in METHODS.items() if not each.calibrated])
def test_chunks_and_entries_are_those_of_the_reading(name, model):
    found = opened.model(str(model), opened.tokenizer(str(model)), torch.device("cpu"))
    options = METHODS[name].options(TASK, Settings(window=100, budget=20), 256, ROW)
    draw = torch.Generator().manual_seed(0)
    text, question = (torch.randint(256, (count,), generator=draw) for count in (400, 30))
    session = METHODS[name].open(HuggingFace(found), text, question, options)
    made = plan.cost(plan.Shape.of(found.config), METHODS[name], options, len(text), len(question), 4)
    read = int((~session.information.isnan()).sum()) if isinstance(session, Condensed) else len(session.spans)
    assert made.chunks == read
    sizes = [stop - start for start, stop in session.spans]
    # A short last chunk has fewer than the others.
    assert abs(made.entries - session.entries) <= max(sizes) - min(sizes)


def test_a_cost_worked_out_by_hand(model):
    config = opened.config(str(model), local=True)
    shape = plan.Shape.of(config)
    assert (shape.layers, shape.heads, shape.kv_heads, shape.width, shape.output) == (2, 4, 2, 8, 258 * 32)
    assert shape.inner == 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 32) + 32
    options = METHODS["k1"].options(TASK, Settings(window=100, at_once=1), None, ROW)
    made = plan.cost(shape, METHODS["k1"], options, text=108, question=30, each=2)  # chunks of 54, rows of 84
    assert (made.chunks, made.read, made.entries) == (2, 168, 54)
    assert made.prefill == 2 * (2 * shape.inner * 84 + 4 * 2 * 4 * 8 * 84**2 / 2 + 2 * shape.output * 31)
    assert made.bytes == 2 * (shape.weights + 2 * 2 * 2 * 8 * (54 + 84 + 46)) + 4 * 31 * 258
