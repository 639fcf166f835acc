from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from bench.analysis import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests; an analysis that finds it active uses it."""
    with spark_session(rows=0) as session:
        session.conf.set("spark.sql.shuffle.partitions", 2)
        yield session
