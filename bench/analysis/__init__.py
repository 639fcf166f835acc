"""From the event log to the results: Spark jobs, and the small tables made of their counts."""

from bench.analysis.exchange.export import export
from bench.analysis.job import analyse
from bench.analysis.run_outlook import outlook_of
from bench.analysis.spark import spark_session

__all__ = ["analyse", "export", "outlook_of", "spark_session"]
