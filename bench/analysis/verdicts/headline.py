"""The answer of a run in a few sentences, made from the tables alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench import numbers
from bench.analysis.statistics.interval import by_round, paired, paired_ratio, ratios
from bench.analysis.statistics.round_ratios import LEAST_ROUNDS, RoundRatios
from bench.analysis.verdicts.between import between, unlike
from bench.model import ENOUGH_TRIALS, HEALING, NO_END, RESTART, crowded

Row = Mapping[str, Any]

_UNHARMED = "none was lost, doubled or disordered"
_ENDED = (
    (HEALING, "until something was healed"),
    (RESTART, "until a server that had ended was started again"),
    (NO_END, "with no end before the load's"),
)
"""What a time without acknowledgements may have ended by, beside itself (results/faults), as a headline says it."""
_FEW = 3
"""Of so many configurations each one's time is told."""
_UNSURE = (("failed", "fail_present", "refused"), ("unknown", "unknown_present", "never answered"))
"""How sends end that are not acknowledged, and where it is counted how many of them are there all the same."""


def headline(
    cases: Sequence[Row],
    trials: Sequence[Row],
    sides: Row | None = None,
    *,
    closed: bool,
    broken: bool = False,
) -> list[str]:
    """Say what each system's cheapest and dearest configurations did, what was lost, and what to beware of.

    A case that promises nothing of an acknowledged message (`hollow`) is neither: it is told apart, as its losses are.

    In a closed loop a configuration is cheap when it carries more messages; in an open loop, where the rate
    is given, when its response time is short. Where both systems sweep the same in a closed loop (`sides`) and promise
    the same somewhere, their ratios there take the place of that; where they sweep other things, and configurations
    were matched by what they promise, the ratios follow it. Where something was `broken`, what became of
    acknowledged messages comes first, what lost most before the others, and a price only follows from a closed loop.
    """
    systems = dict.fromkeys(case["system"] for case in cases)
    by_system = {name: [case for case in cases if case["system"] == name] for name in systems}
    valid = [row for row in trials if row["verdict"] == "valid"]
    prices = [_system(name, those, valid, closed=closed, broken=broken) for name, those in by_system.items()]
    if not broken:
        limits = {case["case"]: case.get("bottleneck") for case in cases}
        alike, untold = (between(sides, limits), unlike(sides)) if sides and closed else ([], ())
        both = [*prices, *alike] if sides and sides["matched"] else alike or prices
        return [*both, *untold, _loss(cases, trials), *_caveats(cases, trials, LEAST_ROUNDS)]
    rows = {name: [row for case in those for row in _of(case, valid)] for name, those in by_system.items()}
    ranked = sorted(by_system, key=lambda name: _gone(rows[name]), reverse=True)
    worths = [_worth(name, by_system[name], rows[name]) for name in ranked]
    return [*worths, *(prices if closed else ()), *_caveats(cases, trials, ENOUGH_TRIALS)]


def _of(case: Row, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["case"] == case["case"]]


def _gone(rows: Sequence[Row]) -> tuple[int, int]:
    """How many acknowledged messages were lost, and how many could not be read."""
    return sum(row["lost"] or 0 for row in rows), sum(row["unread"] or 0 for row in rows)


def _worth(system: str, cases: Sequence[Row], valid: Sequence[Row]) -> str:
    """State for each configuration of a system what its acknowledgements were worth under the faults."""
    name = system.capitalize()
    found = {_label(case): _of(case, valid) for case in cases}
    ordered = sorted(found.items(), key=lambda one: _gone(one[1]), reverse=True)
    said = {label: _marred(rows) for label, rows in ordered if rows}
    if not said:
        return f"{name}: nothing can be said, no trial is valid."
    every = [row for rows in found.values() for row in rows]
    acked = sum(row["acked"] for row in every)
    clean = [label for label, harm in said.items() if not harm]
    beside = f"{_strays(every)}{_stood_still({label: found[label] for label in said})}."
    if len(clean) == len(said):
        return f"{name}: of {acked:,} acknowledged messages {_UNHARMED}{beside}"
    harmed = "; ".join(f"{label} {harm}" for label, harm in said.items() if harm)
    kept = f"; with {', '.join(clean)} {_UNHARMED}" if clean else ""
    return f"{name}: {harmed}{kept}{beside}"


