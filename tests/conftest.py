"""For all tests: no network, no display, and shapes checked at every call of positions, attention and the model."""

import gc
import os
import sys
import types

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ["MPLBACKEND"] = "agg"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers share two cores

# The hook takes its checker by name; this one accepts an int where a float is asked for, as Python does.
numeric = types.ModuleType("numeric_beartype")
numeric.check = beartype(conf=BeartypeConf(is_pep484_tower=True))
sys.modules[numeric.__name__] = numeric
# Before the first import of these modules. Compiled kernels are left out: the hook would break them.
CHECKED = ["positions", "attention.op", "attention.reference", "attention.sdpa", "attention.visible", "model"]
install_import_hook([f"attention_priors.{module}" for module in CHECKED], "numeric_beartype.check")

gc.set_threshold(50_000, 20, 50)  # thousands of tests are collected: looking through them again costs a tenth


def pytest_collection_finish():
    """What was imported and collected stays to the end: the garbage collector need not look at it."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def unchecked(monkeypatch):
    """Calls as outside of the tests: what comes in is not held against annotations first."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture(scope="session")
def root():
    """The repository."""
    from attention_priors import config

    return config.ROOT


LONGEST = ["test_notebooks.py", "test_fused.py", "test_compile.py", "test_pipeline.py"]


def pytest_collection_modifyitems(items):
    """The longest files first, so that at the end no worker is left alone with one."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
