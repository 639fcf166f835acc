"""A Matplotlib SVG in fewer bytes, with the same picture.

Matplotlib writes the full style beside every mark, a group around everything, and six decimals of a point. Here a style
is a CSS class, and consecutive strokes of one style share a path. A coordinate has one decimal in long paths and two in
short paths: 0.1 pt is 0.035 mm, less than a dot of a printer with 600 dpi.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias
from xml.etree import ElementTree as ET

from markupsafe import escape

_SVG, _HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")
_ROTATION = re.compile(r"rotate\((\S+) \S+ \S+\)")
_POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3, "z": 0, "Z": 0}
_LONG_PATH = 40
"""Paths with more commands have one decimal."""

Step: TypeAlias = tuple[str, tuple[float, ...]]
"""A command of a path, absolute, with the coordinates of its points."""
Style: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark: a `path` has steps, any other `tag` has attributes and content."""

    tag: str
    style: Style
    clip: str = ""
    steps: tuple[Step, ...] = ()
    attributes: str = ""
    content: str = ""

    @property
    def straight(self) -> bool:
        """Whether it is one straight stroke."""
        return [command for command, _ in self.steps] == ["M", "L"]

    @property
    def joins(self) -> bool:
        """Whether it may share a path with other marks: it is opaque and has strokes only."""
        names = dict(self.style)
        unfilled = names.get("fill", "") == "none" or self.straight
        return self.tag == "path" and unfilled and not any("opacity" in name for name in names)


def compact(svg: str, name: str) -> str:
    """Return the same picture in fewer bytes; its ids are unique in a page where `name` is.

    `svg` is one <svg> element as Matplotlib writes it.
    """
    root = ET.fromstring(svg)  # noqa: S314 - our own SVG
    _rename(root, name)
    paths = {path.get("id", ""): path for path in root.iter(f"{_SVG}path") if path.get("id")}
    uses = Counter(use.get(_HREF, "")[1:] for use in root.iter(f"{_SVG}use"))
    reader = _Marks(paths, uses)
    marks = list(_merge_strokes(mark for child in root for mark in reader.of(child, "") if _visible(mark)))
    classes = _classes(marks)
    definitions = "".join(_definition(paths[path]) for path in uses if reader.is_shared(path))
    clips = "".join(map(_plain, root.iter(f"{_SVG}clipPath")))
    rules = "".join(f"#{name}-svg .{class_name}{{{_css(style)}}}" for style, class_name in classes.items())
    words = "".join(_plain(child) for child in root if child.tag in {f"{_SVG}title", f"{_SVG}desc"})
    head = {**root.attrib, "id": f"{name}-svg", "stroke-linejoin": "round"}
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{_attributes(head)}>{words}<style>{rules}</style>'
        f"<defs>{definitions}{clips}</defs>{_markup(marks, classes)}</svg>"
    )


def _rename(root: ET.Element, name: str) -> None:
    """Give referenced elements short ids that no other figure of the page has."""
    targets = [
        element
        for element in root.iter()
        if element.get("id") and element.tag in {f"{_SVG}path", f"{_SVG}clipPath"}
    ]
    ids = {element.get("id", ""): f"{name}-{number}" for number, element in enumerate(targets)}
    for element in root.iter():
        if element.get("id") in ids:
            element.set("id", ids[element.get("id", "")])
        if _HREF in element.attrib:
            element.set(_HREF, f"#{ids[element.attrib[_HREF][1:]]}")
        if "clip-path" in element.attrib:
            element.set("clip-path", f"url(#{ids[element.attrib['clip-path'][5:-1]]})")