def _stood_still(found: Mapping[str, Sequence[Row]]) -> str:
    """Say for how long nothing was acknowledged, by configuration; of several that are many, over all of them.

    Of the trials in which no other work was in the way, where there are any.
    """
    told = {
        label: those
        for label, rows in found.items()
        if (those := [row for row in rows if row.get("unavailable_ns") is not None])
    }
    if not told:
        return ""
    if len(told) <= _FEW:
        each = [
            f"{_gap(rows)}{f' with {label}' if len(told) > 1 else ''}{_ends(rows)}"
            for label, rows in told.items()
        ]
        return f"; the longest time without an acknowledgement was {', '.join(each)}"
    every = [row for rows in told.values() for row in _alone(rows)]
    return f"; the longest time without an acknowledgement was {_gap(every)}, over {len(told)} configurations"


def _alone(rows: Sequence[Row]) -> Sequence[Row]:
    return [row for row in rows if not crowded(row.get("other_cpu"))] or rows


def _gap(rows: Sequence[Row]) -> str:
    """Say the least and the most; at least so long where something else than the system itself ended each of them."""
    alone = _alone(rows)
    gaps = [row["unavailable_ns"] for row in alone]
    low, high = numbers.duration(min(gaps)), numbers.duration(max(gaps))
    cut = all(row.get("unavailable_ended") in dict(_ENDED) for row in alone)
    return f"{'at least ' if cut else ''}{low if low == high else f'{low} to {high}'}"


def _ends(rows: Sequence[Row]) -> str:
    """Say in how many trials it was not the system's own time, and whether other work was in the way."""
    alone = _alone(rows)
    ended = Counter(row.get("unavailable_ended") for row in alone)
    trials = numbers.plural(len(alone), "trial")
    said = [f"{words} in {ended[how]} of {trials}" for how, words in _ENDED if ended[how]]
    if len(alone) < len(rows):
        said.append(f"in the {len(alone)} of {len(rows)} trials that other work did not crowd")
    elif any(crowded(row.get("other_cpu")) for row in rows):
        said.append("beside other work")
    return f" ({', '.join(said)})" if said else ""


def _strays(rows: Sequence[Row]) -> str:
    """Say how many of the sends that were refused, and never answered, are there all the same; empty where all were."""
    read = [row for row in rows if row.get("lost") is not None]
    said = [
        f"{there:,} of the {count:,} sends that were {word} {'are' if there > 1 else 'is'} in the log"
        if there
        else f"none of the {count:,} sends that were {word} is in the log"
        for name, present, word in _UNSURE
        if (count := sum(row[name] for row in read))
        for there in [sum(row[present] for row in read)]
    ]
    known, every = (sum(row[name] for row in those for name, _, _ in _UNSURE) for those in (read, rows))
    if every > known:
        words = " or ".join(word for name, _, word in _UNSURE if any(row[name] for row in rows))
        which = f"{every - known:,} more" if known else f"the {every:,} sends that were {words}"
        said.append(f"whether {which} are there cannot be said, as the full read did not reach the end")
    return "".join(f"; {one}" for one in said)


def _marred(rows: Sequence[Row]) -> str:
    """Say what acknowledged messages of a case were lost, not read, doubled or disordered; empty where none was."""
    acked = sum(row["acked"] for row in rows)
    names = {
        "lost": "lost",
        "unread": "left unread",
        "duplicates": "doubled",
        "out_of_order": "disordered",
    }
    counts = {word: sum(row[name] or 0 for row in rows) for name, word in names.items()}
    words = [f"{word} {count:,}" for word, count in counts.items() if count]
    if not words:
        return ""
    listed = " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    short = (
        " (the full read ended at the first that it could not get; nobody knows of those behind it)"
        if counts["left unread"]
        else ""
    )
    return f"{listed} of {acked:,}{_sent(rows)}{short}"


