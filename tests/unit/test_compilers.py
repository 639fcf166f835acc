"""When compilers rest, told by real threads that carry a compiler's name."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bench.run.compilers import await_rest

BUSY = """
import ctypes, sys, threading, time
def work(name, seconds):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
thread = threading.Thread(target=work, args=(sys.argv[1], float(sys.argv[2])))
thread.start()
thread.join()
time.sleep(60)
"""


@pytest.fixture
def busy(request: pytest.FixtureRequest) -> Iterator[int]:
    """A process with a thread of this name that works for so many seconds."""
    name, seconds = request.param
    with subprocess.Popen([sys.executable, "-c", BUSY, name, str(seconds)]) as process:
        yield process.pid
        process.kill()


@pytest.mark.parametrize("busy", [("C2 CompilerThread0", 3.0)], indirect=True)
def test_compilers_at_work_are_waited_for(busy: int) -> None:
    assert await_rest([busy], 20.0, lambda: None) >= 2.0


@pytest.mark.parametrize("busy", [("C2 CompilerThread0", 30.0)], indirect=True)
def test_no_longer_than_asked(busy: int) -> None:
    assert 2.0 <= await_rest([busy], 2.0, lambda: None) < 6.0


@pytest.mark.parametrize("busy", [("kafka-request-h", 30.0)], indirect=True)
def test_other_threads_may_work_on(busy: int) -> None:
    assert await_rest([busy], 20.0, lambda: None) < 6.0


def test_no_servers_no_wait() -> None:
    begun = time.monotonic()
    await_rest([], 20.0, lambda: None)
    assert time.monotonic() - begun < 1.0
