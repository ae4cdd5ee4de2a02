"""Attention as inference: position is a prior over the keys.

`attention_priors.load(name)` opens a trained model; everything else is imported from its module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .store import shipped

if TYPE_CHECKING:
    from .model import Transformer

__all__ = ["load"]


def load(name: str, device: str = "cpu") -> Transformer:
    """Open a trained model by name, such as "passkey/bam-ssmax/0", or by the path of a .safetensors file.

    Names are those of a clone's results/models, or of the folder that ATTENTION_PRIORS_MODELS names. ValueError for an
    unknown name (it lists those there are), a damaged file, or a device that is not there; ImportError where the
    packages of the extra `models` are missing.
    """
    shipped.find(name)  # first: where to get a model is said without any package
    try:
        # Late, so that importing attention_priors.positions on a bare machine does not import the training code.
        from .training.runs import load as opened
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a trained model needs {error.name}, which is not there; in a clone, pip install '.[models]'"
        ) from None
    return opened(name, device)
