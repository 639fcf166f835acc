"""The error family of the suite.

Each message says what was being done, what happened and what to do about it. The command line prints it
without a stack trace, so a message must stand alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BenchError(Exception):
    """Root of the family: a mistake or a failure that the user can read and act on."""


class NotComparableError(BenchError):
    """Two runs are not alike enough to be compared; the message says in what, and how to accept it."""


class ScenarioError(BenchError):
    """A scenario file is wrong; the message names file, line, key, what is allowed and the nearest name."""


class SetupError(BenchError):
    """Something the machine needs is missing: a package, a server archive, memory, disk, a privilege."""


class ClusterError(BenchError):
    """A cluster did not start, died or refused an administrative request."""


class TopicExistsError(ClusterError):
    """A topic could not be created, as there is one of that name: it belongs to somebody else."""


class NodeDiedError(ClusterError):
    """A server process ended although nobody asked it to; the message carries the end of its log."""


class LoadError(BenchError):
    """The load or consumer process failed, fell silent or broke the recorder's promise."""


class MissingAgentsError(BenchError):
    """Load machines that a run needs did not join: the run stops until they are there."""


class FaultError(BenchError):
    """A fault could not be shown to have happened, or to be over; what the trial measured means nothing then."""


class EventLogError(BenchError):
    """A run folder does not follow docs/event-log.md; the message names file and column."""


class AnalysisError(BenchError):
    """The analysis could not compute what was asked from the event log it was given."""


class ReportError(BenchError):
    """The report could not be drawn from the results it was given."""


class OutdatedError(ReportError):
    """Results were written by another version of the analysis."""


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return the end of a message that asks for the allowed name most like a word; empty where none is like it."""
    near = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
