"""Agents on networks of their own, one of which may have a clock that is ahead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BRIDGE, RUNNER_HOST = "ag0", "10.99.0.254"
RUNNER = f"{RUNNER_HOST}:7070"
AHEAD_S = 3
_SHIFTED = ("unshare", "--time", "--monotonic", str(AHEAD_S), "--fork", "--kill-child")
"""Runs a command on a clock that is ahead."""


def ip(*lines: str) -> None:
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)


@contextmanager
def networks(agents: int) -> Iterator[None]:
    """A bridge with the runner, and so many network namespaces: a1, a2 and so on."""
    ip(f"link add {BRIDGE} type bridge", f"addr add {RUNNER_HOST}/24 dev {BRIDGE}", f"link set {BRIDGE} up")
    numbers = range(1, agents + 1)
    for number in numbers:
        ip(
            f"netns add a{number}",
            f"link add ag0v{number} type veth peer name eth0 netns a{number}",
            f"link set ag0v{number} master {BRIDGE} up",
            f"-n a{number} addr add 10.99.0.{number}/24 dev eth0",
            f"-n a{number} link set eth0 up",
            f"-n a{number} link set lo up",
        )
    yield
    ip(*(f"netns del a{number}" for number in numbers), f"link del {BRIDGE}")


def enter(number: int) -> list[str]:
    """The start of a command that runs on an agent's network."""
    return ["nsenter", f"--net=/run/netns/a{number}", "--"]


@contextmanager
def agent(number: int, token: Path, *, ahead: bool = False) -> Iterator[subprocess.Popen[str]]:
    command = [*enter(number), *(_SHIFTED if ahead else ())]
    command += [sys.executable, "-m", "bench", "agent", "--join", RUNNER, "--token-file", str(token)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
