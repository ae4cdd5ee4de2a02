"""Recipes, schedules, losses and the keys of training runs."""

import itertools

import pytest
import torch
from torch import nn

from attention_priors.config import Gate, Varied
from attention_priors.model import Transformer
from attention_priors.positions import encodings
from attention_priors.positions.priors import GeneralizedGaussian
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.tasks import SOURCES, algorithms
from attention_priors.tasks.passkey import PasskeyBatches
from attention_priors.training import runs as training
from attention_priors.training.runs import Run, fit, loss_of, optimizers, rate_at, settled_at
from training.small import RECIPE, spec

# --- optimizer and schedule ---


OPTIMIZERS = {"radam": ["RAdam"], "adamw": ["AdamW"], "muon": ["BatchedMuon", "AdamW"]}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("encoding", ["bam-ssmax", "bam-location-ssmax", "bam-shared-ssmax", "sinusoidal-ssmax"])
def test_decay_falls_on_matrices_alone(name, encoding):
    made = spec(encoding, optimizer=name)
    model = Transformer(made.model)
    optims = optimizers(model, made.recipe)
    assert [type(optim).__name__ for optim in optims] == OPTIMIZERS[name]
    groups = [group for optim in optims for group in optim.param_groups]
    decayed = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    factors = {id(p): group["factor"] for group in groups for p in group["params"]}
    trained = [p for p in model.parameters() if p.requires_grad]
    assert decayed.keys() == {id(p) for p in trained}
    assert sum(len(group["params"]) for group in groups) == len(trained)
    for module in model.modules():
        own = [p for p in module.parameters(recurse=False) if p.requires_grad]
        matrix, prior = isinstance(module, (nn.Linear, nn.Embedding)), isinstance(module, GeneralizedGaussian)
        assert matrix or prior or not own or isinstance(module, (nn.RMSNorm, ScalableSoftmax))
        for parameter in own:
            assert decayed[id(parameter)] == (0.1 if matrix else 0.0)
            assert factors[id(parameter)] == (10.0 if prior else 1.0)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_decay_is_decoupled(name):
    """A matrix that gets no gradient shrinks by rate x decay; a vector stays."""
    made = spec("nope", optimizer=name)
    model = Transformer(made.model)
    optims = optimizers(model, made.recipe)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for optim in optims:
        optim.step()
    for n, parameter in model.named_parameters():
        factor = 1.0 if parameter.ndim < 2 else 1 - 0.01 * 0.1
        torch.testing.assert_close(parameter.detach(), before[n] * factor)


def test_the_rate_falls_along_a_cosine():
    recipe = RECIPE.model_copy(update={"steps": 100, "rate": 1.0})
    assert rate_at(0, recipe) == 1.0 and rate_at(100, recipe) == pytest.approx(0.1)
    assert rate_at(50, recipe) == pytest.approx(0.55)
    rates = [rate_at(step, recipe) for step in range(100)]
    assert all(a > b for a, b in itertools.pairwise(rates)) and rates[-1] == pytest.approx(0.1, abs=1e-3)


def test_with_a_target_the_rate_falls_once_the_answers_are_learned():
    recipe = RECIPE.model_copy(update={"steps": 100, "rate": 1.0, "warmup": 4, "target": 0.5, "cooldown": 10})
    learned = [1.0] * 30 + [0.4] * 40
    assert settled_at(learned[:46], recipe) is None, "20 losses of which 4 are 1.0 still have a mean of 0.52"
    assert settled_at(learned, recipe) == 47 == settled_at(learned[:47], recipe, since=47)
    assert settled_at([1.0] * 89, recipe) is None and settled_at([1.0] * 95, recipe) == 90
    assert rate_at(2, recipe) == 0.75 and rate_at(40, recipe) == rate_at(47, recipe, 47) == 1.0
    assert [rate_at(step, recipe, 47) for step in (52, 57)] == pytest.approx([0.55, 0.1])


GATE = Gate(lengths=(77, 80), samples=2, accuracy=0.75, every=5)


def test_with_a_gate_the_rate_falls_after_two_good_turns_in_a_row():
    recipe = RECIPE.model_copy(update={"steps": 100, "gate": GATE, "cooldown": 10})
    history = [1.0] * 40
    assert settled_at(history, recipe, marks=[(5, 0.8), (10, 0.7), (15, 0.8), (20, 0.75), (25, 1.0)]) == 20
    assert settled_at(history, recipe, marks=[(5, 0.8), (15, 0.8), (25, 1.0)]) is None, "not in a row"
    assert settled_at([1.0] * 95, recipe) == 90


def test_a_gate_asks_prompts_that_no_batch_holds(monkeypatch):
    made = spec(steps=40, gate=GATE, cooldown=5, varied=Varied(shortest=77, cut=0.5, keyless=0.2))
    source, asked = PasskeyBatches(made), []

    def accuracy(model, gate):
        asked.append(source_accuracy(model, gate))
        return 1.0

    source_accuracy = source.accuracy
    monkeypatch.setattr(source, "accuracy", accuracy)
    marks: list[tuple[int, float]] = []
    done = list(fit(Transformer(made.model), source, made.recipe, torch.device("cpu"), marks=marks))
    assert marks == [(5, 1.0), (10, 1.0)] and len(done) == 15
    assert all(0 <= share <= 0.5 for share in asked), "an untrained model does not pass"


def test_a_task_without_held_out_prompts_refuses_a_gate(tmp_path):
    made = spec(task="algorithms/copy", gate=GATE, cooldown=5, steps=20)
    with pytest.raises(ValueError, match=r"'algorithms/copy' has no held-out prompts .* give recipe 'test'"):
        Run(made, tmp_path, torch.device("cpu")).train()


