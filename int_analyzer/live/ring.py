"""A network interface as a source: a ring of blocks that the kernel fills and the decoder walks where they lie.

Sources: packet(7), Documentation/networking/packet_mmap.rst, <linux/if_packet.h>.

    block   version u32 | private offset u32 | status u32 | packets u32 | first packet u32 | bytes u32 | sequence u64 | times
    packet  struct tpacket3_hdr (capture/records.py), then the frame, without the VLAN tag that the kernel took out of it
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer import _jit
from int_analyzer._jit import kernel
from int_analyzer.capture import records
from int_analyzer.capture.interface import Interface, InterfaceTable
from int_analyzer.capture.source import Window
from int_analyzer.errors import SourceError
from int_analyzer.live import timestamp
from int_analyzer.live.intake import Losses, Stopping
from int_analyzer.wire import ethernet
from int_analyzer.wire.read import Buffer, le16, le32

BLOCK_BYTES = 1 << 20
BLOCKS = 64
RETIRE_MS = 100
"""A block that is not full goes out after so long."""

_SOL_PACKET, _ETH_P_ALL = 263, 3
_ADD_MEMBERSHIP, _RX_RING, _STATISTICS, _VERSION, _RESERVE, _FANOUT, _IGNORE_OUTGOING = 1, 5, 6, 10, 12, 18, 23
_TPACKET_V3 = 2
_MR_PROMISC = 1
_FANOUT_HASH, _FANOUT_NEW = 0, 0x2000
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_SIOCGIFFLAGS, _SIOCGIFHWADDR = 0x8913, 0x8927
_IFF_UP = 1

_VLAN_BYTES = 4
_VLAN_VALID, _TPID_VALID = 1 << 4, 1 << 6
_STATUS, _PACKETS, _FIRST, _BYTES = 8, 12, 16, 20
_OURS = 1
"""Offsets in a block's header, and the bit of its status that hands it to us."""

_ARPHRD_ETHER, _ARPHRD_LOOPBACK, _ARPHRD_NONE = 1, 772, 0xFFFE
_LINKS = {_ARPHRD_ETHER: ethernet.LINK_ETHERNET, _ARPHRD_LOOPBACK: ethernet.LINK_ETHERNET, _ARPHRD_NONE: ethernet.LINK_RAW}

_NONE = 0
"""No interface has this index."""
_SHED_TO = 0.5
"""Share of the ring: when hardly a block is free, the oldest that wait are let go of until this is reached."""
_SPARE, _SPARE_BLOCKS = 0.1, 3
"""What is free then, of a large ring and of a small one: the kernel fills it while one block is read."""
_LOOK_S = 1.0
"""How often the kernel's counters and the state of the interface are looked at."""


@kernel
def restore_tags(buffer: Buffer, position: int, stop: int) -> int:
    """Put the VLAN tag of every record from `position` on back into its frame, in front of which room was reserved: how many had one.

    The addresses move 4 bytes to the front and the tag takes their place, as libpcap does it (pcap-linux.c).
    """
    restored = 0
    while stop - position >= records.RING_HEADER:
        status = le32(buffer, position + records.RING_STATUS)
        step = le32(buffer, position + records.RING_NEXT)
        if status & _VLAN_VALID != 0:
            data = le16(buffer, position + records.RING_DATA)
            tpid = le16(buffer, position + records.RING_TPID) if status & _TPID_VALID != 0 else ethernet.ETHERTYPE_VLAN
            tag = (tpid << 16) | (le32(buffer, position + records.RING_TCI) & 0xFFFF)
            frame = position + data - _VLAN_BYTES
            for i in range(12):
                buffer[frame + i] = buffer[frame + i + _VLAN_BYTES]
            for i in range(4):
                buffer[frame + 12 + i] = (tag >> (24 - 8 * i)) & 0xFF
            _put_word(buffer, position + records.RING_STATUS, status & ~_VLAN_VALID)
            _put_word(buffer, position + records.RING_CAPTURED, le32(buffer, position + records.RING_CAPTURED) + _VLAN_BYTES)
            _put_word(buffer, position + records.RING_ORIGINAL, le32(buffer, position + records.RING_ORIGINAL) + _VLAN_BYTES)
            buffer[position + records.RING_DATA] = (data - _VLAN_BYTES) & 0xFF
            buffer[position + records.RING_DATA + 1] = (data - _VLAN_BYTES) >> 8
            restored += 1
        if step == 0:
            break
        position += step
    return restored


@kernel
def _put_word(buffer: Buffer, at: int, value: int) -> None:
    for i in range(4):
        buffer[at + i] = (value >> (8 * i)) & 0xFF


def framing_of(link: int, name: str) -> tuple[Any, Any]:
    """Framing and interface row of records that lie as in a ring."""
    framing = np.zeros(8, dtype=np.int64)
    framing[[records.FRAMING_KIND, records.FRAMING_LITTLE]] = records.KIND_RING, 1
    table = InterfaceTable()
    table.append(Interface(0, 0, link, resolution=9, name=name))
    return framing, table.rows


