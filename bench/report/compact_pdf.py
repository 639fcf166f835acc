"""WeasyPrint's PDF in fewer bytes, with the same pages and the same tags for screen readers.

WeasyPrint writes more than a reader needs, and this module rewrites it:

- Centred and right-aligned text of a figure is a form object: the text is drawn in its place instead.
- Each letter of a figure has a matrix with six decimals: letters have distances, and lengths two decimals of a point.
- Each piece of text has a tag below its cell or paragraph: the text belongs to the cell.
- Each cell names its header cells: a header cell has a scope instead.
- A border below a cell is cut out of two rectangles: borders are rectangles.
- The places of all objects are a table of numbers that hardly compress: each row is what it adds to the row before.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pydyf  # type: ignore[import-untyped]
    from weasyprint.document import Document

_LONG = re.compile(rb"-?\d*\.\d{3,}")
_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_FORM = re.compile(rb"/(x\d+) Do")
_UPRIGHT = re.compile(rb"1 0 0 -1 (\S+) (\S+) Tm")
_BORDER = re.compile(
    rb"/Artifact\nBMC\nq\n"
    rb"(?P<right>\S+) (?P<top>\S+) m\n(?P<left>\S+) (?P=top) l\n(?P=left) (?P<bottom>\S+) l\n(?P=right) (?P=bottom) l\n"
    rb"W\*\nn\n(?P<colour>/a\S+ gs\n\S+ \S+ \S+ rg)\n(?P=left) \S+ \S+ \S+ re\n(?P=left) \S+ \S+ \S+ re\nf\*\nQ\nEMC"
)
"""A border that WeasyPrint cuts out of two rectangles."""
_BORDERS = re.compile(
    rb"/Artifact\nBMC\nq\n(/a\S+ gs\n\S+ \S+ \S+ rg)\n\S+ \S+ \S+ \S+ re"
    rb"(?:\nf\nQ\nEMC\n/Artifact\nBMC\nq\n\1\n\S+ \S+ \S+ \S+ re)+"
)
_JOINT = re.compile(rb"\nf\nQ\nEMC\n/Artifact\nBMC\nq\n\S+ gs\n\S+ \S+ \S+ rg\n")
_END = re.compile(rb"startxref\s+(?P<place>\d+)\s+%%EOF\s*$")
_REFERENCES = re.compile(
    rb"\d+ 0 obj\n<<(?P<about>/Type /XRef.*?/Filter /FlateDecode/Length \d+)>>\nstream\n"
    rb"(?P<rows>.*)\nendstream\nendobj\nstartxref",
    re.DOTALL,
)
"""The table of references, the last object of a file."""
_WIDTHS = re.compile(rb"/W \[([\d ]+)\]")
_LENGTH = re.compile(rb"/Length \d+")
_DECIMALS = {b"cm": 5, b"rg": 3, b"RG": 3, b"gs": 6}
"""By operator; the numbers of all other operators are lengths, with two decimals."""


def finish(_: Document, pdf: pydyf.PDF) -> None:
    """Make a PDF smaller before it is written: a `finisher` for WeasyPrint's write_pdf."""
    unused = _draw_in_place(pdf) | _untag_spans(pdf)
    _scope_headers(pdf)
    for stream in _contents(pdf):
        stream.stream = [_borders_joined(b"\n".join(_short(_lines(stream))))]
    _remove(pdf, unused)


def with_short_references(content: bytes) -> bytes:
    """Return a written PDF whose table of references is stored as differences of rows (PNG's predictor Up)."""
    end = _END.search(content)
    table = end and _REFERENCES.match(content, int(end["place"]))
    widths = table and _WIDTHS.search(table["about"])
    if not table or not widths:
        return content
    rows, width = zlib.decompress(table["rows"]), sum(map(int, widths[1].split()))
    previous_row, differences = bytes(width), bytearray()
    for place in range(0, len(rows), width):
        row = rows[place : place + width]
        differences += b"\x02" + bytes((new - old) & 0xFF for new, old in zip(row, previous_row, strict=True))
        previous_row = row
    packed = zlib.compress(bytes(differences), 9)
    about = _LENGTH.sub(b"/Length %d" % len(packed), table["about"])
    about += b"/DecodeParms <</Predictor 12/Columns %d>>" % width
    return b"".join(
        (content[: table.start("about")], about, b">>\nstream\n", packed, content[table.end("rows") :])
    )


