from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from weasyprint import HTML

from bench.report import compact_pdf, pdf

TEXTS = "".join(
    f'<text x="{40 + place}" y="{20 * place}" style="text-anchor: {anchor}">Words {place}.{place}</text>'
    for place, anchor in enumerate(("start", "middle", "end"), 1)
)
PAGE = f"""<html lang="en"><title>A page</title><body><h1>Head</h1>
<p>A paragraph with a <a href="#t">link</a> and <b>bold words</b>.</p>
<svg viewBox="0 0 200 80" xmlns="http://www.w3.org/2000/svg"><title>Figure</title>{TEXTS}
<path d="M 1.23456789 2.3456789 L 30 40" style="stroke: #123456"/>
<rect x="1" y="1" width="9" height="9" opacity="0.5"/></svg>
<table id="t" style="border-collapse: separate"><thead><tr><th>name<th>number</thead>
<tbody><tr><th>row<td style="border-bottom: 1px solid #eef1f4">1 <i>in</i> 2</tbody></table></body></html>"""


@pytest.fixture
def plain(tmp_path: Path) -> PdfReader:
    HTML(string=PAGE).write_pdf(tmp_path / "plain.pdf", pdf_tags=True)
    return PdfReader(tmp_path / "plain.pdf")


@pytest.fixture
def compact(tmp_path: Path) -> PdfReader:
    pdf.write(PAGE, tmp_path / "compact.pdf")
    return PdfReader(tmp_path / "compact.pdf")


def test_the_text_stays_and_takes_fewer_bytes(plain: PdfReader, compact: PdfReader, tmp_path: Path) -> None:
    assert words(compact) == words(plain)
    assert "Words3.3" in "".join(words(compact))
    assert (tmp_path / "compact.pdf").stat().st_size < (tmp_path / "plain.pdf").stat().st_size


def test_references_as_differences_lead_to_the_same_objects(tmp_path: Path) -> None:
    many = "<li>".join(f"Item {number}" for number in range(500))
    HTML(string=f"<html lang=en><title>A list</title><ul><li>{many}</ul>").write_pdf(
        tmp_path / "plain.pdf", pdf_tags=True
    )
    content = (tmp_path / "plain.pdf").read_bytes()
    short = compact_pdf.with_short_references(content)
    (tmp_path / "short.pdf").write_bytes(short)

    assert len(short) < len(content)
    assert words(PdfReader(tmp_path / "short.pdf", strict=True)) == words(PdfReader(tmp_path / "plain.pdf"))
    assert compact_pdf.with_short_references(b"no PDF") == b"no PDF"


def words(reader: PdfReader) -> list[str]:
    return [page.extract_text().replace(" ", "").replace("\n", "") for page in reader.pages]


def test_letters_are_placed_by_their_distance_and_what_changes_nothing_is_left_out() -> None:
    lines = [
        *(b"0 0 m", b"1.23456 2 m", b"0.0624999 0 0 1 2.123456789 3 cm", b"0.356863 0.4 0.458824 rg"),
        *(
            b"BT",
            b"0 Tr",
            b"1 0 0 -1 106.230089 112.376875 Tm",
            b"/F 6.5 Tf",
            b"[<050f>0<0510>-17<02f0>0] TJ",
        ),
        *(b"0 Tr", b"1 0 0 -1 110.292589 112.376875 Tm", b"/F 6.5 Tf", b"[<057d>0] TJ"),
        *(b"1 0 0 -1 110.292589 120 Tm", b"[<057e>] TJ", b"ET"),
    ]

    assert list(compact_pdf._short(lines)) == [
        *(b"1.23 2 m", b"0.0625 0 0 1 2.12346 3 cm", b"0.357 0.4 0.459 rg"),
        *(b"BT", b"0 Tr", b"1 0 0 -1 106.23 112.38 Tm", b"/F 6.5 Tf", b"[<050f0510>-17<02f0>] TJ"),
        *(b"4.06 0 Td", b"[<057d>] TJ"),
        *(b"1 0 0 -1 110.29 120 Tm", b"[<057e>] TJ", b"ET"),
    ]


def test_borders_of_one_colour_are_rectangles_of_one_operation() -> None:
    def border(left: int, right: int) -> bytes:
        return (
            f"/Artifact\nBMC\nq\n{right} 20 m\n{left} 20 l\n{left} 19 l\n{right} 19 l\nW*\nn\n/a1.0 gs\n1 0 0 rg\n"
            f"{left} 5 {right - left} 14 re\n{left} 5 {right - left} 15 re\nf*\nQ\nEMC"
        ).encode()

    joined = compact_pdf._borders_joined(border(10, 40) + b"\n" + border(40, 90))

    assert joined == b"/Artifact\nBMC\nq\n/a1.0 gs\n1 0 0 rg\n10 19 30 1 re\n40 19 50 1 re\nf\nQ\nEMC"


def test_what_shines_through_stays_a_form_and_opaque_text_is_none(
    plain: PdfReader, compact: PdfReader
) -> None:
    assert forms(plain) > 1
    assert forms(compact) == 1  # the rectangle


def forms(reader: PdfReader) -> int:
    resources: list[Any] = [page["/Resources"] for page in reader.pages]
    return sum(len(of_page["/XObject"]) for of_page in resources)


def test_each_text_belongs_to_one_tag_of_its_page(compact: PdfReader) -> None:
    root = structure(compact)
    owners: dict[int, Any] = {}
    for element in tags(root["/K"]):
        for kid in kids(element):
            if isinstance(kid, int):
                assert kid not in owners
                owners[int(kid)] = element
    of_page = root["/ParentTree"]["/Nums"][1]
    assert sorted(owners) == list(range(len(of_page)))
    assert [owners[place].get_object()["/S"] for place in sorted(owners)] == [
        reference.get_object()["/S"] for reference in of_page
    ]
    assert "/Span" not in {element["/S"] for element in tags(root["/K"])}


def structure(reader: PdfReader) -> Any:
    root: Any = reader.root_object
    return root["/StructTreeRoot"]


def kids(element: Any) -> list[Any]:
    own = element.get("/K", [])
    return [kid.get_object() for kid in (own if isinstance(own, list) else [own])]


def tags(own: Any) -> Iterator[Any]:
    for reference in own if isinstance(own, list) else [own]:
        element = reference.get_object()
        if isinstance(element, dict) and "/S" in element:
            yield element
            yield from tags(element.get("/K", []))


def test_header_cells_have_a_scope_and_cells_name_no_headers(compact: PdfReader) -> None:
    cells = [element for element in tags(structure(compact)["/K"]) if element["/S"] in {"/TH", "/TD"}]

    assert [cell["/A"].get("/Scope") for cell in cells] == ["/Column", "/Column", "/Row", None]
    assert not any("/Headers" in cell["/A"] for cell in cells)
