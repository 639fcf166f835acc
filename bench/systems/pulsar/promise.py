"""What an acknowledgement of Pulsar's promises, by its documentation and BookKeeper's."""

from __future__ import annotations

from collections.abc import Mapping

from bench.guarantee import LATER, Guarantee, any_nodes, state_promise
from bench.systems.pulsar.nodes import BOOKIE


def promise(case_settings: Mapping[str, str], bookies: int | None) -> Guarantee | None:
    """State the promise of Qa bookies; for one that fails another must take its place, or no ledger has E of them.

    Whether writes go on is known only where the number of bookies is.
    """
    quorums = case_settings.get("quorums")
    if quorums is None:
        return None
    ensemble, write, ack = (int(part) for part in quorums.split("-"))
    journal = case_settings.get("journalWriteData", "true") == "true"
    on_disk = journal and case_settings.get("journalSyncData", "true") == "true"
    place = "in the journal, on disk (fdatasync)" if on_disk else "in the journal, in page cache"
    forgetting = "a bookie that comes back from a power cut has forgotten its last entries"
    forgets = forgetting if ack > 1 and not on_disk else ""
    spare = None if bookies is None else max(0, bookies - ensemble)
    writes = "" if spare is None else f"writes {_go_on(spare)}"
    return state_promise(
        f"{_holders(write, ack)} {place if journal else 'in memory only'}",
        Guarantee(
            BOOKIE,
            nodes=ack - 1,
            condition=LATER if write > ack == 1 else "",
            power=on_disk,
            spare=spare,
            noun=BOOKIE,
        ),
        "; ".join(filter(None, (forgets, writes))),
    )


def _go_on(spare: int) -> str:
    if spare:
        return f"go on with {any_nodes(spare, 'bookie')} gone"
    return "stop with any one bookie gone, as no other can take its place"


def _holders(write: int, ack: int) -> str:
    if write == 1:
        return "one bookie has the only copy"
    if ack == write:
        return f"all {write} bookies of the write quorum have it"
    return f"{ack} of {write} bookies {'has' if ack == 1 else 'have'} it"
