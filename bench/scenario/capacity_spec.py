"""What a scenario says of a search for capacity."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bench.scenario.values import Duration, StrictModel

_LEAST_S = 0.5
"""Less tells nothing of a backlog's growth."""


class CapacitySpec(StrictModel):
    """The service level that a rate must meet to count as sustained, and how long rates are held in the search."""

    response_p99: Annotated[
        Duration,
        Field(description="99 % of the messages are acknowledged within this time from when they are due."),
    ] = 0.05
    end_to_end_p99: Annotated[
        Duration, Field(description="99 % of the messages reach a consumer within this time from then.")
    ] = 0.1
    search: Annotated[
        Duration, Field(ge=_LEAST_S, description="How long a rate is held while the search comes closer.")
    ] = 20.0
    confirm: Annotated[
        Duration, Field(ge=_LEAST_S, description="How long the rates are held on which the result rests.")
    ] = 60.0
    settle: Annotated[Duration, Field(description="How long a rate is loaded before what counts.")] = 10.0

    def settings(self) -> dict[str, float]:
        """Return all of it in seconds, as a case has it."""
        return {f"{name}_s": value for name, value in self.model_dump().items()}
