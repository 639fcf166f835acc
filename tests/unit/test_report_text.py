"""What becomes of a text on a page: numbers stay with their units, and its characters have a typeface."""

from __future__ import annotations

import pytest

from bench.report import fonts, templates


def shown(title: str) -> str:
    section = {"anchor": "costs", "title": title}
    return templates.render("contents.html.j2", {"run": "a run", "sections": [section]})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It takes 151 µs.", "It takes 151~µs."),
        ("2 min, then 0.5 MB a second", "2~min, then 0.5~MB a second"),
        ("a 95 % interval from 1 to 5 ms", "a 95~% interval from 1 to 5~ms"),
    ],
)
def test_a_number_stays_on_one_line_with_its_unit(text: str, kept: str) -> None:
    assert kept.replace("~", "\N{NO-BREAK SPACE}") in shown(text)


@pytest.mark.parametrize(
    "text", ["replicas=1 min.insync.replicas=2", "3 sets of 2 messages", "acks=1 sync=false"]
)
def test_what_is_no_unit_may_stand_on_the_next_line(text: str) -> None:
    assert text in shown(text)


def test_pages_of_common_characters_share_a_typeface_and_others_have_theirs_too() -> None:
    common, greek = fonts.faces("words"), fonts.faces("words and \N{GREEK SMALL LETTER ALPHA}")

    assert common == fonts.faces()
    assert len(greek) > len(common) > 0
