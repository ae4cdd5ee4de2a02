"""Where trained models lie: results/models of a clone, or the folder that ATTENTION_PRIORS_MODELS names.

Only the standard library at import, so that an installation without any model can say where to get one.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = "ATTENTION_PRIORS_MODELS"


def folder() -> Path:
    """The folder of models by name; it need not be there."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else ROOT / "results" / "models"


def find(name: str) -> Path:
    """The file of a model, by its name or by its path.

    ValueError for a name that is not there, with those that are; where no folder of models is, with where to get it.
    """
    path = Path(name)
    if path.suffix == ".safetensors":
        return path
    models = folder()
    if not models.is_dir():
        said = f"{VARIABLE} = {models} is no folder" if os.environ.get(VARIABLE) else "this installation has no models"
        raise ValueError(
            f"no trained model {name!r}: {said}; a clone of the repository has some: set {VARIABLE} "
            "to its results/models, or give the path of a .safetensors file"
        )
    path = models / f"{name}.safetensors"
    if not path.exists():
        known = sorted(p.relative_to(models).with_suffix("").as_posix() for p in models.rglob("*.safetensors"))
        raise ValueError(f"no trained model {name!r}; there are: {', '.join(known) or 'none yet'}")
    return path
