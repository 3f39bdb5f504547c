"""Telemetry reports as branches: fixed headers, metadata, and what is left of the reported packet when it is not followed."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect.branch import Branch, of_bytes, of_header, values_of
from int_analyzer.dissect.headers import report
from int_analyzer.dissect.trace import Step
from int_analyzer.formats.report_2 import TO_THE_END
from int_analyzer.formats.report_item import INNER_TLV
from int_analyzer.wire.read import Buffer, u8, u32


def report_05(data: Buffer, step: Step) -> Iterator[Branch]:
    """A report of v0.5."""
    at, limit = step.arguments[1:3]
    branch = of_header(report.REPORT_05, data, at, limit)
    items = report.ITEMS_05.get(branch.number("protocol") or 0, ())
    branch.values += values_of(list(items), data, at + report.REPORT_05.bytes, limit)
    branch.node = branch.number("node_id")
    yield branch


def report_1(data: Buffer, step: Step) -> Iterator[Branch]:
    """A report of v1.0."""
    at, limit = step.arguments[1:3]
    early = limit - at >= 4 and u32(data, at) >> 6 & 7 == 0 and u32(data, at) >> 12 & 7 != 0
    branch = of_header(report.REPORT_1_EARLY_FLAGS if early else report.REPORT_1, data, at, limit)
    branch.node = branch.number("node_id")
    bits, words = branch.number("metadata_bits") or 0, branch.number("length") or 0
    begin, end = at + report.REPORT_1.bytes, min(at + 4 * words, limit)
    if words == 4 + bits.bit_count():
        branch.values += values_of(report.metadata_1(bits), data, begin, end)
    else:
        branch.values += of_bytes("", "intreport", "metadata", "length and bits contradict each other", data, begin, end).values
    yield branch


def report_2(data: Buffer, step: Step) -> Iterator[Branch]:
    """One report of a v2.0 datagram; the group header in front of the first."""
    at, cursor, limit, declared = step.arguments[1:5]
    # the row of packets of a part is its number
    part = step.arguments[8]
    rows, followed, follow_at = step.result[3:6]
    group = of_header(report.GROUP_2, data, at, limit)
    if cursor == at + report.GROUP_2.bytes:
        yield group
    if cursor + 4 > min(limit, declared):
        return
    branch = of_header(report.REPORT_2, data, cursor, limit, f"report {part}")
    length = branch.number("length") or 0
    end = cursor + 4 + 4 * length
    if length in (0, TO_THE_END) or end > declared:
        end = declared
    branch.node = group.number("node_id")
    if rows:
        _contents(data, branch, cursor, min(end, limit), follow_at if followed else -1)
    else:
        branch.values += of_bytes("", "intreport", "data", "not read", data, cursor + 4, min(end, limit)).values
    yield branch


def _contents(data: Buffer, branch: Branch, at: int, end: int, follow_at: int) -> None:
    """Main contents and reported packet of a report that the kernel kept."""
    words = branch.number("metadata_length") or 0
    begin = at + report.REPORT_2.bytes
    if branch.number("type") == 1:
        main = report.MAIN_2.read(data, begin, end)
        branch.values += main
        bits = next((value.value or 0 for value in main if value.field.name == "metadata_bits"), 0)
        begin += report.MAIN_2.bytes
        branch.values += values_of(report.metadata_2(bits, words), data, begin, end)
    begin += 4 * words
    if branch.number("inner_type") == INNER_TLV:
        branch.branches = list(_tlvs(data, begin, end, follow_at))
    elif begin == follow_at:
        branch.remarks.append(f"the reported packet follows, from byte {begin} on")
    else:
        branch.values += of_bytes("", "intreport", "reported_packet", "not followed", data, begin, end).values


def _tlvs(data: Buffer, at: int, end: int, follow_at: int) -> Iterator[Branch]:
    while at + 4 <= end:
        branch = of_header(report.TLV_2, data, at, end)
        following = at + 4 + 4 * u8(data, at + 1)
        if at + 4 == follow_at:
            branch.remarks.append(f"the reported packet follows, from byte {follow_at} on")
        else:
            branch.values += of_bytes("", "intreport.tlv", "data", "", data, at + 4, min(following, end)).values
        yield branch
        at = following
