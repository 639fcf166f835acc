"""The scenarios that come with the suite, as tests go through them."""

from bench.scenario import find, load, names


def of_the_usual_versions() -> list[str]:
    """Scenarios that no other server must be fetched for."""
    return [
        name
        for name in sorted(names())
        if not any(spec.version for spec in load(find(name)).scenario.systems.specs().values())
    ]
