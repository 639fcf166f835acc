"""A Spark cluster without an executor: a clear error, where Spark itself would wait for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import spark_cluster

pytestmark = pytest.mark.integration

_CONNECT = """
from bench.analysis import spark
spark._EXECUTOR_S = 3.0
with spark.spark_session():
    pass
"""


def test_a_cluster_without_executors_is_a_clear_error(in_sandbox: None, tmp_path: Path) -> None:
    with spark_cluster.cluster(tmp_path, workers=0):
        done = subprocess.run(
            [sys.executable, "-c", _CONNECT],
            env=spark_cluster.environment(SPARK_MASTER=spark_cluster.MASTER),
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode != 0
    assert f"SPARK_MASTER={spark_cluster.MASTER}: no executor took a task within 3 s" in done.stderr
