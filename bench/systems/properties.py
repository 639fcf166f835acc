"""Settings as Java's properties files have them: written, and read back from a live server."""

from __future__ import annotations

from collections.abc import Mapping

from bench.errors import ClusterError
from bench.model import Settings, text


def require(owner: str, asked: Settings, found: Mapping[str, object]) -> None:
    """Raise ClusterError when a live value is not the one asked for; secrets, which nobody tells, pass."""
    wrong = [
        f"{name} was asked to be {text(value)} and is {text(found.get(name, 'not there'))}"
        for name, value in asked.items()
        if not (name in found and (found[name] is None or _same(text(value), text(found[name]))))
    ]
    if wrong:
        raise ClusterError(f"The live settings of {owner} are not the scenario's: {'; '.join(wrong)}.")


def _same(asked: str, found: str) -> bool:
    """Compare two values as Java reads them: 0.50 is 0.5, `a, b` is `a,b`, ON is on."""
    try:
        return float(asked) == float(found)
    except ValueError:
        return _words(asked) == _words(found)


def _words(value: str) -> list[str]:
    return [word.strip().lower() for word in value.split(",")]
