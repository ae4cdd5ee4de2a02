"""Attention as inference: position is a prior over the keys.

`attention_priors.load(name)` opens a trained model; everything else is imported from its module.
"""

__all__ = ["load"]


def __getattr__(name: str):
    # Lazy, so that importing attention_priors.positions on a bare machine does not import the training code.
    if name == "load":
        from attention_priors.training import load

        return load
    raise AttributeError(f"module 'attention_priors' has no attribute {name!r}; import it from its own module")
