"""Encoders against decoders: what is written reads as the same rows, and others read it too."""

from __future__ import annotations

from typing import Any

import kernel
import pytest
from row_factory import CASES, Case, random_columns

from int_analyzer.columns import N_PACKETS, Columns
from int_analyzer.encode import Encoder

EXPECTED_WARNINGS = {
    "captured-short",
    "report-inner-cut",
    "int-dialect",
    "int-hop-exceeded",
    "int-mtu-exceeded",
    "ioam-overflow",
    "ioam-unassigned-bits",
}
"""What the rows themselves ask for: a cut packet, a dialect, a flag, a bit that no specification assigns."""


def encoded(columns: Columns, case: Case, compiled: bool = True, **options: Any) -> bytes:
    """A whole capture of these rows."""
    encoder = Encoder(case.surroundings, compiled=compiled, **options)
    return encoder.head() + b"".join(bytes(piece) for _, piece in encoder.pieces(columns))


def decoded(content: bytes, case: Case, compiled: bool = True) -> list[dict[str, Any]]:
    settings_profile = case.profile
    return [
        kernel.rows(columns, row)
        for columns in kernel.batches(content, 1, settings_profile, compiled)
        for row in range(int(columns.counts[N_PACKETS]))
    ]


def differences(got: Any, wanted: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    """Where two trees of rows differ, by path."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        parts = [differences(got.get(key), wanted.get(key), f"{name}.{key}") for key in wanted.keys() | got.keys()]
        return {path: pair for part in parts for path, pair in part.items()}
    if isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
        return differences(dict(enumerate(got)), dict(enumerate(wanted)), name)
    return {} if got == wanted else {name: (got, wanted)}


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_encoded_decodes_to_the_same_rows(case: Case, compiled: bool) -> None:
    columns = random_columns(case, 1, 64)
    content = encoded(columns, case, compiled)
    found = decoded(content, case, compiled)
    expected = [kernel.rows(columns, row) for row in range(64)]
    assert len(found) == 64
    for got, wanted in zip(found, expected, strict=True):
        got["packet"]["warnings"] -= EXPECTED_WARNINGS
        assert differences(got, wanted) == {}
