"""The analysis on a standalone Spark cluster: the same results, and a clear error where no executor takes a task."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from bench.analysis import analyse
from tests.eventlog import TrialLog, read_back, receive, seconds, send, write_run

pytestmark = pytest.mark.integration

_HOME = Path(pyspark.__file__).parent
_PORT = 27077
_MASTER = f"spark://127.0.0.1:{_PORT}"
_STARTS_S = 60.0
_ANALYSE = (
    "import sys; from pathlib import Path; from bench.analysis import analyse; analyse(Path(sys.argv[1]))"
)
_CONNECT = """
from bench.analysis import spark
spark._EXECUTOR_S = 3.0
with spark.spark_session():
    pass
"""


@pytest.fixture
def master(in_sandbox: None, tmp_path: Path) -> Iterator[str]:
    """A master with two workers of a core each, from the package's own jars."""
    with ExitStack() as stack:
        stack.enter_context(_java(tmp_path / "master", "master.Master", "--port", str(_PORT)))
        deadline = time.monotonic() + _STARTS_S
        while not _listens():
            assert time.monotonic() < deadline, (tmp_path / "master" / "log").read_text()
            time.sleep(0.1)
        for number in (1, 2):
            worker = tmp_path / f"worker-{number}"
            arguments = ("-c", "1", "-m", "1g", "-d", str(worker / "work"), _MASTER)
            stack.enter_context(_java(worker, "worker.Worker", *arguments))
        yield _MASTER


@contextmanager
def _java(folder: Path, main: str, *arguments: str) -> Iterator[None]:
    folder.mkdir()
    command = [
        *("java", "-Xmx256m", "-cp", f"{_HOME / 'jars'}/*", f"org.apache.spark.deploy.{main}"),
        *("--host", "127.0.0.1", "--webui-port", "0", *arguments),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
    try:
        yield
    finally:
        process.terminate()  # a worker ends its executors
        process.wait()


def _environment(**others: str) -> dict[str, str]:
    return {**os.environ, "SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **others}


def _listens() -> bool:
    try:
        socket.create_connection(("127.0.0.1", _PORT), 1).close()
    except OSError:
        return False
    return True


def _python(code: str, *arguments: str, master: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=_environment(SPARK_MASTER=master),
        capture_output=True,
        text=True,
        check=False,
    )


def _trial(round_number: int) -> TrialLog:
    """A thousand sends, one of them lost, in two partitions."""
    first_ns = seconds(10.0 * (1 + round_number))
    sent = [
        send(
            number,
            first_ns + number * 1_000_000,
            first_ns + number * 1_000_000 + 700_000,
            partition=number % 2,
        )
        for number in range(1000)
    ]
    live = [receive("live", row, row["done_ns"] + 100_000) for row in sent]
    window = (first_ns, first_ns + seconds(1.0))
    return TrialLog(sent, [*live, *read_back(sent[:-1])], round=round_number, window=window)


@pytest.mark.usefixtures("spark")
def test_a_cluster_computes_the_same_results(master: str, tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("local", "cluster")]
    for run in runs:
        write_run(run, [_trial(0), _trial(1)])

    analyse(runs[0])
    done = _python(_ANALYSE, str(runs[1]), master=master)

    assert done.returncode == 0, done.stderr
    tables = sorted((runs[0] / "results").glob("*.csv"))
    assert tables
    for table in tables:
        assert (runs[1] / "results" / table.name).read_bytes() == table.read_bytes(), table.name


def test_a_cluster_without_executors_is_a_clear_error(in_sandbox: None) -> None:
    done = _python(_CONNECT, master="spark://127.0.0.1:1")

    assert done.returncode != 0
    assert "SPARK_MASTER=spark://127.0.0.1:1: no executor took a task within 3 s" in done.stderr
