"""What breaks while load runs: steps of a scenario, the kinds of fault, and the timeline that runs them."""

from bench.faults.step import AsGroup, Step, read_steps, stands
from bench.faults.timeline import Site, Timeline

__all__ = ["AsGroup", "Site", "Step", "Timeline", "read_steps", "stands"]
