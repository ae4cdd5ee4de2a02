"""Where results lie, and what may lie there though earlier code made it."""

from pathlib import Path

import pytest

from attention_priors.layout import Layout, Outdated, outdated


def test_what_no_profile_changes_lies_once_and_apart_for_smoke():
    cpu, full, smoke = (Layout(Path("r"), name) for name in ("cpu", "full", "smoke"))
    assert cpu.folder("longer_rotations") == full.folder("longer_rotations") == Path("r/theory")
    assert cpu.folder("passkeys") == Path("r/cpu") and full.folder("passkeys") == Path("r/full")
    assert cpu.runs == full.runs == Path("r/runs") and smoke.runs == Path("r/smoke/runs")
    assert smoke.theory == Path("r/smoke/theory") and smoke.models == Path("r/smoke/models")
    assert cpu.record("passkey/bam/0", "0123456789abcdef") == Path("r/runs/passkey/bam/0.01234567.json")


def test_an_exception_names_notebooks_and_says_why(tmp_path):
    path = tmp_path / "outdated.yaml"
    assert outdated(path) == Outdated()
    path.write_text("notebooks: [passkeys]\nruns: true\nwhy: because\nissue: 3\n")
    assert outdated(path) == Outdated(("passkeys",), True, "because", 3)
    for text in ("notebooks: [passkey]\nruns: true\nwhy: because\nissue: 3\n", "runs: true\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"outdated.yaml: .* needs exactly"):
            outdated(path)
