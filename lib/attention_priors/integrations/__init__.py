"""The priors of this package in other people's models: a module for each library, imported by its name."""

from importlib.util import find_spec

if find_spec("transformers") is None:
    raise ImportError(
        "priors in other people's models need transformers, which is not there; in a clone, "
        "pip install '.[transformers]'"
    )
