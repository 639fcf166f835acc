"""A standalone Spark cluster from the jars of the pyspark package: a master and workers of one core each."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

PORT = 27077
MASTER = f"spark://127.0.0.1:{PORT}"
_HOME = Path(pyspark.__file__).parent
_STARTS_S = 60.0


def environment(**others: str) -> dict[str, str]:
    """Return the environment of the cluster and of whoever uses it."""
    spark = {"SPARK_HOME": str(_HOME), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **spark, **others}


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[None]:
    """Start a master, and workers below a folder."""
    with ExitStack() as stack:
        stack.enter_context(_java(folder / "master", "master.Master", "--port", str(PORT)))
        deadline = time.monotonic() + _STARTS_S
        while not _listens():
            assert time.monotonic() < deadline, (folder / "master" / "log").read_text()
            time.sleep(0.1)
        for number in range(workers):
            worker = folder / f"worker-{number + 1}"
            arguments = ("-c", "1", "-m", "1g", "-d", str(worker / "work"), MASTER)
            stack.enter_context(_java(worker, "worker.Worker", *arguments))
        yield


@contextmanager
def _java(folder: Path, main: str, *arguments: str) -> Iterator[None]:
    folder.mkdir(parents=True)
    command = [
        *("java", "-Xmx256m", "-cp", f"{_HOME / 'jars'}/*", f"org.apache.spark.deploy.{main}"),
        *("--host", "127.0.0.1", "--webui-port", "0", *arguments),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment())
    try:
        yield
    finally:
        process.terminate()  # a worker ends its executors
        process.wait()


def _listens() -> bool:
    try:
        socket.create_connection(("127.0.0.1", PORT), 1).close()
    except OSError:
        return False
    return True
