"""WeasyPrint's PDF in fewer bytes, with the same pages and the same tags for screen readers.

WeasyPrint draws each centred or right-aligned text of a figure as a form of its own, places each letter of a figure
by a matrix with six decimals, and gives each run of text a tag of its own below its cell or paragraph. Here such texts
are drawn in place, letters are placed by their distance, lengths have two decimals of a point, text belongs to its
cell, and a head says what it heads where every cell named its heads.
"""

from __future__ import annotations

import re
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
_DECIMALS = {b"cm": 5, b"rg": 3, b"RG": 3, b"gs": 6}
"""By operator; all else are lengths, which have two."""


def finish(_: Document, pdf: pydyf.PDF) -> None:
    """Make a PDF smaller before it is written: a `finisher` for WeasyPrint's write_pdf."""
    gone = _draw_in_place(pdf) | _untag_spans(pdf)
    _scope_headers(pdf)
    for stream in _contents(pdf):
        stream.stream = [_borders_joined(b"\n".join(_short(_lines(stream))))]
    _renumber(pdf, gone)


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
    """Put what a form draws where it is drawn; return the numbers of the forms, which nothing needs any more."""
    gone: set[int] = set()
    owners = {_number(item["Contents"]): item for item in pdf.objects if _is(item, "Type", "/Page")}
    for stream in _contents(pdf):
        resources = _resources(pdf, owners.get(stream.number, stream.extra))
        drawn: list[bytes] = []
        for line in _lines(stream):
            found = _FORM.fullmatch(line)
            form = (
                _plain_form(pdf, resources, found[1].decode())
                if found and drawn[-1].endswith(b" cm")
                else None
            )
            if found and form is not None:
                own = _resources(pdf, form.extra)
                resources["ExtGState"].update(own["ExtGState"])
                del resources["XObject"][found[1].decode()]
                gone |= {form.number, _number(form.extra["Resources"])}
                drawn += _lines(form)
            else:
                drawn.append(line)
        stream.stream = drawn
    return gone


