"""Whole runs as a user makes them: `bench run` in a process of its own, and what it leaves."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.analysis import analyse, spark_session
from bench.run import outside
from bench.run.folder import RunFolder

HEAD = """\
name: {name}
title: A run of the tests
question: Does the whole way hold?
topic: {{partitions: 1}}
warm_up: {{cluster: 200ms, trial: 200ms}}
jit: c1
"""


def scenario(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(HEAD.format(name=name) + text, encoding="utf-8")
    return file


def bench(*arguments: object) -> subprocess.Popen[str]:
    """Start `bench`; Ctrl-C reaches it also where these tests were started in the background, which ignores it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "bench", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[1],
        )
    finally:
        signal.signal(signal.SIGINT, handler)


def analysed(folder: RunFolder) -> None:
    """Stands in for `outside.report`."""
    analyse(folder.path)


def analysed_with_others(folder: RunFolder) -> None:
    """Stands in for `outside.report`; runs beside this one that have no results get theirs from the same Spark."""
    with spark_session(rows=0):
        for run in sorted(folder.path.parent.glob("[0-9]*")):
            if not (run / "results").exists():
                analyse(run)


def without_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process end with their trials, without results and a report."""
    monkeypatch.setattr(outside, "report", lambda _: None)
    monkeypatch.setattr(outside, "_without_valid_trial", lambda _: [])


def only(folder: Path) -> Path:
    (run,) = folder.iterdir()
    return run


def rows(run: Path, table: str) -> list[dict[str, str]]:
    with (run / "results" / f"{table}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.1)


def mentioning(path: Path) -> list[int]:
    return [process.pid for process in psutil.process_iter() if str(path) in " ".join(arguments(process))]


def arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
