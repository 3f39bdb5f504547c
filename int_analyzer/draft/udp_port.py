"""The UDP ports at which INT and reports were found, told by the kernel's own steps over sampled packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from int_analyzer import _jit
from int_analyzer.capture import open_source
from int_analyzer.capture.records import CAPTURED, DATA
from int_analyzer.capture.walk import walk
from int_analyzer.dissect.trace import trace
from int_analyzer.draft.sample import Sample
from int_analyzer.settings import default_settings
from int_analyzer.watch import PAYLOAD
from int_analyzer.wire.layer import INT, REPORT

FoundPorts = dict[int, Counter[int]]
"""Layer (INT, REPORT) → UDP destination port → sampled packets."""


def find_ports(samples: dict[tuple[str, int], Sample], compiled: bool) -> FoundPorts:
    """Look at the sampled packets of every file; `compiled` walks over the others with the machine-code kernel."""
    found: FoundPorts = {INT: Counter(), REPORT: Counter()}
    for file in dict.fromkeys(name for name, _ in samples):
        numbers = {number for (name, _), sample in samples.items() if name == file for number in sample.numbers}
        for layer, port in _payloads(file, numbers, compiled and not _jit.DISABLED):
            if layer in found:
                found[layer][port] += 1
    return found


def _payloads(file: str, numbers: set[int], compiled: bool) -> Iterator[tuple[int, int]]:
    """(layer, UDP destination port) of every UDP payload of these packets."""
    settings: Any = default_settings()
    last = max(numbers)
    with open_source(file) as source:
        for number, (view, record) in enumerate(walk(source, compiled)):
            if number in numbers:
                start = int(record[DATA])
                data = bytes(view[start : start + int(record[CAPTURED])])
                for step in trace(data, [int(value) for value in record], settings).steps:
                    if step.layer == PAYLOAD:
                        yield step.result[0], step.arguments[4]
            if number >= last:
                break
