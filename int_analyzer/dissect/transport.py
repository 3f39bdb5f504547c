"""RoCEv2 as a branch: BTH, extension headers, data, pad, ICRC."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.columns import Columns
from int_analyzer.dissect.branch import Branch, of_bytes, of_header
from int_analyzer.dissect.headers import roce
from int_analyzer.dissect.trace import Step
from int_analyzer.formats.roce import OPCODES, TRUNCATED
from int_analyzer.schema import HAS_ICRC, HAS_PAYLOAD
from int_analyzer.wire.read import Buffer, u8


def bth(data: Buffer, step: Step, columns: Columns) -> Iterator[Branch]:
    """RoCEv2 transport; where data and ICRC are is what the kernel says."""
    _, at, limit, declared, _, row, _ = step.arguments
    if limit <= at:
        return
    branch = of_header(roce.BTH, data, at, limit)
    yield branch
    if step.result[0] == TRUNCATED:
        return
    carries, present = int(OPCODES[u8(data, at)]), int(columns.roce.present[row])
    position = at + roce.BTH.bytes
    for header in roce.extensions(carries):
        if position >= limit:
            break
        branch.branches.append(of_header(header, data, position, limit))
        position += header.bytes
    stop = min(limit, declared)
    icrc = declared - roce.ICRC.bytes if present & HAS_ICRC else stop
    pad = branch.number("pad") or 0
    # without a length that holds, what is left is shown in one piece
    end = icrc - pad if present & HAS_PAYLOAD and present & HAS_ICRC else icrc
    for title, name, begin, behind in (("data", "data", position, end), ("pad", "pad_bytes", max(end, position), icrc)):
        if behind > begin:
            branch.branches.append(of_bytes(title, "bth", name, "", data, begin, behind))
    if present & HAS_ICRC:
        trailer = of_header(roce.ICRC, data, icrc, limit)
        trailer.remarks.append(roce.ICRC_REMARKS[int(columns.roce.icrc_check[row])])
        branch.branches.append(trailer)