def _contents(pdf: pydyf.PDF) -> Iterator[pydyf.Stream]:
    """Give the streams that draw: pages and forms."""
    import pydyf  # noqa: PLC0415 - comes with WeasyPrint, which only a PDF needs

    pages = {_number(item["Contents"]) for item in pdf.objects if _is(item, "Type", "/Page")}
    for item in pdf.objects:
        if isinstance(item, pydyf.Stream) and (item.number in pages or item.extra.get("Subtype") == "/Form"):
            yield item


def _is(item: Any, key: str, value: str) -> bool:  # noqa: ANN401 - any object of a PDF
    return isinstance(item, dict) and item.get(key) == value


def _number(reference: bytes) -> int:
    return int(reference.split()[0])


def _lines(stream: pydyf.Stream) -> list[bytes]:
    """Return what a stream draws, an operation a line."""
    return b"\n".join(map(_bytes, stream.stream)).split(b"\n")


def _bytes(part: Any) -> bytes:  # noqa: ANN401 - text, bytes or an object of a PDF
    text: bytes = (
        part if isinstance(part, bytes) else getattr(part, "data", None) or str(part).encode("ascii")
    )
    return text


def _draw_in_place(pdf: pydyf.PDF) -> set[int]:
    """Draw the content of forms in their place; return the numbers of the objects that are unused then."""
    unused: set[int] = set()
    owners = {_number(item["Contents"]): item for item in pdf.objects if _is(item, "Type", "/Page")}
    for stream in _contents(pdf):
        resources = _resources(pdf, owners.get(stream.number, stream.extra))
        lines: list[bytes] = []
        for line in _lines(stream):
            call = _FORM.fullmatch(line)
            form = (
                _plain_form(pdf, resources, call[1].decode()) if call and lines[-1].endswith(b" cm") else None
            )
            if call and form is not None:
                resources["ExtGState"].update(_resources(pdf, form.extra)["ExtGState"])
                del resources["XObject"][call[1].decode()]
                unused |= {form.number, _number(form.extra["Resources"])}
                lines += _lines(form)
            else:
                lines.append(line)
        stream.stream = lines
    return unused


