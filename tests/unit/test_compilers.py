"""How much compilers work, told by real threads that carry a compiler's name."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bench.run.compilers import Compilers

BUSY = """
import ctypes, sys, threading, time
def work(name, seconds):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    print("at work", flush=True)
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
    command = [sys.executable, "-c", BUSY, name, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("busy", [("C2 CompilerThread0", 30.0)], indirect=True)
def test_compilers_at_work_are_seen_from_one_look_to_the_next(busy: int) -> None:
    compilers = Compilers(lambda: [busy])
    time.sleep(1.0)
    assert 0.1 < compilers.took_s() < 1.5
    assert compilers.took_s() < 0.1


@pytest.mark.parametrize("busy", [("kafka-request-h", 30.0)], indirect=True)
def test_other_threads_may_work_on(busy: int) -> None:
    compilers = Compilers(lambda: [busy])
    time.sleep(1.0)
    assert compilers.took_s() == 0.0


def test_without_servers_nobody_compiles() -> None:
    assert Compilers(list).took_s() == 0.0


def test_a_process_that_has_gone_compiles_no_more() -> None:
    assert Compilers(lambda: [2**22 + 1]).took_s() == 0.0
