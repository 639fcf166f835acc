"""Numbers stay with their units, and pages share a typeface."""

from __future__ import annotations

import pytest

from bench.report import fonts, templates


def rendered(title: str) -> str:
    section = {"anchor": "costs", "title": title}
    return templates.render("contents.html.j2", {"run": "a run", "sections": [section]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It takes 151 µs.", "It takes 151~µs."),
        ("2 min, then 0.5 MB a second", "2~min, then 0.5~MB a second"),
        ("a 95 % interval from 1 to 5 ms", "a 95~% interval from 1 to 5~ms"),
        ("messages of 10 KiB at 5 Mbit/s", "messages of 10~KiB at 5~Mbit/s"),
    ],
)
def test_a_number_stays_on_one_line_with_its_unit(text: str, expected: str) -> None:
    assert expected.replace("~", "\N{NO-BREAK SPACE}") in rendered(text)


@pytest.mark.parametrize(
    "text", ["replicas=1 min.insync.replicas=2", "3 sets of 2 messages", "acks=1 sync=false"]
)
def test_what_is_no_unit_may_stand_on_the_next_line(text: str) -> None:
    assert text in rendered(text)


@pytest.mark.parametrize("filter_name", ["prose", "breakable", "linked"])
def test_filters_that_make_html_keep_units_too(filter_name: str) -> None:
    template = templates._environment().from_string(f"{{{{ text | {filter_name} }}}}")

    assert template.render(text="at most 10 s") == "at most 10\N{NO-BREAK SPACE}s"


def test_text_that_is_no_html_is_left_as_it_is() -> None:
    template = templates._environment().from_string("{% autoescape false %}{{ text }}{% endautoescape %}")

    assert template.render(text="at most 10 s") == "at most 10 s"


def test_pages_of_common_characters_share_a_typeface_and_others_have_theirs_too() -> None:
    common, greek = fonts.faces("words"), fonts.faces("words and \N{GREEK SMALL LETTER ALPHA}")

    assert common == fonts.faces()
    assert len(greek) > len(common) > 0
