"""Published rules for the size of a Pulsar cluster; none states an error.

StreamNative gives a compute unit of its cloud 50 MB/s in and 150 MB/s out, a MB being 2^20 bytes ("StreamNative
Cloud Billing"). Its limits on entries and its storage units are left out. DataStax counts what bookies store, and a
broker for every three bookies ("Production cluster sizing", Luna Streaming).
"""

from __future__ import annotations

import math

from bench.sizing.published_rules import RuleSize, flow, with_spare
from bench.sizing.requirement import NodeType, Requirement
from bench.systems.pulsar.nodes import BOOKIE, BROKER

_UNIT_IN, _UNIT_OUT = 50 * 2**20, 150 * 2**20
_BOOKIES_A_BROKER = 3


def published_rules(requirement: Requirement, bookie: NodeType) -> list[RuleSize]:
    """Return what each rule for Pulsar asks for: compute units, or brokers and bookies of a type.

    At the same peak, utilisation, filled disks, copies and failed nodes as `size` takes. A compute unit is no node, so
    none is added for those that may fail.
    """
    bytes_, share = flow(requirement), requirement.utilisation
    units = math.ceil(max(bytes_.taken_in / _UNIT_IN, bytes_.read / _UNIT_OUT) / share)
    stored = math.ceil(requirement.stored_bytes / (bookie.disk * requirement.disk_filled))
    brokers = math.ceil(max(stored, 1) / _BOOKIES_A_BROKER) + requirement.node_failures
    rule, counts = "DataStax, for Luna Streaming", "bytes stored; a broker for three bookies"
    return [
        RuleSize("StreamNative, for its cloud", "bytes in and out", units, "compute unit"),
        RuleSize(rule, counts, brokers, BROKER),
        RuleSize(rule, counts, with_spare(stored, requirement), BOOKIE),
    ]
