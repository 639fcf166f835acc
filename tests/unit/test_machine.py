from __future__ import annotations

import mmap
import os

import psutil
import pytest

from bench.backends import cache_line_probe
from bench.backends.machine import probe

CORES = sorted(os.sched_getaffinity(0))


def test_a_machine_with_one_core_has_no_other_to_wake_or_to_hand_a_line_to() -> None:
    os.sched_setaffinity(0, CORES[:1])
    try:
        found = probe()
    finally:
        os.sched_setaffinity(0, CORES)
    assert found["wake_ns"] is None
    assert found["line_ns"] is None
    assert found["probe_ns"]
    assert found["page_ns"]


@pytest.mark.skipif(len(CORES) == 1, reason="one core only")
def test_a_line_goes_to_another_core_and_back_and_nothing_is_left_of_it() -> None:
    before = {child.pid for child in psutil.Process().children()}
    took = cache_line_probe.line_ns()
    assert took is None or took > 10
    assert set(os.sched_getaffinity(0)) == set(CORES)
    assert {child.pid for child in psutil.Process().children()} == before


def test_a_side_that_never_answers_is_given_up() -> None:
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        page[0] = cache_line_probe._PARTNER_TURN
        assert cache_line_probe._to_and_fro_ns(page) is None
