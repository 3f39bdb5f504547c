"""JSON text of dataclasses within each other, indented: what json.dumps writes of the same as plain dicts and lists.

Json's fast encoder does not indent, and the other one takes a hundred microseconds for a path of three hops, of which a large fabric has
a hundred thousand. Here a class's labels are written once, and ports and quantiles, which stand in many places, once for each margin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring
from math import isfinite
from types import NoneType
from typing import Any

from int_analyzer.analysis.summary import Port, Quantiles

_STEP = "  "


def text_of(value: Any) -> str:
    """The text of a dataclass, dict, list, tuple or scalar (numpy's too); a number that is not finite is null."""
    return _Writer().text(value, "\n")


class _Writer:
    """Writes one document, whose objects all live until it is written. A margin is a newline and the blanks that lines begin with."""

    def __init__(self) -> None:
        self._writers: dict[type, Callable[[Any, str], str]] = {Port: self._shared, Quantiles: self._shared}
        self._labels: dict[tuple[type, str], list[str]] = {}
        self._known: dict[tuple[int, str], str] = {}

    def text(self, value: Any, margin: str) -> str:
        """The text of a value, of which all lines but the first begin with the margin."""
        return self._entries(("",), (value,), margin)[0]

    def _entries(self, labels: Iterable[str], values: Iterable[Any], margin: str) -> list[str]:
        """Each value's text behind its label."""
        entries, scalars, writers = [], _SCALARS, self._writers
        for label, value in zip(labels, values, strict=True):
            kind = type(value)
            if kind in scalars:
                entries.append(label + scalars[kind](value))
            else:
                if kind not in writers:
                    writers[kind] = self._writer(kind)
                entries.append(label + writers[kind](value, margin))
        return entries

    def _writer(self, kind: type) -> Callable[[Any, str], str]:
        if dataclasses.is_dataclass(kind):
            return self._object
        if issubclass(kind, dict):
            return self._mapping
        # numpy numbers are not JSON numbers
        return self._list if issubclass(kind, (list, tuple)) else lambda value, margin: self.text(value.item(), margin)

    def _shared(self, value: Any, margin: str) -> str:
        key = id(value), margin
        if key not in self._known:
            self._known[key] = self._object(value, margin)
        return self._known[key]

    def _object(self, value: Any, margin: str) -> str:
        kind, deeper = type(value), margin + _STEP
        if (kind, margin) not in self._labels:
            self._labels[kind, margin] = [f"{deeper}{encode_basestring(field.name)}: " for field in dataclasses.fields(kind)]
        # A dataclass has its fields in the order in which they are declared.
        return "{" + ",".join(self._entries(self._labels[kind, margin], vars(value).values(), deeper)) + margin + "}"

    def _mapping(self, value: dict[Any, Any], margin: str) -> str:
        deeper = margin + _STEP
        labels = [f"{deeper}{encode_basestring(str(key))}: " for key in value]
        return "{" + ",".join(self._entries(labels, value.values(), deeper)) + margin + "}" if value else "{}"

    def _list(self, value: Sequence[Any], margin: str) -> str:
        deeper = margin + _STEP
        return "[" + ",".join(self._entries([deeper] * len(value), value, deeper)) + margin + "]" if value else "[]"


_SCALARS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: int.__repr__,
    float: lambda value: repr(value) if isfinite(value) else "null",
    bool: lambda value: "true" if value else "false",
    NoneType: lambda _: "null",
}
