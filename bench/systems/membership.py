"""A consumer group whose members share a topic's messages, each taking its time over every one of them.

How they share them is each system's own: Kafka's kinds of group, Pulsar's types of subscription.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bench import durations
from bench.model import PROCESSES, Settings

GROUP = "consumer_group"
"""The key of a scenario that makes a system's consumers members of one group."""
TYPE, WORK = "type", "work"
NAMES = frozenset({TYPE, WORK, PROCESSES})


def work_s(settings: Settings) -> float:
    """Return how long a member takes over a message, in seconds."""
    return durations.seconds(settings[WORK]) if WORK in settings else 0.0


def in_processes(settings: Settings) -> bool:
    """Return whether each member is a process of its own."""
    return bool(settings.get(PROCESSES, False))


def group_id(topic: str) -> str:
    """Return the group's name (Pulsar: the subscription's)."""
    return f"bench-group-{topic}"


def why_wrong(settings: Settings, types: Collection[str], consumers: int, spare: int = 0) -> Iterator[str]:
    """Say in full sentences what is wrong with a scenario's `consumer_group`; nothing where there is none.

    `spare` members join later.
    """
    if spare and not in_processes(settings):
        yield f"Spare members take a {GROUP} with {PROCESSES}: true."
    elif spare and spare >= consumers:
        yield f"One member at least begins with the load: of {consumers} consumers {spare} spare ones are too many."
    if not settings:
        return
    if not isinstance(settings.get(PROCESSES, False), bool):
        yield f"The {GROUP}'s {PROCESSES} is true or false, not {settings[PROCESSES]}."
    if consumers < 1:
        yield f"A {GROUP} has one member at least: set consumers to 1 or more."
    if settings.get(TYPE) not in types:
        yield f"A {GROUP} needs a {TYPE}, one of {', '.join(types)}, not {settings.get(TYPE)}."
    try:
        work_s(settings)
    except ValueError as error:
        yield f"The {GROUP}'s {WORK} is {settings[WORK]}; {error}."
