"""The time to hand a cache line from one core to another and back.

All that wakes another process pays it many times over. The host of a virtual machine may move its cores,
unannounced, to where they share a cache and to where they do not. On one machine the same two cores took 100 to 210
ns and, within seconds, 370 to 490, with nothing between. With the longer way each message took twice the CPU.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time

_TURNS = 500
_CHUNKS = 20
_SPINS = 1_000_000
"""So often a side looks for its turn before it takes the other for gone: some 30 ms."""
_READY_S = 2.0
_OWN_TURN, _PARTNER_TURN = 0, 1


def line_ns() -> int | None:
    """Time a cache line to and fro between the first two cores, 500 times, in nanoseconds; the least of 20 times.

    Two processes, each held to its core, look at one byte and change it in turn; what Python takes for a look (some
    30 ns) is in it. None where there is one core only, and where both sides never ran at once.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return None
    shared = os.memfd_create("line")
    os.truncate(shared, mmap.PAGESIZE)
    command = [sys.executable, "-IS", __file__, str(shared), str(cores[1])]
    with mmap.mmap(shared, mmap.PAGESIZE) as page, subprocess.Popen(command, pass_fds=[shared]) as partner:
        os.close(shared)
        page[0] = _PARTNER_TURN
        os.sched_setaffinity(0, cores[:1])
        try:
            _await(page)
            return min(
                (took for _ in range(_CHUNKS) if (took := _to_and_fro_ns(page)) is not None), default=None
            )
        finally:
            os.sched_setaffinity(0, cores)
            partner.kill()


def _await(page: mmap.mmap) -> None:
    """Wait until the other side has started and given the first turn back."""
    end_s = time.monotonic() + _READY_S
    while page[0] != _OWN_TURN and time.monotonic() < end_s:
        time.sleep(0)


def _to_and_fro_ns(page: mmap.mmap) -> int | None:
    begun_ns = time.monotonic_ns()
    for _ in range(_TURNS):
        for _ in range(_SPINS):
            if page[0] == _OWN_TURN:
                break
        else:
            return None
        page[0] = _PARTNER_TURN
    return (time.monotonic_ns() - begun_ns) // _TURNS


def _answer(page: mmap.mmap) -> None:
    """Give each turn back, until none comes for a while."""
    while True:
        for _ in range(_SPINS):
            if page[0] == _PARTNER_TURN:
                page[0] = _OWN_TURN
                break
        else:
            return


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    with mmap.mmap(int(sys.argv[1]), mmap.PAGESIZE) as _page:
        _answer(_page)
