"""An analysis held against the truth: was the port named first that was made to congest, and nothing when none was?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from int_analyzer.analysis.summary import Finding

_ROOT = "root"
_SECOND = 1e9


@dataclass(frozen=True)
class Verdict:
    """`right`: the first finding is the congested port, or there is none where none was made to congest. `false_roots` are the findings
    said to be roots that are not; `late_s` is how long after the offered load rose the finding begins."""

    right: bool
    false_roots: int
    late_s: float | None
    sentence: str


def judge(findings: Sequence[Finding], truth: Mapping[str, Any]) -> Verdict:
    """Compare by node and port id, which do not depend on names."""
    expected = {(entry["node_id"], entry["port_id"]): entry for entry in reversed(truth["congested"])}
    named = [(finding.node_id, finding.port_id) for finding in findings]
    false_roots = sum(finding.role == _ROOT and place not in expected for finding, place in zip(findings, named, strict=True))
    wanted = " and ".join(sorted({f"{entry['node']} port {entry['port']}" for entry in truth["congested"]})) or "nothing"
    if not findings:
        return Verdict(not expected, 0, None, f"nothing found; made to congest: {wanted}")
    first = findings[0]
    right = named[0] in expected
    late_s = (first.start_ns - expected[named[0]]["from_ns"]) / _SECOND if right and first.start_ns is not None else None
    said = f"named first: {first.node} port {first.port}"
    if late_s is not None:
        said += f", {late_s * 1e3:+.0f} ms after the load rose"
    return Verdict(right, false_roots, late_s, f"{said}; made to congest: {wanted}")
