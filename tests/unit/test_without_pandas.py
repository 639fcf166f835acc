"""Processes that run while a trial is measured load what they need and no more."""

import subprocess
import sys

import pytest

WRITES = """
import sys
import numpy as np
from bench.load import schemas
from bench.load.without_pandas import keep_pandas_out

keep_pandas_out()
rows = np.zeros(2, schemas.SEND_DTYPE)
assert schemas.send_table(rows, ["TIMED_OUT"], 100)["outcome"].to_pylist() == ["ok", "ok"]
print("pandas" in sys.modules)
"""
HEAVY = ("pandas", "pyspark", "scipy.stats", "scipy.optimize", "matplotlib")
MODULES = ("bench.load.worker", "bench.load.consumer_worker", "bench.load.member", "bench.run.inside")


def printed(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_process_that_keeps_pandas_out_writes_tables_without_it() -> None:
    assert printed(WRITES) == "False"


@pytest.mark.parametrize("module", MODULES)
def test_what_runs_beside_a_load_starts_without_heavy_libraries(module: str) -> None:
    assert printed(f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])") == "[]"
