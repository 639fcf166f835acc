from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.backends.control_groups import Hierarchy, hierarchy
from bench.backends.cpu_quota import period_us
from bench.errors import ScenarioError
from bench.model import Node, Verdict
from bench.records.trial import NodeSizeRecord
from bench.run import trial_record
from bench.run.node_sizes import NodeSizes
from bench.run.plan import Plan, plan
from bench.scenario import load
from bench.scenario.values import bytes_per_s

SCENARIO = """\
name: sizes
title: Sizes
question: How much does a core carry?
systems:
  kafka:
    nodes: {controller: 1, broker: 2}
    node_size: {broker: {cpu: [0.2, 1], network: 50mbit}}
duration: 1s
repeats: 2
"""


def made(folder: Path, text: str = SCENARIO) -> Plan:
    file = folder / "sizes.yaml"
    file.write_text(text, encoding="utf-8")
    return plan(load(file), seed=1)


def test_sizes_are_swept_on_one_cluster(tmp_path: Path) -> None:
    ((_, trials), _) = made(tmp_path).clusters()

    sizes = {trial.case.name: trial.case.node_size for trial in trials}
    assert sizes == {
        "kafka broker.cpu=0.2": {"broker": {"cpu": 0.2, "network": "50mbit"}},
        "kafka broker.cpu=1.0": {"broker": {"cpu": 1.0, "network": "50mbit"}},
    }


@pytest.mark.parametrize(
    ("wanted", "instead", "message"),
    [
        ("broker: {cpu", "bookie: {cpu", r"node_size\.bookie: there is no bookie"),
        ("50mbit", "50 Mb/s", r"the rate of a link is a number with its unit"),
        ("[0.2, 1]", "0", r"greater than or equal to 0\.001"),
        ("cpu:", "cores:", r"node_size\.broker\.cores"),
        ("network: 50mbit", "disk_write: 20mbit", r"the rate of a disk is a number with its unit"),
        ("network: 50mbit", "memory: 1GB", r"an amount of memory is a number with its unit: 512MiB"),
        ("network: 50mbit", "fsync: 1", r"a duration is a number with its unit"),
    ],
)
def test_sizes_that_cannot_be_are_refused_with_their_line(
    tmp_path: Path, wanted: str, instead: str, message: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"sizes\.yaml:\d+: .*{message}"):
        made(tmp_path, SCENARIO.replace(wanted, instead))


def test_rates_are_bits_on_a_link_and_bytes_in_code() -> None:
    assert [bytes_per_s(rate) for rate in ("8kbit", "50mbit", "1.6gbit")] == [1e3, 6.25e6, 2e8]


class Limits:
    """Stands for a backend's limits: what was set, and a measurement that is a tenth too low."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str, float | None]] = []

    def set(self, node: Node, name: str, value: float | None) -> None:
        self.changes.append((node.name, name, value))

    def measure(self, _node: Node, name: str, value: float) -> Any:
        return (0.9 * value, 0.91 * value) if name == "network" else 0.9 * value


def test_limits_change_only_where_two_cases_differ() -> None:
    limits: Any = Limits()
    nodes: Any = [
        SimpleNamespace(name="broker-1", role="broker"),
        SimpleNamespace(name="controller-1", role="controller"),
    ]
    sizes = NodeSizes(limits, nodes)

    sizes.set_limits({"broker": {"cpu": 0.2, "network": "50mbit"}})
    sizes.set_limits({"broker": {"cpu": 0.4, "network": "50mbit"}})
    sizes.set_limits({})

    assert limits.changes == [
        ("broker-1", "cpu", 0.2),
        ("broker-1", "network", 6.25e6),
        ("broker-1", "cpu", 0.4),
        ("broker-1", "cpu", None),
        ("broker-1", "network", None),
    ]


@pytest.mark.parametrize(
    ("cpu", "network", "verdict"),
    [
        (0.19, (5.6e6, 5.7e6), Verdict.VALID),
        (0.12, (5.6e6, 5.7e6), Verdict.INVALID),
        (0.19, (5.6e6, 3.0e6), Verdict.INVALID),
    ],
)
def test_a_node_that_is_not_of_its_size_makes_a_trial_invalid(
    cpu: float, network: tuple[float, float], verdict: Verdict
) -> None:
    size = NodeSizeRecord(
        asked={"broker": {"cpu": 0.2, "network": "50mbit"}},
        measured={"broker-1": {"cpu": cpu, "network": network}},
    )

    (check,) = trial_record._node_size(size)

    assert check.verdict == verdict
    if verdict == Verdict.INVALID:
        assert "broker-1 got" in str(check.reason)
    assert trial_record._node_size(None) == []


@pytest.mark.parametrize(
    ("readings", "result", "left"), [([0.1, 0.19, 9.0], 0.19, 1), ([0.1, 0.11, 0.12, 9.0], 0.12, 1)]
)
def test_a_node_that_was_held_up_is_measured_again(
    tmp_path: Path, readings: list[float], result: float, left: int
) -> None:
    class Limited:
        def set(self, node: Node, name: str, value: float | None) -> None:
            pass

        def measure(self, node: Node, name: str, value: float) -> float:
            return readings.pop(0)

    sizes = NodeSizes(
        Limited(), [Node("broker-1", "broker", "127.0.0.1", (), tmp_path, tmp_path / "log", (), 0)]
    )

    for _ in range(2):  # once for all slices
        record = sizes.set_and_measure({"broker": {"cpu": 0.2}})
        assert record is not None
        assert record.measured == {"broker-1": {"cpu": result}}
    assert len(readings) == left


@pytest.mark.parametrize(
    ("cores", "period"), [(2.0, 10_000), (0.1, 10_000), (0.05, 20_000), (0.001, 1_000_000)]
)
def test_a_quota_is_never_shorter_than_the_kernel_takes(cores: float, period: int) -> None:
    assert period_us(cores) == period
    assert cores * period >= 1_000


MOUNTS = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / {root}/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / {root}/unified rw,relatime - cgroup2 cgroup2 rw
"""


def test_the_place_of_groups_is_found_in_either_version(tmp_path: Path) -> None:
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "cgroup.subtree_control").write_text("io memory\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS.format(root=tmp_path))

    assert hierarchy("cpu", mounts) == Hierarchy(tmp_path / "cpu,cpuacct", 1)
    assert hierarchy("io", mounts) == Hierarchy(tmp_path / "unified", 2)
    assert hierarchy("pids", mounts) is None
