"""Namespaces of its own for a worker of pytest-xdist: workers start clusters at once, at the same addresses."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

from bench.run import machine_lock

_NEW_NETWORK, _NEW_MOUNTS = 0x40000000, 0x00020000  # CLONE_NEWNET, CLONE_NEWNS of sched.h


def own_namespaces() -> None:
    """Move this thread, and all processes and threads that it starts from now on, to namespaces of their own.

    Names of networks are kept in /run, which becomes this worker's own, too. So does the lock that lets one run at a
    time start servers on a machine: tests and a run beside them do not exclude each other. Raises OSError where the
    kernel refuses.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK | _NEW_MOUNTS):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for command in (
        ("mount", "--make-rprivate", "/"),
        ("mount", "-t", "tmpfs", "tmpfs", "/run"),
        ("ip", "link", "set", "lo", "up"),
    ):
        subprocess.run(command, check=True)
    Path("/run/netns").mkdir()
    own_lock, lock = Path("/run/machine.lock"), machine_lock.machine_file()
    for file in (own_lock, lock):
        file.touch()
    subprocess.run(("mount", "--bind", own_lock, lock), check=True)