@dataclass(frozen=True, slots=True)
class _Marks:
    """Reads marks from elements; `paths` are the paths with an id, `uses` how often each is referenced."""

    paths: Mapping[str, ET.Element]
    uses: Mapping[str, int]

    def is_shared(self, path: str) -> bool:
        """Whether a path is written once and referenced by several marks."""
        return self.uses[path] > 1 and not _is_straight(_steps(self.paths[path].get("d", "")))

    def of(self, element: ET.Element, clip: str) -> list[_Mark]:
        """Return the marks of an element in drawing order; within an axis strokes come before text."""
        clip = element.get("clip-path", clip)
        tag = element.tag.removeprefix(_SVG)
        if tag == "g" and not {*element.attrib} - {"id", "clip-path"}:
            marks = [mark for child in element for mark in self.of(child, clip)]
            return _axis(marks) if all(mark.straight or mark.tag == "text" for mark in marks) else marks
        if tag in {"defs", "style", "metadata", "title", "desc"}:
            return []
        style = _style(element)
        if tag == "path":
            return [_Mark("path", style, clip, _steps(element.get("d", "")))]
        if tag == "use":
            return [self._use(element, style, clip)]
        if tag == "text" and not len(element):
            return [
                _Mark(
                    "text", style, clip, attributes=_place(element), content=str(escape(element.text or ""))
                )
            ]
        return [_Mark("", (), clip, content=_plain(element))]

    def _use(self, use: ET.Element, style: Style, clip: str) -> _Mark:
        path = use.get(_HREF, "")[1:]
        x, y = float(use.get("x", 0)), float(use.get("y", 0))
        if self.is_shared(path):
            place = _attributes({"href": f"#{path}", "x": _number(x, 1), "y": _number(y, 1)})
            return _Mark("use", style, clip, attributes=place)
        merged = {**dict(style), **dict(_style(self.paths[path]))}
        steps = tuple(
            (command, tuple(value + (x, y)[place % 2] for place, value in enumerate(values)))
            for command, values in _steps(self.paths[path].get("d", ""))
        )
        if _is_straight(steps):
            merged.pop("fill", None)
        return _Mark("path", tuple(merged.items()), clip, steps)


def _is_straight(steps: Sequence[Step]) -> bool:
    return [command for command, _ in steps] == ["M", "L"]


def _axis(marks: list[_Mark]) -> list[_Mark]:
    """Order the strokes of an axis by style, and its text last; marks of an axis do not overlap."""
    order = {key: place for place, key in enumerate(dict.fromkeys(map(_look, marks)))}
    return sorted(marks, key=lambda mark: (mark.tag == "text", order[_look(mark)]))


def _look(mark: _Mark) -> tuple[str, str, Style]:
    return mark.tag, mark.clip, mark.style


def _visible(mark: _Mark) -> bool:
    names = dict(mark.style)
    return mark.tag != "path" or names.get("fill", "") != "none" or "stroke" in names


def _merge_strokes(marks: Iterable[_Mark]) -> Iterator[_Mark]:
    """Merge consecutive strokes of one look into one path."""
    for (*_, joins), run in groupby(marks, lambda mark: (_look(mark), mark.joins)):
        if joins:
            first, *following = run
            yield replace(first, steps=(*first.steps, *(step for mark in following for step in mark.steps)))
        else:
            yield from run


def _classes(marks: Iterable[_Mark]) -> dict[Style, str]:
    """Return a class name for each style."""
    styles = dict.fromkeys(mark.style for mark in marks if mark.style)
    return {style: f"s{number}" for number, style in enumerate(styles)}


def _markup(marks: Iterable[_Mark], classes: Mapping[Style, str]) -> str:
    return "".join(
        _group({"clip-path": clip} if clip else {}, _of_style(list(run), classes))
        for clip, run in groupby(marks, lambda mark: mark.clip)
    )


def _of_style(marks: Sequence[_Mark], classes: Mapping[Style, str]) -> Iterator[str]:
    for style, run in groupby(marks, lambda mark: mark.style):
        group = list(run)
        class_attribute = {"class": classes[style]} if style else {}
        if len(group) > 1 and not any(name == "opacity" for name, _ in style):
            yield _group(class_attribute, (_element(mark, {}) for mark in group))
        else:
            yield from (_element(mark, class_attribute) for mark in group)


def _group(attributes: Mapping[str, str], content: Iterable[str]) -> str:
    inner = "".join(content)
    return f"<g{_attributes(attributes)}>{inner}</g>" if attributes else inner


