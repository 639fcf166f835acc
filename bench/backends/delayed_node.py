"""A node whose packets are held on their way (packet_delay.py), from its start to its end."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from bench.backends import commands, sandbox
from bench.errors import FaultError

_CHAINS = (("INPUT", "--source"), ("OUTPUT", "--destination"))
_QUEUES = "/proc/net/netfilter/nfnetlink_queue"
_ANSWERS_S = 30.0
"""Who holds packets says within so long that it does, and what it did once it ends."""


@cache
def why_no_queue() -> str | None:
    """Return why packets cannot be led to a queue and served from it here; None where they can. It is tried."""
    if shutil.which("iptables", path=sandbox.PATH) is None:
        return "iptables is missing"
    rule = "--append INPUT --source 10.0.0.1 --jump NFQUEUE --queue-num 0 --queue-bypass"
    served = "from bench.backends.packet_delay import Queues; Queues()"
    reason = sandbox.why_fails(f'iptables --wait {rule}; "$@"', sys.executable, "-c", served)
    return f"the kernel does not queue packets: {reason}" if reason else None


@dataclass(frozen=True, slots=True)
class Link:
    """What a link adds to each packet, one way: `delay_s`, give or take `jitter_s`, and a rate (0: no limit)."""

    delay_s: float
    jitter_s: float = 0.0
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class HeldPackets:
    """What was done to the packets of one direction: how many were held for their time, and how long that was.

    `delayed_p50_ns` is how long without their wait for a link of the rate asked for. `busy_bytes` passed in
    `busy_ns` in which packets waited for each other, so that the link was never idle (5 ms and more each time).
    `overruns`: how often packets of the node, in either direction, were dropped as too many came at once.
    """

    packets: int
    bytes: int
    p50_ns: int
    p99_ns: int
    delayed_p50_ns: int
    busy_bytes: int
    busy_ns: int
    overruns: int


class DelayedNode:
    """Holds packets until `end`. `enter` is the command prefix that leads into the node's network namespace."""

    def __init__(
        self,
        enter: Sequence[str],
        name: str,
        sources: Sequence[str],
        targets: Sequence[str],
        link: Link,
    ) -> None:
        """Start the process that holds them, then lead packets to it. Raises FaultError."""
        self._enter = list(enter)
        self._name = name
        self.ended = False
        self._rules = [
            [
                chain,
                side,
                ",".join(addresses),
                "--jump",
                "NFQUEUE",
                "--queue-num",
                str(queue),
                "--queue-bypass",
            ]
            for queue, ((chain, side), addresses) in enumerate(zip(_CHAINS, (sources, targets), strict=True))
            if addresses
        ]
        figures = (link.delay_s * 1e9, link.jitter_s * 1e9, link.bytes_per_s)
        command = [
            sys.executable,
            "-m",
            "bench.backends.packet_delay",
            *(str(round(figure)) for figure in figures),
        ]
        self._process = subprocess.Popen(
            [*enter, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self._line() != "ready":
            self._process.kill()
            error = self._process.communicate()[1].strip()
            raise FaultError(
                f"Packets of {name} cannot be held: {error or f'no answer within {_ANSWERS_S:g} s'}."
            )
        self._lay()

    def _lay(self) -> None:
        """Lead packets to the queues; where one rule fails none stays, and nobody serves them any more."""
        laid = []
        try:
            for rule in self._rules:
                self._change("--append", rule)
                laid.append(rule)
        except FaultError:
            self._process.kill()
            self._process.wait()
            with suppress(FaultError):  # the first failure is told
                for rule in laid:
                    self._change("--delete", rule)
            raise

    def end(self) -> dict[str, HeldPackets]:
        """Let packets pass again; return what was done to them, by direction (in, out).

        Raises FaultError if a rule is still listed, or a queue still served.
        """
        try:
            for rule in self._rules:
                self._change("--delete", rule)
        finally:
            self._process.terminate()
            held = self._held_packets()
        self._must_be_gone()
        self.ended = True
        return held

    def _held_packets(self) -> dict[str, HeldPackets]:
        try:
            output, _ = self._process.communicate(timeout=_ANSWERS_S)
            figures: dict[str, dict[str, int]] = json.loads(output)
        except (subprocess.TimeoutExpired, ValueError) as error:
            self._process.kill()
            raise FaultError(
                f"Who held the packets of {self._name} did not tell what was done: {error}."
            ) from None
        return {name: HeldPackets(**figure) for name, figure in figures.items()}

    def _must_be_gone(self) -> None:
        if "NFQUEUE" in self._do("iptables", "--wait", "--list-rules") or self._do("cat", _QUEUES).strip():
            raise FaultError(f"The packet filter of {self._name} still leads packets to a queue.")

    def _change(self, verb: str, rule: Sequence[str]) -> None:
        self._do("iptables", "--wait", verb, *rule)

    def _do(self, *command: str) -> str:
        done = commands.run([*self._enter, *command])
        if done.returncode:
            raise FaultError(
                f"Changing or reading the packet filter of {self._name} failed: {done.stderr.strip()}."
            )
        return done.stdout

    def _line(self) -> str:
        """Return its first line; empty where none comes in time, or it ended."""
        out = self._process.stdout
        ready, _, _ = select.select([out], [], [], _ANSWERS_S) if out is not None else ((), (), ())
        return out.readline().strip() if out is not None and ready else ""
