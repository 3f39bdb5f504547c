"""Whose times packets have: what an interface offers, what a record says, and the fallback.

No interface with a clock was there to try: its answers are made up here, and only the fallback is real.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from namespace import in_namespace, needs_namespaces, sender
from test_live_ring import captured, small

from int_analyzer import _jit
from int_analyzer.capture.records import RING_HEADER, RING_NANOSECONDS, RING_NEXT, RING_SECONDS, RING_STATUS
from int_analyzer.errors import SourceError
from int_analyzer.live.ring import Ring
from int_analyzer.live.timestamp import AUTO, HARDWARE, KERNEL, Offer, Stamps, count_hardware_times

SOFTWARE_STAMP, HARDWARE_STAMP = 1 << 29, 1 << 31
TS_INFO, SET_STAMPS, GET_STAMPS = 0x8946, 0x89B0, 0x89B1
PTP_NIC = struct.pack("=IIiI12xI12x", 0x41, 0x5F, 0, 3, 0b11)
"""Stamps of all sorts, clock 0, filters none and all."""


def block(statuses: list[int], time_ns: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Records as the kernel leaves them in a ring."""
    buffer = np.zeros(len(statuses) * 64, dtype=np.uint8)
    for number, status in enumerate(statuses):
        at = 64 * number
        for offset, value in (
            (RING_NEXT, 64 if number + 1 < len(statuses) else 0),
            (RING_SECONDS, time_ns // 1_000_000_000),
            (RING_NANOSECONDS, time_ns % 1_000_000_000),
            (RING_STATUS, status),
        ):
            buffer[at + offset : at + offset + 4] = np.frombuffer(struct.pack("=I", value), dtype=np.uint8)
    return buffer


class Nic:
    """A socket whose interface answers as it is told: what it offers, and what becomes of its filter."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, info: bytes = PTP_NIC, may_set: bool = True, filter: int = 0) -> None:
        self.options: list[int] = []
        self.sent = 1
        self._info, self._may_set, self._filter = info, may_set, filter
        monkeypatch.setattr(fcntl, "ioctl", self._answer)

    def fileno(self) -> int:
        return -1

    def setsockopt(self, level: int, option: int, value: int) -> None:
        assert (level, option) == (263, 17)
        self.options.append(value)

    def _answer(self, file: int, number: int, request: bytes) -> bytes:
        name, pointer = struct.unpack_from("16sP", request)
        assert name.rstrip(b"\0") == b"eth1"
        if number == TS_INFO:
            ctypes.memmove(pointer, self._info, len(self._info))
        elif number == SET_STAMPS:
            if not self._may_set:
                raise PermissionError(errno.EPERM, "Operation not permitted")
            _, self.sent, self._filter = struct.unpack("=iii", ctypes.string_at(pointer, 12))
        else:
            assert number == GET_STAMPS
            ctypes.memmove(pointer, struct.pack("=iii", 0, self.sent, self._filter), 12)
        return request


def asked(nic: Nic, choice: str = AUTO) -> Stamps:
    stamps = Stamps(choice)
    stamps.ask(nic, "eth1")  # type: ignore[arg-type]
    return stamps


@pytest.mark.parametrize("count", [count_hardware_times, pytest.param(_jit.compiled(count_hardware_times), id="compiled")])
def test_each_record_says_by_which_clock_it_was_stamped(count: Callable[[Any, int, int], int]) -> None:
    buffer = block([HARDWARE_STAMP | 1, SOFTWARE_STAMP | 1, 1, HARDWARE_STAMP | 1 << 4 | 1], time.time_ns())
    given = buffer if count is not count_hardware_times else memoryview(buffer)
    assert count(given, 0, len(buffer)) == 2
    assert count(given, 64, len(buffer)) == 1
    assert count(given, 0, RING_HEADER - 1) == 0


def test_an_interface_that_can_stamp_every_packet_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    nic = Nic(monkeypatch)
    assert (asked(nic).describe(), nic.options) == (HARDWARE, [1 << 6])


def test_packets_that_are_sent_are_stamped_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    ptp_v2 = 12
    nic = Nic(monkeypatch, filter=ptp_v2)
    assert asked(nic).clock == HARDWARE and nic.sent == 1


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (struct.pack("=IIiI12xI12x", 0x41, 0x1B, -1, 0, 0), "no clock"),
        (struct.pack("=IIiI12xI12x", 0x41, 0x5F, 0, 3, 0b1000001), "some packets only"),
    ],
)
def test_one_that_cannot_leaves_it_to_the_kernel_and_the_reason_is_said(info: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Offer.parse(info).refusal
    nic = Nic(monkeypatch, info)
    stamps = asked(nic)
    assert (stamps.clock, nic.options) == (KERNEL, []) and reason in stamps.describe()
    with pytest.raises(SourceError, match=f"eth1: no hardware timestamps: .*{reason}"):
        asked(nic, HARDWARE)


def test_without_the_right_to_switch_it_on_what_was_switched_on_before_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(Nic(monkeypatch, may_set=False, filter=1)).clock == HARDWARE
    off = asked(Nic(monkeypatch, may_set=False, filter=0))
    assert off.clock == KERNEL and "CAP_NET_ADMIN" in off.reason


def test_packets_that_the_interface_left_to_the_kernel_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    nic = Nic(monkeypatch)
    stamps = asked(nic)
    buffer = block([HARDWARE_STAMP] * 3 + [SOFTWARE_STAMP], time.time_ns())
    stamps.look(nic, memoryview(buffer), 0, len(buffer), 4)  # type: ignore[arg-type]
    assert (stamps.clock, stamps.by_hardware, stamps.by_kernel) == (HARDWARE, 3, 1)
    assert stamps.describe() == "hardware: but 25 % of the packets by the kernel"


@pytest.mark.parametrize("offset_s", [37, -3600])
def test_a_clock_that_is_not_set_is_left(offset_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nic = Nic(monkeypatch)
    stamps = asked(nic)
    buffer = block([HARDWARE_STAMP], time.time_ns() + offset_s * 1_000_000_000)
    stamps.look(nic, memoryview(buffer), 0, len(buffer), 1)  # type: ignore[arg-type]
    assert (stamps.clock, nic.options) == (KERNEL, [1 << 6, 0])
    assert f"{offset_s:+d} s from this machine's" in stamps.describe()


@pytest.mark.parametrize(("choice", "unmet"), [(AUTO, False), (HARDWARE, True)])
def test_where_only_the_interfaces_clock_would_do_leaving_it_is_a_fault(choice: str, unmet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    nic = Nic(monkeypatch)
    stamps = asked(nic, choice)
    assert stamps.unmet == ""
    buffer = block([HARDWARE_STAMP], time.time_ns() - 3600 * 1_000_000_000)
    stamps.look(nic, memoryview(buffer), 0, len(buffer), 1)  # type: ignore[arg-type]
    assert stamps.unmet.startswith("no hardware timestamps: the interface's clock is -3600 s from") == unmet


@needs_namespaces
def test_an_interface_without_a_clock_is_stamped_by_the_kernel_and_says_so() -> None:
    def work() -> tuple[str, list[int], str]:
        ring, before = small(), time.time_ns()
        times = captured(ring, lambda: sender().send(bytes(60)) and None, 0.4)["time_ns"]
        with pytest.raises(SourceError) as refused:
            Ring("mirror0", blocks=8, block_bytes=1 << 16, compiled=False, timestamps=HARDWARE)
        assert all(before <= at <= time.time_ns() for at in times) and ring.stamps.by_kernel == len(times)
        return ring.clock, times, str(refused.value)

    clock, times, refused = in_namespace(work)
    assert len(times) == 1
    assert clock == "kernel: the interface has no clock for packets that it receives"
    assert refused == "mirror0: no hardware timestamps: the interface has no clock for packets that it receives"


@needs_namespaces
def test_times_asked_of_a_ring_whose_interface_has_none_are_the_kernels() -> None:
    def work() -> Stamps:
        ring = small()
        ring.stamps.clock, ring.stamps.reason = HARDWARE, ""
        ring._socket.setsockopt(263, 17, 1 << 6)
        captured(ring, lambda: [sender().send(bytes(60)) for _ in range(3)] and None, 0.4)
        return ring.stamps

    stamps = in_namespace(work)
    assert (stamps.by_hardware, stamps.by_kernel, stamps.describe()) == (0, 3, "hardware: but 100 % of the packets by the kernel")


def test_a_socket_is_what_is_asked() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        stamps = Stamps(AUTO)
        stamps.ask(plain, "lo")
    assert stamps.clock == KERNEL and stamps.reason
