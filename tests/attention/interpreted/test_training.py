"""Training on the kernels follows training on the reference, and not when a gradient term is missing."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from attention_priors.attention import launch
from attention_priors.config import ModelConfig
from attention_priors.model import Cache, Transformer
from attention_priors.positions.priors import Prior

STEPS, RATE = 8, 0.01


def trained(backend: str, steps: int) -> dict[str, torch.Tensor]:
    """Loss of every step, and afterwards the parameters of the priors and the SSMax scales of a model of two layers:
    two query heads on one key head, GGD-BAM with SSMax and a location, packed documents."""
    torch.manual_seed(0)
    size = {"vocabulary": 19, "width": 32, "layers": 2, "heads": 2, "kv_heads": 1, "hidden": 32}
    model = Transformer(ModelConfig(encoding="bam-location-ssmax", **size))
    with torch.no_grad():  # away from the uniform start, where half of the gradients are 0
        for prior in (module for module in model.modules() if isinstance(module, Prior)):
            for name, value in (("theta_alpha", -1.0), ("theta_beta", 0.6), ("theta_mu", 0.3)):
                getattr(prior, name).fill_(value)
    # gradients that are 0 but for their rounding must not become steps of full length
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, eps=1e-4)
    tokens = torch.randint(19, (1, 41), generator=torch.Generator().manual_seed(1))
    ids = (torch.arange(40) // 17)[None]
    losses = []
    for _ in range(steps):
        logits = model(tokens[:, :-1], document_ids=ids, backend=backend)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    kept = {"loss": torch.tensor(losses)}
    for name, module in model.named_modules():
        if isinstance(module, Prior) or name.endswith("attention.scale"):
            kept |= {f"{name}.{key}": p.detach().clone() for key, p in module.named_parameters()}
    return kept


def distance(steps: int) -> dict[str, float]:
    found, wanted = trained("triton", steps), trained("reference", steps)
    assert len(wanted) == 9 and wanted["loss"][-1] < wanted["loss"][0]
    return {name: float((found[name] - x).abs().max()) for name, x in wanted.items()}


def test_training_follows_the_reference() -> None:
    """Each step is up to the rate long: 1e-3 is a tenth of one."""
    for name, apart in distance(STEPS).items():
        assert apart < 1e-3, f"{name}: {apart:.1e}"


@pytest.mark.parametrize("term", ["k", "logit_scale", "prior_scale", "theta"])
def test_training_goes_astray_without_a_gradient(term: str, monkeypatch) -> None:
    order, right = ("q", "k", "v", "table", "of_keys", "logit_scale", "prior_scale", "theta"), launch.fused_backward

    def wrong(*arguments: object) -> tuple[torch.Tensor, ...]:
        return tuple(x * (place != term) for place, x in zip(order, right(*arguments), strict=True))

    monkeypatch.setattr(launch, "fused_backward", wrong)
    assert max(distance(3).values()) > 1e-2


@pytest.mark.parametrize("name", ["half-rope-window-bam", "half-rope-window-kerple-power"])
def test_heads_with_a_window_read_decode_and_learn_as_in_the_reference(name: str) -> None:
    torch.manual_seed(0)
    size = {"vocabulary": 19, "width": 64, "layers": 1, "heads": 4, "kv_heads": 2, "hidden": 32}
    model = Transformer(ModelConfig(encoding=name, **size))
    model.trained = 160
    tokens = torch.randint(19, (1, 300), generator=torch.Generator().manual_seed(1))
    learned = {key: p for key, p in model.named_parameters() if p.requires_grad}
    found = []
    for backend in ("triton", "reference"):
        cache = Cache()
        with torch.no_grad():
            parts = [
                model(tokens[:, :290], cache=cache, backend=backend),
                model(tokens[:, 290:], cache=cache, backend=backend),
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


def test_a_step_of_training_is_one_graph() -> None:
    """In a process of its own: the shape checks of these tests would break it."""
    names = ["bam-ssmax", "rope", "t5", "kerple-log-ssmax", "half-rope-window-bam"]
    done = subprocess.run([sys.executable, "-c", GRAPHS, *names], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{name} 1 0 []" for name in names], done.stdout + done.stderr[-2000:]
