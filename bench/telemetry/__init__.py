"""What servers, machine and client do while a trial's load runs, on the event log's clock."""

from bench.telemetry.observer import WatchedProcesses
from bench.telemetry.sampler import Sampler
from bench.telemetry.schema import CONSUMERS, PRODUCERS
from bench.telemetry.slice_sampler import SCRAPED_CYCLES, SliceSampler

__all__ = ["CONSUMERS", "PRODUCERS", "SCRAPED_CYCLES", "Sampler", "SliceSampler", "WatchedProcesses"]
