"""When a step of the timeline is due."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bench.scenario.values import Count, Duration, StrictModel


class InSync(StrictModel):
    """How many replicas must be in sync, in the partition that has the fewest."""

    at_least: Annotated[int, Field(ge=0)] | None = None
    """So many or more."""
    at_most: Annotated[int, Field(ge=0)] | None = None
    """So many or fewer."""

    @model_validator(mode="after")
    def _any(self) -> InSync:
        if not self.model_fields_set:
            message = "give at_least or at_most"
            raise ValueError(message)
        return self

    def holds(self, count: int) -> bool:
        """Tell whether so many replicas in sync are what is waited for."""
        low, high = self.at_least, self.at_most
        return (low is None or count >= low) and (high is None or count <= high)

    def __str__(self) -> str:
        """Say it as a report does."""
        parts = [
            f"at least {self.at_least}" if self.at_least is not None else "",
            f"at most {self.at_most}" if self.at_most is not None else "",
        ]
        return f"{' and '.join(filter(None, parts))} replicas in sync"


class ReaderCondition(StrictModel):
    """What must be so of the reader that an earlier step started."""

    blocked: Duration
    """Nothing came to it for so long, or it is at the topic's end; its record tells which."""


class Condition(StrictModel):
    """What a step waits for, counted from when the step before it was done. All that is given must be so."""

    acks: Count | None = None
    """So many acknowledged sends since the load began."""
    after: Duration | None = None
    """So much time."""
    jitter: Duration | None = None
    """So much more or less than `after`, by the run's seed."""
    load: Literal["over"] | None = None
    """The end of the load."""
    in_sync: InSync | None = None
    """So many replicas (Kafka)."""
    copies: Literal["missing", "complete"] | None = None
    """The system itself says that copies of the topic are missing (Kafka: a replica out of sync; Pulsar: a ledger
    marked under-replicated), or that none are."""
    topic: Literal["available"] | None = None
    """Every partition is served."""
    reader: ReaderCondition | None = None
    """What must be so of the reader that an earlier step started."""
    within: Duration | None = None
    """What has not come after so much time does not come, nor do the steps behind it; the trial tells, and is invalid
    where there are faults among them."""

    @model_validator(mode="after")
    def _any(self) -> Condition:
        if not self.model_fields_set - {"within"}:
            message = "give at least one of acks, after, load, in_sync, copies, topic, reader"
            raise ValueError(message)
        if self.jitter is not None and self.jitter > (self.after or 0):
            message = "jitter cannot be more than after"
            raise ValueError(message)
        return self

    @property
    def states(self) -> list[str]:
        """What of the topic's state is waited for, for which the system must be asked."""
        return [name for name in ("in_sync", "copies", "topic") if getattr(self, name) is not None]

    def __str__(self) -> str:
        """Say it as a report does."""
        parts = {
            "acks": f"after {self.acks:,} acknowledged sends" if self.acks else None,
            "after": f"{self.after:g} s later" if self.after else None,
            "jitter": f"give or take {self.jitter:g} s" if self.jitter else None,
            "load": "after the load" if self.load else None,
            "in_sync": f"with {self.in_sync}" if self.in_sync else None,
            "copies": f"when copies are {self.copies}" if self.copies else None,
            "topic": f"when the topic is {self.topic}" if self.topic else None,
            "reader": f"when nothing has come to the reader for {self.reader.blocked:g} s"
            if self.reader
            else None,
            "within": f"within {self.within:g} s" if self.within else None,
        }
        return ", ".join(words for words in parts.values() if words)
