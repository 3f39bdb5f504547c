"""Whether a packet is what its sender wrote: its ICRC, computed anew on a sample of the packets (IBTA Vol.1 §9.8.1, Annex A17 §17.3.2).

A match is a proof. A mismatch is damage only where what the sender wrote can be put together again: INT over UDP is left out, with
ports and lengths restored. Of IPv4 options and IPv6 extension headers it is not known who wrote them, nor what other telemetry or a
mirror that rewrites fields has changed.
"""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import N_ROCE, get, put
from int_analyzer.formats.roce import OPCODES, TRUNCATED, bth
from int_analyzer.schema import (
    ABSENT32,
    HAS_ICRC,
    ICRC_ALTERED,
    ICRC_BAD,
    ICRC_CUT,
    ICRC_FRAGMENT,
    ICRC_OK,
    ICRC_OPCODE,
    ICRC_UNSAMPLED,
    ICRC_ZERO,
)
from int_analyzer.settings import ICRC_ALL
from int_analyzer.wire.branch import unlikely
from int_analyzer.wire.icrc import icrc
from int_analyzer.wire.read import Buffer
from int_analyzer.wire.udp import BEYOND_IP

_PSN_FACTOR, _QUEUE_PAIR_FACTOR = 0x9E3779B1, 0x85EBCA77
"""2^32 ÷ the golden ratio spreads successive PSNs evenly; the other is a large odd number."""


@kernel
def verify(
    buffer: Buffer,
    network: int,
    udp: int,
    bth: int,
    end: int,
    port: int,
    fragment: bool,
    restored: bool,
    rewritten: bool,
    share: int,
    columns: Any,
    packet: int,
    row: int,
) -> int:
    """State of the ICRC of RoCEv2 row `row` (schema.ICRC_STATES).

    network, udp, bth: where the headers begin; end: of the packet; port: the sender's destination port; restored: what stands in front
    of the BTH is INT, which the sender did not write; rewritten: a mirror has changed fields; share: of ICRC_ALL packets, so many are
    in the sample. Copies of a packet at other mirror points are in it too.
    """
    mixed = get(columns, "roce.psn", row) * _PSN_FACTOR + get(columns, "roce.dest_qp", row) * _QUEUE_PAIR_FACTOR
    if mixed & (ICRC_ALL - 1) >= share:
        return ICRC_UNSAMPLED
    if get(columns, "roce.present", row) & HAS_ICRC == 0:
        return ICRC_CUT
    if fragment:
        return ICRC_FRAGMENT
    if OPCODES[get(columns, "roce.opcode", row)] == 0:
        return ICRC_OPCODE
    seen = get(columns, "roce.icrc_raw", row)
    if seen == 0:
        return ICRC_ZERO
    version = get(columns, "packets.ip_version", packet)
    if icrc(buffer, version, network, udp, bth, end, port) == seen:
        return ICRC_OK
    headers = (20 if version == 4 else 40) + 8
    inserted = bth - network != headers
    if rewritten or udp - network + 8 != headers or (inserted and not restored):
        return ICRC_ALTERED
    return ICRC_BAD


@inlined
def roce(
    buffer: Buffer,
    network: int,
    udp: int,
    at: int,
    limit: int,
    declared: int,
    port: int,
    fragment: bool,
    restored: bool,
    rewritten: bool,
    warnings: int,
    share: int,
    columns: Any,
    counts: Any,
    packet: int,
) -> tuple[int, int, int, int]:
    """RoCEv2 headers at `at` and the state of the ICRC into the next row of roce: (status, where, warnings, row or ABSENT32).

    What the others are, `verify` says. `warnings` are those of the packet so far. Without a whole BTH the row is not used.
    """
    row = counts[N_ROCE]
    bad, bad_at, odd = bth(buffer, at, limit, declared, columns, row, packet)
    if unlikely(bad == TRUNCATED):
        return bad, bad_at, odd, ABSENT32
    counts[N_ROCE] = row + 1
    # Where IP is shorter than UDP says, what stands at its end is no ICRC: a mirror has cut the packet and mended IP.
    altered = rewritten or warnings & BEYOND_IP != 0
    state = verify(buffer, network, udp, at, declared, port, fragment, restored, altered, share, columns, packet, row)
    put(columns, "roce.icrc_check", row, state)
    return bad, bad_at, odd, row
