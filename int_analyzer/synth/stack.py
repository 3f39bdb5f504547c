"""What telemetry in a packet tells of a hop and of the room for more, by format."""

from __future__ import annotations

from typing import NamedTuple

from int_analyzer import schema
from int_analyzer.formats.ifa import FLAG_IN_BAND
from int_analyzer.formats.int_stack import FLAG_EXCEEDED
from int_analyzer.formats.ioam_trace import FLAG_OVERFLOW

IOAM_FIELDS = 0xFA0000
"""Hop limit and node, interfaces, both halves of the time, transit delay, queue depth."""
_IOAM_NODE_WORDS = 6
"""What these need in every node."""

PORTS = schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT
_WHERE = schema.HAS_NODE | PORTS | schema.HAS_LATENCY | schema.HAS_DEPTH | schema.HAS_INGRESS_TIME
INT = _WHERE | schema.HAS_QUEUE | schema.HAS_EGRESS_TIME | schema.HAS_UTILISATION
_IOAM = _WHERE | schema.HAS_HOP_LIMIT
_IFA = _WHERE | schema.HAS_HOP_LIMIT | schema.HAS_QUEUE


class Stack(NamedTuple):
    """Presence bits of a hop; what a hop takes of the room that the header tells of, 0 if it tells of none; the header's flags: those
    that are always set, and that of a node which found no room."""

    present: int
    room: int = 0
    flags: int = 0
    exceeded: int = 0


STACKS = {
    schema.FORMAT_INT_MD_1: Stack(INT, 1, exceeded=FLAG_EXCEEDED),
    schema.FORMAT_INT_MD_2: Stack(INT, 1, exceeded=FLAG_EXCEEDED),
    schema.FORMAT_INT_05: Stack(INT, 1, exceeded=FLAG_EXCEEDED),
    schema.FORMAT_IOAM_TRACE: Stack(_IOAM, _IOAM_NODE_WORDS, exceeded=FLAG_OVERFLOW),
    schema.FORMAT_IOAM_INCREMENTAL: Stack(_IOAM, _IOAM_NODE_WORDS, exceeded=FLAG_OVERFLOW),
    schema.FORMAT_IFA: Stack(_IFA, 1, FLAG_IN_BAND),
    schema.FORMAT_HPCC: Stack(schema.HAS_EGRESS_TIME | schema.HAS_TX_BYTES | schema.HAS_DEPTH),
    schema.FORMAT_MRI: Stack(schema.HAS_NODE | schema.HAS_DEPTH),
}
