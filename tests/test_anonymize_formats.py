"""What anonymisation must leave alone: the rows of every telemetry format, in every carrier."""

from __future__ import annotations

from typing import Any

import golden_packet
import kernel
import mutate
import pytest
from mode import unchecked

from int_analyzer.anonymize.rewrite import Rewriter
from int_analyzer.profile import Detect, Domain, Profile

pytestmark = unchecked

KEY = bytes(range(32))
OF_PACKETS = ("formats", "telemetry", "dialect", "namespace", "instructions", "telemetry_flags", "csig", "tunnels", "src_port", "dst_port")


def profile_of(values: dict[str, Any] | None) -> Profile:
    """A profile that says what one of the twin says."""
    given = dict(values or {})
    domains = tuple(Domain(number, *words) for number, words in given.pop("domains", {}).items())
    known = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return Profile(detect=Detect(**known), domains=domains)


def telemetry(data: bytes, original: int, values: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What the kernel reads of a packet but for addresses and transport."""
    return [
        {
            "packet": {name: row["packet"].get(name) for name in OF_PACKETS},
            "status": (row["packet"]["status"], row["packet"]["status_at"]),
            "mirrors": [{name: value for name, value in mirror.items() if not name.startswith("outer_")} for mirror in row["mirrors"]],
            **{table: row[table] for table in ("hops", "reports", "options")},
        }
        for row in kernel.decode([(data, original, 0)], 1, values, compiled=False)
    ]


def stays(data: bytes, values: dict[str, Any] | None) -> bool:
    rewritten = Rewriter(KEY, profile_of(values)).packet(data, len(data), 1)
    return telemetry(rewritten, len(data), values) == telemetry(data, len(data), values)


@pytest.mark.parametrize("path", golden_packet.PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_rows_of_a_golden_packet_stay(path: Any) -> None:
    golden = golden_packet.load(path)
    assert stays(golden.data, golden.profile)


def test_rows_of_every_corner_case_stay() -> None:
    assert [name for name, (data, values, _, _) in mutate.corner_cases().items() if not stays(data, values)] == []
