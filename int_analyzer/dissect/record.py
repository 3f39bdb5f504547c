"""Telemetry in records of fixed size as branches: IFA and HPCC."""

from __future__ import annotations

from collections.abc import Iterator

from int_analyzer.dissect.branch import REPLACED, Branch, of_bytes, of_header
from int_analyzer.dissect.field import Value
from int_analyzer.dissect.headers import hpcc, ifa
from int_analyzer.dissect.trace import Step
from int_analyzer.formats.hpcc import HOP_BYTES, NS3_BYTES, RING
from int_analyzer.wire.read import Buffer


def ifa_header(data: Buffer, step: Step) -> Iterator[Branch]:
    """The header in front of the transport header."""
    at, limit = step.arguments[1:3]
    yield of_header(ifa.IFA, data, at, limit)


def ifa_stack(data: Buffer, step: Step) -> Iterator[Branch]:
    """Metadata header behind the transport header, and the hops in path order: there, or at the end of the packet."""
    at, limit, declared = step.arguments[1:4]
    skip, tail = step.result[5:7]
    if skip == 0:
        return
    begin = _metadata_at(data, at + 4, step.result[4])
    branch = of_header(ifa.METADATA, data, begin, limit)
    stack = declared - tail if tail else begin + ifa.METADATA.bytes
    if step.result[2] < 0:
        branch.values += of_bytes("", "ifa", "stack", "not read", data, stack, min(stack + (tail or skip - 4), limit)).values
    if step.hops and not step.is_kept:
        branch.remarks.append(REPLACED)
    for position, hop in enumerate(step.hops):
        inside = of_header(ifa.RECORD, data, stack + (len(step.hops) - 1 - position) * ifa.RECORD.bytes, limit, f"hop {hop.number}")
        inside.hop, inside.node, inside.is_row = hop.number, inside.number("node_id"), step.is_kept
        branch.branches.append(inside)
    yield branch


def _metadata_at(data: Buffer, at: int, protocol: int) -> int:
    """Where the metadata header begins behind UDP, TCP or GRE."""
    if protocol == 17:
        return at + 8
    if protocol == 6:
        return at + max(4 * (int(data[at + 12]) >> 4), 20)
    return at + 4 + 4 * (int(data[at]) & 0xB0).bit_count()


def hpcc_header(data: Buffer, step: Step) -> Iterator[Branch]:
    """The header and its hops, which stand in path order, or in the simulator in a ring."""
    at, limit, _, is_simulator = step.arguments[1:5]
    if is_simulator:
        yield _simulator(data, at, limit, step)
        return
    branch = of_header(hpcc.PAPER, data, at, limit)
    for position, hop in enumerate(step.hops):
        inside = of_header(hpcc.PAPER_HOP, data, at + 2 + position * HOP_BYTES, limit, f"hop {hop.number}")
        inside.hop, inside.is_row = hop.number, step.is_kept
        branch.branches.append(inside)
    yield branch


def _simulator(data: Buffer, at: int, limit: int, step: Step) -> Branch:
    branch = Branch("HPCC", "hpcc", hpcc.SIMULATOR_HOPS.spec, at, size=NS3_BYTES)
    if at + NS3_BYTES > limit:
        branch.values += of_bytes("", "hpcc", "data", "not read", data, at, limit).values
        return branch
    for hop in step.hops:
        begin = at + HOP_BYTES * (hop.number % RING)
        inside = Branch(f"hop {hop.number}", "hpcc.hop", hpcc.SIMULATOR_HOP.spec, begin, size=HOP_BYTES, hop=hop.number)
        inside.values, inside.is_row = _little(hpcc.SIMULATOR_HOP.read, data, begin, HOP_BYTES), step.is_kept
        branch.branches.append(inside)
    branch.values += _little(hpcc.SIMULATOR_HOPS.read, data, at + RING * HOP_BYTES, 2)
    return branch


def _little(read: object, data: Buffer, at: int, size: int) -> list[Value]:
    """Values of a header that is one little-endian number: each has all of its bytes."""
    raw = bytes(data[at : at + size])
    values: list[Value] = read(memoryview(raw[::-1]), 0, size)  # type: ignore[operator]
    return [value._replace(at=at, bit=0, raw=raw) for value in values]
