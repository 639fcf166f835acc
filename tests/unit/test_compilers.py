"""How much compilers work, told by real threads that carry a compiler's name."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.run.compilers import Compilers

WORKER = """
import ctypes, sys, threading, time
def work():
    ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
    print("ready", flush=True)
    for seconds in sys.stdin:
        end = time.thread_time() + float(seconds)
        while time.thread_time() < end:
            pass
        print("done", flush=True)
threading.Thread(target=work).start()
"""
ABOUT_S = 0.03
"""/proc tells user and system time apart, each in whole ticks of 10 ms."""


class Worker:
    """A process with a thread of this name."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, "-c", WORKER, name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._hear("ready")

    def work(self, seconds: float) -> None:
        """Let the thread take so much CPU time, then rest."""
        print(seconds, file=self.process.stdin, flush=True)
        self._hear("done")

    def _hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == word


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    one = Worker(request.param)
    with one.process:
        yield one
        one.process.kill()


@pytest.mark.parametrize("worker", ["C1 CompilerThread0", "C2 CompilerThread0"], indirect=True)
def test_compilers_at_work_are_seen_from_one_look_to_the_next(worker: Worker) -> None:
    worker.work(0.1)
    compilers = Compilers(lambda: [worker.process.pid])
    worker.work(0.3)
    assert compilers.took_s() == pytest.approx(0.3, abs=ABOUT_S)
    assert compilers.took_s() == pytest.approx(0.0, abs=ABOUT_S)


@pytest.mark.parametrize("worker", ["kafka-request-h"], indirect=True)
def test_other_threads_may_work_on(worker: Worker) -> None:
    compilers = Compilers(lambda: [worker.process.pid])
    worker.work(0.3)
    assert compilers.took_s() == 0.0


@pytest.mark.parametrize(
    ("worker", "policy"),
    [("C2 CompilerThread0", os.SCHED_IDLE), ("kafka-request-h", os.SCHED_OTHER)],
    indirect=["worker"],
)
def test_compilers_alone_are_left_to_idle_cores(worker: Worker, policy: int) -> None:
    Compilers(lambda: [worker.process.pid]).use_idle_cores()

    tasks = Path(f"/proc/{worker.process.pid}/task").iterdir()
    (thread,) = (int(task.name) for task in tasks if int(task.name) != worker.process.pid)
    assert os.sched_getscheduler(thread) == policy
    assert os.sched_getscheduler(worker.process.pid) == os.SCHED_OTHER


def test_without_servers_nobody_compiles() -> None:
    assert Compilers(list).took_s() == 0.0


def test_a_process_that_has_gone_compiles_no_more() -> None:
    compilers = Compilers(lambda: [2**22 + 1])
    compilers.use_idle_cores()
    assert compilers.took_s() == 0.0


def test_a_compiler_that_ends_takes_nothing_away_and_a_new_one_counts_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = Path("1"), Path("2"), Path("3")
    looks = iter([{first: 10.0, second: 5.0}, {second: 6.0, third: 0.5}])
    monkeypatch.setattr(Compilers, "_worked_s", lambda _: next(looks))

    assert Compilers(list).took_s() == 1.5
