"""The clock that stamps the packets of a ring: the interface's own where it has one and keeps the time of this machine, else the kernel's.

Sources: Documentation/networking/timestamping.rst, <linux/net_tstamp.h>, <linux/ethtool.h>, <linux/if_packet.h>, packet(7).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from int_analyzer._jit import kernel
from int_analyzer.capture import records
from int_analyzer.errors import SourceError
from int_analyzer.wire.read import Buffer, le32

AUTO, HARDWARE, KERNEL = "auto", "hardware", "kernel"
CHOICES = (AUTO, HARDWARE, KERNEL)

_SOL_PACKET, _TIMESTAMP = 263, 17
_SIOCETHTOOL, _SIOCSHWTSTAMP, _SIOCGHWTSTAMP = 0x8946, 0x89B0, 0x89B1
_GET_TS_INFO = 0x41
_RX_HARDWARE, _RAW_HARDWARE = 1 << 2, 1 << 6
_FILTER_ALL = 1
_STATUS_HARDWARE = 1 << 31
"""TP_STATUS_TS_RAW_HARDWARE: this packet's time is the interface's; without it the kernel's, whatever was asked for."""

_TS_INFO = struct.Struct("=IIiI12xI12x")
_CONFIG = struct.Struct("=iii")
_REQUEST = struct.Struct("16sP16x")

AHEAD_NS, BEHIND_NS = 2_000_000_000, 20_000_000_000
"""A clock further from this machine's is not set to it (or runs in TAI, 37 s ahead); packets that wait in a ring are some seconds old."""


@kernel
def count_hardware_times(buffer: Buffer, position: int, stop: int) -> int:
    """How many records from `position` on have a time of the interface's clock."""
    found = 0
    while stop - position >= records.RING_HEADER:
        if le32(buffer, position + records.RING_STATUS) & _STATUS_HARDWARE != 0:
            found += 1
        step = le32(buffer, position + records.RING_NEXT)
        if step == 0:
            break
        position += step
    return found


class Offer(NamedTuple):
    """What an interface can stamp (struct ethtool_ts_info): sorts of time stamps, number of its clock (−1: none), filters for receiving."""

    stamps: int
    clock: int
    filters: int

    @classmethod
    def parse(cls, data: bytes) -> Offer:
        """From the answer to ETHTOOL_GET_TS_INFO."""
        _, stamps, clock, _, filters = _TS_INFO.unpack(data[: _TS_INFO.size])
        return cls(stamps, clock, filters)

    @property
    def refusal(self) -> str:
        """Why every packet cannot get a time of the interface's clock; "" if it can."""
        if self.stamps & (_RX_HARDWARE | _RAW_HARDWARE) != _RX_HARDWARE | _RAW_HARDWARE or self.clock < 0:
            return "the interface has no clock for packets that it receives"
        if not self.filters >> _FILTER_ALL & 1:
            return "the interface stamps some packets only"
        return ""


class Stamps:
    """Which clock an interface's packets are stamped by.

    clock: HARDWARE or KERNEL; reason: why it is not the interface's; by_hardware and by_kernel: packets so stamped.
    """

    def __init__(self, choice: str, count: Callable[[Any, int, int], int] = count_hardware_times) -> None:
        self.clock = KERNEL
        self.reason = "" if choice != KERNEL else "as asked"
        self.by_hardware = 0
        self.by_kernel = 0
        self._choice = choice
        self._count = count

    def ask(self, ring: socket.socket, interface: str) -> None:
        """Ask for the interface's clock, before the ring is made. Raises SourceError if only that will do, and it will not."""
        if self._choice == KERNEL:
            return
        self.reason = _switch_on(ring, interface)
        if self.reason and self._choice == HARDWARE:
            raise SourceError(interface, f"no hardware timestamps: {self.reason}")
        if not self.reason:
            ring.setsockopt(_SOL_PACKET, _TIMESTAMP, _RAW_HARDWARE)
        self.clock = KERNEL if self.reason else HARDWARE

    def compile(self, buffer: Any) -> None:
        """Compile what `look` needs, if it will."""
        if self.clock == HARDWARE:
            self._count(buffer, 0, 0)

    def look(self, ring: socket.socket, buffer: Any, first: int, stop: int, packets: int) -> None:
        """Count the packets of a block by their clock, and leave the interface's, asked for or not, if it does not keep the time."""
        if self.clock == KERNEL:
            self.by_kernel += packets
            return
        stamped = self._count(buffer, first, stop)
        self.by_hardware += stamped
        self.by_kernel += packets - stamped
        seconds, nanoseconds = struct.unpack_from("=II", buffer, first + records.RING_SECONDS)
        ahead = seconds * 1_000_000_000 + nanoseconds - time.time_ns()
        if stamped and not -BEHIND_NS <= ahead <= AHEAD_NS:
            ring.setsockopt(_SOL_PACKET, _TIMESTAMP, 0)
            self.clock = KERNEL
            self.reason = f"the interface's clock is {ahead / 1e9:+.0f} s from this machine's: phc2sys(8) sets it"

    @property
    def unmet(self) -> str:
        """Why the interface's times are not to be had although only they would do; "" if they are, or others will do."""
        return f"no hardware timestamps: {self.reason}" if self._choice == HARDWARE and self.clock == KERNEL else ""

    def describe(self) -> str:
        """One phrase, that begins with the clock."""
        if self.reason:
            return f"{self.clock}: {self.reason}"
        if self.clock == HARDWARE and self.by_kernel:
            return f"{self.clock}: but {100 * self.by_kernel / (self.by_kernel + self.by_hardware):.3g} % of the packets by the kernel"
        return self.clock


def _switch_on(ring: socket.socket, interface: str) -> str:
    """Let the interface stamp every packet: "" or why it does not."""
    info = ctypes.create_string_buffer(_TS_INFO.pack(_GET_TS_INFO, 0, 0, 0, 0), _TS_INFO.size)
    try:
        _request(ring, _SIOCETHTOOL, interface, info)
    except OSError as error:
        return f"the interface does not say what it can stamp ({error.strerror})"
    refusal = Offer.parse(info.raw).refusal
    if refusal:
        return refusal
    config = ctypes.create_string_buffer(_CONFIG.size)
    try:
        _request(ring, _SIOCGHWTSTAMP, interface, config)
    except OSError as error:
        return f"the interface does not say what it stamps ({error.strerror})"
    flags, sent, received = _CONFIG.unpack(config.raw)
    if received == _FILTER_ALL:
        return ""
    # What ptp4l(8) has set for packets that are sent stays.
    config = ctypes.create_string_buffer(_CONFIG.pack(flags, sent, _FILTER_ALL), _CONFIG.size)
    try:
        _request(ring, _SIOCSHWTSTAMP, interface, config)
    except OSError as error:
        if error.errno != errno.EPERM:
            return f"the interface does not begin to stamp ({error.strerror})"
        return "no right to let it stamp every packet (CAP_NET_ADMIN; hwstamp_ctl -r 1 does, too)"
    if _CONFIG.unpack(config.raw)[2] != _FILTER_ALL:
        return "the interface does not stamp every packet"
    return ""


def _request(ring: socket.socket, number: int, interface: str, data: Any) -> None:
    fcntl.ioctl(ring.fileno(), number, _REQUEST.pack(os.fsencode(interface), ctypes.addressof(data)))
