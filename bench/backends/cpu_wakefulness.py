"""Keeps the machine's cores from going to sleep between two messages, as long as this process lives.

An idle core halts, and waking it takes its time. On a virtual machine, where a halt is an exit to the host, 80 us
were seen against 6. That came several times in every acknowledgement, and changed by the minute. While
/dev/cpu_dma_latency is open with a 0 in it the kernel lets idle cores poll instead (its PM QoS interface; what
tuned's latency profiles do). Closing it, also by the end of the process, undoes it.
"""

from __future__ import annotations

import os
import struct
from functools import cache

_INTERFACE = "/dev/cpu_dma_latency"


@cache
def keep_awake() -> str | None:
    """Keep the cores awake until this process ends; return None, or why that cannot be done."""
    try:
        handle = os.open(_INTERFACE, os.O_WRONLY | os.O_CLOEXEC)
        os.write(handle, struct.pack("i", 0))
    except OSError as error:
        return f"{_INTERFACE}: {error.strerror}"
    return None
