"""A bookie is emptied: it becomes read-only, and BookKeeper copies its ledgers to others (`bkctl`'s recover)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from bench.errors import ClusterError
from bench.model import Node
from bench.systems.draining import DrainResult
from bench.systems.pulsar.nodes import address
from bench.systems.pulsar.rest_client import RestClient, hosts

_LEDGERS = "api/v1/ledger/list/"
_METADATA = "api/v1/ledger/metadata/?ledger_id="
_READ_ONLY = "api/v1/bookie/state/readonly"
_RECOVER = "api/v1/autorecovery/bookie"
_LEFT_S = 10.0
"""How long writers are given to go elsewhere: with their next entry each replaces the bookie in its ledger."""
_DRAINED_S = 300.0
_TURN_S = 0.2


def drain(bookie: Node, other_bookies: Sequence[Node], written: Callable[[], Iterable[int]]) -> DrainResult:
    """Empty a bookie, which goes on running; return when no ledger had it in an ensemble any more.

    Others are asked to copy once the ledgers that are `written` to now are written elsewhere. An open ledger to which
    nobody writes meanwhile is closed for it; its owner begins another with the next message. Raises ClusterError.
    """
    with (
        closing(RestClient(hosts([bookie]))) as bookie_client,
        closing(RestClient(hosts(other_bookies))) as rest_client,
    ):
        place = _Place(f"Draining {bookie.name}", address(bookie), rest_client)
        bookie_client.ask(place.doing, "PUT", _READ_ONLY, {"readOnly": True})
        ledgers = place.ledgers_on_bookie(place.all_ledgers())
        _wait(_LEFT_S, lambda: not place.takes_entries(written()))
        rest_client.ask(place.doing, "PUT", _RECOVER, {"bookie_src": [place.bookie], "delete_cookie": False})
        if not _wait(_DRAINED_S, lambda: not place.ledgers_on_bookie(ledgers)):
            left = ", ".join(map(str, place.ledgers_on_bookie(ledgers)))
            raise ClusterError(
                f"{place.doing}: after {_DRAINED_S:.0f} s it still keeps parts of the ledgers {left}."
            )
        done_ns = time.monotonic_ns()
        if not bookie_client.ask(place.doing, "GET", _READ_ONLY)["readOnly"]:
            raise ClusterError(f"{place.doing}: it takes writes again.")
        if begun := place.ledgers_on_bookie(place.all_ledgers()):
            raise ClusterError(f"{place.doing}: it began to keep the ledgers {', '.join(map(str, begun))}.")
    evidence = (
        f"{bookie.name} says that it is read-only. "
        f"It was in ensembles of {len(ledgers)} ledgers, and is in none."
    )
    return DrainResult(done_ns, evidence)


def _wait(most_s: float, is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + most_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(_TURN_S)
    return True


@dataclass(frozen=True, slots=True)
class _Place:
    """Ledgers, and whether they have one `bookie` (host:port) in an ensemble, by the word of others."""

    doing: str
    bookie: str
    rest_client: RestClient

    def all_ledgers(self) -> list[int]:
        """Return the numbers of all ledgers."""
        return sorted(map(int, self.rest_client.ask(self.doing, "GET", _LEDGERS) or ()))

    def ledgers_on_bookie(self, ledgers: Iterable[int]) -> list[int]:
        """Return those of which the bookie keeps a part."""
        return [
            ledger
            for ledger in ledgers
            if any(map(self._has, self._metadata(ledger)["allEnsembles"].values()))
        ]

    def takes_entries(self, ledgers: Iterable[int]) -> bool:
        """Whether the next entries of any of these, open ones, go to the bookie."""
        return any(
            metadata["state"] == "OPEN"
            and self._has(metadata["allEnsembles"][max(metadata["allEnsembles"], key=int)])
            for metadata in map(self._metadata, ledgers)
            if metadata["allEnsembles"]
        )

    def _has(self, ensemble: Iterable[Mapping[str, Any]]) -> bool:
        return self.bookie in {member["id"] for member in ensemble}

    def _metadata(self, ledger: int) -> Mapping[str, Any]:
        """Return a ledger's metadata; one that was deleted meanwhile, of which bookies only give an error, has none."""
        try:
            answer = self.rest_client.ask(self.doing, "GET", f"{_METADATA}{ledger}", absent_is_fine=True)
        except ClusterError:
            if ledger in self.all_ledgers():
                raise
            answer = None
        return answer[str(ledger)] if answer else {"state": "CLOSED", "allEnsembles": {}}
