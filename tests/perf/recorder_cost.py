"""What the recorder costs the thread that sends, a message, its writer's thread included. Prints JSON.

python -m tests.perf.recorder_cost
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.load.recorder import SendRecorder
from bench.model import Outcome
from bench.systems.protocols import NOT_GIVEN, SendResult

RECORDS = 300_000
ROUNDS = 9
OK = SendResult(Outcome.OK, None, 3, NOT_GIVEN, 7, NOT_GIVEN)


def one_round() -> tuple[float, float]:
    """Return wall and CPU nanoseconds a record, until everything is on disk."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = SendRecorder(Path(folder) / "sends", 1000)
        record = recorder.lines[0].record
        wall, cpu = time.monotonic_ns(), time.process_time_ns()
        for sequence in range(RECORDS):
            record(0, sequence, 1, 2, 3, OK)
        in_thread = time.monotonic_ns() - wall
        recorder.close()
        return in_thread / RECORDS, (time.process_time_ns() - cpu) / RECORDS


def main() -> None:
    found = [one_round() for _ in range(ROUNDS)]
    told = {"wall_ns": median(one for one, _ in found), "cpu_ns_with_writer": median(two for _, two in found)}
    print(json.dumps({**told, "records": RECORDS, "rounds": ROUNDS}))  # noqa: T201


if __name__ == "__main__":
    main()
