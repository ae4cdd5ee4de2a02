"""Where results lie."""

from pathlib import Path

from attention_priors.store.layout import Layout


def test_what_no_profile_changes_lies_once_and_apart_for_smoke():
    cpu, full, smoke = (Layout(Path("r"), name) for name in ("cpu", "full", "smoke"))
    assert cpu.folder("longer_rotations") == full.folder("longer_rotations") == Path("r/theory")
    assert cpu.folder("passkeys") == Path("r/cpu") and full.folder("passkeys") == Path("r/full")
    assert cpu.runs == full.runs == Path("r/runs") and smoke.runs == Path("r/smoke/runs")
    assert smoke.theory == Path("r/smoke/theory") and smoke.models == Path("r/smoke/models")
    assert cpu.run("passkey/bam/0", "0123456789abcdef") == Path("r/runs/passkey/bam/0.01234567.xz")
