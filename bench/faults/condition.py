"""When a step of the timeline is due."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from bench.scenario.schema import Count, Duration


class Condition(BaseModel):
    """What a step waits for, counted from when the step before it was done. All that is given must be so.

    `acks`: so many acknowledged sends since the load began. `after`: so much time. `load`: `over` waits for the
    end of the load.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    acks: Count | None = None
    after: Duration | None = None
    load: Literal["over"] | None = None

    @model_validator(mode="after")
    def _any(self) -> Condition:
        if not self.model_fields_set:
            message = "give at least one of acks, after, load"
            raise ValueError(message)
        return self

    def __str__(self) -> str:
        """Say it as a report does."""
        said = {
            "acks": f"after {self.acks:,} acknowledged sends" if self.acks else None,
            "after": f"{self.after:g} s later" if self.after else None,
            "load": "after the load" if self.load else None,
        }
        return ", ".join(words for words in said.values() if words)
