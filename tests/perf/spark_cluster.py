"""Analyse a run locally and on a standalone Spark cluster of two workers; compare the results, byte by byte, and times.

python -m tests.perf.spark_cluster RUN
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import spark_cluster

_ANALYSE = (
    "import sys; from pathlib import Path; from bench.analysis import analyse; analyse(Path(sys.argv[1]))"
)


def main() -> None:
    """Print how long each took, and which tables differ."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = {name: folder / name for name in ("local", "cluster")}
        for run in runs.values():
            shutil.copytree(sys.argv[1], run)
        _analysed(runs["local"], "local[2]")
        with spark_cluster.cluster(folder / "spark", workers=2):
            _analysed(runs["cluster"], spark_cluster.MASTER)
        tables = sorted((runs["local"] / "results").glob("*.csv"))
        other = runs["cluster"] / "results"
        differing = [
            table.name for table in tables if (other / table.name).read_bytes() != table.read_bytes()
        ]
        print(f"{len(tables)} tables, differing: {', '.join(differing) or 'none'}")  # noqa: T201 - it is a script


def _analysed(run: Path, master: str) -> None:
    begun = time.monotonic()
    environment = spark_cluster.environment(SPARK_MASTER=master)
    subprocess.run([sys.executable, "-c", _ANALYSE, str(run)], env=environment, check=True)
    print(f"{master}: {time.monotonic() - begun:.1f} s")  # noqa: T201 - it is a script


if __name__ == "__main__":
    main()
