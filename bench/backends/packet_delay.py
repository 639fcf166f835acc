"""Holds the packets that a packet filter queues, as a longer or narrower link would.

`python -m bench.backends.packet_delay DELAY_NS JITTER_NS BYTES_PER_S` in a node's network namespace serves queue 0
(what comes in) and queue 1 (what goes out). Each packet waits its delay, give or take the jitter, in order. Where
there is a rate (0: none) it also waits behind those that were there before it. The process says `ready`, and on
SIGTERM what it did, as JSON. It is used whether the kernel has netem or not: one way that tells what it did is
better than two of which one does not. It works packet by packet in Python, so what it adds of its own is measured.
`held` is from when a packet came to when it was let go, `delayed` that without its wait for a link of this rate.
`busy` is what passed, and in how long, in runs of packets. In a run each packet came before the link was done with
the one before it. Runs count that take a link of this rate 5 ms and more. A shorter one would show how late it is
let go, more than the rate.
"""

from __future__ import annotations

import json
import random
import select
import signal
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.backends.ranks import nearest_rank

_NETFILTER = 12
_QUEUE = 3 << 8
_PACKET, _CONFIG, _VERDICTS = _QUEUE, _QUEUE | 2, _QUEUE | 3
_REQUEST, _ACK = 1, 4
_BIND = 1
_CFG_COMMAND, _CFG_PARAMS, _CFG_MOST, _CFG_MASK, _CFG_FLAGS = 1, 2, 3, 4, 5
_ATTR_PACKET, _ATTR_VERDICT, _ATTR_PAYLOAD = 1, 2, 10
_COPY_PACKET, _COPIED = 2, 4
_WHOLE_SEGMENTS = 4
_ACCEPT = 1
_MOST_WAITING = 1_000_000
_BUFFER = 32 << 20
_READ = 1 << 18
_RCVBUFFORCE = 33
_DIRECTIONS = ("in", "out")
_RUN_LEAST_S = 0.005


class Packet(NamedTuple):
    """A packet on its way. It waits `waits_ns` of its time for the link, behind others and for its own bytes.

    It is one of a run of packets that followed each other without a gap on the link: `run_ns` is when the first of them
    came.
    """

    number: int
    length: int
    came_ns: int
    due_ns: int
    waits_ns: int
    run_ns: int


