"""Every send and every receive on record: nothing is sampled, nothing is dropped.

A send costs its caller one `struct.pack_into`; Arrow and Parquet are the writer's thread's.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.load.payload import join_headers, of_trial, split_headers
from bench.load.received_messages import DistinctMessages
from bench.load.schemas import NO_ERROR, RECEIVES, SEND_DTYPE, SEND_RECORD, SENDS, receive_table, send_table
from bench.load.writer import ParquetWriter
from bench.model import Outcome
from bench.native_threads import new_lock, sleep
from bench.systems.protocols import ReceivedMessage, SendResult

CHUNK_ROWS = 65_536
FOREIGN = -1
"""Producer and sequence of a received message that is not of this trial."""

_RECORD_BYTES = struct.calcsize(SEND_RECORD)
_PACK = struct.Struct(SEND_RECORD).pack_into

_PIECE = 512
_MOST_PIECES = 4000
_BEHIND_S = 0.001

Columns: TypeAlias = dict[str, NDArray[Any]]


class SendRecorder:
    """Records sends that are over, those of each sending thread by a line of its own.

    With `watched`, `fresh_rows` gives the records since its last call; unless called, they pile up.
    """

    def __init__(  # noqa: PLR0913 - what differs between loads
        self,
        folder: Path,
        message_bytes: int,
        lines: int = 1,
        *,
        watched: bool = False,
        chunk_rows: int = CHUNK_ROWS,
        first: int = 0,
    ) -> None:
        """Open a recorder that writes below `folder`, in row groups of about `chunk_rows`; close it.

        `first` is the number of its first producer: several processes may write into one folder.
        """
        self.errors: list[str] = []
        """The names behind the error codes of `fresh_rows`."""
        self._writer = ParquetWriter(folder, f"sends-{first}" if first else "sends", SENDS, self._table)
        self._message_bytes = message_bytes
        self._chunk_rows = chunk_rows
        self._pending: list[NDArray[Any]] = []
        self._pending_rows = 0
        codes = _Codes(self.errors)
        rows = max(1, chunk_rows // lines)
        self.lines = [SendLine(self._writer, codes, rows, watched=watched) for _ in range(lines)]

    @property
    def counts(self) -> list[int]:
        """How many records there are, by outcome."""
        return [sum(counts) for counts in zip(*(line.counts for line in self.lines), strict=True)]

    @property
    def backlog(self) -> int:
        """The number of full chunks that wait for the disk now."""
        return self._writer.backlog

    @property
    def backlog_max(self) -> int:
        """The largest number of full chunks that waited for the disk at one time."""
        return self._writer.backlog_max

    def fresh_rows(self) -> list[NDArray[Any]]:
        """Return views of the records made since the last call, in SEND_DTYPE; they stay as they are."""
        return [rows for line in self.lines for rows in line.fresh_rows()]

    def flush(self) -> None:
        """Have all records so far on disk, each file complete. Raises LoadError when any could not be written."""
        for line in self.lines:
            line.flush()
        self._writer.flush()

    def close(self) -> None:
        """Write what is left. Raises LoadError when any record could not be written."""
        for line in self.lines:
            line.close()
        self._writer.close()

    def _table(self, rows: NDArray[Any] | None) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Gather chunks until they fill a row group; in the writer's thread."""
        if rows is not None:
            self._pending.append(rows)
            self._pending_rows += len(rows)
        if not self._pending or (rows is not None and self._pending_rows < self._chunk_rows):
            return None
        pending, self._pending, self._pending_rows = self._pending, [], 0
        return send_table(np.concatenate(pending), self.errors, self._message_bytes)


class _Codes(dict[str | None, int]):
    """Numbers for the names of errors, in the order of their first use."""

    def __init__(self, names: list[str]) -> None:
        super().__init__({None: NO_ERROR})
        self._names = names
        self._lock = new_lock()

    def __missing__(self, error: str) -> int:
        with self._lock:
            if error not in self:
                self._names.append(error)
                self[error] = len(self._names) - 1
            return self[error]