@pytest.mark.parametrize(("target", "steps"), [(1e-9, 40), (10.0, 25)])
def test_training_ends_after_the_cooldown(target, steps):
    made = spec(steps=40, target=target, cooldown=5)
    done = fit(Transformer(made.model), PasskeyBatches(made), made.recipe, torch.device("cpu"))
    assert [step for step, _ in done] == list(range(steps))


def test_each_group_follows_the_schedule(monkeypatch):
    made, rates = spec(), []
    model = Transformer(made.model)
    step = torch.optim.AdamW.step

    def noting(self, *args, **kwargs):
        rates.append([(group["lr"], group["factor"]) for group in self.param_groups])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", noting)
    steps = [done for done, _ in fit(model, PasskeyBatches(made), made.recipe, torch.device("cpu"))]
    assert steps == list(range(6))
    for number, groups in enumerate(rates):
        assert {factor for _, factor in groups} == {1.0, 10.0}
        for rate, factor in groups:
            assert rate == pytest.approx(rate_at(number, made.recipe) * factor)


# --- loss ---


class Fixed(nn.Module):
    """Gives the same logits whatever it reads."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, tokens: torch.Tensor, document_ids: torch.Tensor | None = None) -> torch.Tensor:
        assert tokens.shape == self.logits.shape[:2]
        return self.logits


def test_the_loss_weighs_answers_and_text():
    logits = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(7, (2, 6), generator=torch.Generator().manual_seed(1))
    answer = torch.zeros(2, 5, dtype=torch.bool)
    answer[:, -2:] = True
    each = -logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    loss, shown = loss_of(Fixed(logits), (tokens[:, :-1], tokens[:, 1:], answer, None), RECIPE)
    torch.testing.assert_close(shown, each[:, -2:].mean())
    torch.testing.assert_close(loss, each[:, -2:].mean() + 0.1 * each[:, :-2].mean())
    loss, shown = loss_of(Fixed(logits), (tokens[:, :-1], tokens[:, 1:], torch.ones_like(answer), None), RECIPE)
    torch.testing.assert_close(loss, each.mean())
    torch.testing.assert_close(shown, each.mean())


def test_a_loss_that_is_not_finite_stops_the_run():
    made = spec(rate=0.5)
    model = Transformer(made.model)
    with torch.no_grad():
        model.head.weight[0, 0] = torch.nan
    with pytest.raises(FloatingPointError, match=r"the loss is nan at step 0; lower the rate \(0\.5\)"):
        next(fit(model, PasskeyBatches(made), made.recipe, torch.device("cpu")))


def test_a_batch_in_parts_gives_the_gradient_of_the_whole():
    losses, weights = [], []
    for parts in (1, 2):
        made = spec(steps=3, batch=4, accumulate=parts)
        torch.manual_seed(0)
        model = Transformer(made.model).double()
        losses.append([loss for _, loss in fit(model, PasskeyBatches(made), made.recipe, torch.device("cpu"))])
        weights.append(model.head.weight.detach())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) and losses[0][0] != losses[0][1]
    torch.testing.assert_close(*weights, rtol=0, atol=1e-5)
    made = spec(batch=4, accumulate=3)
    with pytest.raises(ValueError, match=r"batch = 4 is not a multiple of 1 processes x accumulate = 3"):
        next(fit(Transformer(made.model), PasskeyBatches(made), made.recipe, torch.device("cpu")))


# --- keys ---


def test_the_key_has_all_that_a_run_depends_on():
    base = spec()
    others = [
        spec(seed=1),
        spec("bam"),
        spec("bam-ssmax-content"),
        spec("bam-laplace-ssmax"),
        spec("bam-shared-ssmax"),
        spec(task="passkey-hard"),
        spec(rate=0.003),
        spec(steps=7),
        spec(text_weight=0.2),
        spec(betas=(0.9, 0.99)),
        base.model_copy(update={"inputs": ("0" * 64,)}),
        base.model_copy(update={"model": base.model.model_copy(update={"kv_heads": 1})}),
    ]
    keys = [made.key() for made in [base, *others]] + [base.key("cuda")]
    assert len(set(keys)) == len(keys)
    assert base.key() == spec().key() == base.model_copy(update={"corpus": "elsewhere.npz"}).key()


def test_a_key_tells_which_layers_and_heads_rotate_and_how_far_they_see():
    names = (
        "rope-bam",
        "rope-layer-1-bam",
        "rope-layer-2-bam",
        "rope-layers-1-2-bam",
        "half-rope-bam",
        "half-rope-window-bam",
        "half-rope-kerple-power",
        "half-rope",
    )
    base = spec("rope-bam")
    rows, keys = [encodings.encoding(name) for name in names], []
    with pytest.MonkeyPatch.context() as patch:
        for row in rows:  # under one name, so that nothing but the rows differ
            patch.setattr(encodings, "ENCODINGS", {**encodings.ENCODINGS, "rope-bam": row})
            keys.append(base.key())
    assert len(set(keys)) == len(keys)


def test_a_window_is_a_share_of_the_first_training_length():
    first = spec("half-rope-window-bam", length=120)
    further = spec("half-rope-window-bam", length=480).model_copy(update={"start": first})
    for made in (first, further):
        assert training.build(made).trained == 120
        rows = training.build(made)._rows(torch.zeros(1, 100, dtype=torch.long), None, None, None, "auto")
        assert int(rows.near.count.max()) == 30 and int(rows.visible.count.max()) == 100


def test_every_task_has_its_source_and_an_unknown_one_is_named():
    assert {name.partition("/")[2] for name in SOURCES if "/" in name} == set(algorithms.TASKS)
    with pytest.raises(ValueError, match=r"unknown task 'pass-key' \(nearest: passkey\); attention_priors.tasks lists"):
        spec(task="pass-key").key()
