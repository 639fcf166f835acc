"""Which messages of a trial were already received; a byte of memory each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class DistinctMessages:
    """Counts distinct (producer, sequence) pairs; negative sequences (foreign messages) do not count."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.count = 0
        self._marks: dict[int, NDArray[np.bool_]] = {}

    def add(self, producers: NDArray[Any], sequences: NDArray[Any]) -> None:
        """Mark a batch; arrays of equal length."""
        is_own = sequences >= 0
        producers, sequences = producers[is_own], sequences[is_own]
        for producer in np.unique(producers):
            self._add(int(producer), sequences[producers == producer])

    def _add(self, producer: int, sequences: NDArray[Any]) -> None:
        marks = self._marks_up_to(producer, int(sequences.max()))
        fresh = np.unique(sequences[~marks[sequences]])
        marks[fresh] = True
        self.count += len(fresh)

    def _marks_up_to(self, producer: int, sequence: int) -> NDArray[np.bool_]:
        marks = self._marks.get(producer, np.zeros(1024, np.bool_))
        if sequence >= len(marks):
            marks = np.concatenate([marks, np.zeros(max(len(marks), sequence + 1 - len(marks)), np.bool_)])
        self._marks[producer] = marks
        return marks