class Fanout:
    """Rings that share the packets of an interface by flow.

    The kernel numbers the group: numbers of our own could be those of another process, which would then take half of the packets. An
    interface that is made again has a group of its own.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._lock = threading.Lock()

    def join(self, ring: socket.socket, index: int) -> None:
        """Let a ring on the interface of this index join. Raises OSError."""
        with self._lock:
            if index in self._numbers:
                ring.setsockopt(_SOL_PACKET, _FANOUT, self._numbers[index] | _FANOUT_HASH << 16)
                return
            ring.setsockopt(_SOL_PACKET, _FANOUT, (_FANOUT_HASH | _FANOUT_NEW) << 16)
            self._numbers[index] = _group_of(ring)

    def forget(self, ring: socket.socket, index: int) -> None:
        """Let nobody join the group of a ring whose interface is gone: another may have its index by now."""
        with self._lock:
            if self._numbers.get(index) == _group_of(ring):
                del self._numbers[index]


def _group_of(ring: socket.socket) -> int:
    return ring.getsockopt(_SOL_PACKET, _FANOUT) & 0xFFFF


class Ring:
    """One ring on one interface; several with one `fanout` share its packets by flow. Needs CAP_NET_RAW.

    Nothing is captured before `windows` is asked for the first one. `program`: a filter as the kernel takes it (live/filter.py);
    timestamps: one of timestamp.CHOICES; stamps: whose times they are. An interface that goes down, or away, is waited for.
    """

    def __init__(
        self,
        interface: str,
        fanout: Fanout | None = None,
        program: bytes = b"",
        blocks: int = BLOCKS,
        block_bytes: int = BLOCK_BYTES,
        compiled: bool = True,
        timestamps: str = timestamp.AUTO,
    ) -> None:
        if sys.byteorder != "little":
            raise SourceError(interface, "live capture needs a little-endian machine")
        self.name = interface
        self.losses = Losses()
        self.fault = "does not capture yet"
        self.restored = 0
        self._fanout = fanout
        self._program = program
        self._blocks = blocks
        self._block_bytes = block_bytes
        self._spare = max(int(_SPARE * blocks), min(_SPARE_BLOCKS, blocks // 4))
        self._fast = compiled and not _jit.DISABLED
        self._restore = _jit.compiled(restore_tags) if compiled else restore_tags
        count = timestamp.count_hardware_times
        self.stamps = timestamp.Stamps(timestamps, _jit.compiled(count) if compiled else count)
        self._stopping = Stopping()
        self._looked = 0.0
        self._base = 0
        self._index = 0
        self._open()

    @property
    def clock(self) -> str:
        """Whose times the packets have, and why."""
        return self.stamps.describe()

    @property
    def unmet(self) -> str:
        """Why the clock is not the one that was asked for."""
        return self.stamps.unmet

    def stop(self) -> None:
        """End `windows` within a tenth of a second."""
        self._stopping.ask()

    def control(self, window: Window) -> bool:
        """Never needed: a ring holds packets only."""
        raise AssertionError(f"a control block at {window.position} of a ring")

    def damage(self, offset: int, reason: str) -> None:
        """A record that cannot be: the kernel does not write such, so that the rest of the block is given up and counted."""
        self.losses.own += 1
        self.fault = f"a record of the ring is damaged: {reason}"

    def finish(self, window: Window) -> None:
        """Nothing to do: a ring has no end."""

    def windows(self) -> Iterator[Window]:
        """Blocks, as soon as the kernel hands them over; each goes back to it when the next is asked for."""
        self._begin()
        at = 0
        poller = select.poll()
        poller.register(self._socket.fileno(), select.POLLIN | select.POLLERR)
        # when it is to stop, what waits is read, once round at most
        left = self._blocks
        while left:
            if time.monotonic() - self._looked > _LOOK_S and self._look():
                at, poller = 0, select.poll()
                poller.register(self._socket.fileno(), select.POLLIN | select.POLLERR)
            if self._stopping:
                left -= 1
            if not self._status[at] & _OURS:
                if self._stopping:
                    break
                poller.poll(RETIRE_MS)
                continue
            if int((self._status & _OURS).sum()) > self._blocks - self._spare:
                at = self._shed(at)
                continue
            start = at * self._block_bytes
            first, stop = start + self._word(start + _FIRST), start + self._word(start + _BYTES)
            packets = self._word(start + _PACKETS)
            if packets:
                self.stamps.look(self._socket, self._writable, first, stop, packets)
                self.restored += self._restore(self._writable, first, stop)
                yield Window(self._buffer, first, stop, self._base - first, False, self._framing, self._interfaces, first)
                self._base += stop - first
            self._status[at] = 0
            at = (at + 1) % self._blocks
        self._count_losses()
        self._close()

    def _word(self, at: int) -> int:
        return int(self._words[at // 4])

    def _shed(self, at: int) -> int:
        """Let go of whole blocks, the oldest first."""
        for _ in range(self._blocks):
            if int((self._status & _OURS).sum()) <= _SHED_TO * self._blocks or not self._status[at] & _OURS:
                break
            self.losses.own += self._word(at * self._block_bytes + _PACKETS)
            self._status[at] = 0
            at = (at + 1) % self._blocks
        return at

    def _open(self) -> None:
        """Socket and ring, which no packet reaches yet."""
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError as error:
            raise SourceError(
                self.name, "no permission to capture: CAP_NET_RAW is needed (run as root, or setcap cap_net_raw+p)"
            ) from error
        except OSError as error:
            raise SourceError(self.name, error.strerror or str(error)) from error
        try:
            self._index = socket.if_nametoindex(self.name)
            kind = struct.unpack_from("<H", self._request(_SIOCGIFHWADDR), 16)[0]
            if kind not in _LINKS:
                raise SourceError(self.name, f"interfaces of hardware type {kind} are not read (Ethernet, loopback and raw IP are)")
            self._framing, self._interfaces = framing_of(_LINKS[kind], self.name)
            self._socket.setsockopt(_SOL_PACKET, _VERSION, _TPACKET_V3)
            self._socket.setsockopt(_SOL_PACKET, _RESERVE, _VLAN_BYTES)
            self.stamps.ask(self._socket, self.name)
            frame_bytes = 2048
            count = self._blocks * (self._block_bytes // frame_bytes)
            request = struct.pack("=7I", self._block_bytes, self._blocks, frame_bytes, count, RETIRE_MS, 0, 0)
            self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
            self._map = mmap.mmap(
                self._socket.fileno(), self._blocks * self._block_bytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE
            )
        except SourceError:
            self._socket.close()
            raise
        except OSError as error:
            self._socket.close()
            reason = "no such interface" if error.errno == errno.ENODEV or not self._index else error.strerror or str(error)
            raise SourceError(self.name, reason) from error
        whole = np.frombuffer(self._map, dtype=np.uint8)
        self._writable = whole if self._fast else memoryview(self._map)
        self._buffer = whole.view()
        self._buffer.flags.writeable = False
        self._words = whole.view(np.uint32)
        # compiled now, not when the first packets wait
        self._restore(self._writable, 0, 0)
        self.stamps.compile(self._writable)
        self._status = self._words[_STATUS // 4 :: self._block_bytes // 4]

    def _begin(self) -> None:
        """Let packets in: first none, so that none reaches two rings before they know of each other."""
        try:
            self._filter(struct.pack("<HBBI", 0x06, 0, 0, 0))
            self._socket.bind((self.name, _ETH_P_ALL))
            with contextlib.suppress(OSError):
                # kernels before 4.20 have no such option: what the machine sends itself is then captured too
                self._socket.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
            self._socket.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, struct.pack("=iHH8s", self._index, _MR_PROMISC, 0, b""))
            if self._fanout is not None:
                self._fanout.join(self._socket, self._index)
            if self._program:
                self._filter(self._program)
            else:
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
            self.fault = ""
        except OSError as error:
            if error.errno != errno.ENETDOWN:
                raise SourceError(self.name, error.strerror or str(error)) from error
            self.fault = "the interface is down"

    def _filter(self, program: bytes) -> None:
        held = ctypes.create_string_buffer(program, len(program))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(program) // 8, ctypes.addressof(held)))

    def _look(self) -> bool:
        """Count what the kernel dropped, and see whether the interface is still the one that it was: True if the ring was made anew."""
        self._looked = time.monotonic()
        self._count_losses()
        try:
            index = socket.if_nametoindex(self.name)
            up = bool(struct.unpack_from("<H", self._request(_SIOCGIFFLAGS), 16)[0] & _IFF_UP)
        except OSError:
            self.fault = "no such interface"
            return False
        # a socket stays with the interface that is gone, whose index another may have
        gone = not self._socket.getsockname()[0]
        if gone and self._fanout is not None:
            self._fanout.forget(self._socket, self._index)
        if gone or index != self._index:
            return self._begin_again()
        self.fault = "" if up else "the interface is down"
        return False

    def _begin_again(self) -> bool:
        """A new ring on an interface that was made again, if it can be had: else it is tried at the next look."""
        before, index = self._socket, self._index
        waiting = int(self._words[_PACKETS // 4 :: self._block_bytes // 4][(self._status & _OURS).astype(bool)].sum())
        try:
            self._open()
        except SourceError as error:
            self._socket, self._index, self.fault = before, index, error.reason
            return False
        before.close()
        self.losses.own += waiting
        try:
            self._begin()
        except SourceError as error:
            self._index, self.fault = _NONE, error.reason
        return True

    def _request(self, number: int) -> bytes:
        return fcntl.ioctl(self._socket.fileno(), number, struct.pack("16s24x", os.fsencode(self.name)))

    def _count_losses(self) -> None:
        # reading clears them
        _, drops, frozen = struct.unpack("=3I", self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 12))
        self.losses.kernel += drops
        self.losses.frozen += frozen
        # an interface that went down leaves an error, which poll would report for ever; reading clears it too
        self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def _close(self) -> None:
        self._socket.close()
