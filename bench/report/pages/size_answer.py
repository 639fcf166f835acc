"""The answer to how many nodes there must be: the sentences of the page, and what they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench import numbers
from bench.guarantee import Guarantee
from bench.report.sections.predictions import PredictionError
from bench.scenario.requirement import RequirementFile
from bench.sizing.busy_share import BusyShare
from bench.sizing.cluster import COPIES, RoleSize
from bench.sizing.published_rules import partitions
from bench.sizing.requirement import DISK_SPACE, Requirement
from bench.systems.registry import describe, system_title

NAMES = {
    "cpu_s": "CPU",
    "net_in_bytes": "network in",
    "net_out_bytes": "network out",
    "disk_write_bytes": "disk writes",
    DISK_SPACE: "disk space",
    COPIES: "the number of copies",
}
"""What each resource, and what else decides the number of nodes, is called."""


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The sizes of a system's roles, in one configuration; `requirement` has its number of copies.

    `guarantee` is what the configuration promises, where one was asked for, and `fsyncs_per_message` how many the nodes
    that keep messages make. `busy` says how busy nodes may be, where a response time is to be kept.

    `variations` has the size of each role with one input of the requirement changed, by what was changed; None where
    no number of nodes would be enough. `errors` are those of the models (Demand.errors), of all roles and resources.
    """

    system: str
    configuration: str
    requirement: Requirement
    roles: Sequence[RoleSize]
    variations: Mapping[str, Mapping[str, RoleSize | None]]
    errors: Sequence[float]
    guarantee: Guarantee | None = None
    fsyncs_per_message: float | None = None
    busy: BusyShare | None = None

    @property
    def title(self) -> str:
        """The system, and its configuration where a run has several."""
        return f"{system_title(self.system)} {self.configuration}".strip()


