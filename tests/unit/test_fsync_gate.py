"""Which msyncs have anything to write."""

import ctypes
import mmap
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from bench.backends import fsync_gate
from bench.backends.fsync_gate import FsyncGate, MappedFiles

_BYTES = 1 << 16
_TICK_S = 0.02  # what older kernels note times by, and more


def mapped(path: Path) -> tuple[mmap.mmap, int]:
    """Map a new file; return the mapping and where it lies."""
    with path.open("w+b") as file:
        file.truncate(_BYTES)
        mapping = mmap.mmap(file.fileno(), _BYTES)
    return mapping, ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def test_a_file_has_changed_when_it_was_written_to_since_it_was_last_asked_of(tmp_path: Path) -> None:
    mapping, address = mapped(tmp_path / "index")
    files = MappedFiles()

    def changed() -> bool:
        return files.has_changed(os.getpid(), address, _BYTES)

    assert changed()  # nothing is known yet
    assert not changed()
    for value in (1, 2):
        time.sleep(_TICK_S)
        mapping.flush()
        mapping[5] = value
        assert changed()
        assert not changed()


def test_what_cannot_be_told_counts_as_changed(tmp_path: Path) -> None:
    _, address = mapped(tmp_path / "index")
    files = MappedFiles()
    assert [files.has_changed(os.getpid(), address, _BYTES) for _ in range(2)] == [True, False]
    (tmp_path / "index").unlink()

    assert files.has_changed(os.getpid(), address, _BYTES)
    assert files.has_changed(2**22 + 1, address + 1, _BYTES)  # nobody has this id


def test_where_nobody_is_left_who_could_ask_nobody_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Linux 6.11 a question asked for there never comes; none is asked for that is not there."""
    asked: list[FsyncGate] = []

    def next_notification(gate: FsyncGate) -> None:
        asked.append(gate)

    monkeypatch.setattr(FsyncGate, "_next_notification", next_notification)
    here, there = socket.socketpair()
    with here, there:
        command = fsync_gate.command(there, "true")
        with subprocess.Popen(command, pass_fds=(there.fileno(),)) as process:
            there.close()
            gate = FsyncGate.of(here)
    assert process.returncode == 0

    time.sleep(0.2)
    gate.close()

    assert asked == []
