import subprocess
import sys

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


def test_a_process_that_keeps_pandas_out_writes_tables_without_it() -> None:
    process = subprocess.run([sys.executable, "-c", WRITES], check=True, capture_output=True, text=True)

    assert process.stdout == "False\n"