def _resources(pdf: pydyf.PDF, owner: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a PDF's dictionary
    found = owner["Resources"]
    return pdf.objects[_number(found)] if isinstance(found, bytes) else found


def _plain_form(pdf: pydyf.PDF, resources: Mapping[str, Any], name: str) -> pydyf.Stream | None:
    """Return a form that nothing shines through and that uses nothing but fonts; None for another."""
    form = pdf.objects[_number(resources["XObject"][name])]
    if not isinstance(form.extra.get("Resources"), bytes):
        return None
    own = _resources(pdf, form.extra)
    opaque = set(own["ExtGState"]) <= {"a1.0", "A1.0", "a1", "A1"}
    bare = not any(own[kind] for kind in ("XObject", "Pattern", "Shading"))
    return form if opaque and bare and own["Font"] == resources["Font"] else None


def _untag_spans(pdf: pydyf.PDF) -> set[int]:
    """Let text belong to what it stands in; return the numbers of the tags between, which nothing needs any more."""
    spans = {item.number: item for item in pdf.objects if _is(item, "S", "/Span") and _leaf(item)}
    for item in pdf.objects:
        if _is(item, "Type", "/StructElem") and item.number not in spans:
            item["K"][:] = [kid for every in item["K"] for kid in _kids(every, item, spans)]
        elif _is(item, "Type", "/StructTreeRoot"):
            texts = pdf.objects[_number(item["ParentTree"])]["Nums"]
            for of_page in texts:
                if isinstance(of_page, list):
                    of_page[:] = [_owner(reference, spans) for reference in of_page]
    return set(spans)


def _leaf(item: Mapping[str, Any]) -> bool:
    """Whether a tag holds text only and says no more of it."""
    return all(isinstance(kid, int) for kid in item["K"]) and not {*item} - {"Type", "S", "K", "Pg", "P"}


def _kids(kid: Any, parent: Mapping[str, Any], spans: Mapping[int, Any]) -> list[Any]:  # noqa: ANN401 - a PDF's
    span = spans.get(_number(kid)) if isinstance(kid, bytes) else None
    return span["K"] if span is not None and span["Pg"] == parent["Pg"] else [kid]


def _owner(reference: bytes, spans: Mapping[int, Any]) -> bytes:
    span = spans.get(_number(reference))
    return reference if span is None else span["P"]


def _scope_headers(pdf: pydyf.PDF) -> None:
    """Say of each head what it heads, in place of every cell naming its heads."""
    for item in pdf.objects:
        if _is(item, "S", "/TH"):
            row = pdf.objects[_number(item["P"])]
            above = pdf.objects[_number(row["P"])]["S"] == "/THead"
            item["A"]["Scope"] = "/Column" if above else "/Row"
            item.pop("ID", None)
        if _is(item, "S", "/TD") or _is(item, "S", "/TH"):
            item["A"].pop("Headers", None)


def _short(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Shorten numbers, place letters by their distance, and leave out what changes nothing."""
    rounded = [_rounded(line) for line in lines]
    state: dict[bytes, bytes] = {}
    for now, after in zip(rounded, [*rounded[1:], b""], strict=True):
        line = now
        operator = line.rpartition(b" ")[2]
        if line == b"BT":
            state.clear()
        elif operator in {b"Tf", b"Tr"}:
            known, state[operator] = state.get(operator), line
            if line == known:
                continue
        elif operator == b"Tm":
            known, state[operator] = state.get(operator, b""), line
            line = _letter_place(known, line)
        elif operator == b"TJ":
            line = line.replace(b">0<", b"").replace(b">0]", b">]")
        elif line == b"0 0 m" and after.endswith(b" m"):
            continue
        yield line


def _letter_place(before: bytes, now: bytes) -> bytes:
    """Where the next letter stands: the distance from the one before it where both are upright on one line."""
    one, other = _UPRIGHT.fullmatch(before), _UPRIGHT.fullmatch(now)
    if not one or not other or one[2] != other[2]:
        return now
    return _text(float(other[1]) - float(one[1]), 2) + b" 0 Td"


def _borders_joined(text: bytes) -> bytes:
    """Draw the borders at the foot of cells as plain rectangles, those of one colour in a row at once."""
    plain = _BORDER.sub(_rectangle, text)
    return _BORDERS.sub(lambda run: b"\n".join(_JOINT.split(run[0])), plain)


def _rectangle(border: re.Match[bytes]) -> bytes:
    right, top, left, bottom = (float(border[name]) for name in ("right", "top", "left", "bottom"))
    sides = [_text(side, 2) for side in (left, bottom, right - left, top - bottom)]
    return b"/Artifact\nBMC\nq\n%s\n%s re\nf\nQ\nEMC" % (border["colour"], b" ".join(sides))


def _rounded(line: bytes) -> bytes:
    decimals = _DECIMALS.get(line.rpartition(b" ")[2], 2)
    return _LONG.sub(lambda found: _text(float(found[0]), decimals), line)


def _text(value: float, decimals: int) -> bytes:
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return b"0" if text in {"-0", ""} else text.encode("ascii")


def _renumber(pdf: pydyf.PDF, gone: set[int]) -> None:
    """Leave out objects and number the others anew."""
    import pydyf  # noqa: PLC0415 - comes with WeasyPrint, which only a PDF needs

    class Written(pydyf.Object):  # type: ignore[misc]
        """An object by its text."""

        def __init__(self, text: bytes) -> None:
            super().__init__()
            self.data = text

        data = b""

    left = [item for item in pdf.objects if item.number not in gone]
    numbers = {item.number: number for number, item in enumerate(left)}

    def anew(text: bytes) -> Written:
        return Written(_REFERENCE.sub(lambda found: b"%d 0 R" % numbers[int(found[1])], text))

    def value(extra: object) -> Written:
        return anew(pydyf.Array([extra]).data[1:-1])

    for place, item in enumerate(left):
        if isinstance(item, pydyf.Stream):
            item.extra = {key: value(extra) for key, extra in item.extra.items()}
        elif place:
            left[place] = anew(item.data)
        item.number = left[place].number = place
    pdf.objects[:] = left
