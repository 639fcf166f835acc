"""Holds a process's fsync, fdatasync and msync calls for as long as asked, as a slower disk would.

An msync of what has not changed has nothing to write and is not held. The kernel asks before it carries one out
(seccomp's user notifications): nothing else of the process is touched, and the delay can change while it runs.
`python -m bench.backends.fsync_gate SOCKET COMMAND…` puts a command behind a gate and sends the kernel's questions to
whoever holds the other end of the socket.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import platform
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.errors import ClusterError, FaultError

_MACHINES = {"x86_64": (0xC000003E, 317, (74, 75, 26)), "aarch64": (0xC00000B7, 277, (82, 83, 227))}
"""By machine: the kernel's name for it (AUDIT_ARCH), the numbers of seccomp, and of fsync, fdatasync and msync."""
_MSYNC = frozenset(calls[-1] for _, _, calls in _MACHINES.values())
_MS_SYNC = 4
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_NO_NEW_PRIVS = 38
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_QUESTION = struct.Struct("=QIIiIQ6Q")  # id; pid, flags; call, machine, where from; its arguments
_CONTINUE = 1
_TURN_S = 0.2
_LOOK_S = 0.02
_RELEASED_S = 5.0
_KNOWN_S = 1.0


def command(child_end: socket.socket, *inner: str) -> list[str]:
    """Return the command that puts another behind a gate; it needs the descriptor of `child_end`, as its number."""
    return [sys.executable, "-m", "bench.backends.fsync_gate", str(child_end.fileno()), *inner]


@cache
def why_not() -> str | None:
    """Return why a process cannot be put behind a gate here; None where it can."""
    if platform.machine() not in _MACHINES:
        return f"system calls are known for {' and '.join(_MACHINES)}, not for {platform.machine()}"
    parent_end, child_end = socket.socketpair()
    with parent_end, child_end:
        tried = subprocess.run(
            command(child_end, "true"),
            pass_fds=(child_end.fileno(),),
            capture_output=True,
            text=True,
            check=False,
        )
    last_line = tried.stderr.strip().rpartition("\n")[2]
    return f"the kernel does not ask: {last_line}" if tried.returncode else None


class SyscallNotification(NamedTuple):
    """What the kernel asks: who makes which call, and what an msync is of."""

    id: int
    pid: int
    call: int
    address: int
    length: int
    flags: int


@dataclass(slots=True)
class MappedFiles:
    """The files that a process has mapped and syncs with msync."""

    _paths: dict[tuple[int, int], tuple[str, float]] = field(default_factory=dict)
    """Where a mapping's file lies, and until when that is taken for granted: another one may take its place."""
    _synced_ns: dict[tuple[int, int], int] = field(default_factory=dict)

    def has_changed(self, pid: int, address: int, length: int) -> bool:
        """Whether a mapped file has changed since this was last asked of it.

        The kernel notes when a page that is on the disk is written to (mtime). What cannot be told counts as changed.
        """
        path, until_s = self._paths.get((address, length), ("", 0.0))
        if time.monotonic() > until_s:
            path = _mapped_path(pid, address)
            self._paths[address, length] = path, time.monotonic() + _KNOWN_S
        try:
            status = os.stat(path)  # noqa: PTH116 - asked before every msync
        except OSError:
            del self._paths[address, length]
            return True
        file = status.st_dev, status.st_ino
        before_ns, self._synced_ns[file] = self._synced_ns.get(file), status.st_mtime_ns
        return before_ns != status.st_mtime_ns


