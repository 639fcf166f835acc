"""What messages, bytes and batches cost a role of servers: a linear model of one resource, fitted to measured cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from bench import numbers
from bench.model import Interval
from bench.sizing.workload import Term, Workload
from bench.statistics.interval import t_reach

_Table = npt.NDArray[np.float64]
Usage: TypeAlias = Callable[[Workload, int], float]
"""What the nodes of a role, so many, use of a resource under a workload, a second."""

_FEWEST_STARTS = 2
_REACH = 2.0
"""So many times above the highest measured value, or below the lowest, an input may lie in a prediction."""
_DEPENDENT_SHARE = 0.1
"""At most this share of a column is left where the columns before it make it up: rates that were asked for are kept to
within a few per cent, and one trial may have sent batches of 1.3 messages where all others sent single ones."""
_TURNS = 4
_LEAST_SHARE = 0.01
"""What is predicted counts as no less than this share of the mean: no observation outweighs all others."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A measured trial of a case: its workload, how many nodes of the role shared it, and what all used, a second.

    Cases that differ in nothing that the model knows are one case. `start` names the cluster start.
    """

    case: str
    workload: Workload
    nodes: int
    use: float
    start: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What each unit of work uses, with its 95 % interval.

    `unit` is "node" (per second), "message", "byte" or "batch".
    """

    work: str
    unit: str
    use: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the nodes of a role use in all, a second, with its 95 % interval."""

    use: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Demand:
    """The fitted model of one resource of a role. `residuals` are measured over predicted use, by observation.

    `errors` has, for each case, by which share the model is off that is fitted to the other cases. The share is
    predicted over measured use, less 1; it is infinite where use was predicted and none was measured. `ranges` has
    the lowest and the highest value of each input that was measured.
    """

    costs: tuple[Cost, ...]
    residuals: tuple[float, ...]
    errors: tuple[float, ...]
    ranges: Mapping[str, tuple[float, float]]
    _terms: tuple[Term, ...]
    _columns: tuple[int, ...]
    _left_out: tuple[_Table, ...]

    def predict(self, workload: Workload, nodes: int) -> Prediction:
        """Predict the use of so many nodes; `outside` says whether the workload lies far from what was measured."""
        row = _row(self._terms, workload, nodes)[list(self._columns)]
        use = float(row @ np.array([cost.use for cost in self.costs]))
        return Prediction(use, _interval([fits @ row for fits in self._left_out], use))

    def outside(self, workload: Workload, nodes: int) -> list[str]:
        """Return a line for each input that lies beyond twice the measured range."""
        lines = []
        for name, value in _inputs(workload, nodes).items():
            low, high = self.ranges[name]
            if not low / _REACH <= value <= high * _REACH:
                ends = dict.fromkeys((numbers.rate(low), numbers.rate(high)))
                lines.append(f"{name}: {numbers.rate(value)} (measured: {' to '.join(ends)})")
        return lines


def fit(observations: Sequence[Observation], terms: Sequence[Term]) -> Demand:
    """Fit costs that are not negative, so that the squares of errors, as shares of what is predicted, are smallest.

    Work that the observations can't tell from other work has no cost of its own. Where all have the same copies, what a
    copy costs is part of what a message costs; where all messages go alone, what a batch costs.

    Trials of one cluster start vary together, and so do those of one case, where the model does not fit it. So each
    start and each case is left out once, and both variances of the jackknife are added up (after A. C. Cameron, J. B.
    Gelbach and D. L. Miller, "Robust inference with multiway clustering", 2011, who take off what both share).
    Student's t has the degrees of freedom of the fewer. Where nothing at all was used, no work costs anything.

    Raises ValueError below two cluster starts, and where there are no more cases than costs, also without one of them.
    """
    units = [
        ("idle", "node"),
        *((term.name, unit) for term in terms for unit in ("message", "byte", "batch")),
    ]
    table, use, independent = _equations(observations, terms)
    starts = [observation.start for observation in observations]
    cases = [observation.case for observation in observations]
    if len(set(starts)) < _FEWEST_STARTS:
        raise ValueError("costs take observations of two cluster starts at least")
    if len(set(cases)) <= (least := max(1, len(independent))):
        raise ValueError(f"{least} costs take more than {len(set(cases))} cases")
    costs = _solve(table, use)
    left_out = _each_left_out(table, use, starts), _each_left_out(table, use, cases)
    return Demand(
        costs=tuple(
            Cost(*units[place], float(cost), _interval([fits[:, number] for fits in left_out], float(cost)))
            for number, (place, cost) in enumerate(zip(independent, costs, strict=True))
        ),
        residuals=tuple(map(float, _over(use, table @ costs))),
        errors=tuple(_errors(table, use, cases, left_out[1])),
        ranges=_ranges(observations),
        _terms=tuple(terms),
        _columns=tuple(independent),
        _left_out=left_out,
    )


def usage(observations: Sequence[Observation], terms: Sequence[Term]) -> Usage:
    """Fit costs as `fit` does, without intervals: one cluster start is enough.

    Raises ValueError where there are no more cases than costs.
    """
    table, use, columns = _equations(observations, terms)
    if len({observation.case for observation in observations}) <= (least := max(1, len(columns))):
        raise ValueError(f"{least} costs take more cases")
    costs = _solve(table, use)
    return lambda workload, nodes: float(_row(terms, workload, nodes)[columns] @ costs)


def _equations(
    observations: Sequence[Observation], terms: Sequence[Term]
) -> tuple[_Table, _Table, list[int]]:
    """Return a row of work for each observation, what each used, and which work has a cost of its own."""
    table = np.array([_row(terms, observation.workload, observation.nodes) for observation in observations])
    use = np.array([observation.use for observation in observations])
    columns = _independent(table) if use.any() else []
    return table[:, columns], use, columns


def _row(terms: Sequence[Term], workload: Workload, nodes: int) -> _Table:
    """Return by how much each cost is multiplied: nodes, then messages, bytes and batches a second of each term."""
    handled = [term.times(workload) * workload.messages_per_s for term in terms]
    per_message = (1.0, workload.message_bytes, 1 / workload.batch)
    return np.array([nodes, *(rate * times for rate in handled for times in per_message)])


def _independent(table: _Table) -> list[int]:
    """Return the columns that the ones before them don't make up."""
    lengths = np.linalg.norm(table, axis=0)
    columns = table / np.where(lengths == 0, 1.0, lengths)
    independent: list[int] = []
    for place in np.flatnonzero(lengths):
        column, earlier = columns[:, place], columns[:, independent]
        residual = column - earlier @ np.linalg.lstsq(earlier, column)[0]
        if np.linalg.norm(residual) > _DEPENDENT_SHARE:
            independent.append(int(place))
    return independent


