"""What the first page's line of conditions says of servers."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from bench.records.trial import NodeSizeRecord
from bench.report.answer import conditions

QUOTA: dict[str, Any] = {"broker": {"cpu": 0.3, "memory": "512MiB"}}


def trial(size: dict[str, Any] | None, brokers: int = 3, state: str = "finished") -> Any:
    case = SimpleNamespace(system="kafka", nodes={"controller": 1, "broker": brokers})
    record = NodeSizeRecord(asked=size, measured={}) if size else None
    return SimpleNamespace(case=case, state=state, node_size=record)


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ([trial(None), trial(None)], " (3 brokers)"),
        ([trial(None), trial(None, brokers=4)], ""),
        ([trial(QUOTA), trial(QUOTA)], " (emulated size: 3 brokers of 0.3 cores and 512MiB of memory)"),
        (
            [trial(QUOTA), trial(None, state="failed")],
            " (emulated size: 3 brokers of 0.3 cores and 512MiB of memory)",
        ),
        ([trial(QUOTA), trial(None)], " (3 brokers)"),
        ([trial(None, state="failed")], " (3 brokers)"),
        ([], ""),
    ],
)
def test_servers_are_named_with_the_size_that_all_trials_emulate(trials: list[Any], words: str) -> None:
    results: Any = SimpleNamespace(trial_records=dict(enumerate(trials)))

    assert conditions._servers(results, "kafka") == words


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ([3, 3], "3 rounds, whose ratios are averaged"),
        ([3, 2, 0, 2], "3 rounds, whose ratios are averaged; 2 of 3 configurations in fewer, at least 2"),
    ],
)
def test_configurations_that_count_in_fewer_rounds_are_counted(rounds: list[int], words: str) -> None:
    results: Any = SimpleNamespace(
        rounds=3, is_fault_run=False, over_rounds=True, cases=pd.DataFrame({"rounds": rounds})
    )

    assert conditions._rounds(results) == words
