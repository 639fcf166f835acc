"""What has to be there before anything starts: the room on the disk, by what a scenario writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import SetupError
from bench.run import preflight
from bench.run.plan import plan
from bench.scenario import load

TEXT = """\
name: one
title: One
question: How much is written?
systems:
  kafka: {nodes: {controller: 1, broker: 3}, topic: {replicas: 3}}
  pulsar: {nodes: {zookeeper: 1, bookie: 3, broker: 1}, topic: {quorums: 3-2-2}}
"""
PACED = "load: {producers: 2, message_bytes: 1000, rate: 500}\n"


def written(folder: Path, text: str) -> dict[str, int]:
    file = folder / "one.yaml"
    file.write_text(TEXT + text, encoding="utf-8")
    return {trial.case.system: preflight.trial_bytes(trial.case) for trial in plan(load(file), 1).trials}


def test_what_is_written_is_known_by_the_number_of_messages(tmp_path: Path) -> None:
    """Kafka's three copies are written once each, Pulsar's two to a journal and to an entry log."""
    assert written(tmp_path, f"{PACED}messages: 10000\n") == {"kafka": 30_000_000, "pulsar": 40_000_000}


def test_what_is_written_is_known_by_a_rate_and_a_time(tmp_path: Path) -> None:
    """500 a second, for 10 s and 2 s of warm-up."""
    text = f"{PACED}duration: 10s\nwarm_up: {{trial: 2s}}\n"
    assert written(tmp_path, text) == {"kafka": 18_000_000, "pulsar": 24_000_000}


def test_what_a_closed_loop_will_write_nobody_knows(tmp_path: Path) -> None:
    assert written(tmp_path, "load: {message_bytes: 1000}\nduration: 10s\n") == {"kafka": 0, "pulsar": 0}


def test_a_disk_without_room_for_it_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"GiB free, a run may need 1048581\.0 GiB"):
        preflight.check([], tmp_path, 2**50)
