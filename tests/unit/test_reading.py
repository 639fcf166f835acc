"""A reader of a topic beside the load, and what its record says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from bench.faults.reading import Reading

PROGRESS = {
    "received": 7,
    "at": [[0, 13, 1923], [1, -1, 4]],
    "first_ns": 5,
    "last_ns": 9,
    "stalls": [{"from_ns": 6, "to_ns": 8, "received": 3, "at": [[0, 13, 900]]}],
}


def test_a_record_is_written_as_the_reader_told_it_through_json() -> None:
    def read_all(
        _name: str, told: Callable[[Mapping[str, Any]], None], _over: threading.Event
    ) -> dict[str, Any]:
        told(json.loads(json.dumps(PROGRESS)))
        return {**json.loads(json.dumps(PROGRESS)), "complete": True, "reason": None}

    reading = Reading.begin("from the beginning", "after 1 s", read_all)
    reading.give_up()

    written = reading.record.model_dump(mode="json")
    assert written["at"] == [[0, 13, 1923], [1, -1, 4]]
    assert (written["received"], written["complete"], written["reason"]) == (7, True, None)
