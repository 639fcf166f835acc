"""Nodes with a narrow link: a token bucket of the kernel (tc tbf) at each end of it, for each direction."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from bench.backends import commands, link_probe, sandbox
from bench.errors import SetupError

_BURST_S = 0.005
"""A bucket holds what the link carries in so long; less makes the kernel's timer the limit."""
_LEAST_BURST_BYTES = 32 * 1024
_QUEUE_S = 0.05
"""A packet that would wait for longer is dropped, as by a switch with a full buffer."""
_PROBE_S = 0.3
_PATIENCE_S = 10.0


@cache
def why_not() -> str | None:
    """Return why links cannot be made narrow here; None where they can. It is tried."""
    if shutil.which("tc", path=sandbox.PATH) is None:
        return "tc (iproute2) is missing"
    arguments = " ".join(_bucket(1e6))
    reason = sandbox.why_fails(f"ip link add eth0 type veth; tc qdisc add dev eth0 root {arguments}")
    return f"the kernel has no token bucket filter: {reason}" if reason else None


def _bucket(bytes_per_s: float) -> list[str]:
    burst = max(_LEAST_BURST_BYTES, round(bytes_per_s * _BURST_S))
    return [
        "tbf",
        "rate",
        f"{round(bytes_per_s * 8)}bit",
        "burst",
        f"{burst}",
        "latency",
        f"{_QUEUE_S * 1e3:.0f}ms",
    ]


def narrow(enter: Sequence[str], device: str, bytes_per_s: float | None) -> None:
    """Let a device send so many bytes a second from now on; None: as many as it can. Raises SetupError."""
    change = ["del"] if bytes_per_s is None else ["replace"]
    bucket = [] if bytes_per_s is None else _bucket(bytes_per_s)
    done = commands.run([*enter, "tc", "qdisc", *change, "dev", device, "root", *bucket])
    if done.returncode:
        message = f"changing the rate of the link {device} failed: {done.stderr.strip()}"
        raise SetupError(message)


def measure(enter: Sequence[str], address: str) -> tuple[float, float]:
    """Return how many bytes a second pass into a namespace and out of it, from and to `address`, the caller's.

    Raises SetupError where the probe in there does not answer.
    """
    with socket.create_server((address, 0)) as server:
        server.settimeout(_PATIENCE_S)
        arguments = [address, str(server.getsockname()[1]), str(_PROBE_S)]
        command = [*enter, sys.executable, "-IS", link_probe.__file__, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as probe:
            try:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(_PATIENCE_S)
                    link_probe.send(connection, _PROBE_S)
                    out = link_probe.receive(connection)
                answer, _ = probe.communicate(timeout=_PATIENCE_S)
                return float(answer), out
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                message = f"measuring the rate of a link from {address} failed: {error}"
                raise SetupError(message) from error
            finally:
                probe.kill()
