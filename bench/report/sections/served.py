"""Leaders, owners and replicas of a topic during faults, change by change, as the servers report them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from bench import numbers
from bench.report.results import Json, Results
from bench.report.sections.fact import Fact

_SHOWN = 3
"""So many partitions of one change, and ledgers of one partition, are written out."""


@dataclass(frozen=True, slots=True)
class _News:
    """What a partition of Pulsar's tells that it did not tell before: who owns it, and ledgers.

    `fresh` ledgers were not there before, `moved` are on other nodes now, or go on on others, `gone` there no more.
    """

    partition: int
    owner: str | None = None
    fresh: Sequence[Json] = ()
    moved: Sequence[Json] = ()
    gone: Sequence[int] = ()

    @property
    def rolled(self) -> bool:
        """Whether all that happened is that one ledger followed another, on the nodes it began on."""
        quiet = self.owner is None and not self.moved and not self.gone
        return quiet and all(len(ledger["segments"]) == 1 for ledger in self.fresh)

    def __str__(self) -> str:
        parts = [
            *([f"owner {self.owner}"] if self.owner is not None else []),
            *self._fresh(),
            *(_ledger(one, "now on") for one in self.moved[:_SHOWN]),
            *_more(len(self.moved) - _SHOWN, "ledger", "now on other nodes"),
            *([f"{numbers.plural(len(self.gone), 'ledger')} gone"] if self.gone else []),
        ]
        return f"partition {self.partition}: {'; '.join(parts)}"

    def _fresh(self) -> list[str]:
        every = [_ledger(one, "on") for one in self.fresh]
        many = len(every) > _SHOWN
        return [f"{len(every)} new ledgers, the last of them {every[-1]}"] if many else every


def by_case(results: Results) -> list[Fact]:
    """Return who served and kept the topic, change by change, in each case's first trial with faults."""
    found: dict[str, list[Fact]] = {}
    for trial, document in results.trial_files.items():
        case = str(document["case"]["name"])
        if case not in found and (changes := in_trial(results, trial)):
            found[case] = [Fact(f"{case}, {one.term}", one.text) for one in changes]
    return [one for facts in found.values() for one in facts]


def in_trial(results: Results, trial: int) -> list[Fact]:
    """Return who served and kept the topic of one trial, change by change, from its first send."""
    first_ns = results.first_send_ns(trial)
    return [] if first_ns is None else told(results.trial_files[trial].get("history") or (), first_ns)


def told(history: Sequence[Json], first_ns: int) -> list[Fact]:
    """Say what changed at each entry of a trial's history, in seconds from `first_ns`.

    Entries in a row at which ledgers did nothing but follow each other are told together.
    """
    facts = []
    for rolled, group in groupby(_changes(history, first_ns), key=lambda change: _only_rolled(change[1])):
        changes = list(group)
        facts += [_together(changes)] if rolled else [Fact(_seconds(at), _text(news)) for at, news in changes]
    return facts


def _changes(history: Sequence[Json], first_ns: int) -> Iterator[tuple[float, list[_News | str]]]:
    known: dict[int, Json] = {}
    for change in history:
        told = [_news(now, known.get(now["partition"])) for now in change["partitions"]]
        if news := [one for one in told if one is not None]:
            yield (change["at_ns"] - first_ns) / 1e9, news
        known |= {now["partition"]: now for now in change["partitions"]}


def _news(now: Json, before: Json | None) -> _News | str | None:
    """Return what is new of a partition since it was told of last, None where nothing is; of Kafka's what is so."""
    if "ledgers" not in now:
        return f"partition {now['partition']}: {_led(now)}"
    old = {} if before is None else {one["ledger"]: one["segments"] for one in before["ledgers"]}
    there = {one["ledger"] for one in now["ledgers"]}
    other = before is None or before["owner"] != now["owner"]
    found = _News(
        now["partition"],
        (now["owner"] or "nobody") if other else None,
        [one for one in now["ledgers"] if one["ledger"] not in old],
        [one for one in now["ledgers"] if old.get(one["ledger"], one["segments"]) != one["segments"]],
        [ledger for ledger in old if ledger not in there],
    )
    return None if not found.fresh and found.rolled else found


def _only_rolled(news: Sequence[_News | str]) -> bool:
    return all(isinstance(one, _News) and one.rolled for one in news)


def _together(changes: Sequence[tuple[float, list[_News | str]]]) -> Fact:
    """Tell changes in a row, in which ledgers followed each other, as one."""
    merged: dict[int, _News] = {}
    for one in (one for _, news in changes for one in news if isinstance(one, _News)):
        before = merged.get(one.partition, _News(one.partition))
        merged[one.partition] = replace(before, fresh=[*before.fresh, *one.fresh])
    first_s, last_s = changes[0][0], changes[-1][0]
    when = _seconds(first_s) if len(changes) == 1 else f"{first_s:.1f} to {_seconds(last_s)}"
    return Fact(when, _text(list(merged.values())))


def _text(news: Sequence[_News | str]) -> str:
    shown = [*map(str, news[:_SHOWN]), *_more(len(news) - _SHOWN, "partition", "changed")]
    return "; ".join(shown) + "."


def _more(count: int, of: str, what: str) -> list[str]:
    return [f"{numbers.plural(count, f'more {of}')} {what}"] if count > 0 else []


def _ledger(ledger: Json, where: str) -> str:
    kept = ", ".join(f"{'/'.join(bookies)} from entry {first}" for first, bookies in ledger["segments"])
    return f"ledger {ledger['ledger']} {where} {kept}"


def _led(partition: Json) -> str:
    if partition["leader"] is None:
        return "nobody leads it"
    if partition.get("epoch") is None:
        more = "which does not tell its epoch and high watermark yet"
    else:
        more = f"epoch {partition['epoch']}, high watermark {partition['high_watermark']:,}"
    return f"leader {partition['leader']}, in sync {', '.join(partition['in_sync'])}, {more}"


def _seconds(at_s: float) -> str:
    return f"{at_s:.1f} s"
