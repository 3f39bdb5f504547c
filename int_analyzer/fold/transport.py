"""What an opcode means to a connection: kind of message, place in it, request or response (IBTA Vol.1 §9.2, Annex A17)."""

from __future__ import annotations

from typing import Any

import numpy as np

SEND, WRITE, READ, ATOMIC = 0, 1, 2, 3
KINDS = ("send", "write", "read", "atomic")
KIND = 3
"""Bits of a meaning: the kind, and these."""
BEGINS, ENDS = 4, 8
REQUEST, RESPONSE, ACKNOWLEDGE, NOTIFICATION, DATAGRAM = 16, 32, 64, 128, 256
IMMEDIATE, INVALIDATE, RELIABLE = 512, 1024, 2048
"""A REQUEST takes PSNs of its own direction; a RESPONSE (to a READ) and an ACKNOWLEDGE have those of the other."""

TRANSPORTS = {0: "RC", 1: "UC", 2: "RD", 3: "UD", 5: "XRC"}
"""By the upper three bits of the opcode."""

_ONLY = BEGINS | ENDS
_OPERATIONS = {
    0x00: SEND | REQUEST | BEGINS,
    0x01: SEND | REQUEST,
    0x02: SEND | REQUEST | ENDS,
    0x03: SEND | REQUEST | ENDS | IMMEDIATE,
    0x04: SEND | REQUEST | _ONLY,
    0x05: SEND | REQUEST | _ONLY | IMMEDIATE,
    0x06: WRITE | REQUEST | BEGINS,
    0x07: WRITE | REQUEST,
    0x08: WRITE | REQUEST | ENDS,
    0x09: WRITE | REQUEST | ENDS | IMMEDIATE,
    0x0A: WRITE | REQUEST | _ONLY,
    0x0B: WRITE | REQUEST | _ONLY | IMMEDIATE,
    0x0C: READ | REQUEST | _ONLY,
    0x0D: READ | RESPONSE | BEGINS,
    0x0E: READ | RESPONSE,
    0x0F: READ | RESPONSE | ENDS,
    0x10: READ | RESPONSE | _ONLY,
    0x11: ACKNOWLEDGE,
    0x12: ATOMIC | ACKNOWLEDGE,
    0x13: ATOMIC | REQUEST | _ONLY,
    0x14: ATOMIC | REQUEST | _ONLY,
    0x16: SEND | REQUEST | ENDS | INVALIDATE,
    0x17: SEND | REQUEST | _ONLY | INVALIDATE,
    0x1C: ATOMIC | REQUEST | _ONLY,  # FLUSH, answered like a READ of nothing
    0x1D: ATOMIC | REQUEST | _ONLY,  # ATOMIC WRITE, likewise
}


def _meanings() -> Any:
    table = np.zeros(256, dtype=np.int64)
    for operation, meaning in _OPERATIONS.items():
        for reliable in (0x00, 0xA0):
            table[reliable | operation] = meaning | RELIABLE
        if operation <= 0x0B:
            table[0x20 | operation] = meaning
    # The PSNs of a datagram queue pair go on over all its destinations: a gap on the way to one of them means nothing.
    table[[0x64, 0x65]] = SEND | DATAGRAM, SEND | DATAGRAM | IMMEDIATE
    table[0x81] = NOTIFICATION
    return table


MEANINGS = _meanings()

# AETH syndrome, IBTA Vol.1 §9.7.5.2: bits 6-5 say what it is, the rest is credits, a timer, or the reason of a NAK.
SYNDROME_KIND, SYNDROME_VALUE = 0x60, 0x1F
RECEIVER_NOT_READY, NEGATIVE = 0x20, 0x60
SEQUENCE_ERROR = 0

_RNR_MS = (
    *(655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92),
    *(2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52),
)
RNR_NS = np.array([round(1e6 * value) for value in _RNR_MS], dtype=np.int64)
"""How long an RNR NAK asks to wait, by its timer code (Table 45)."""


def name_services(mask: int) -> str:
    """Names of transport services by their bits, joined by "+"."""
    return "+".join(name for bit, name in TRANSPORTS.items() if mask >> bit & 1)
