"""A model compiles to one graph on the CPU: nothing in a layer waits for the numbers of a mask.

In a process of its own: the shape checks that all other tests run with are no code for a compiler.
"""

import os
import subprocess
import sys

from attention_priors.positions.encodings import ENCODINGS

# No prior, then one of each kind of prior, with and without SSMax.
NAMES = [
    "nope-ssmax",
    "alibi",
    "bam-ssmax",
    "bam-bounded",
    "t5",
    "lag-table",
    "kerple-power",
    "kerple-log-ssmax",
    "sandwich",
    "goat-ssmax",
]
SCRIPT = """
import sys
import torch
from attention_priors.attention import sdpa
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer

size = {"vocabulary": 19, "width": 32, "heads": 4, "kv_heads": 2, "hidden": 32}
tokens = torch.randint(19, (2, 70), generator=torch.Generator().manual_seed(1))
documents = (torch.arange(70) // 30 + torch.arange(2)[:, None] * (torch.arange(70) > 40)).contiguous()
composed = ["half-rope-window-bam", "half-rope-window", "half-rope-kerple-power", "rope-layer-1-bam"]
packed = {"document_ids": documents, "local": 20, "last": 30}


def compare(name, layers, learns, dynamic=None, **given):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Transformer(ModelConfig(encoding=name, layers=layers, **size))
    model.trained = 70
    learned = [p for p in model.parameters() if p.requires_grad]
    with torch.no_grad():
        for parameter in learned:
            parameter += 0.1 * torch.randn_like(parameter)
    found = []
    with torch.set_grad_enabled(learns):
        for run in (torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=dynamic), model):
            out = run(tokens, **given)
            found.append([out.detach(), *(torch.autograd.grad(out.sin().sum(), learned) if learns else ())])
    assert torch.equal(found[0][0], found[1][0]), name
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, msg=lambda m: f"{name}: {m}")
    print(name)


for name in sys.argv[1:]:
    compare(name, layers=1, learns=False)
compare("bam-ssmax", layers=2, learns=True, **packed)
for name in composed:
    compare(name, layers=2, learns=True, **packed)
sizes = {"WHOLE": 0, "BLOCK_QUERIES": 2, "BLOCK_KEYS": 16, "READING_QUERIES": 4, "READING_KEYS": 24}
vars(sdpa).update(sizes)
compare("goat-ssmax", layers=1, learns=True)
compare("bam-ssmax", layers=1, learns=False, **packed)
compare("bam-ssmax", layers=1, learns=False, dynamic=True, local=20)
"""


def test_there_is_one_of_every_kind_of_prior():
    def kinds(names):
        return {type(part) for n in names if ENCODINGS[n].prior for part in ENCODINGS[n].prior(4).modules()}

    assert kinds(NAMES) == kinds([name for name, row in ENCODINGS.items() if row.rotary is None])


def test_a_model_is_one_graph_that_reads_and_learns_as_without():
    command = [sys.executable, "-c", SCRIPT, *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    composed = ["half-rope-window-bam", "half-rope-window", "half-rope-kerple-power", "rope-layer-1-bam"]
    assert done.stdout.split() == [*NAMES, "bam-ssmax", *composed, "goat-ssmax", "bam-ssmax", "bam-ssmax"]
