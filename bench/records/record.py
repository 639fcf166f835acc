"""What all records have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Record(BaseModel):
    """A part of a JSON document. Keys that this version does not know are ignored.

    A field with an alias is called so in the document, and when a record is made.
    """

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


def first_mistake(error: ValidationError) -> str:
    """Return the key of the first thing that is wrong with a document, and what is."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
