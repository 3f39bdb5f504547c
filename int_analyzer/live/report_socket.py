"""Telemetry reports on an ordinary UDP socket, received many at a time into slots that look like a ring's records.

Sources: recvmmsg(2), socket(7), ip(7), <linux/sock_diag.h>. No privilege is needed.

    slot    struct tpacket3_hdr (48) | IPv4 (20) or IPv6 (40) | UDP (8) | the datagram, where the kernel put it
"""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer.capture import records
from int_analyzer.capture.source import Window
from int_analyzer.errors import SourceError
from int_analyzer.live import timestamp
from int_analyzer.live.intake import Losses, Stopping
from int_analyzer.live.ring import framing_of
from int_analyzer.wire import ethernet

SLOTS = 1024
DATAGRAM_BYTES = 9216
"""Room for one datagram: jumbo frames; what is longer is cut, and its packet says so."""
_BUFFER_BYTES = 32 << 20
_GATHER_S = 0.002
"""A batch costs as much as some hundred packets: few datagrams are waited with for so long."""
_POLL_MS = 100

_SO_TIMESTAMPNS, _SO_MEMINFO, _MEMINFO_DROPS = 35, 55, 8
_MSG_DONTWAIT, _MSG_TRUNC = 0x40, 0x20
_NAME_BYTES, _CONTROL_BYTES = 28, 64
_UDP = 17

_MESSAGE = np.dtype(
    {
        "names": ["name", "name_bytes", "vector", "vectors", "control", "control_bytes", "flags", "bytes"],
        "formats": ["u8", "u4", "u8", "u8", "u8", "u8", "i4", "u4"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56],
        "itemsize": 64,
    }
)
_CONTROL = np.dtype([("bytes", "u8"), ("level", "i4"), ("kind", "i4"), ("seconds", "i8"), ("nanoseconds", "i8"), ("rest", "V32")])
_RECORD = np.dtype(
    {
        "names": ["next", "seconds", "nanoseconds", "captured", "original", "status", "data"],
        "formats": ["u4", "u4", "u4", "u4", "u4", "u4", "u2"],
        "offsets": [
            records.RING_NEXT,
            records.RING_SECONDS,
            records.RING_NANOSECONDS,
            records.RING_CAPTURED,
            records.RING_ORIGINAL,
            records.RING_STATUS,
            records.RING_DATA,
        ],
        "itemsize": records.RING_HEADER,
    }
)
_IPV4 = np.dtype([("version", "u1"), ("tos", "u1"), ("bytes", ">u2"), ("fragment", ">u4"), ("hops", "u1"), ("protocol", "u1"),
                  ("checksum", ">u2"), ("src", "V4"), ("dst", "V4")])  # fmt: skip
