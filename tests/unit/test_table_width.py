"""Tables that are too wide for a page become several, and long ones break between groups."""

from __future__ import annotations

from bench.report.table import Cell, Column, Row, Table, heading
from bench.report.table_width import fit_to_width, row_groups, wraps

WIDE = "0,000,000"
"""About 40 pt, 47 with what is around it."""


def table(*columns: Column, rows: int = 1) -> Table:
    cells = tuple(Cell("all" if column.kind == "name" else WIDE) for column in columns)
    return Table("Kafka", columns, tuple(Row(cells, find="kafka acks=all") for _ in range(rows)), "kafka")


def heads(part: Table) -> list[str]:
    return [column.head for column in part.columns]


def test_a_table_that_fits_stays_as_it_is() -> None:
    narrow = table(Column("acks", "name"), Column("lost"))

    assert fit_to_width(narrow) == (narrow,)


def test_each_part_names_its_rows_and_keeps_what_stands_under_one_head_together() -> None:
    rate = [Column(f"r{place}", "number", "throughput") for place in range(4)]
    times = [Column(f"t{place}", "number", "service time") for place in range(5)]

    first, second = fit_to_width(table(Column("acks", "name"), *rate, *times), 350)

    assert heads(first) == ["acks", "r0", "r1", "r2", "r3"]
    assert heads(second) == ["acks", "t0", "t1", "t2", "t3", "t4"]
    assert (first.title, second.title) == ("Kafka, part 1 of 2", "Kafka, part 2 of 2")
    assert (first.system, second.finds) == ("kafka", True)
    assert [cell.text for cell in second.rows[0].cells] == ["all", *[WIDE] * 5]


def test_what_stands_under_one_head_is_broken_only_where_it_does_not_fit_on_a_page() -> None:
    many = [Column(f"r{place}", "number", "throughput") for place in range(9)]

    parts = fit_to_width(table(Column("acks", "name"), *many), 350)

    assert [heads(part)[0] for part in parts] == ["acks"] * len(parts)
    assert [head for part in parts for head in heads(part)[1:]] == [f"r{place}" for place in range(9)]
    assert all(len(part.columns) > 2 for part in parts)


def test_columns_for_the_screen_only_take_no_room_on_paper() -> None:
    links = table(Column("acks", "name"), *[Column("lost")] * 6, Column("number", "links", "trials"))

    assert len(fit_to_width(links, 350)) == 1


def test_headings_stay_whole_in_every_part() -> None:
    wide = table(Column("acks", "name"), *[Column(f"r{place}") for place in range(12)])
    headed = Table("Kafka", wide.columns, (heading("Survives a node", opens=False), *wide.rows))

    for part in fit_to_width(headed, 350):
        assert part.rows[0].cells[0].text == "Survives a node"


def test_a_group_begins_at_a_heading_and_where_a_line_is_drawn() -> None:
    plain, opening = Row((Cell("1"),)), Row((Cell("2"),), opens=True)
    named = heading("Survives a node", opens=True)

    groups = row_groups([plain, plain, opening, plain, named, opening])

    assert [len(group.rows) for group in groups] == [2, 2, 2]
    assert all(group.keep_together for group in groups)


def test_a_long_group_is_broken_into_parts_of_about_one_size() -> None:
    groups = row_groups([Row((Cell("1"),))] * 30)

    assert [len(group.rows) for group in groups] == [10, 10, 10]


def test_rows_of_much_text_may_be_broken_anywhere() -> None:
    (group,) = row_groups([Row((Cell("evidence " * 100),))] * 10)

    assert not group.keep_together


def test_a_long_cell_of_a_number_is_broken_between_words() -> None:
    assert wraps("12.3 to 15.1 (of 3), 2 till healed")
    assert not wraps("1,234 to 5,678")
