"""Time and memory that the analysis takes for a large event log. Prints JSON.

python -m tests.perf.analysis_scale --sends 10000000    # twice as many receives; trials of a million sends
python -m tests.perf.analysis_scale --slices 60         # each trial measured in so many slices

The log is drawn from a seeded generator, with one acknowledged message in a million missing, so that the second look
at the messages is taken too. Memory: the proportional share (PSS) of the process and all its children, every 0.2 s.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.load.schemas import RECEIVES, SENDS
from bench.model import NANOS
from tests.eventlog import TrialLog, cut, write_run

ROWS = 1_000_000
LOAD_S = 100
PARTITIONS = 12
ANALYSE = (
    "import sys; from pathlib import Path; from bench.analysis import analyse; analyse(Path(sys.argv[1]))"
)


def write_log(folder: Path, trials: int, slices: int) -> Path:
    length_s = LOAD_S / max(1, slices)
    logs = [
        TrialLog(
            system="kafka",
            settings={"acks": "all"},
            round=number,
            window=(0, LOAD_S * NANOS),
            slices=[
                cut(place, place, place * length_s, (place + 0.1) * length_s, (place + 1) * length_s)
                for place in range(slices)
            ]
            or None,
            log_format=2,
        )
        for number in range(trials)
    ]
    run = write_run(folder / "run", logs)
    for number in range(trials):
        generator = np.random.default_rng(number)
        sequence = np.arange(ROWS, dtype=np.int64)
        sent = sequence * 100_000
        done = sent + generator.lognormal(13, 1, ROWS).astype(np.int64)
        entry = sequence // PARTITIONS
        slice_numbers = (sequence * max(1, slices) // ROWS).astype(np.int32)
        _sends(run / "trials" / f"{number:04d}" / "sends", sequence, sent, done, entry, slice_numbers)
        _receives(run / "trials" / f"{number:04d}" / "receives", sequence, sent, done, entry)
    return run


def _sends(folder: Path, *columns: np.ndarray) -> None:
    sequence, sent, done, entry, slice_numbers = columns
    values = {
        "producer": np.zeros(ROWS, np.int32),
        "sequence": sequence,
        "partition": (sequence % PARTITIONS).astype(np.int32),
        "due_ns": sent,
        "sent_ns": sent,
        "done_ns": done,
        "outcome": ["ok"] * ROWS,
        "error": pa.nulls(ROWS, pa.string()),
        "bytes": np.full(ROWS, 1000, np.int32),
        "ledger": pa.nulls(ROWS, pa.int64()),
        "entry": entry,
        "batch_index": pa.nulls(ROWS, pa.int32()),
        "slice": slice_numbers,
    }
    pq.write_table(pa.table(values, SENDS), folder / "0.parquet")


def _receives(folder: Path, *columns: np.ndarray) -> None:
    sequence, sent, done, entry = columns
    for stage in ("live", "verify"):
        kept = slice(0, ROWS if stage == "live" else ROWS - 1)
        count = len(sequence[kept])
        values = {
            "consumer": np.zeros(count, np.int32),
            "stage": [stage] * count,
            "partition": (sequence[kept] % PARTITIONS).astype(np.int32),
            "producer": np.zeros(count, np.int32),
            "sequence": sequence[kept],
            "sent_ns": sent[kept],
            "received_ns": done[kept] + 200_000,
            "ledger": pa.nulls(count, pa.int64()),
            "entry": entry[kept],
            "batch_index": pa.nulls(count, pa.int32()),
        }
        pq.write_table(pa.table(values, RECEIVES), folder / f"{stage}.parquet")


def watch(process: subprocess.Popen[bytes]) -> int:
    """Return the largest memory of a process and its children until it ends, in bytes."""
    most = 0
    while process.poll() is None:
        most = max(most, _memory(process.pid))
        time.sleep(0.2)
    return most


def _memory(pid: int) -> int:
    try:
        root = psutil.Process(pid)
        return sum(one.memory_full_info().pss for one in [root, *root.children(recursive=True)])
    except psutil.NoSuchProcess:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.perf.analysis_scale")
    parser.add_argument("--sends", type=int, default=10 * ROWS)
    parser.add_argument("--slices", type=int, default=0)
    options = parser.parse_args()
    trials = max(1, options.sends // ROWS)
    with tempfile.TemporaryDirectory() as folder:
        run = write_log(Path(folder), trials, options.slices)
        begun = time.monotonic()
        with subprocess.Popen([sys.executable, "-c", ANALYSE, str(run)]) as process:
            most = watch(process)
        told = {
            "sends": trials * ROWS,
            "slices": options.slices,
            "receives": trials * (2 * ROWS - 1),
            "seconds": round(time.monotonic() - begun, 1),
            "memory_gib": round(most / 2**30, 2),
            "status": process.returncode,
        }
        print(json.dumps(told))  # noqa: T201


if __name__ == "__main__":
    main()
