"""One build of the site for all tests that read it, also where workers share them."""

import importlib.util
import os
from pathlib import Path

import pytest
from filelock import FileLock


@pytest.fixture(scope="session")
def html(root, tmp_path_factory) -> Path:
    """The folder of the site's pages, built from the committed results."""
    from attention_priors.publish.site import build

    missing = [name for name in build.NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the site is built with {', '.join(missing)}: not installed")
    own = tmp_path_factory.getbasetemp()
    # The folders of xdist's workers lie side by side, so that their parent is one for all.
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site"
    with FileLock(f"{shared}.lock"):
        if not (shared / "done").exists():
            build.build(root / "results", shared)
            (shared / "done").touch()
    return shared / "html"
