"""The program that captures: from packet sockets that it is given to nanosecond pcap files, until it is asked to end.

    python -m int_analyzer.lab.recorder FILE:DESCRIPTOR:in|out …

Afterwards it says, as JSON, how many packets each file has and how many the kernel had no room for.
"""

from __future__ import annotations

import ctypes
import json
import selectors
import signal
import socket
import struct
import sys
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NamedTuple

_MAGIC_NANOSECONDS = 0xA1B2_3C4D
_LINKTYPE_ETHERNET = 1
_ETH_P_ALL = 0x0003  # linux/if_ether.h
_SNAPLEN = 65535
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h
_SOL_PACKET, _PACKET_STATISTICS = 263, 6  # linux/socket.h, linux/if_packet.h
_WAIT_S = 0.05
_BUFFER_BYTES = 32 << 20
_SO_ATTACH_FILTER = 26  # asm-generic/socket.h
_LOAD_BYTE, _IF_EQUAL, _RETURN = 0x30, 0x15, 0x06  # linux/bpf_common.h: LD|B|ABS, JMP|JEQ|K, RET|K
_PROTOCOL_AT = 14 + 9  # of IPv4 in Ethernet (RFC 791 §3.1)


class Point(NamedTuple):
    """A packet socket, the direction that counts there, and the file for it."""

    socket: socket.socket
    outgoing: bool
    file: BinaryIO


def open_point(interface: str, protocol: int | None = None) -> socket.socket:
    """A packet socket at an interface of the namespace that the caller is in, with stamps and room for bursts; of `protocol` in IPv4
    only, if given."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    if protocol is not None:
        _take_only(opened, protocol)
    opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    opened.bind((interface, _ETH_P_ALL))
    return opened


def _take_only(opened: socket.socket, protocol: int) -> None:
    """Let the kernel keep only packets of a protocol (linux/filter.h: code, jump if true, if false, value)."""
    steps = ((_LOAD_BYTE, 0, 0, _PROTOCOL_AT), (_IF_EQUAL, 0, 1, protocol), (_RETURN, 0, 0, _SNAPLEN), (_RETURN, 0, 0, 0))
    held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    opened.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(steps), ctypes.addressof(held)))


def main() -> None:
    """Record until SIGTERM, and what waits in the sockets then."""
    asked: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, end)
    with ExitStack() as files:
        points = {}
        for argument in sys.argv[1:]:
            path, descriptor, direction = argument.rsplit(":", 2)
            opened = socket.socket(fileno=int(descriptor))
            opened.setblocking(False)
            points[path] = Point(opened, direction == "out", files.enter_context(Path(path).open("wb")))
        counts = _record(points, asked)
    drops = {path: struct.unpack("II", point.socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))[1] for path, point in points.items()}
    json.dump({path: {"packets": counts[path], "dropped": drops[path]} for path in points}, sys.stdout)


def _record(points: dict[str, Point], asked: list[int]) -> dict[str, int]:
    counts = dict.fromkeys(points, 0)
    with selectors.DefaultSelector() as selector:
        for path, point in points.items():
            point.file.write(struct.pack("<IHHiIII", _MAGIC_NANOSECONDS, 2, 4, 0, 0, _SNAPLEN, _LINKTYPE_ETHERNET))
            selector.register(point.socket, selectors.EVENT_READ, path)
        sys.stdout.write("\n")  # tells that recording has begun
        sys.stdout.flush()
        while True:
            last = bool(asked)
            for key, _ in selector.select(_WAIT_S):
                counts[key.data] += _drain(points[key.data])
            if last:
                return counts


def _drain(point: Point) -> int:
    count = 0
    while True:
        try:
            data, control, _, address = point.socket.recvmsg(_SNAPLEN, 64)
        except BlockingIOError:
            return count
        if (address[2] == socket.PACKET_OUTGOING) != point.outgoing:
            continue
        seconds, nanoseconds = struct.unpack("qq", control[0][2])
        point.file.write(struct.pack("<IIII", seconds, nanoseconds, len(data), len(data)) + data)
        count += 1


if __name__ == "__main__":
    main()
