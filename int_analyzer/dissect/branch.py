"""A branch of the display: a header or a part of one, with its values and what lies inside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from int_analyzer.dissect.field import Header, Value, opaque
from int_analyzer.wire.read import Buffer

REPLACED = "a header further in has hops too: the rows are those, not these"
"""Remark at hops that are no rows of the packet."""


@dataclass
class Branch:
    """Title, filter name and specification; first byte; values; branches inside; remarks.

    size: bytes that the header has, or None. hop: position on the path if this is a hop. is_row: the kernel keeps these values.
    node: node id whose units the values have.
    """

    title: str
    name: str
    spec: str
    at: int
    values: list[Value] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    size: int | None = None
    hop: int | None = None
    is_row: bool = False
    node: int | None = None

    @property
    def end(self) -> int:
        """Offset behind the last byte that is shown, 0 if none is."""
        ends = [value.at + len(value.raw) for value in self.values] + [branch.end for branch in self.branches]
        return max(ends, default=0)

    def walk(self) -> Iterator[Branch]:
        """This branch and all inside it, in the order of the display."""
        yield self
        for branch in self.branches:
            yield from branch.walk()

    def number(self, name: str) -> int | None:
        """Value of the first field of this name, or None if it is not there."""
        return next((value.value for value in self.values if value.field.name == name), None)


def of_header(header: Header, data: Buffer, at: int, limit: int, title: str = "") -> Branch:
    """A header at `at`. Of one that is cut the whole fields are shown, but the kernel has read none of them: that is said."""
    cut = at + header.bytes > limit
    values = (header.without_columns() if cut else header).read(data, at, limit)
    branch = Branch(title or header.title, header.name, header.spec, at, values, size=header.bytes)
    if cut:
        branch.remarks.append(f"cut: {max(limit - at, 0)} of {header.bytes} bytes are there, not read")
    return branch


def of_bytes(title: str, prefix: str, name: str, doc: str, data: Buffer, at: int, end: int, spec: str = "") -> Branch:
    """Bytes [at, end) that are not taken apart."""
    return Branch(title, prefix, spec, at, opaque(prefix, name, doc, data, at, end), size=max(end - at, 0))


def values_of(headers: list[Header], data: Buffer, at: int, limit: int) -> list[Value]:
    """Values of headers that follow each other, as far as they are whole."""
    values = []
    for header in headers:
        values += header.read(data, at, limit)
        at += header.bytes
    return values
