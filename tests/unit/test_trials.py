"""What of a trial's record decides what limited it."""

from __future__ import annotations

from typing import Any

import pytest

from bench.analysis.folder import TrialRecord
from bench.analysis.resources.bottleneck import Asked
from bench.analysis.trials import asked


def record(**changed: Any) -> TrialRecord:
    document = {
        "format": 1,
        "trial": 0,
        "round": 0,
        "case": {"system": "kafka", "name": "kafka", "settings": {}},
        "load": {"pacing": "closed", "producers": 2, "window": 3},
        "state": "finished",
        "verdict": "valid",
    }
    return TrialRecord.model_validate(document | changed)


def case(**configuration: Any) -> dict[str, Any]:
    return {"system": "kafka", "name": "kafka", "settings": {}, "configuration": configuration}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"open_sends": 6}),
        ({"load": {"pacing": "closed"}}, {}),
        ({"load": {"pacing": [[1.0, 500.0], [9.0, 500.0]]}}, {"rate": 500.0}),
        ({"load": {"pacing": [[1.0, 500.0], [9.0, 800.0]]}}, {}),
        ({"case": case(producer={"acks": 0})}, {"open_sends": 6, "waits": False}),
        ({"case": case(producer={"acks": "all"}, partitions=12)}, {"open_sends": 6, "partitions": 12}),
        ({"disk": {"emulated_fsync": "as is"}}, {"open_sends": 6}),
        ({"disk": {"emulated_fsync": "5ms"}}, {"open_sends": 6, "added_fsync_ns": 5_000_000}),
    ],
)
def test_what_was_asked_is_read_from_the_record(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    assert asked(record(**changed)) == Asked(**expected)
