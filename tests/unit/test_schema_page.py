"""docs/scenario-keys.md: every key of a scenario file, from the schema."""

from __future__ import annotations

import re
from pathlib import Path

from bench.faults.kinds import kinds
from bench.faults.schema import document
from bench.faults.schema_page import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_that_of_todays_schema() -> None:
    """Renew it: make generated."""
    assert (ROOT / "docs" / "scenario-keys.md").read_text(encoding="utf-8") == page()


def test_it_has_every_key_of_a_scenario_and_every_kind_of_fault() -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \|", page(), re.MULTILINE))

    assert rows >= document()["properties"].keys()
    assert rows >= kinds().keys()


def test_a_row_says_what_may_stand_there_and_what_stands_there_without_it() -> None:
    text = page()

    assert (
        "| `message_bytes` | whole number, or a list | `1000` | How long each message is; a list is swept. |"
        in text
    )
    assert "| `jit` | `default` or `c1` | `default` |" in text
    assert "| `when` | [`systems.kafka.faults.when`](#systemskafkafaultswhen) | *required* |" in text
    assert "| `slow-disk` | text or mapping with `target`, `fsync`, or a list |" in text
