"""Made-up records of trials."""

from collections.abc import Mapping
from typing import Any

from bench.records.trial import TrialRecord


def trial_record(**changed: Any) -> TrialRecord:
    """A valid trial of Kafka in a closed loop; `changed` are keys of trial.json."""
    plain = {
        "format": 2,
        "trial": 0,
        "round": 0,
        "case": {"system": "kafka", "name": "kafka", "settings": {}},
        "load": {"pacing": "closed"},
        "state": "finished",
        "verdict": "valid",
    }
    return TrialRecord.model_validate(plain | changed)


def altered(record: TrialRecord, **changed: Any) -> TrialRecord:
    """Return a record with other values for some keys of trial.json; of a mapping only the keys that it has."""
    stored = record.model_dump()
    merged = {
        name: {**stored[name], **value} if isinstance(value, Mapping) and stored[name] else value
        for name, value in changed.items()
    }
    return TrialRecord.model_validate(stored | merged)
