"""The Spark session: quiet, small, and gone with everything it wrote when its context ends."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from bench.errors import SetupError

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


_EXECUTOR_S = 60.0
_FEW_ROWS = 3_000_000
"""Below this, Java's second compiler costs more time than its code saves."""
_FIRST_COMPILER_ONLY = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""With one compiler Java reserves 48 MB for code. Two analyses fill it, and then nothing more is compiled."""
_SMALL_PAGES = {"spark.buffer.pageSize": "1m"}
"""Every sort and every sum takes a page, however few its rows; by Spark's own rule one has 16 MB on two cores."""


@contextmanager
def spark_session(rows: int | None = None) -> Iterator[SparkSession]:
    """Give the session that is active, or start one and stop it at the end.

    SPARK_MASTER names the master (`local[*]` where it is not set), SPARK_DRIVER_MEMORY the driver's heap, in
    which all work happens on a local master. Shuffles and spills go below TMPDIR. `rows` is how many rows the
    session is started for, where that is known.

    Raises:
        SetupError: Spark did not start, or a cluster has no executor for it; the message carries what Java said.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with tempfile.TemporaryDirectory(prefix="bench-spark-", ignore_cleanup_errors=True) as scratch:
        spark = _start(Path(scratch), quick=rows is not None and rows < _FEW_ROWS)
        try:
            yield spark
        finally:
            spark.stop()


def _start(scratch: Path, *, quick: bool) -> SparkSession:
    builder = SparkSession.builder.appName("bench")
    for name, value in _settings(scratch, quick=quick).items():
        builder = builder.config(name, value)
    stderr_log = scratch / "stderr.log"
    try:
        with _stderr_to(stderr_log):
            spark = builder.getOrCreate()
        if not _is_local(spark.sparkContext.master):
            _require_executor(spark)
    except PySparkRuntimeError as error:
        raise SetupError(
            f"starting Spark: {error}. It needs Java 17 on PATH or in JAVA_HOME. Java's output: {_tail(stderr_log)}"
        ) from error
    except Py4JError as error:
        raise _master_error(os.environ.get("SPARK_MASTER"), _tail(stderr_log)) from error
    spark.sparkContext.setLogLevel("ERROR")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    return spark


def _settings(scratch: Path, *, quick: bool) -> dict[str, str]:
    """Return the session's settings; only a local master is tied to the loopback address."""
    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOG4J)
    java = [f"-Dlog4j2.configurationFile={log4j.as_uri()}", "-XX:+UseParallelGC"]
    master = os.environ.get("SPARK_MASTER", "local[*]")
    settings = {
        "spark.master": master,
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
        "spark.driver.extraJavaOptions": " ".join([*java, *(_FIRST_COMPILER_ONLY if quick else [])]),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.adaptive.enabled": "true",
        # An analysis has some 200 generated classes; Spark keeps 100, and would compile all anew in the next one.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Otherwise each column that is made asks Java for the session, to name the line in errors.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # Listing some hundred folders is quicker in the driver than as a job of its own.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    if quick:
        settings |= _SMALL_PAGES
    if _is_local(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _is_local(master: str | None) -> bool:
    return (master or "").startswith("local")


def _require_executor(spark: SparkSession) -> None:
    """Stop the session and raise SetupError where no executor of a cluster takes a task: Spark would wait for ever."""
    master, failure = spark.sparkContext.master, list[str]()

    def count() -> None:
        try:
            spark.range(1).count()
        except Exception as error:  # noqa: BLE001 - whatever it is, the first line of it is shown
            failure.append(str(error).strip().partition("\n")[0])

    first_task = threading.Thread(target=count, name="first task", daemon=True)
    first_task.start()
    first_task.join(_EXECUTOR_S)
    if not first_task.is_alive() and not failure:
        return
    reason = failure[0] if failure else f"no executor took a task within {_EXECUTOR_S:.0f} s"
    spark.stop()  # which ends the task, too
    raise _master_error(master, reason)


def _master_error(master: str | None, reason: str) -> SetupError:
    return SetupError(
        f"SPARK_MASTER={master}: {reason}. Is the master there, has it a worker with a free core and 1 GiB, and can "
        "the worker reach this machine (SPARK_LOCAL_IP)?"
    )


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Send standard error to a file; a Java process started meanwhile keeps it, off the console."""
    sys.stderr.flush()
    original = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(original, 2)
        os.close(original)


def _tail(path: Path, characters: int = 1000) -> str:
    return path.read_text(errors="replace")[-characters:].strip() or "nothing"