class SendLine:
    """Records the sends of one thread. `counts` is the number of records by outcome.

    A line a thread, as threads that share one keep each other waiting (measured: a fifth of the throughput of
    100 producers).
    """

    def __init__(self, writer: ParquetWriter, codes: _Codes, chunk_rows: int, *, watched: bool) -> None:
        """Hand full chunks over to this writer."""
        self.counts = [0] * len(Outcome)
        self.slice = 0
        """The slice that the sends recorded from now on belong to."""
        self._writer = writer
        self._codes = codes
        self._watched = watched
        self._unread_parts: list[NDArray[Any]] = []
        self._chunk = bytearray(chunk_rows * _RECORD_BYTES)
        self._end = 0
        self._read_end = 0
        self._lock = new_lock()

    def record(  # noqa: PLR0913, PLR0917 - the hot path takes plain integers
        self, producer: int, sequence: int, due_ns: int, sent_ns: int, done_ns: int, done: SendResult
    ) -> None:
        """Record a send that is over; `done_ns` is NOT_GIVEN for one that the client never told about."""
        outcome, error, partition, ledger, entry, batch_index = done
        with self._lock:  # against `fresh_rows` in another thread
            _PACK(
                self._chunk,
                self._end,
                producer,
                partition,
                outcome,
                self._codes[error],
                sequence,
                due_ns,
                sent_ns,
                done_ns,
                ledger,
                entry,
                batch_index,
                self.slice,
            )
            self.counts[outcome] += 1
            self._end += _RECORD_BYTES
            if self._end == len(self._chunk):
                self._next_chunk()

    def fresh_rows(self) -> list[NDArray[Any]]:
        """See SendRecorder."""
        with self._lock:
            rows = [*self._unread_parts, self._rows(self._read_end, self._end)]
            self._unread_parts.clear()
            self._read_end = self._end
        return rows

    def flush(self) -> None:
        """Hand over what is there, however little."""
        with self._lock:
            if self._end:
                self._next_chunk()

    def close(self) -> None:
        """Hand over what is left."""
        if self._end:
            self._writer.put(self._rows(0, self._end))

    def _next_chunk(self) -> None:
        if self._watched:
            self._unread_parts.append(self._rows(self._read_end, self._end))
        self._writer.put(self._rows(0, self._end))
        # A new buffer each time: views of the old one stay valid for whoever still reads them.
        self._chunk = bytearray(len(self._chunk))
        self._end = 0
        self._read_end = 0

    def _rows(self, start: int, end: int) -> NDArray[Any]:
        count = (end - start) // _RECORD_BYTES
        return np.frombuffer(self._chunk, SEND_DTYPE, count=count, offset=start if count else 0)


class ReceiveRecorder:
    """Records what one consumer receives in one stage; counts all, and this trial's distinct messages.

    The receiving thread only cuts the headers off, 512 messages at a time: what takes longer would stand in the
    receive time of the next message.
    """

    def __init__(self, folder: Path, stage: str, consumer: int, run: int, trial: int) -> None:
        """Open a recorder that writes below `folder`; `run` is the run_hash. Close it.

        Files have the process's id in their names: another may have been the same consumer before.
        """
        self.received = 0
        self.last_ns = 0
        self._came = DistinctMessages()
        self._stage = stage
        self._consumer = consumer
        self._run = run
        self._trial = trial
        self._pending: list[ReceivedMessage] = []
        self._parts: list[Columns] = []
        self._rows = 0
        self._writer = ParquetWriter(folder, f"{stage}-{consumer}-{os.getpid()}", RECEIVES, self._table)

    @property
    def distinct(self) -> int:
        """How many different messages of this trial came; what is not handed over yet is missing."""
        return self._came.count

    def add(self, batch: Sequence[ReceivedMessage]) -> None:
        """Record a batch."""
        if not batch:
            return
        self.received += len(batch)
        self.last_ns = batch[-1].received_ns
        self._pending.extend(batch)
        if len(self._pending) >= _PIECE:
            self.hand_over()

    def hand_over(self) -> None:
        """Let the writer's thread have what has gathered; wait for it where it is far behind."""
        if not self._pending:
            return
        payloads, *columns = zip(*self._pending, strict=True)
        self._pending = []
        self._writer.put((join_headers(payloads), columns))
        while self._writer.backlog > _MOST_PIECES:
            sleep(_BEHIND_S)

    def flush(self) -> None:
        """Have all records so far on disk, as SendRecorder does; in the receiving thread."""
        self.hand_over()
        self._writer.flush()

    def close(self) -> None:
        """Write what is left. Raises LoadError when any record could not be written."""
        self.hand_over()
        self._writer.close()

    def _table(self, piece: tuple[bytes, list[tuple[int, ...]]] | None) -> Any:  # noqa: ANN401
        """Gather pieces until they fill a chunk; in the writer's thread."""
        if piece is not None:
            self._gather(self._columns(*piece))
        if not self._rows or (piece is not None and self._rows < CHUNK_ROWS):
            return None
        columns = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        self._parts, self._rows = [], 0
        return receive_table(columns, self._consumer, self._stage)

    def _gather(self, columns: Columns) -> None:
        self._came.add(columns["producer"], columns["sequence"])
        self._parts.append(columns)
        self._rows += len(columns["sequence"])

    def _columns(self, joined: bytes, columns: list[tuple[int, ...]]) -> Columns:
        received_ns, partition, ledger, entry, batch_index = columns
        headers = split_headers(joined)
        is_own = of_trial(headers, self._run, self._trial)
        return {
            "partition": np.array(partition, np.int32),
            "producer": np.where(is_own, headers["producer"], np.int32(FOREIGN)),
            "sequence": np.where(is_own, headers["sequence"], np.int64(FOREIGN)),
            "sent_ns": np.where(is_own, headers["sent_ns"], np.int64(0)),
            "received_ns": np.array(received_ns, np.int64),
            "ledger": np.array(ledger, np.int64),
            "entry": np.array(entry, np.int64),
            "batch_index": np.array(batch_index, np.int32),
        }