def _solve(table: _Table, use: _Table) -> _Table:
    """Solve by non-negative least squares; rows count by their error over what is predicted, which is found in turns.

    Over what was measured, low observations would count for more than high ones.
    """
    if not use.any():
        return np.zeros(table.shape[1])
    predicted = np.full(len(use), use.mean())
    for _ in range(_TURNS):
        weights = 1 / np.maximum(predicted, _LEAST_SHARE * use.mean())
        rows = table * weights[:, None]
        sizes = np.linalg.norm(rows, axis=0)
        sizes[sizes == 0] = 1.0
        costs = np.asarray(scipy.optimize.nnls(rows / sizes, use * weights)[0] / sizes)
        predicted = table @ costs
    return costs


def _over(use: _Table, predicted: _Table) -> _Table:
    """Return measured over predicted; 1 where both are zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(use == predicted, 1.0, use / predicted)


def _errors(table: _Table, use: _Table, cases: Sequence[str], left_out: _Table) -> Iterator[float]:
    """Give by how much each case is off, all its observations together, where the model is fitted to the others."""
    for case, costs in zip(dict.fromkeys(cases), left_out, strict=True):
        in_case = np.array([row_case == case for row_case in cases])
        predicted, measured = float((table[in_case] @ costs).sum()), float(use[in_case].sum())
        yield predicted / measured - 1 if measured else math.inf if predicted else 0.0


def _each_left_out(table: _Table, use: _Table, groups: Sequence[str]) -> _Table:
    """Return the costs without the first group of rows, without the second, and so on.

    Raises ValueError where the others can't tell all costs.
    """
    fits = []
    for group in dict.fromkeys(groups):
        keep = np.array([row_group != group for row_group in groups])
        if len(_independent(table[keep])) < table.shape[1]:
            raise ValueError(f"without {group} the other observations can't tell all costs")
        fits.append(_solve(table[keep], use[keep]))
    return np.array(fits)


def _interval(left_out: Sequence[_Table], value: float) -> Interval:
    """Return the interval of a value, from what it is with each start and with each workload left out."""
    variance = sum((len(values) - 1) * float(values.var()) for values in left_out)
    freedom = min(len(values) for values in left_out) - 1
    reach = t_reach(math.sqrt(variance), freedom)
    return Interval(max(0.0, value - reach), value + reach)


def _inputs(workload: Workload, nodes: int) -> dict[str, float]:
    """Return what a prediction rests on, by what it is called. More nodes may carry more messages."""
    return {
        "messages/s a node": workload.messages_per_s / nodes,
        "bytes a message": workload.message_bytes,
        "copies": workload.copies,
        "consumer groups": workload.groups,
        "messages a batch": workload.batch,
        "nodes": nodes,
    }


def _ranges(observations: Sequence[Observation]) -> dict[str, tuple[float, float]]:
    inputs = [_inputs(observation.workload, observation.nodes) for observation in observations]
    return {
        name: (min(values), max(values))
        for name in inputs[0]
        if (values := [input_[name] for input_ in inputs])
    }