def _sent(rows: Sequence[Row]) -> str:
    """Say when what was lost had been sent, as seen from the first fault; empty where nothing was lost."""
    firsts = [row["lost_first_ns"] for row in rows if row.get("lost_first_ns") is not None]
    lasts = [row["lost_last_ns"] for row in rows if row.get("lost_last_ns") is not None]
    if not firsts:
        return ""
    first, last = min(firsts), max(lasts)
    if last <= 0:
        return f" (sent {numbers.duration(-first)} to {numbers.duration(-last)} before the first fault)"
    if first >= 0:
        return f" (sent {numbers.duration(first)} to {numbers.duration(last)} after the first fault)"
    return f" (sent from {numbers.duration(-first)} before to {numbers.duration(last)} after the first fault)"


def _system(system: str, cases: Sequence[Row], valid: Sequence[Row], *, closed: bool, broken: bool) -> str:
    name = system.capitalize()
    metric = "throughput_msgs_per_s" if closed else "response_p99_ns"
    said = [case for case in cases if case[metric] is not None or (not closed and case["rounds"])]
    if not said:
        trials = numbers.plural(sum(case["trials"] for case in cases), "trial")
        return f"{name}: nothing can be said, none of its {trials} is valid and measured."
    endless = math.inf  # a p99 that falls among sends that were never made
    every = sorted(said, key=lambda case: endless if case[metric] is None else case[metric], reverse=closed)
    ordered = [case for case in every if not case.get("hollow")] or every
    best, worst = ordered[0], ordered[-1]
    empty = [case for case in every if case not in ordered]
    beside = (
        f"; {_label(empty[0])}, which promises nothing, has {_speed(empty[0], closed=closed)}"
        if empty
        else ""
    )
    if len(ordered) == 1:
        return f"{name} ({_label(best)}): {_speed(best, closed=closed)}{beside}."
    of = f"{len(ordered)} configurations{' that promise something' if empty else ''}"
    more, less = (best, worst) if closed else (worst, best)
    pairs = paired(*(by_round(_of(case, valid), metric) for case in (more, less)))
    what = "throughput" if closed else "latency"
    if not pairs or not more[metric] or not less[metric]:
        factor = "no ratio can be given"
    elif len(ordered) > 2:
        factor = _picked_factor(more[metric] / less[metric], pairs, what)
    else:
        factor = _factor(pairs, what, broken=broken)
    return (
        f"{name}: of {of} {_label(best)} is the cheapest with {_speed(best, closed=closed)}, {_label(worst)} the "
        f"dearest with {_speed(worst, closed=closed)}: "
        f"{factor}{beside}."
    )


def _label(case: Row) -> str:
    """Name a case by its settings; the system stands before it already."""
    return str(case["case"]).removeprefix(case["system"]).strip() or "its one configuration"


def _speed(case: Row, *, closed: bool) -> str:
    limit = f"; limited by: {case['bottleneck']}" if case.get("bottleneck") else ""
    return f"{numbers.rate(case['throughput_msgs_per_s'])} messages/s ({_tail(case, closed=closed)}{limit})"


def _tail(case: Row, *, closed: bool) -> str:
    """Say how long a send takes; in an open loop, whose rate was given, also how long until a consumer has it."""
    measure = "service" if closed else "response"
    value, seen = case[f"{measure}_p99_ns"], None if closed else case.get("e2e_p99_ns")
    if value is None:
        return "p99 service time unknown" if closed else "more than 1 % of what was due was never sent"
    end_to_end = f", end to end {numbers.duration(seen)}" if seen is not None else ""
    return f"p99 {measure} time {numbers.duration(value)}{end_to_end}"


