"""The values that a scenario file is made of, and the strictness that all of it has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from bench import durations
from bench.durations import DURATION

_PERCENT = re.compile(r"^(\d+(?:\.\d+)?)\s*%$")
_VERSION = re.compile(r"^\d+(\.\d+){1,3}$")
UNLIMITED = "unlimited"
"""A budget that never ends."""
_LINK_RATE = re.compile(r"^(\d+(?:\.\d+)?)(kbit|mbit|gbit)$")
_BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def _share(value: object) -> float:
    """Turn '5%' or 0.05 into 0.05."""
    number = _share_or_all(value)
    if number == 1:
        message = "give a share between 0 and 1: 5%, or 0.05"
        raise ValueError(message)
    return number


def _share_or_all(value: object) -> float:
    """Turn '5%' or 0.05 into 0.05, and '100%' or 1 into 1."""
    number = value
    if isinstance(value, str) and (match := _PERCENT.match(value)):
        number = float(match[1]) / 100
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 1:
        message = "give a share between 0 and 1: 5%, or 0.05"
        raise ValueError(message)
    return float(number)


def budget_s(value: object) -> float:
    """Return a budget in seconds, infinite for `unlimited`. Raises ValueError."""
    return math.inf if value == UNLIMITED else durations.seconds(value)


def _once(values: object) -> object:
    """Refuse a sweep that names a value twice: its cases would have the same name."""
    if isinstance(values, list) and len({str(value) for value in values}) < len(values):
        message = "a value stands twice in this sweep"
        raise ValueError(message)
    return values


def _version(value: object) -> object:
    if not (isinstance(value, str) and _VERSION.match(value)):
        message = "a version is numbers and dots, in quotes: '4.3.1'"
        raise ValueError(message)
    return value


Version: TypeAlias = Annotated[
    str, BeforeValidator(_version), WithJsonSchema({"type": "string", "pattern": _VERSION.pattern})
]
_Seconds: TypeAlias = Annotated[
    float,
    BeforeValidator(durations.seconds),
    WithJsonSchema({"type": "string", "pattern": DURATION.pattern, "examples": ["6s"]}),
]
Duration: TypeAlias = Annotated[_Seconds, Field(gt=0)]
DurationOrNone: TypeAlias = Annotated[_Seconds, Field(ge=0)]
"""A duration that may be 0s."""
Share: TypeAlias = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"type": ["string", "number"], "examples": ["5%"]}),
]
ShareOrAll: TypeAlias = Annotated[
    float,
    BeforeValidator(_share_or_all),
    WithJsonSchema({"type": ["string", "number"], "examples": ["100%"]}),
]
Budget: TypeAlias = Annotated[
    float,
    BeforeValidator(budget_s),
    WithJsonSchema({"type": "string", "pattern": f"{DURATION.pattern}|^{UNLIMITED}$", "examples": ["30m"]}),
]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Scalar: TypeAlias = bool | int | float | str
Sweep: TypeAlias = Annotated[list[Scalar], Field(min_length=1), BeforeValidator(_once)]
Swept: TypeAlias = Scalar | Sweep
CountOrNone: TypeAlias = Annotated[int, Field(ge=0)]
SweptCountOrNone: TypeAlias = (
    CountOrNone | Annotated[list[CountOrNone], Field(min_length=1), BeforeValidator(_once)]
)
SweptCount: TypeAlias = Count | Annotated[list[Count], Field(min_length=1), BeforeValidator(_once)]
Rate: TypeAlias = Annotated[int, Field(gt=0)] | Annotated[float, Field(gt=0)]
SweptRate: TypeAlias = Rate | Annotated[list[Rate], Field(min_length=1), BeforeValidator(_once)]
SweptVersion: TypeAlias = Version | Annotated[list[Version], Field(min_length=1), BeforeValidator(_once)]
SweptFlag: TypeAlias = bool | Annotated[list[bool], Field(min_length=1), BeforeValidator(_once)]
Properties: TypeAlias = dict[str, Swept]


def bytes_per_s(value: object) -> float:
    """Return the rate of a link, such as 50mbit or 1gbit, in bytes a second. Raises ValueError."""
    match = _LINK_RATE.match(value) if isinstance(value, str) else None
    if match is None or not float(match[1]):
        message = "the rate of a link is a number with its unit: 500kbit, 50mbit, 1gbit"
        raise ValueError(message)
    return float(match[1]) * _BITS[match[2]] / 8


def _value_or_list(parse: Callable[[object], float]) -> BeforeValidator:
    """Return what checks a value, or each of a list, by reading it, and refuses a list that has one twice."""

    def check(values: object) -> object:
        for value in values if isinstance(values, list) else [values]:
            parse(value)
        return _once(values)

    return BeforeValidator(check)


_BYTE_RATE = re.compile(r"^(\d+(?:\.\d+)?)\s*(kB|MB|GB)/s$")
_BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def disk_bytes_per_s(value: object) -> float:
    """Return the rate of a disk, such as 20MB/s, in bytes a second. Raises ValueError."""
    match = _BYTE_RATE.match(value) if isinstance(value, str) else None
    if match is None or not float(match[1]):
        message = "the rate of a disk is a number with its unit: 500kB/s, 20MB/s"
        raise ValueError(message)
    return float(match[1]) * _BYTES[match[2]]


_MEMORY_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(MiB|GiB)$")
_BINARY = {"MiB": 2**20, "GiB": 2**30}


def memory_bytes(value: object) -> float:
    """Return an amount of memory, such as 512MiB, in bytes. Raises ValueError."""
    match = _MEMORY_SIZE.match(value) if isinstance(value, str) else None
    if match is None or not float(match[1]):
        message = "an amount of memory is a number with its unit: 512MiB, 1.5GiB"
        raise ValueError(message)
    return float(match[1]) * _BINARY[match[2]]


_BYTE_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(MB|GB|TB)$")


def stored_bytes(value: object) -> float:
    """Return how much a disk holds, such as 500GB, in bytes. Raises ValueError."""
    match = _BYTE_SIZE.match(value) if isinstance(value, str) else None
    if match is None or not float(match[1]):
        message = "the size of a disk is a number with its unit: 500GB, 2TB"
        raise ValueError(message)
    return float(match[1]) * (_BYTES | {"TB": 1e12})[match[2]]


def seconds(value: object) -> float:
    """Return a length of time, such as 1ms, in seconds; more than none. Raises ValueError."""
    if not (length := durations.seconds(value)):
        message = "give a length of time: 1ms, 5ms"
        raise ValueError(message)
    return length


DiskRate: TypeAlias = Annotated[
    float,
    BeforeValidator(disk_bytes_per_s),
    WithJsonSchema({"type": "string", "pattern": _BYTE_RATE.pattern, "examples": ["20MB/s"]}),
]
SweptDiskRate: TypeAlias = Annotated[
    str | Annotated[list[str], Field(min_length=1)], _value_or_list(disk_bytes_per_s)
]
SweptMemory: TypeAlias = Annotated[
    str | Annotated[list[str], Field(min_length=1)], _value_or_list(memory_bytes)
]
SweptLength: TypeAlias = Annotated[str | Annotated[list[str], Field(min_length=1)], _value_or_list(seconds)]
Cores: TypeAlias = Annotated[float, Field(ge=0.001, strict=False)]
SweptCores: TypeAlias = Cores | Annotated[list[Cores], Field(min_length=1), BeforeValidator(_once)]
SweptLinkRate: TypeAlias = Annotated[
    str | Annotated[list[str], Field(min_length=1)], _value_or_list(bytes_per_s)
]


AS_IS = "as is"
"""The disk of the machine, with nothing added to it."""


def added_fsync_s(value: object) -> float:
    """Return how much longer an fsync is to take: 0 for `as is`, else a duration in seconds."""
    return 0.0 if value == AS_IS else durations.seconds(value)


def _fsync(value: object) -> object:
    if value == []:
        message = "an empty sweep has no cases"
        raise ValueError(message)
    for fsync in value if isinstance(value, list) else [value]:
        if fsync != AS_IS and added_fsync_s(fsync) <= 0:
            message = f"give {AS_IS!r}, or by how much longer an fsync is to take: 1ms, 5ms, 10ms"
            raise ValueError(message)
    return _once(value)


FsyncCosts: TypeAlias = Annotated[str | list[str], BeforeValidator(_fsync)]


class StrictModel(BaseModel):
    """Unknown keys and other types are refused, nothing is converted. What stands below a key goes to the schema."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


def about(description: str) -> Any:  # noqa: ANN401 - what pydantic's Field returns
    """Say what a key is, to whoever writes it: the schema shows it."""
    return Field(description=description)
