"""The JSON Schema of scenario files, steps of faults included, for editors (scenarios/scenario.schema.json).

`python -m bench.faults.schema` prints it.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from pydantic import BaseModel

from bench.faults.condition import Condition
from bench.faults.drain import Drain
from bench.faults.kinds import kinds
from bench.faults.step import Head
from bench.scenario.schema import json_schema
from bench.systems.draining import DRAIN

_TARGET = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def document() -> dict[str, Any]:
    """Return the schema."""
    schema = json_schema()
    definitions = schema["$defs"]
    actions: dict[str, Any] = {
        "undo": {"type": "string", "description": "An earlier step, or `node 2 of` it."},
        "read": {"const": "earliest", "description": "A reader of the whole topic begins."},
        "subscribe": {
            "type": "string",
            "description": "This consumer group begins, at the earliest message.",
        },
        "consume": {"type": "string", "description": "This consumer group reads all there is, and leaves."},
        "look-up": {"const": "topic", "description": "A client that comes anew asks for the topic."},
        "rebalance": {
            "type": "string",
            "description": "An operator spreads the topic over all nodes: `topic`, or a rate of copying, 5MB/s.",
        },
        DRAIN: {
            "anyOf": [{"type": "string"}, _of(Drain, definitions)],
            "description": "An operator lets other nodes keep all that a node keeps.",
        },
        "mark": {"const": True, "description": "Nothing is done; the record tells when."},
    }
    for key, kind in kinds().items():
        actions[key] = {
            "anyOf": [*_TARGET["anyOf"], _of(kind, definitions)],
            "description": inspect.getdoc(kind),
        }
    step = _of(Head, definitions)
    step |= {"additionalProperties": False, "properties": {**step["properties"], **actions}}
    step["oneOf"] = [{"required": [action]} for action in actions]
    definitions["FaultStep"] = step
    _of(Condition, definitions)
    for definition in definitions.values():
        if "faults" in definition.get("properties", {}):
            definition["properties"]["faults"]["items"] = {"$ref": "#/$defs/FaultStep"}
    return schema


def _of(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a model's schema; what it refers to goes to the definitions."""
    schema = model.model_json_schema()
    definitions |= schema.pop("$defs", {})
    return schema


if __name__ == "__main__":
    print(json.dumps(document(), indent=2))  # noqa: T201 - that is what this command is for
