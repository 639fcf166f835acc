"""Measures a link in both directions: `python -IS link_probe.py ADDRESS PORT SECONDS` from its other end.

It connects, receives until the other side has sent everything, prints the bytes per second of that, then sends for so
long. It needs the standard library alone, so that it starts at once.
"""

from __future__ import annotations

import socket
import sys
import time

_SKIPPED_S = 0.02
"""The first contents of a token bucket pass at once: what comes so early does not count."""
_CHUNK = 1 << 16


def receive(connection: socket.socket) -> float:
    """Receive until the other side sends no more; return the bytes per second."""
    buffer = bytearray(_CHUNK)
    length = connection.recv_into(buffer)
    skip_until_s = begun_s = time.monotonic()
    received = 0
    while length > 0:
        now_s = time.monotonic()
        if now_s - skip_until_s < _SKIPPED_S:
            begun_s = now_s
        else:
            received += length
        length = connection.recv_into(buffer)
    return received / max(time.monotonic() - begun_s, 1e-9)


def send(connection: socket.socket, seconds: float) -> None:
    """Send for so long, then say that this was all."""
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        connection.sendall(bytes(_CHUNK))
    connection.shutdown(socket.SHUT_WR)


def main() -> None:
    """Receive, print the rate, send."""
    address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with socket.create_connection((address, port), timeout=10 * seconds) as connection:
        rate = receive(connection)
        send(connection, seconds)
    sys.stdout.write(f"{rate}\n")


if __name__ == "__main__":
    main()
