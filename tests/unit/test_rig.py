from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.errors import LoadError
from bench.model import Case, Cluster, Load, Pacing, Trial
from bench.run.rig import Rig, unheard

NODES = [
    SimpleNamespace(name=name, group=group)
    for name, group in (("broker-1", ""), ("bookie-1", "on"), ("bookie-2", "off"), ("bookie-3", "off"))
]


class Servers:
    """Stands for a cluster and its load process; keeps which nodes were stopped while a slice ran."""

    def __init__(self, *, fails: bool) -> None:
        self.stopped: set[str] = set()
        self.seen: list[set[str]] = []
        self._fails = fails

    def pause_node(self, node: Any) -> None:
        self.stopped.add(node.name)

    def resume_node(self, node: Any) -> None:
        self.stopped.discard(node.name)

    def call(self, *_: object) -> dict[str, int]:
        self.seen.append(set(self.stopped))
        if self._fails:
            raise LoadError("The load broke off.")
        return {"acked": 1}


@pytest.mark.parametrize(("group", "expected"), [("on", {"bookie-2", "bookie-3"}), ("off", {"bookie-1"})])
@pytest.mark.parametrize("fails", [False, True])
def test_bookies_of_other_groups_are_stopped_in_a_slice_and_go_on_after_it(
    group: str, expected: set[str], fails: bool
) -> None:
    servers = Servers(fails=fails)
    cluster: Any = SimpleNamespace(nodes=NODES, backend=servers, alive=lambda: None)
    load: Any = SimpleNamespace(producing=servers)
    loaded = Load(1, 100, Pacing(), 1, 0, 0.1, 0.5, None, slices=1)
    case = Case("pulsar", "a", {}, Cluster("pulsar", "4", {}), 1, {}, {}, {}, loaded, group=group)

    try:
        Rig(cluster, load, SimpleNamespace(path=Path()), 1).run_slice(Trial(0, 0, case), 0, unheard)  # type: ignore[arg-type]
    except LoadError:
        assert fails

    assert servers.seen == [expected]
    assert not servers.stopped
