"""Numbers in the sentences that the analysis writes."""

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def duration(value_ns: float) -> str:
    """Write a time with the unit that suits it, to three figures."""
    for size, unit in _UNITS:
        if value_ns >= size:
            return f"{float(f'{value_ns / size:.3g}'):g} {unit}"
    return f"{value_ns:g} ns"
