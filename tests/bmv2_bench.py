"""A single BMv2 switch s1 with our program between two hosts and another switch that the test plays itself, and its monitor."""

from __future__ import annotations

import dataclasses
import itertools
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pytest

import int_analyzer
from int_analyzer.lab import requirement
from int_analyzer.lab.entry import MONITOR_PORT, entries_of
from int_analyzer.lab.frame import Flow
from int_analyzer.lab.network import Network
from int_analyzer.lab.telemetry import Telemetry
from int_analyzer.lab.topology import Host, interface, load_topology

if TYPE_CHECKING:
    from int_analyzer.lab.control import Change

TOPOLOGY = """
name: bench
switches:
  s1: {id: 7, ports: {1: h1, 2: h2, 3: s2}}
  s2: {id: 9, ports: {1: s1, 2: h3}}
hosts:
  h1: 10.0.1.1
  h2: 10.0.1.2
  h3: 10.0.2.3
"""
NEIGHBOURS = {1: "h1", 2: "h2", 3: "s2", MONITOR_PORT: "monitor"}
NODE = 7
H1, H2, S2 = 1, 2, 3
FARTHER = 40 - 20
"""Everything behind the IP header stands so many bytes later in IPv6, and so does the end of the destination."""

MISSING = [one.name for one in requirement.requirements(requirement.BMV2) if not one.present]
needs_bmv2 = pytest.mark.skipif(bool(MISSING), reason=", ".join(f"no {name}" for name in MISSING))
families = pytest.mark.parametrize("six", [False, True], ids=["ipv4", "ipv6"])

_MAC = "02:00:00:00:00:{:02x}"
_ETHERNET_BYTES = 14
_SILENT = {"ipv6/conf/default/disable_ipv6": 1}
"""What keeps interfaces from telling the switch of the groups that they listen to."""
_QUIET_S = 0.25
"""How long a port must say nothing before that counts as nothing."""


class Tables(NamedTuple):
    """All rows of some frames."""

    packets: pd.DataFrame
    hops: pd.DataFrame
    roce: pd.DataFrame
    reports: pd.DataFrame
    mirrors: pd.DataFrame


class Bench:
    """The switch and a socket at the far end of each of its ports."""

    def __init__(self, folder: Path) -> None:
        from int_analyzer.lab.switch import Bmv2Switch

        self.folder = folder
        self._exit = ExitStack()
        network = self._exit.enter_context(Network())
        path = folder / "bench.yaml"
        path.write_text(TOPOLOGY)
        self.topology = load_topology(str(path))
        switch = network.add_node("s1")
        switch.configure(_SILENT)
        self._sockets = {}
        for port, name in NEIGHBOURS.items():
            there = network.add_node(name)
            there.configure(_SILENT)
            network.add_link(switch, interface("s1", name), _MAC.format(port & 0xFF), there, interface(name, "s1"), _MAC.format(0x80))
            with there.entered():
                opened = self._exit.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
                opened.bind((interface(name, "s1"), 3))
            self._sockets[port] = opened
        self.switch = Bmv2Switch(network, switch, {port: interface("s1", name) for port, name in NEIGHBOURS.items()}, folder)
        self._exit.callback(self.switch.close)
        self.switch.install()

    def close(self) -> None:
        self._exit.close()

    def apply(self, **changes: Any) -> Change:
        """Give s1 what this telemetry asks of it."""
        telemetry = dataclasses.replace(Telemetry(), **changes)
        return self.switch.apply(entries_of(self.topology, self.topology.switches["s1"], telemetry), telemetry.copies)

    def set(self, **changes: Any) -> None:
        """The same, and forget what still waits in the sockets."""
        self.apply(**changes)
        for port in NEIGHBOURS:
            self.receive(port, wait_s=0.0)

    def send(self, port: int, frames: Iterable[bytes]) -> None:
        for frame in frames:
            self._sockets[port].send(frame)

    def receive(self, port: int, count: int = 1 << 30, wait_s: float = 3.0) -> list[bytes]:
        """Frames out of a port, until there are `count` or nothing more comes."""
        got: list[bytes] = []
        until = time.monotonic() + wait_s
        while len(got) < count:
            self._sockets[port].settimeout(max(0.001, until - time.monotonic()))
            try:
                frame, address = self._sockets[port].recvfrom(65535)
            except TimeoutError:
                break
            if address[2] != socket.PACKET_OUTGOING:
                got.append(frame)
        return got

    def nothing(self, port: int) -> bool:
        return self.receive(port, 1, _QUIET_S) == []

    def decode(self, frames: Iterable[bytes]) -> Tables:
        """The tables of these frames, as the package decodes them without a profile."""
        path = self.folder / "frames.pcap"
        with path.open("wb") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
            for number, frame in enumerate(frames):
                file.write(struct.pack("<IIII", 1_700_000_000, number, len(frame), len(frame)) + frame)
        (tables,) = (Tables(*(getattr(batch, name) for name in Tables._fields)) for batch in int_analyzer.read(str(path)))
        return tables


def flow(source: str = "10.0.1.1", destination: str = "10.0.2.3", *, six: bool = False, **changes: Any) -> Flow:
    """A flow from h1 to h3, or between other addresses; `six`: between the IPv6 addresses of these hosts."""
    if six:
        source, destination = (Host("", address, "", 0).ipv6 for address in (source, destination))
    return Flow(_MAC.format(0x80), _MAC.format(1), source, destination, **{"source_port": 50_000, "dest_qp": 17, "first_psn": 5, **changes})


def with_byte(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes((value,)) + frame[at + 1 :]


def towards(frame: bytes, host: tuple[int, int], six: bool) -> bytes:
    """The frame with another destination, by the last two bytes of its address."""
    at = 32 + FARTHER * six
    return frame[:at] + bytes(host) + frame[at + 2 :]


def take(of: Flow, count: int = 1) -> list[bytes]:
    return list(itertools.islice(of.frames(), count))


def untouched(frames: Iterable[bytes]) -> Iterator[bytes]:
    """What a router must not change of frames: all behind Ethernet but hop limit and IPv4 checksum."""
    for frame in frames:
        packet = bytearray(frame[_ETHERNET_BYTES:])
        if packet[0] >> 4 == 4:
            packet[8] = packet[10] = packet[11] = 0
        else:
            packet[7] = 0
        yield bytes(packet)


def whole(frame: bytes) -> bool:
    """Whether the lengths of IP and UDP are those of the frame, and the checksum of IPv4 right."""
    six = frame[_ETHERNET_BYTES] >> 4 == 6
    at = _ETHERNET_BYTES + (4 if six else 2)
    behind = _ETHERNET_BYTES + (40 if six else 0)
    udp = len(frame) - _ETHERNET_BYTES - (40 if six else 20)
    lengths = (int.from_bytes(frame[at : at + 2], "big"), int.from_bytes(frame[-udp + 4 : -udp + 6], "big"))
    return lengths == (len(frame) - behind, udp) and (six or sums_up(frame))


def sums_up(frame: bytes) -> bool:
    """Whether the IPv4 header checksum is right."""
    halves = 2 * (frame[_ETHERNET_BYTES] & 0xF)
    words = struct.unpack_from(f">{halves}H", frame, _ETHERNET_BYTES)
    return sum(words) % 0xFFFF == 0
