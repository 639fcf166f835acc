"""Cores of their own for servers and load."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from bench.backends.cores import CoreSplit, confirm, pin_command, split_of, suite_on, why_not
from bench.errors import SetupError

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"pin is not possible here: {why_not()}")

ASK = "import os; print(sorted(os.sched_getaffinity(0)))"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({0, 1}, CoreSplit((0,), (1,))),
        (range(7), CoreSplit((0, 1, 2, 3, 4, 5), (6,))),
        (range(8), CoreSplit((0, 1, 2, 3, 4, 5), (6, 7))),
        ([9, 3, 5], CoreSplit((3, 5), (9,))),
    ],
)
def test_the_last_quarter_is_the_loads(numbers: list[int], expected: CoreSplit) -> None:
    assert split_of(numbers) == expected


def test_one_core_cannot_be_divided() -> None:
    with pytest.raises(SetupError, match="two cores at least"):
        split_of([4])


def test_a_bound_command_runs_on_its_cores_whatever_those_of_this_process_are() -> None:
    first, *_, last = sorted(os.sched_getaffinity(0))

    with suite_on([last]):
        own = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True).stdout
        command = pin_command([sys.executable, "-c", ASK], [first])
        of_bound = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert (own.strip(), of_bound.strip()) == (str([last]), str([first]))
    assert pin_command(["true"], ()) == ["true"]


def test_all_threads_move_and_come_back() -> None:
    cores = os.sched_getaffinity(0)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        with suite_on([min(cores)]):
            confirm("this process", os.getpid(), [min(cores)])
            with pytest.raises(
                SetupError, match=f"is to run on the cores {max(cores)}, and a thread of it may run"
            ):
                confirm("this process", os.getpid(), [max(cores)])
        assert os.sched_getaffinity(thread.native_id or 0) == cores
    finally:
        over.set()
        thread.join()
