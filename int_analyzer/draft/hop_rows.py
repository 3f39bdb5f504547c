"""Rows of hops of one batch, with what their packets say of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import Columns

Array = Any
"""A one-dimensional numpy array, one element per hop."""

TIMES = schema.HAS_INGRESS_TIME | schema.HAS_EGRESS_TIME
IMPLAUSIBLE = 1 << 40
"""A difference of a hop's times from here on is a broken clock, not a latency (as in fold/queues.py)."""
WORD = 0xFFFFFFFF
NONE = -1


class HopRows(NamedTuple):
    """Hops in the order of their capture, int64; NONE where a value was not reported. Packet bytes are those of its IP header.

    next_node and next_ingress are those of the hop behind this one in the same packet, NONE at the last.
    """

    node: Array
    ingress: Array
    egress: Array
    queue: Array
    latency: Array
    depth: Array
    difference: Array  # egress − ingress time, raw; not of IOAM, which has one time
    begin: Array  # raw bits, 0 where absent
    end: Array
    next_node: Array
    next_ingress: Array
    time_ns: Array
    packet_bytes: Array
    from_ioam: Array  # bool

    def take(self, rows: Array) -> HopRows:
        """Some of the rows."""
        return HopRows(*(column[rows] for column in self))


def hop_rows(columns: Columns) -> HopRows:
    """The hops of a batch that name their node."""
    count, hops, packets = columns.rows("hops"), columns.hops, columns.packets
    present = hops.present[:count].astype(np.int64)
    packet = hops.packet[:count].astype(np.int64)

    def value(name: str, bit: int, absent: int = NONE) -> Array:
        return np.where(present & bit != 0, getattr(hops, name)[:count].astype(np.int64), absent)

    node = value("node_id", schema.HAS_NODE)
    ingress = value("ingress_port", schema.HAS_INGRESS_PORT)
    begin, end = value("ingress_time_raw", schema.HAS_INGRESS_TIME, 0), value("egress_time_raw", schema.HAS_EGRESS_TIME, 0)
    telemetry = packets.telemetry[packet]
    from_ioam = (telemetry == schema.FORMAT_IOAM_TRACE) | (telemetry == schema.FORMAT_IOAM_INCREMENTAL)
    there = present & schema.HAS_NODE != 0
    goes_on = np.zeros(count, dtype=np.bool_)
    goes_on[:-1] = (packet[1:] == packet[:-1]) & there[1:]
    rows = HopRows(
        node=node,
        ingress=ingress,
        egress=value("egress_port", schema.HAS_EGRESS_PORT),
        queue=value("queue_id", schema.HAS_QUEUE),
        latency=value("hop_latency_raw", schema.HAS_LATENCY),
        depth=value("queue_depth_raw", schema.HAS_DEPTH),
        difference=np.where((present & TIMES == TIMES) & ~from_ioam, _difference(begin, end), NONE),
        begin=begin,
        end=end,
        next_node=np.where(goes_on, np.roll(node, -1), NONE),
        next_ingress=np.where(goes_on, np.roll(ingress, -1), NONE),
        time_ns=packets.time_ns[packet],
        packet_bytes=packets.ip_bytes[packet].astype(np.int64),
        from_ioam=from_ioam,
    )
    return rows.take(np.flatnonzero(there))


def _difference(begin: Array, end: Array) -> Array:
    """Egress − ingress time, modulo 2^32 if both are 32-bit values; NONE if it is negative or implausible."""
    raw = np.where((begin | end) >> 32 == 0, (end - begin) & WORD, end - begin)
    return np.where((raw < 0) | (raw >= IMPLAUSIBLE) | (begin == 0), NONE, raw)