@dataclass(slots=True)
class LinkDirection:
    """One direction: packets on their way, each due no earlier than the one before it."""

    delay_ns: int
    jitter_ns: int
    bytes_per_s: float
    waiting: deque[Packet] = field(default_factory=deque)
    held_ns: list[int] = field(default_factory=list)
    delayed_ns: list[int] = field(default_factory=list)
    bytes: int = 0
    _free_ns: int = 0
    _last_ns: int = 0
    _run_ns: int = 0
    _runs: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By when the first packet of a run came: the bytes that were let go of it, and for how long it took the link."""

    def add(self, number: int, length: int, now_ns: int) -> None:
        """Take a packet in."""
        if now_ns >= self._free_ns:
            self._run_ns = now_ns
        start_ns = max(now_ns, self._free_ns)
        self._free_ns = start_ns + round(length / self.bytes_per_s * 1e9) if self.bytes_per_s else now_ns
        shift_ns = random.randint(-self.jitter_ns, self.jitter_ns) if self.jitter_ns else 0
        self._last_ns = max(self._last_ns, self._free_ns + self.delay_ns + shift_ns)
        waits_ns = self._free_ns - now_ns
        self.waiting.append(Packet(number, length, now_ns, self._last_ns, waits_ns, self._run_ns))

    def due(self, now_ns: int) -> int | None:
        """Return the number of the last packet that is due, and with it all before it; None when none is."""
        last = None
        while self.waiting and self.waiting[0].due_ns <= now_ns:
            packet = self.waiting.popleft()
            self._let_go(packet, now_ns)
            last = packet.number
        return last

    def _let_go(self, packet: Packet, now_ns: int) -> None:
        held_ns = now_ns - packet.came_ns
        self.held_ns.append(held_ns)
        self.delayed_ns.append(held_ns - packet.waits_ns)
        self.bytes += packet.length
        run_bytes, _ = self._runs.get(packet.run_ns, (0, 0))
        took_ns = now_ns - packet.run_ns - (self.delay_ns - self.jitter_ns)
        self._runs[packet.run_ns] = run_bytes + packet.length, took_ns

    def figures(self) -> dict[str, int]:
        """Return what it did; what still waits is not counted, as it was not held for its time."""
        busy = [run for run in self._runs.values() if run[0] >= _RUN_LEAST_S * self.bytes_per_s]
        held_ns = sorted(self.held_ns) or [0]
        return {
            "packets": len(self.held_ns),
            "bytes": self.bytes,
            "p50_ns": nearest_rank(held_ns, 50),
            "p99_ns": nearest_rank(held_ns, 99),
            "delayed_p50_ns": nearest_rank(sorted(self.delayed_ns) or [0], 50),
            "busy_bytes": sum(run_bytes for run_bytes, _ in busy),
            "busy_ns": sum(took_ns for _, took_ns in busy),
        }


class Queues:
    """The kernel's two queues of this network namespace."""

    def __init__(self) -> None:
        """Bind them. Raises OSError where the kernel has no such queues."""
        self.overruns = 0
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _BUFFER)
        except PermissionError:  # only root of the machine itself may; others get as much as it allows
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        self._socket.bind((0, 0))
        for queue in range(len(_DIRECTIONS)):
            self._configure(queue, _attribute(_CFG_COMMAND, struct.pack("!BBH", _BIND, 0, socket.AF_INET)))
            params = struct.pack("!IB", _COPIED, _COPY_PACKET)
            flags = struct.pack("!I", _WHOLE_SEGMENTS)
            self._configure(
                queue,
                _attribute(_CFG_PARAMS, params)
                + _attribute(_CFG_MOST, struct.pack("!I", _MOST_WAITING))
                + _attribute(_CFG_FLAGS, flags)
                + _attribute(_CFG_MASK, flags),
            )
        self._socket.settimeout(0.0)

    def _configure(self, queue: int, attributes: bytes) -> None:
        self._socket.send(_message(_CONFIG, queue, attributes, _REQUEST | _ACK))
        answer = self._socket.recv(_READ)
        failed = struct.unpack_from("=i", answer, 16)[0]
        if failed:
            raise OSError(-failed, "binding a packet queue")

    def await_packets(self, seconds: float | None) -> None:
        """Return when something has come, or after so long."""
        select.select([self._socket], [], [], seconds)

    def packets(self) -> Iterator[tuple[int, int, int]]:
        """Return (queue, packet, length) of what has come."""
        while True:
            try:
                data = self._socket.recv(_READ)
            except BlockingIOError:
                return
            except OSError:  # the socket's buffer ran over: packets were dropped, nobody knows how many
                self.overruns += 1
                continue
            yield from _packets(data)

    def let_go(self, queue: int, packet: int) -> None:
        """Let a packet and all before it go."""
        verdict = _attribute(_ATTR_VERDICT, struct.pack("!II", _ACCEPT, packet))
        self._socket.send(_message(_VERDICTS, queue, verdict, _REQUEST))


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _message(kind: int, queue: int, attributes: bytes, flags: int) -> bytes:
    return (
        struct.pack("=IHHIIBBH", 20 + len(attributes), kind, flags, 0, 0, 0, 0, socket.htons(queue))
        + attributes
    )


def _packets(data: bytes) -> Iterator[tuple[int, int, int]]:
    at = 0
    while at + 20 <= len(data):
        size, kind = struct.unpack_from("=IH", data, at)
        if kind == _PACKET:
            (queue,) = struct.unpack_from("!H", data, at + 18)
            number, length = _packet(data, at + 20, at + size)
            yield queue, number, length
        at += (size + 3) & ~3


def _packet(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a packet's number and its length by its IP header."""
    number = length = 0
    while at + 4 <= end:
        size, kind = struct.unpack_from("=HH", data, at)
        if kind & 0x3FFF == _ATTR_PACKET:
            (number,) = struct.unpack_from("!I", data, at + 4)
        elif kind & 0x3FFF == _ATTR_PAYLOAD:
            (length,) = struct.unpack_from("!H", data, at + 6)
        at += (size + 3) & ~3
    return number, length


def _say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until SIGTERM; what still waits goes at once then."""
    delay_ns, jitter_ns, bytes_per_s = (int(value) for value in sys.argv[1:4])
    queues = Queues()
    directions = [LinkDirection(delay_ns, jitter_ns, bytes_per_s) for _ in _DIRECTIONS]
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: ended.append(number))
    _say("ready")
    while not ended:
        for queue, packet, length in queues.packets():
            directions[queue].add(packet, length, time.monotonic_ns())
        now_ns = time.monotonic_ns()
        for queue, direction in enumerate(directions):
            if (last := direction.due(now_ns)) is not None:
                queues.let_go(queue, last)
        dues = [direction.waiting[0].due_ns for direction in directions if direction.waiting]
        queues.await_packets(max(0.0, (min(dues) - time.monotonic_ns()) / 1e9) if dues else 0.2)
    for queue, direction in enumerate(directions):
        if direction.waiting:
            queues.let_go(queue, direction.waiting[-1].number)
    figures = {
        name: {**direction.figures(), "overruns": queues.overruns}
        for name, direction in zip(_DIRECTIONS, directions, strict=True)
    }
    _say(json.dumps(figures))


if __name__ == "__main__":
    main()
