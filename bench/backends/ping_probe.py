"""Which addresses answer to a packet from here: `python -IS ping_probe.py SECONDS ADDRESS…` prints {address: seconds}.

A TCP connection is asked for, at a port at which nobody listens: a refusal is an answer as good as any. The kernel
gives it, whatever the servers there do, and no server is troubled. It needs the standard library alone, so that it is
there at once: what it waits for is the end of a fault.
"""

from __future__ import annotations

import errno
import json
import select
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

_PORT = 1
_ANSWERS = (0, errno.ECONNREFUSED)


def answers(addresses: Sequence[str], patience_s: float) -> dict[str, float]:
    """Ask all of them at once. A first packet that gets lost is sent again after one second."""
    answered: dict[str, float] = {}
    with ExitStack() as last:
        pending = {last.enter_context(socket.socket()): address for address in addresses}
        waiting = []
        begun = time.monotonic()
        for connection, address in pending.items():
            connection.settimeout(0.0)
            status = connection.connect_ex((address, _PORT))
            if status == errno.EINPROGRESS:
                waiting.append(connection)
            elif status in _ANSWERS:
                answered[address] = time.monotonic() - begun
        while waiting and (left_s := begun + patience_s - time.monotonic()) > 0:
            for connection in select.select([], waiting, [], left_s)[1]:
                waiting.remove(connection)
                if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in _ANSWERS:
                    answered[pending[connection]] = time.monotonic() - begun
    return answered


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answers(sys.argv[2:], float(sys.argv[1]))))
