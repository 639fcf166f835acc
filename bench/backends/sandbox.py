"""The private namespaces that a run lives in, so that whatever ends it, nothing is left behind.

The suite runs part of itself again under `unshare` with network, mount and PID namespaces of its own (and
a user namespace for somebody who isn't root). When that process ends, the kernel takes every process,
interface, mount and rule in there with it. A pipe ties the two halves together: a byte asks for an orderly
end, and its closing, even by SIGKILL of the outer half, ends the inner one at once.

`python -m bench.backends.sandbox MODULE [ARGUMENT…]` runs any module that calls `enter` this way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from types import FrameType
from typing import NoReturn

from bench.backends import commands, control_groups
from bench.backends.cpu_wakefulness import keep_awake
from bench.errors import SetupError

PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
"""Where programs are looked for: an ordinary user's PATH often lacks the folder that holds `ip`."""

_LIFELINE = "BENCH_LIFELINE"
_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_SHARED = "BENCH_SHARED"
_INTERRUPTED = 130
_GRACE_S = 60.0
_TRIED_S = 20.0


class SharedNamespaces(StrEnum):
    """What of the machine's namespaces a sandbox shares."""

    NOTHING = "nothing"
    NETWORK = "network"
    """Clusters that somebody else runs are reached by it."""
    EVERYTHING = "everything"
    """Containers of the machine's Docker daemon are processes there."""


def command(inner: Sequence[str], shared: SharedNamespaces = SharedNamespaces.NOTHING) -> list[str]:
    """Return the command line that runs `inner` in a sandbox, for the user that this process is."""
    if shared is SharedNamespaces.EVERYTHING:
        return list(inner)
    left_out = {"--net"} if shared is SharedNamespaces.NETWORK else set[str]()
    return _unshare([flag for flag in _NAMESPACES if flag not in left_out], inner)


def _unshare(namespaces: Sequence[str], inner: Sequence[str]) -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, *namespaces, "--", *inner]


def possible() -> str | None:
    """Return None where a sandbox can be had, else the reason why not."""
    return _why_fails(command(["true"]))


def why_fails(script: str, *arguments: str, input_text: str = "") -> str | None:
    """Try a shell script in a network and a mount namespace that end with it; return why it fails, None where it works.

    It works inside a sandbox and outside. /run is a file system of its own there. `input_text` is what the script can
    read.
    """
    inner = ["sh", "-ec", f"mount -t tmpfs tmpfs /run; {script}", "sh", *arguments]
    return _why_fails(_unshare(("--net", "--mount"), inner), input_text)


def _why_fails(tried_command: Sequence[str], input_text: str = "") -> str | None:
    try:
        tried = subprocess.run(
            tried_command,
            input=input_text,
            env={**os.environ, "PATH": PATH},
            capture_output=True,
            text=True,
            timeout=_TRIED_S,
            check=False,
        )
    except FileNotFoundError:
        return "the command `unshare` (util-linux) is missing"
    except subprocess.TimeoutExpired:
        return f"trying it took more than {_TRIED_S:.0f} s"
    if tried.returncode == 0:
        return None
    return tried.stderr.strip().rpartition("\n")[2] or f"trying it ended with status {tried.returncode}"


def run(
    module: str,
    arguments: Sequence[str],
    keep_fds: Sequence[int] = (),
    shared: SharedNamespaces = SharedNamespaces.NOTHING,
) -> int:
    """Run `python -m module arguments` in a sandbox until it ends; return its exit status.

    Ctrl-C (or SIGTERM) asks it to end in order, a second one ends it at once. Where that can be had, the machine's
    cores are kept awake meanwhile.
    """
    keep_awake()
    reading, writing = os.pipe()
    inner = command([sys.executable, "-m", module, *arguments], shared)
    with (
        control_groups.sweeper() as (groups, holding),
        subprocess.Popen(
            inner,
            env={
                **os.environ,
                _LIFELINE: str(reading),
                control_groups.GROUP_VARIABLE: groups,
                "PATH": PATH,
                _SHARED: shared,
            },
            pass_fds=(reading, holding, *keep_fds),
            start_new_session=True,
        ) as process,
    ):
        os.close(reading)
        previous = signal.signal(signal.SIGTERM, _as_interrupt)
        try:
            # Nodes of others may take long to be mended, and nobody else would.
            return _wait(process, writing, None if shared is SharedNamespaces.NETWORK else _GRACE_S)
        finally:
            signal.signal(signal.SIGTERM, previous)
            os.close(writing)


def _wait(process: subprocess.Popen[bytes], writing: int, grace_s: float | None) -> int:
    try:
        return process.wait()
    except KeyboardInterrupt:
        pass
    try:
        os.write(writing, b"i")
        return process.wait(timeout=grace_s) and _INTERRUPTED
    except (KeyboardInterrupt, subprocess.TimeoutExpired, BrokenPipeError):
        process.kill()
        process.wait()
        return _INTERRUPTED


def _as_interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def enter() -> None:
    """Make this process the sandbox's own: tie it to the outer half, lay out /run, /dev/shm and loopback.

    Raises SetupError when called outside a sandbox.
    """
    lifeline, shared = os.environ.pop(_LIFELINE, None), os.environ.pop(_SHARED, None)
    if lifeline is None or (shared != SharedNamespaces.EVERYTHING and os.getpid() != 1):
        message = "this part of the suite runs only inside the sandbox that `bench run` and `bench up` make"
        raise SetupError(message)
    os.set_inheritable(int(lifeline), False)  # noqa: FBT003 - the function takes nothing else
    threading.Thread(target=_watch, args=(int(lifeline),), daemon=True).start()
    signal.signal(signal.SIGTERM, _as_interrupt)
    if shared != SharedNamespaces.NOTHING:  # /run stays, too: names of hosts may be looked up by it
        return
    for place in ("/run", "/dev/shm"):  # noqa: S108 - ours alone from here on
        _do("mount", "-t", "tmpfs", "tmpfs", place)
    os.mkdir("/run/netns")  # noqa: PTH102 - a mount point of our own
    _do("ip", "link", "set", "lo", "up")


def _watch(lifeline: int) -> None:
    """Interrupt the main thread on a byte; end everything when the outer half is gone."""
    while os.read(lifeline, 1):
        os.kill(os.getpid(), signal.SIGTERM)  # SIGINT is ignored where a shell started this in the background
    os._exit(1)


def _do(*arguments: str) -> None:
    done = commands.run(arguments)
    if done.returncode:
        message = f"laying out the sandbox failed at `{' '.join(arguments)}`: {done.stderr.strip()}"
        raise SetupError(message)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
