"""Scenario files: strict reading, profiles, overrides and expansion into cases."""

from bench.scenario.catalogue import families, find, names
from bench.scenario.expand import cases
from bench.scenario.load import LoadedScenario, load, standalone_text
from bench.scenario.schema import PROFILES, Scenario

__all__ = [
    "PROFILES",
    "LoadedScenario",
    "Scenario",
    "cases",
    "families",
    "find",
    "load",
    "names",
    "standalone_text",
]
