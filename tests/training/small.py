"""A recipe and a run that take a second."""

from attention_priors.config import ModelConfig, Recipe
from attention_priors.tasks import passkey
from attention_priors.training.runs import RunSpec

RECIPE = Recipe(
    name="test",
    optimizer="adamw",
    rate=0.01,
    prior_rate=10.0,
    steps=6,
    batch=2,
    length=80,
    warmup=0,
    final_rate=0.1,
    weight_decay=0.1,
    betas=(0.9, 0.95),
    clip=1.0,
    text_weight=0.1,
    checkpoint_every=2,
)


def spec(encoding: str = "bam-ssmax", seed: int = 0, task: str = "passkey", layers: int = 2, **changes) -> RunSpec:
    """A model of `layers` layers of width 16; `changes` are the recipe's."""
    size = {"vocabulary": len(passkey.VOCABULARY), "width": 16, "layers": layers, "heads": 2, "hidden": 16}
    recipe = RECIPE.model_copy(update=changes)
    return RunSpec(task=task, model=ModelConfig(encoding=encoding, **size), recipe=recipe, seed=seed)
