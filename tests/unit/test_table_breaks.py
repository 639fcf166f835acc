"""Tables on paper: a page ends between rows, and below a table's head at least one row stands."""

from __future__ import annotations

import pytest

from bench.report import pdf, templates
from tests import paper

WORDS = "a value that takes several lines of its narrow column "


def page(filled_mm: int) -> str:
    """A page that is filled down to so many millimetres, and a table of two groups below."""
    rows = [f"<tr><td>{number}</td><td>{WORDS * 2}</td></tr>" for number in range(3)]
    group = f'<tbody class="whole">{"".join(rows)}</tbody>'
    return (
        f"<html><style>{templates.text('report.css')}{templates.text('print.css')}</style><body>"
        f'<div style="height: {filled_mm}mm"></div>'
        '<table class="grid" style="width: 60mm">'
        f"<thead><tr><th>number</th><th>words</th></tr></thead>{group}{group}</table></body></html>"
    )


@pytest.mark.parametrize("filled_mm", range(150, 262, 8))
def test_a_page_ends_between_rows(filled_mm: int) -> None:
    document = pdf.laid_out(page(filled_mm))

    assert paper.split_rows(document) == []
    assert paper.heads_alone(document) == []