def _element(mark: _Mark, attributes: Mapping[str, str]) -> str:
    if not mark.tag:
        return mark.content
    geometry = f' d="{_path(mark.steps)}"' if mark.tag == "path" else mark.attributes
    inner = f">{mark.content}</{mark.tag}>" if mark.content else "/>"
    return f"<{mark.tag}{_attributes(attributes)}{geometry}{inner}"


def _definition(path: ET.Element) -> str:
    attributes = {"id": path.get("id", ""), "style": _css(_style(path))}
    return f'<path{_attributes(attributes)} d="{_path(_steps(path.get("d", "")))}"/>'


def _plain(element: ET.Element) -> str:
    """Return an element unchanged, without the space between tags."""
    tag = element.tag.removeprefix(_SVG)
    attributes = {name.replace(_HREF, "href"): value for name, value in element.attrib.items()}
    inner = str(escape((element.text or "").strip())) + "".join(map(_plain, element))
    return f"<{tag}{_attributes(attributes)}>{inner}</{tag}>{escape((element.tail or '').strip())}"


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _style(element: ET.Element) -> Style:
    """Return the style of an element, without the defaults of all figures."""
    entries = (entry.partition(":") for entry in element.get("style", "").split(";") if entry.strip())
    declarations = ((name.strip(), value.strip()) for name, _, value in entries)
    return tuple(
        entry
        for entry in declarations
        if entry not in {("stroke-linejoin", "round"), ("stroke-linecap", "butt")}
    )


def _css(style: Style) -> str:
    return ";".join(f"{name}:{value}" for name, value in style)


def _place(text: ET.Element) -> str:
    """Return the position and the rotation of a text."""
    x, y = (_number(float(text.get(name, 0)), 1) for name in "xy")
    attributes = {"x": x, "y": y}
    rotation = _ROTATION.fullmatch(text.get("transform", ""))
    if rotation and float(rotation[1]):
        attributes["transform"] = f"rotate({float(rotation[1]):g} {x} {y})"
    elif not rotation and text.get("transform"):
        attributes["transform"] = text.get("transform", "")
    return _attributes(attributes)


def _steps(d: str) -> tuple[Step, ...]:
    """Parse a path as Matplotlib writes it: absolute, each command named."""
    tokens = iter(_TOKEN.findall(d))
    return tuple(
        (command, tuple(float(next(tokens)) for _ in range(2 * _POINTS[command]))) for command in tokens
    )


def _path(steps: Sequence[Step]) -> str:
    """Return a path with relative coordinates; rounding errors do not add up."""
    decimals = 1 if len(steps) > _LONG_PATH else 2
    point, start, text, previous = (0.0, 0.0), (0.0, 0.0), [], ""
    for command, values in steps:
        points = [
            (round(x, decimals), round(y, decimals)) for x, y in zip(values[::2], values[1::2], strict=True)
        ]
        if command == "M":
            point = start = points[0]
            word, numbers = "M", list(point)
        elif command in "zZ":
            point, word, numbers = start, "z", []
        else:
            word, numbers = _step(command, point, points)
            point = points[-1]
        if command == "L" and not numbers:
            if previous != "M":
                continue
            word, numbers = "h", [0.0]  # a dot, where its ends are round
        text.append(_joined_numbers("" if word == previous and word in "lhv" else word, numbers, decimals))
        previous = word
    return "".join(text)


def _step(
    command: str, origin: tuple[float, float], points: Sequence[tuple[float, float]]
) -> tuple[str, list[float]]:
    distances = [value - origin[place] for point in points for place, value in enumerate(point)]
    if command != "L":
        return command.lower(), distances
    x, y = distances
    if not x and not y:
        return "l", []
    return ("h", [x]) if not y else ("v", [y]) if not x else ("l", [x, y])


def _joined_numbers(word: str, numbers: Iterable[float], decimals: int) -> str:
    text = word
    for number in numbers:
        digits = _number(number, decimals)
        text += digits if digits.startswith("-") or (text and text[-1].isalpha()) else f" {digits}"
    return text


def _number(value: float, decimals: int) -> str:
    """A number without what it can do without: 0.50 is .5, -0 is 0."""
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    text = re.sub(r"^(-?)0\.", r"\1.", text)
    return "0" if text in {"-0", "-", ""} else text
