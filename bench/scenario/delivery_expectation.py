"""`no_message_is`: the short form of an expectation that no message is lost, duplicated or out of order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from bench.scenario.document_check import check_document
from bench.scenario.expectation import SystemName
from bench.scenario.values import StrictModel, about
from bench.scenario.yaml_source import KeyPath, YamlDocument

KEY = "no_message_is"
_LIST = "expectations"


@dataclass(frozen=True, slots=True)
class _Form:
    """An expectation that stands for one word, but for its system."""

    id_end: str
    metric: str
    claim: str
    claim_without_fault: str


_FORMS = {
    "lost": _Form(
        "nothing-lost",
        "lost",
        "No acknowledged message is lost",
        "Without a fault no acknowledged message is lost",
    ),
    "duplicated": _Form("once", "duplicates", *2 * ("No message is duplicated",)),
    "out of order": _Form("in-order", "out_of_order", *2 * ("No message is out of order",)),
}
Anomaly = Literal["lost", "duplicated", "out of order"]


class DeliveryExpectation(StrictModel):
    """No message is lost, duplicated or out of order: stands for one expectation for each system and word."""

    no_message_is: Annotated[
        Anomaly | Annotated[list[Anomaly], Field(min_length=1)],
        about("What no message is: lost, duplicated, out of order; one of them or a list."),
    ]
    system: Annotated[SystemName | None, about("Whose messages; without it those of every system.")] = None
    source: Annotated[str | None, about("Who claims it, and where.")] = None

    def expectations(self, systems: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the expectations it stands for, as a scenario file has them; `systems` is the file's key."""
        words: Sequence[str] = (
            [self.no_message_is] if isinstance(self.no_message_is, str) else self.no_message_is
        )
        for system in systems if self.system is None else (self.system,):
            faults = _has_steps(systems.get(system))
            for form in (_FORMS[word] for word in words):
                yield {
                    "id": f"{system}-{form.id_end}",
                    "claim": form.claim if faults else form.claim_without_fault,
                    **({} if self.source is None else {"source": self.source}),
                    "system": system,
                    "metric": form.metric,
                    "at_most": 0,
                }


def _has_steps(spec: object) -> bool:
    """Whether a system has faults, or a variant of it, as a scenario file has them."""
    if not isinstance(spec, Mapping):
        return False
    sweeps = spec.get("variants")
    variants = [
        variant
        for values in (sweeps.values() if isinstance(sweeps, Mapping) else ())
        for variant in (values.values() if isinstance(values, Mapping) else ())
    ]
    return any(isinstance(part, Mapping) and bool(part.get("faults")) for part in (spec, *variants))


def written_out(document: YamlDocument) -> YamlDocument:
    """Write out each short form among the expectations of a scenario file and of its profiles.

    Raises ScenarioError with file, line and key for one that is wrong.
    """
    profiles = document.value.get("profiles")
    names = list(profiles) if isinstance(profiles, Mapping) else []
    for path in ((_LIST,), *(("profiles", name, _LIST) for name in names)):
        entries = document.value_at(path)
        if isinstance(entries, list) and any(map(_is_short, entries)):
            document = document.with_items(path, list(_long_forms(document, path, entries)))
    return document


def _long_forms(
    document: YamlDocument, path: KeyPath, entries: Sequence[object]
) -> Iterator[tuple[int, object]]:
    """Yield the expectations, each with the number of the entry that it comes from."""
    systems = document.value.get("systems")
    for number, entry in enumerate(entries):
        if not _is_short(entry):
            yield number, entry
            continue
        short_form = check_document(document, DeliveryExpectation, (*path, number))
        for expectation in short_form.expectations(systems if isinstance(systems, Mapping) else {}):
            yield number, expectation


def _is_short(entry: object) -> bool:
    return isinstance(entry, Mapping) and KEY in entry