def _factor(pairs: Sequence[tuple[float, float]], what: str, *, broken: bool) -> str:
    """Say how many times as much the one of two is: the ratio over the rounds that both have, with its interval."""
    sides = {
        name: dict(enumerate(pair[place] for pair in pairs)) for place, name in enumerate(("one", "other"))
    }
    ratio = RoundRatios(sides, {}).ratio("one", "other")
    median = paired_ratio(pairs)
    if ratio is None or median is None:
        return "no ratio can be given"
    factor, interval = (median.median, median.interval) if broken else (ratio.ratio, ratio.interval())
    span = f" ({interval.low:.1f} to {interval.high:.1f})" if interval else ""
    return f"{factor:.1f}{span} times the {what}"


def _picked_factor(factor: float, pairs: Sequence[tuple[float, float]], what: str) -> str:
    """Tell a ratio of medians of two that were picked from several for being furthest apart, and the rounds' own.

    It has no interval, as chance sets equals apart too.
    """
    rounds = ratios(pairs)
    ordinary = len(rounds) > 1 and math.isfinite(max(rounds)) and min(rounds) > 0
    by_rounds = f" ({min(rounds):.1f} to {max(rounds):.1f} by round)" if ordinary else ""
    return f"{factor:.1f} times the {what}{by_rounds}; the two were chosen for being furthest apart"


def _loss(cases: Sequence[Row], trials: Sequence[Row]) -> str:
    """State what acknowledged messages were lost, as far as the full reads can tell."""
    every = [row for row in trials if row["verdict"] == "valid" and row.get("lost") is not None]
    if not every:
        return (
            "Whether acknowledged messages were lost cannot be said: no valid trial was read back to the end."
        )
    hollow = {case["case"] for case in cases if case.get("hollow")}
    read = [row for row in every if row["case"] not in hollow]
    apart = [row for row in every if row["case"] in hollow]
    return f"{_lost(cases, read)}{_unpromised(apart)}" if read else _lost(cases, apart)


def _unpromised(rows: Sequence[Row]) -> str:
    """Say what was lost of messages that the client took for acknowledged, and nothing was promised of."""
    acked, lost = sum(row["acked"] for row in rows), sum(row["lost"] for row in rows)
    were = f"{lost:,} were" if lost > 1 else f"{lost or 'none'} was"
    return f" Of {acked:,} more, of which nothing was promised, {were} lost." if acked else ""


def _lost(cases: Sequence[Row], read: Sequence[Row]) -> str:
    acked, lost = sum(row["acked"] for row in read), sum(row["lost"] for row in read)
    where = f"{acked:,} acknowledged in {numbers.plural(len(read), 'valid trial')}"
    if not lost:
        return f"No acknowledged message was lost of {where}."
    losing = len({row["case"] for row in read if row["lost"]})
    name, most, of = max(_by_case(read), key=lambda item: item[1] / max(item[2], 1))
    return (
        f"{lost:,} acknowledged messages were lost of {where}, "
        f"in {losing} of {numbers.plural(len(cases), 'configuration')}; "
        f"{name} lost most: {most:,} of {of:,} ({most / max(of, 1):.2%})."
    )


def _by_case(rows: Iterable[Row]) -> list[tuple[str, int, int]]:
    """Add up (case, lost, acked)."""
    sums: dict[str, tuple[int, int]] = {}
    for row in rows:
        lost, acked = sums.get(row["case"], (0, 0))
        sums[row["case"]] = (lost + row["lost"], acked + row["acked"])
    return [(case, lost, acked) for case, (lost, acked) in sums.items()]


def _caveats(cases: Sequence[Row], trials: Sequence[Row], enough: int) -> list[str]:
    """Say how far the figures carry: rounds too few for an interval, trials left out."""
    found = []
    rounds = min((case["rounds"] for case in cases if case["rounds"]), default=0)
    if 0 < rounds < enough:
        found.append(
            f"some figures rest on {numbers.plural(rounds, 'valid trial')} only; below {enough} "
            f"there is no interval, and a difference may be chance"
        )
    left_out = sum(row["verdict"] != "valid" for row in trials)
    if left_out:
        are = "is" if left_out == 1 else "are"
        found.append(f"{left_out} of {numbers.plural(len(trials), 'trial')} {are} not valid and left out")
    return [f"{numbers.sentence('; '.join(found))}."] if found else []