_IPV6 = np.dtype([("version", ">u4"), ("bytes", ">u2"), ("protocol", "u1"), ("hops", "u1"), ("src", "V16"), ("dst", "V16")])
_PORTS = np.dtype([("src", ">u2"), ("dst", ">u2"), ("bytes", ">u2"), ("checksum", ">u2")])


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of udp://host:port, of which an IPv6 host stands in brackets. Raises SourceError."""
    host, colon, port = text.removeprefix("udp://").rpartition(":")
    if not text.startswith("udp://") or not colon or not port.isdigit() or not 0 <= int(port) < 65536:
        raise SourceError(text, "reports come from udp://ADDRESS:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


class ReportSocket:
    """Datagrams of one address as a source. port: where it listens."""

    def __init__(self, host: str, port: int) -> None:
        self.name = f"udp://{f'[{host}]' if ':' in host else host}:{port}"
        self.clock = timestamp.KERNEL
        self.losses = Losses()
        self.fault = ""
        self.unmet = ""
        self._stopping = Stopping()
        self._six = ":" in host
        self._socket = socket.socket(socket.AF_INET6 if self._six else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            # as much as the system allows (net.core.rmem_max)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            reason = "somebody else listens there" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise SourceError(self.name, reason) from error
        self.port = int(self._socket.getsockname()[1])
        self._framing, self._interfaces = framing_of(ethernet.LINK_RAW, self.name)
        self._receive = ctypes.CDLL(None, use_errno=True).recvmmsg
        self._lay_out()

    def stop(self) -> None:
        """End `windows` within a tenth of a second."""
        self._stopping.ask()

    def control(self, window: Window) -> bool:
        """Never needed: datagrams only."""
        raise AssertionError(f"a control block at {window.position} of datagrams")

    def damage(self, offset: int, reason: str) -> None:
        """Never happens: the slots are written here."""
        raise AssertionError(f"slot at {offset}: {reason}")

    def finish(self, window: Window) -> None:
        """Nothing to do: a socket has no end."""

    def windows(self) -> Iterator[Window]:
        """The datagrams of one call each, of up to SLOTS."""
        base = 0
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while not self._stopping:
            count = self._fill()
            if count:
                stop = count * self._stride
                yield Window(self._buffer, 0, stop, base, False, self._framing, self._interfaces, 0)
                base += stop
            self._count_losses()
            if count < SLOTS:
                poller.poll(_POLL_MS)
                self._stopping.sleep(_GATHER_S)
        self._socket.close()

    def _lay_out(self) -> None:
        """Slots, and the messages that point into them."""
        network = _IPV6 if self._six else _IPV4
        headers = records.RING_HEADER + network.itemsize + _PORTS.itemsize
        self._headers = headers - records.RING_HEADER
        self._stride = (headers + DATAGRAM_BYTES + 63) // 64 * 64
        store = np.zeros(SLOTS * self._stride, dtype=np.uint8)
        self._buffer = store.view()
        self._buffer.flags.writeable = False

        def slots(at: int, dtype: np.dtype[Any]) -> Any:
            return np.ndarray(SLOTS, dtype=dtype, buffer=store, offset=at, strides=(self._stride,))

        self._record = slots(0, _RECORD)
        self._network = slots(records.RING_HEADER, network)
        self._transport = slots(records.RING_HEADER + network.itemsize, _PORTS)
        address, port = self._socket.getsockname()[:2]
        if self._six:
            self._network["version"] = 6 << 28
        else:
            self._network["version"] = 0x45
        self._network["hops"], self._network["protocol"] = 64, _UDP
        self._network["dst"] = np.void(socket.inet_pton(self._socket.family, address))
        self._transport["dst"] = port
        self._names = np.zeros((SLOTS, _NAME_BYTES), dtype=np.uint8)
        self._controls = np.zeros(SLOTS, dtype=_CONTROL)
        vectors = np.zeros((SLOTS, 2), dtype=np.uint64)
        number = np.arange(SLOTS, dtype=np.uint64)
        vectors[:, 0] = store.ctypes.data + headers + number * self._stride
        vectors[:, 1] = DATAGRAM_BYTES
        self._vectors = vectors
        messages = np.zeros(SLOTS, dtype=_MESSAGE)
        messages["name"] = self._names.ctypes.data + number * _NAME_BYTES
        messages["vector"] = vectors.ctypes.data + number * 16
        messages["vectors"] = 1
        messages["control"] = self._controls.ctypes.data + number * _CONTROL_BYTES
        self._messages = messages

    def _fill(self) -> int:
        """Receive what is there into the slots, and put headers in front: how many datagrams."""
        messages = self._messages
        messages["name_bytes"], messages["control_bytes"] = _NAME_BYTES, _CONTROL_BYTES
        # MSG_TRUNC: the length of the datagram, also where it was cut
        count = self._receive(self._socket.fileno(), ctypes.c_void_p(messages.ctypes.data), SLOTS, _MSG_DONTWAIT | _MSG_TRUNC, None)
        if count <= 0:
            number = ctypes.get_errno()
            self.fault = "" if number in (0, errno.EAGAIN, errno.EINTR) else errno.errorcode.get(number, str(number))
            return 0
        self.fault = ""
        length = messages["bytes"][:count].astype(np.int64)
        captured = np.minimum(length, DATAGRAM_BYTES)
        record, network, transport = self._record[:count], self._network[:count], self._transport[:count]
        record["next"] = self._stride
        record["next"][-1] = 0
        record["captured"], record["original"] = captured + self._headers, length + self._headers
        record["data"] = records.RING_HEADER
        stamped = self._controls["kind"][:count] == _SO_TIMESTAMPNS
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        record["seconds"] = np.where(stamped, self._controls["seconds"][:count], seconds)
        record["nanoseconds"] = np.where(stamped, self._controls["nanoseconds"][:count], nanoseconds)
        # sockaddr_in: family, port, address; sockaddr_in6 has the flow label between
        at, size = (8, 16) if self._six else (4, 4)
        network["bytes"] = length + _PORTS.itemsize + (0 if self._six else _IPV4.itemsize)
        network["src"] = np.ascontiguousarray(self._names[:count, at : at + size]).view(f"V{size}").ravel()
        transport["src"] = np.ascontiguousarray(self._names[:count, 2:4]).view(">u2").ravel()
        transport["bytes"] = length + _PORTS.itemsize
        return int(count)

    def _count_losses(self) -> None:
        counters = self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 36)
        self.losses.kernel = struct.unpack_from("=I", counters, 4 * _MEMINFO_DROPS)[0]
