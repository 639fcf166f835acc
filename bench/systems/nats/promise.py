"""What an acknowledgement of JetStream's promises, by its documentation."""

from __future__ import annotations

from collections.abc import Mapping

from bench.guarantee import Guarantee, any_nodes, state_promise
from bench.systems.nats.nodes import SERVER

SYNC_INTERVAL, ALWAYS = "sync_interval", "always"
_MOST_BY_DEFAULT = 3


def replicas(servers: int) -> int:
    """Return how many replicas a stream gets that does not say: one a server, at most 3."""
    return max(1, min(_MOST_BY_DEFAULT, servers))


def promise(case_settings: Mapping[str, str], replicas_by_default: int | None) -> Guarantee | None:
    """State the promise of a majority of replicas; None where nobody knows how many there are."""
    number = case_settings.get("replicas", replicas_by_default)
    if number is None:
        return None
    copies = int(number)
    on_disk = case_settings.get(SYNC_INTERVAL) == ALWAYS
    place = "on disk" if on_disk else "in page cache"
    if copies == 1:
        only = Guarantee(SERVER, nodes=0, power=on_disk, spare=0)
        return state_promise(f"the only copy, {place}", only, "writes stop with that node")
    majority = copies // 2 + 1
    spare = copies - majority
    go_on = f"go on with {any_nodes(spare, 'node')} gone" if spare else "stop with any one of its nodes gone"
    return state_promise(
        f"a majority of the replicas, {majority} of {copies}, {place}",
        Guarantee(SERVER, nodes=majority - 1, power=on_disk, spare=spare, reads_wait=not spare),
        f"writes {go_on}",
    )
