"""A server's own figures, from Prometheus' text format or JSON to the suite's common names."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.systems.server_metrics import Scrape, Series

_Samples = Mapping[str, list[tuple[Mapping[str, str], float]]]


class MetricsScraper:
    """Asks one server for its figures, and reads what it returns; `received_bytes` is how much that was so far."""

    def __init__(self, scrape: Scrape) -> None:
        """Look for the series of this scrape only: a bookie shows 2,000."""
        self.received_bytes = 0
        self._scrape = scrape
        names = {
            name
            for series_group in scrape.series.values()
            for series in series_group
            for name in _names(series)
        }
        self._beginnings = tuple(f"{name}{separator}" for name in sorted(names) for separator in " {")

    def ask(self, http: httpx.Client) -> list[tuple[str, float]]:
        """Return each common name with its value, without a list that it cannot give just now.

        Raises httpx.HTTPError or ValueError where the server does not answer for itself.
        """
        figures = list(self.read(self._get(http, self._scrape.url).raise_for_status().text))
        return figures + [
            (common, length)
            for common, url in self._scrape.listed.items()
            if (length := self._length(http, url)) is not None
        ]

    def _get(self, http: httpx.Client, url: str) -> httpx.Response:
        answer = http.get(url)
        self.received_bytes += answer.num_bytes_downloaded
        return answer

    def _length(self, http: httpx.Client, url: str) -> float | None:
        """Return how much a server lists; None where it cannot tell, as a bookie whose ZooKeeper is gone."""
        try:
            answer = self._get(http, url)
            return (
                0.0 if answer.status_code == httpx.codes.NOT_FOUND else len(answer.raise_for_status().json())
            )
        except (httpx.HTTPError, ValueError):
            return None

    def read(self, text: str) -> Iterator[tuple[str, float]]:
        """Give each common name with its value; what the server does not show is left out."""
        samples = _of_object(text) if self._scrape.json else self._of_text(text)
        for common, series_group in self._scrape.series.items():
            values = [value for series in series_group if (value := _value(series, samples)) is not None]
            if values:
                yield common, sum(values)

    def _of_text(self, text: str) -> _Samples:
        samples: dict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
        series_lines = [line for line in text.splitlines() if line.startswith(self._beginnings)]
        for family in text_string_to_metric_families("\n".join([*series_lines, ""])):
            for sample in family.samples:
                samples[sample.name].append((sample.labels, sample.value))
        return samples


def _of_object(text: str) -> _Samples:
    """Return the numbers at the top level of an object. Raises ValueError for what is none."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("the answer is no JSON object")  # noqa: TRY004 - as any other answer that is not understood
    return {name: [({}, float(value))] for name, value in document.items() if isinstance(value, int | float)}


def _names(series: Series) -> Iterable[str]:
    return (series.name,) if series.times is None else (series.name, series.times)


def _value(series: Series, samples: _Samples) -> float | None:
    total = _sum(samples.get(series.name, ()), series.labels)
    if total is None or series.times is None:
        return None if total is None else total * series.scale
    count = _sum(samples.get(series.times, ()), series.labels)
    if count is None:
        return None
    return total * count * series.scale if count else 0.0  # a mean of nothing may be NaN


def _sum(samples: Iterable[tuple[Mapping[str, str], float]], labels: Mapping[str, str]) -> float | None:
    fitting = [value for sample_labels, value in samples if labels.items() <= sample_labels.items()]
    return sum(fitting) if fitting else None
