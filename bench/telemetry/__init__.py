"""What servers, machine and client do while a trial's load runs, on the event log's clock."""

from bench.telemetry.sampler import Sampler, Watched
from bench.telemetry.schema import CONSUMERS, PRODUCERS

__all__ = ["CONSUMERS", "PRODUCERS", "Sampler", "Watched"]
