"""The in-memory twin: topics are files in a folder, and every fault is chosen by a seed."""

from bench.systems.memory.faults import Fault, Faults, delay_ns_of, fault_of
from bench.systems.memory.system import Memory

__all__ = ["Fault", "Faults", "Memory", "delay_ns_of", "fault_of"]