@dataclass(frozen=True, slots=True)
class Sizing:
    """All clusters that would carry a requirement, by the costs that `run` measured.

    `capacity` is the run that says how busy nodes may be; None where no response time is to be kept. `capacity_errors`
    are, by system, those of capacities that were predicted in this way and then measured there. `refused` has a
    sentence for each system that cannot be sized.
    """

    run: str
    requirement_file: RequirementFile
    clusters: Sequence[ClusterSize]
    capacity: str | None = None
    refused: Sequence[str] = ()
    capacity_errors: Mapping[str, PredictionError] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The requirement, in a sentence."""
        requirement_file, peak = self.requirement_file, self.requirement_file.requirement.peak
        batches = f", {numbers.rate(peak.batch)} in a batch" if peak.batch > 1 else ""
        carried = (
            f"{numbers.rate(peak.messages_per_s)} messages/s of {numbers.count(peak.message_bytes)} bytes"
        )
        phrases = (
            f"{carried} at the peak{batches}",
            f"copies of each: {requirement_file.copies}" if requirement_file.copies else "",
            f"an acknowledged message survives {requirement_file.guarantee.in_nodes}"
            if requirement_file.guarantee
            else "",
            f"99 % of messages acknowledged within {_ms(requirement_file.p99_s)}"
            if requirement_file.p99_s
            else "",
            numbers.plural(peak.groups, "consumer group"),
            f"retention {numbers.seconds(requirement_file.requirement.retention_s)}",
        )
        spare = numbers.plural(requirement_file.requirement.node_failures, "node")
        return f"{'; '.join(filter(None, phrases))}; {spare} of each role may be gone."

    @property
    def limits(self) -> str:
        """How much of its nodes a cluster may use, in a sentence."""
        requirement = self.requirement_file.requirement
        share, filled = (numbers.share(value) for value in (requirement.utilisation, requirement.disk_filled))
        use = (
            f"as much CPU as the p99 allows and {share} of network and disk writes"
            if self.capacity
            else (f"{share} of CPU, network and disk writes")
        )
        return (
            f"The number of nodes is the smallest with which the peak, with the failed nodes gone, uses at most {use}, "
            f"and fills at most {filled} of the disks. What messages, bytes and batches take is from the run "
            f"{self.run}, at the upper ends of its 95 % intervals."
        )

    @property
    def reasons(self) -> list[str]:
        """Sentences on the guarantee and the response time behind each answer."""
        return [
            words
            for cluster in self.clusters
            for words in (*_guarantee_sentences(cluster), *self._response_time(cluster))
        ]

    @property
    def partitions(self) -> str:
        """How many partitions Confluent's rule asks for; empty where the file does not say what one carries."""
        if self.requirement_file.partition_rates is None:
            return ""
        number = partitions(self.requirement_file.requirement, self.requirement_file.partition_rates)
        return f"Confluent's rule asks for {numbers.plural(number, 'partition')} at least."

    def _response_time(self, cluster: ClusterSize) -> Iterator[str]:
        busy = cluster.busy
        if busy is None:
            return
        limit = busy.limit
        starts = numbers.plural(busy.starts, "cluster start")
        if busy.interval_known:
            span = f"{numbers.share(limit.interval.low)} to {numbers.share(limit.interval.high)}"
            sure = f"{numbers.share(limit.share)} of their CPU (95 % interval over {starts}: {span})"
        else:
            sure = f"{numbers.share(limit.share)} of their CPU ({starts}, too few for an interval)"
        yield (
            f"{cluster.title}: a p99 of {_ms(busy.p99_s)} held up to where {busy.role}s used {sure}, with "
            f"messages of {numbers.count(busy.message_bytes)} bytes in the run {self.capacity}. So the peak may use "
            f"{numbers.share(limit.interval.low)} of the CPU."
        )

    @property
    def answers(self) -> list[str]:
        """A sentence for each cluster."""
        return [
            f"{cluster.title} needs {' and '.join(map(self._role, cluster.roles))}{self._price(cluster)}."
            for cluster in self.clusters
        ]

    @property
    def accuracy(self) -> list[str]:
        """A sentence for each cluster on how far its models are off, and one for each system on capacities."""
        capacities = [
            f"{system_title(system)}: capacities that were predicted in this way from other configurations of the run "
            f"{self.capacity} were off by {numbers.percent(error.median)} in the median and "
            f"{numbers.percent(error.worst_tenth)} in the worst tenth ({error.count} of {error.capacities} capacities)."
            for system, error in self.capacity_errors.items()
        ]
        return capacities + [
            f"{cluster.title}: predicted from the other cases, the use of a case was off by {middle} in the median and "
            f"{tenth} in the worst tenth."
            for cluster in self.clusters
            if cluster.errors
            for middle, tenth in [_off(cluster.errors)]
        ]

    @property
    def warnings(self) -> list[str]:
        """What lies beyond what was measured, by cluster and role; empty where all lies within."""
        costs = [
            f"{cluster.title}, {role.role}: {line}"
            for cluster in self.clusters
            for role in cluster.roles
            for line in role.outside
        ]
        busy = [(cluster.title, cluster.busy.outside) for cluster in self.clusters if cluster.busy]
        return costs + [f"{title}: {line}" for title, line in busy if line]

    def _role(self, role: RoleSize) -> str:
        span = f"{role.least} to {role.nodes}" if role.least < role.nodes else f"{role.nodes}"
        ends = (
            "95 % interval of the model"
            if self.requirement_file.p99_s is None
            else "both intervals at their ends"
        )
        return f"{numbers.plural(role.nodes, role.role)} ({ends}: {span}; {NAMES[role.binding]} decides)"

    def _price(self, cluster: ClusterSize) -> str:
        prices = [self.requirement_file.nodes[role.role].price for role in cluster.roles]
        if None in prices:
            return ""
        total = sum((price or 0.0) * role.nodes for price, role in zip(prices, cluster.roles, strict=True))
        return f", at a price of {numbers.rate(total)}"


def _ms(length_s: float) -> str:
    """Write a response time as people give it: 50 ms."""
    return f"{length_s * 1_000:g} ms"


def _guarantee_sentences(cluster: ClusterSize) -> Iterator[str]:
    """Say which configuration gives the guarantee, and what it takes."""
    promise = cluster.guarantee
    if promise is None:
        return
    fsyncs = cluster.fsyncs_per_message
    counted = "" if fsyncs is None else f" ({fsyncs:.2g} fsyncs a message)"
    durability = (
        "synced to disk before the acknowledgement" if promise.power else "acknowledged before any fsync"
    )
    copies = numbers.plural(cluster.requirement.mean.copies, "copy").replace("copys", "copies")
    yield f"{cluster.title} gives this with {copies}, {durability}{counted}: {promise.holders}."
    failures = cluster.requirement.node_failures
    fixed = describe(cluster.system).spare_of_partition
    if fixed and promise.spare is not None and promise.spare < failures:
        yield (
            f"{cluster.title} stops writes to partitions of which {promise.spare + 1} of the nodes are gone; the file "
            f"allows {failures}."
        )


def _off(errors: Sequence[float]) -> tuple[str, str]:
    """Return the median and the 90th percentile of the sizes of errors."""
    sizes = np.abs(errors)
    middle, tenth = float(np.median(sizes)), float(np.quantile(sizes, 0.9, method="higher"))
    return numbers.percent(middle), numbers.percent(tenth)
