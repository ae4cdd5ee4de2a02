"""How long a run was waited for, from its provenance."""

from datetime import UTC, datetime, timedelta

from attention_priors import config, store
from attention_priors.commands import bench as bench
from attention_priors.experiments import archive
from attention_priors.store.layout import Layout


def test_what_was_waited_for_counts_side_by_side_once_and_pauses_not_at_all():
    def ran(minute: int, minutes: int) -> dict:
        ended = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=minute + minutes)
        return {"wall_seconds": 60.0 * minutes, "ended": ended.isoformat(timespec="seconds")}

    beside = [ran(0, 30), ran(5, 10), ran(20, 20)]
    assert bench.elapsed(beside) == 60 * 40
    assert bench.elapsed([*beside, ran(100, 7)]) == 60 * 47, "resumed an hour later"
    assert bench.elapsed([*beside, {"wall_seconds": 60.0}]) == 60 * 41, "it is not known when: as if alone"
    assert bench.elapsed([]) == 0


def test_the_row_gives_minutes_and_no_row_without_provenance(tmp_path):
    profile = config.profile("smoke")
    assert bench.time_taken(tmp_path, profile) == []
    ended = "2026-01-01T12:00:00+00:00"
    notebooks = {name: {"wall_seconds": 90.0, "ended": ended} for name in ("first", "second")}
    layout = Layout(tmp_path, "smoke")
    store.write_json(layout.own / "provenance.json", {"notebooks": notebooks})
    store.write_json(layout.theory / "provenance.json", {"notebooks": {"third": notebooks["first"]}})
    store.write_json(layout.own / "runs.json", {"passkey/bam/0": "a" * 16, "passkey/bam/1": "b" * 16})
    kept = {"a" * 16: {archive.RECORD: {"seconds": 120.0}}}
    store.write_bytes(layout.run("passkey/bam/0", "a" * 16), archive.packed(kept))
    (label, minutes, _), (_, trained, _) = bench.time_taken(tmp_path, profile)
    assert "make reproduce, profile smoke" in label and minutes == "1.5 min"
    assert trained == "1.0 min", "two workers"