def _resources(pdf: pydyf.PDF, owner: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a PDF's dictionary
    resources = owner["Resources"]
    return pdf.objects[_number(resources)] if isinstance(resources, bytes) else resources


def _plain_form(pdf: pydyf.PDF, resources: Mapping[str, Any], name: str) -> pydyf.Stream | None:
    """Return a form that is opaque and uses fonts only; None for any other."""
    form = pdf.objects[_number(resources["XObject"][name])]
    if not isinstance(form.extra.get("Resources"), bytes):
        return None
    used = _resources(pdf, form.extra)
    opaque = set(used["ExtGState"]) <= {"a1.0", "A1.0", "a1", "A1"}
    only_fonts = not any(used[kind] for kind in ("XObject", "Pattern", "Shading"))
    return form if opaque and only_fonts and used["Font"] == resources["Font"] else None


def _untag_spans(pdf: pydyf.PDF) -> set[int]:
    """Attach text to the tag around its span; return the numbers of the objects that are unused then."""
    spans = {item.number: item for item in pdf.objects if _is(item, "S", "/Span") and _leaf(item)}
    for item in pdf.objects:
        if _is(item, "Type", "/StructElem") and item.number not in spans:
            item["K"][:] = [content for kid in item["K"] for content in _kids(kid, item, spans)]
        elif _is(item, "Type", "/StructTreeRoot"):
            texts = pdf.objects[_number(item["ParentTree"])]["Nums"]
            for of_page in texts:
                if isinstance(of_page, list):
                    of_page[:] = [_owner(reference, spans) for reference in of_page]
    return set(spans)


def _leaf(item: Mapping[str, Any]) -> bool:
    """Whether a tag holds text only, without attributes."""
    return all(isinstance(kid, int) for kid in item["K"]) and not {*item} - {"Type", "S", "K", "Pg", "P"}


def _kids(kid: Any, parent: Mapping[str, Any], spans: Mapping[int, Any]) -> list[Any]:  # noqa: ANN401 - a PDF's
    span = spans.get(_number(kid)) if isinstance(kid, bytes) else None
    return span["K"] if span is not None and span["Pg"] == parent["Pg"] else [kid]


def _owner(reference: bytes, spans: Mapping[int, Any]) -> bytes:
    span = spans.get(_number(reference))
    return reference if span is None else span["P"]


def _scope_headers(pdf: pydyf.PDF) -> None:
    """Give header cells a scope, which replaces the list of headers in every cell."""
    for item in pdf.objects:
        if _is(item, "S", "/TH"):
            row = pdf.objects[_number(item["P"])]
            above = pdf.objects[_number(row["P"])]["S"] == "/THead"
            item["A"]["Scope"] = "/Column" if above else "/Row"
            item.pop("ID", None)
        if _is(item, "S", "/TD") or _is(item, "S", "/TH"):
            item["A"].pop("Headers", None)


def _short(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Shorten numbers, place letters by their distance, and drop operations without effect."""
    rounded = [_round_numbers(line) for line in lines]
    state: dict[bytes, bytes] = {}
    for current, following in zip(rounded, [*rounded[1:], b""], strict=True):
        line = current
        operator = line.rpartition(b" ")[2]
        if line == b"BT":
            state.clear()
        elif operator in {b"Tf", b"Tr"}:
            previous, state[operator] = state.get(operator), line
            if line == previous:
                continue
        elif operator == b"Tm":
            previous_place, state[operator] = state.get(operator, b""), line
            line = _letter_place(previous_place, line)
        elif operator == b"TJ":
            line = line.replace(b">0<", b"").replace(b">0]", b">]")
        elif line == b"0 0 m" and following.endswith(b" m"):
            continue
        yield line


def _letter_place(previous: bytes, current: bytes) -> bytes:
    """Return how the next letter is placed: by its distance where both letters are upright on one line."""
    start, end = _UPRIGHT.fullmatch(previous), _UPRIGHT.fullmatch(current)
    if not start or not end or start[2] != end[2]:
        return current
    return _text(float(end[1]) - float(start[1]), 2) + b" 0 Td"


def _borders_joined(text: bytes) -> bytes:
    """Draw borders below cells as rectangles, consecutive ones of one colour in one operation."""
    plain = _BORDER.sub(_rectangle, text)
    return _BORDERS.sub(lambda run: b"\n".join(_JOINT.split(run[0])), plain)


def _rectangle(border: re.Match[bytes]) -> bytes:
    right, top, left, bottom = (float(border[name]) for name in ("right", "top", "left", "bottom"))
    sides = [_text(side, 2) for side in (left, bottom, right - left, top - bottom)]
    return b"/Artifact\nBMC\nq\n%s\n%s re\nf\nQ\nEMC" % (border["colour"], b" ".join(sides))


def _round_numbers(line: bytes) -> bytes:
    decimals = _DECIMALS.get(line.rpartition(b" ")[2], 2)
    return _LONG.sub(lambda number: _text(float(number[0]), decimals), line)


def _text(value: float, decimals: int) -> bytes:
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return b"0" if text in {"-0", ""} else text.encode("ascii")


def _remove(pdf: pydyf.PDF, unused: set[int]) -> None:
    """Remove objects, and number the others without gaps."""
    import pydyf  # noqa: PLC0415 - comes with WeasyPrint, which only a PDF needs

    class TextObject(pydyf.Object):  # type: ignore[misc]
        """An object by its text."""

        def __init__(self, text: bytes) -> None:
            super().__init__()
            self.data = text

        data = b""

    items = [item for item in pdf.objects if item.number not in unused]
    numbers = {item.number: number for number, item in enumerate(items)}

    def renumber(text: bytes) -> TextObject:
        return TextObject(_REFERENCE.sub(lambda reference: b"%d 0 R" % numbers[int(reference[1])], text))

    def value(extra: object) -> TextObject:
        return renumber(pydyf.Array([extra]).data[1:-1])

    for place, item in enumerate(items):
        if isinstance(item, pydyf.Stream):
            item.extra = {key: value(extra) for key, extra in item.extra.items()}
        elif place:
            items[place] = renumber(item.data)
        item.number = items[place].number = place
    pdf.objects[:] = items
