"""Published rules for the size of clusters, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from bench.sizing.published_rules import partitions
from bench.sizing.requirement import NodeType, Requirement
from bench.sizing.workload import Workload
from bench.systems.kafka import published_rules as kafka_rules
from bench.systems.pulsar import published_rules as pulsar_rules

REQUIREMENT = Requirement(
    mean=Workload(messages_per_s=10_000, message_bytes=1_000, copies=3, groups=2),
    peak_over_mean=2.0,
    growth=1.5,
    retention_s=0.0,
    node_failures=1,
    utilisation=0.6,
    disk_filled=0.75,
)
"""30 MB/s at the peak: 90 MB/s are written, 60 MB/s go to followers and 60 MB/s to consumers."""
NODE = NodeType(cores=2, network=125e6, disk_write=200e6, disk=1e12)


def nodes(requirement: Requirement, node: NodeType) -> list[int]:
    return [one.number for one in kafka_rules.published_rules(requirement, node)]


def test_bytes_and_cores_that_rules_ask_for() -> None:
    """Disks: 90 / 120 = 0.75; network: 120 / 75 = 1.6: two brokers, but three copies, and one more that may fail.

    Cores: 90 + 120 / 4 = 120 MB/s, at 20 MB/s and 60 %: ten, on five brokers, and a sixth. Redpanda: 90 MB/s in and 120
    out over 75: two, so three and a spare one. Alibaba: 30 x (2 + 2 x 3 - 1) = 210 MB/s over 400 x 0.6: one, but at
    least four, and a fifth.
    """
    assert nodes(REQUIREMENT, NODE) == [4, 6, 4, 5]


def test_what_a_smaller_link_or_disk_asks_for() -> None:
    """Network: 120 / (10 * 0.6) = 20; disks: 90 / (6 * 0.6) = 25."""
    assert nodes(REQUIREMENT, replace(NODE, network=10e6)) == [21, 6, 21, 5]
    assert nodes(REQUIREMENT, replace(NODE, network=10e6, disk_write=6e6)) == [26, 6, 21, 5]


def test_what_comes_in_counts_where_nobody_reads() -> None:
    """One copy for nobody. Disks: 30 / 120 = 0.25: one broker. Cores: 30 / 20 / 0.6 = 2.5, so three, on two brokers.

    Links of 10 MB/s take in 30 MB/s: Redpanda asks for 30 / 6 = 5, AWS counts what is sent, which is nothing.
    """
    alone = replace(REQUIREMENT, mean=replace(REQUIREMENT.mean, copies=1, groups=0), node_failures=0)

    assert nodes(alone, NODE) == [1, 2, 1, 4]
    assert nodes(alone, replace(NODE, network=10e6)) == [1, 2, 5, 4]


def test_redpandas_own_example() -> None:
    """75 MB/s, three copies, one group are 225 MB/s each way ("Sizing Use Cases"): five links of 45 MB/s."""
    example = replace(
        REQUIREMENT,
        mean=Workload(300, 250_000, copies=3, groups=1),
        peak_over_mean=1.0,
        growth=1.0,
        node_failures=0,
        utilisation=1.0,
    )

    by_rule = {
        one.rule: one.number for one in kafka_rules.published_rules(example, replace(NODE, network=45e6))
    }
    assert by_rule["Redpanda, for its own brokers"] == 5


def test_alibabas_own_factor_is_the_utilisation() -> None:
    """1,000 MB/s, three copies, two groups: 1,000 x 7 x 2 / 400 = 35, the 2 being half of the bandwidth left free."""
    large = replace(REQUIREMENT, mean=replace(REQUIREMENT.mean, messages_per_s=1e6 / 3), node_failures=0)

    by_rule = {
        one.rule: one.number for one in kafka_rules.published_rules(replace(large, utilisation=0.5), NODE)
    }
    assert by_rule["Alibaba Cloud, for Confluent's platform"] == 35


def test_rules_for_pulsar() -> None:
    """StreamNative: 30 MB/s in over 52.4, 60 out over 157.3, at 60 %: 0.95, so one unit.

    DataStax: 15,000 messages/s of 1,000 bytes, three copies, 10 days: 38.88 TB over 0.75 TB a bookie: 52, and a spare
    one; 52 / 3 brokers: 18, and a spare one.
    """
    stored = replace(REQUIREMENT, retention_s=10 * 86_400.0)

    assert [(one.number, one.unit) for one in pulsar_rules.published_rules(stored, NODE)] == [
        (1, "compute unit"),
        (19, "broker"),
        (53, "bookie"),
    ]


def test_compute_units_count_the_larger_of_what_comes_in_and_goes_out() -> None:
    """10 groups read 300 MB/s, over 157.3 and 60 %: 3.2, so four. 300 MB/s in for nobody, over 52.4: 9.5, so ten."""
    mean = REQUIREMENT.mean
    read = replace(REQUIREMENT, mean=replace(mean, groups=10))
    written = replace(REQUIREMENT, mean=replace(mean, groups=0, message_bytes=10_000))

    assert [pulsar_rules.published_rules(one, NODE)[0].number for one in (read, written)] == [4, 10]


def test_the_slower_side_of_a_partition_decides() -> None:
    """30 MB/s over 10 and over 4 MB/s: three and eight partitions."""
    assert partitions(REQUIREMENT, (10e6, 4e6)) == 8
    assert partitions(REQUIREMENT, (10e6, 40e6)) == 3
