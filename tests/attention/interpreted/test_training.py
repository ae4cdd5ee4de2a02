"""Models on the kernels read, decode and learn as on the reference, and a step of training is one graph."""

import subprocess
import sys

import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer


@pytest.mark.parametrize("name", ["half-rope-window-bam", "half-rope-window-kerple-power"])
def test_heads_with_a_window_read_decode_and_learn_as_in_the_reference(name):
    torch.manual_seed(0)
    size = {"vocabulary": 19, "width": 64, "layers": 1, "heads": 4, "kv_heads": 2, "hidden": 32}
    model = Transformer(ModelConfig(encoding=name, **size))
    model.trained = 160
    tokens = torch.randint(19, (1, 200), generator=torch.Generator().manual_seed(1))
    learned = {key: p for key, p in model.named_parameters() if p.requires_grad}
    found = []
    for backend in ("triton", "reference"):
        cache = Cache()
        with torch.no_grad():
            parts = [
                model(tokens[:, :190], cache=cache, backend=backend),
                model(tokens[:, 190:], cache=cache, backend=backend),
            ]
        grads = torch.autograd.grad(model(tokens[:, :100], backend=backend).sin().sum(), learned.values())
        found.append([torch.cat(parts, 1), *grads])
    for key, one, other in zip(("logits", *learned), *found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4, msg=lambda m, key=key: f"{key}: {m}")


GRAPHS = """
import sys, torch
from attention_priors import config
from attention_priors.attention import launch, op, tables
from attention_priors.model import Transformer
from attention_priors.training import runs

class Silent:  # a compiler sees operators, not what they launch
    def __getitem__(self, grid):
        return lambda *arguments, **constants: None

for module, names in ((launch, ("forward", "backward_queries", "backward_keys")), (tables, ("power_table",))):
    for name in names:
        setattr(module, name, Silent())
op._automatic = lambda *given: "triton"
tokens = torch.randint(19, (2, 33), generator=torch.Generator().manual_seed(1))
batch, recipe = (tokens, tokens, tokens > 5, None), config.profile("smoke").passkey.recipe
for name in sys.argv[1:]:
    size = {"vocabulary": 19, "width": 64, "layers": 2, "heads": 4, "hidden": 32}
    model = Transformer(config.ModelConfig(encoding=name, **size))
    model.trained = 33
    with torch.autocast("cpu", torch.bfloat16):
        found = torch._dynamo.explain(runs.loss_of)(model, batch, recipe)
    print(name, found.graph_count, found.graph_break_count, found.break_reasons[:1])
"""


def test_a_step_of_training_is_one_graph():
    """In a process of its own: the shape checks of these tests would break it."""
    names = ["bam-ssmax", "rope", "t5", "kerple-log-ssmax", "half-rope-window-bam"]
    done = subprocess.run([sys.executable, "-c", GRAPHS, *names], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{name} 1 0 []" for name in names], done.stdout + done.stderr[-2000:]