def _mapped_path(pid: int, address: int) -> str:
    """Return where the file lies that a process has mapped at an address; empty where that cannot be told."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        begin, end = (int(bound, 16) for bound in line.split(maxsplit=1)[0].split("-"))
        if begin <= address < end and "/" in line:
            return f"/proc/{pid}/root{line[line.index('/') :]}"
    return ""


@dataclass(slots=True)
class FsyncGate:
    """Answers the kernel's questions about one process, in a thread of its own. `delay_ns` may change any time."""

    listener: int
    delay_ns: int = 0
    held_ns: list[int] = field(default_factory=list)
    """How long each call was held, of those for which there was a delay."""
    inside_ns: list[int] = field(default_factory=list)
    """How long each call was in the gate, with or without a delay: what the gate itself adds is in it.

    Without the msyncs of what had not changed.
    """
    holding: int = 0
    """How many calls are held now."""
    _files: MappedFiles = field(default_factory=MappedFiles)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @classmethod
    def of(cls, received: socket.socket) -> FsyncGate:
        """Take the questions that the new process sends, and begin to answer them."""
        received.settimeout(30.0)
        try:
            _, descriptors, _, _ = socket.recv_fds(received, 1, 1)
        except OSError as error:
            raise ClusterError(f"A node did not come behind its gate: {error}.") from error
        if not descriptors:
            raise ClusterError("A node ended before it was behind its gate; its log tells why.")
        gate = cls(descriptors[0])
        gate._thread = threading.Thread(target=gate._run, name="fsync gate", daemon=True)
        gate._thread.start()
        return gate

    def typical_ns(self, since: int = 0) -> float:
        """Return the median of how long calls were held, without the first `since` of them; 0 when none was."""
        held_ns = self.held_ns[since:]
        return median(held_ns) if held_ns else 0.0

    def close(self) -> None:
        """Stop answering: right once the process is gone."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        os.close(self.listener)

    def _run(self) -> None:
        """Answer each question once its time has come; a process that is gone asks no more."""
        waiting: list[tuple[int, int, int]] = []  # (when it is due, when it came, the question's id)
        asking = select.poll()
        asking.register(self.listener, select.POLLIN)
        while not self._over.is_set():
            now_ns = time.monotonic_ns()
            while waiting and waiting[0][0] <= now_ns:
                due_ns, came_ns, question = heapq.heappop(waiting)
                answered = self._answer(question)
                inside_ns = time.monotonic_ns() - came_ns
                if answered:
                    self.inside_ns.append(inside_ns)
                if due_ns > came_ns:
                    self.holding -= 1
                    if answered:
                        self.held_ns.append(inside_ns)
            turn_s = min(_TURN_S, (waiting[0][0] - time.monotonic_ns()) / 1e9) if waiting else _TURN_S
            if not select.select([self.listener], [], [], max(0.0, turn_s))[0]:
                continue
            if not any(event & select.POLLIN for _, event in asking.poll(0)):
                self._over.wait(max(0.0, turn_s))  # hung up: nobody is left who could ask
                continue
            notification = self._next_notification()
            if notification is None:
                continue
            if not self._writes(notification):
                self._answer(notification.id)
                continue
            came_ns = time.monotonic_ns()
            due_ns = came_ns + self.delay_ns
            self.holding += due_ns > came_ns
            heapq.heappush(waiting, (due_ns, came_ns, notification.id))

    def _writes(self, notification: SyscallNotification) -> bool:
        """Whether a call has anything to write, as far as can be told."""
        if notification.call not in _MSYNC:
            return True
        return bool(notification.flags & _MS_SYNC) and self._files.has_changed(
            notification.pid, notification.address, notification.length
        )

    def _next_notification(self) -> SyscallNotification | None:
        """Return the next notification, of which there must be one; None when the process that waits for it is gone.

        Without one the kernel waits for it, and before Linux 6.11 also where nobody is left who could ask.
        """
        buffer = bytearray(_QUESTION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except OSError:
            return None
        number, pid, _, call, _, _, *arguments = _QUESTION.unpack(buffer)
        return SyscallNotification(number, pid, call, *arguments[:3])

    def _answer(self, question: int) -> bool:
        """Let a call be carried out; False when whoever asked was killed while it waited."""
        try:
            fcntl.ioctl(self.listener, _SEND, struct.pack("=QqiI", question, 0, 0, _CONTINUE))
        except OSError:
            return False
        return True


def release(gates: Mapping[str, FsyncGate]) -> str:
    """Let each gate hold no further call; return how that was seen, once none is held. Raises FaultError."""
    deadline = time.monotonic() + max(gate.delay_ns for gate in gates.values()) / 1e9 + _RELEASED_S
    for gate in gates.values():
        gate.delay_ns = 0
    last_held, now = -1, _held_count(gates)
    while now != last_held or any(gate.holding for gate in gates.values()):
        if time.monotonic() > deadline:
            raise FaultError(f"Fsyncs of {', '.join(gates)} were held after they were to be held no more.")
        time.sleep(_LOOK_S)
        last_held, now = now, _held_count(gates)
    return f"No fsync of {', '.join(gates)} waits at its gate, and none was held there any more."


def _held_count(gates: Mapping[str, FsyncGate]) -> int:
    return sum(len(gate.held_ns) for gate in gates.values())


def _filter() -> int:
    """Put this process, and whatever it becomes, behind a gate; return where the kernel's questions come."""
    name, seccomp, calls = _MACHINES[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUALS, 0, 4, name),
        (_LOAD, 0, 0, 0),
        (_EQUALS, 3, 0, calls[0]),
        (_EQUALS, 2, 0, calls[1]),
        (_EQUALS, 1, 0, calls[2]),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ASK),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    listener = libc.syscall(seccomp, _SET_MODE_FILTER, _NEW_LISTENER, header)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)")
    return int(listener)


def main() -> None:
    """Become the command, behind a gate."""
    child_end = socket.socket(fileno=int(sys.argv[1]))
    listener = _filter()
    socket.send_fds(child_end, [b"."], [listener])
    os.close(listener)
    child_end.close()
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command is the runner's own


if __name__ == "__main__":
    main()
