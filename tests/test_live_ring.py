"""A ring on an interface of the test's own: the same rows as from a file, VLAN tags back in place, losses counted apart."""

from __future__ import annotations

import errno
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from namespace import in_namespace, ip, needs_namespaces, sender
from traffic import CONGESTED, frames

from int_analyzer.capture import open_source
from int_analyzer.capture.records import RING_HEADER, RING_STATUS, RING_TCI, RING_TPID
from int_analyzer.columns import Columns
from int_analyzer.decode import Decoder
from int_analyzer.errors import SourceError
from int_analyzer.live import ring as ring_module
from int_analyzer.live.filter import compile_filter
from int_analyzer.live.ring import Fanout, Ring, restore_tags
from int_analyzer.schema import ABSENT16, TABLES, kernel_columns

pytestmark = needs_namespaces


def rows(batches: Iterator[Columns], table: str = "packets") -> dict[str, list[Any]]:
    """All rows of a table."""
    found: dict[str, list[Any]] = {name: [] for name in kernel_columns(TABLES[table])}
    for columns in batches:
        for name in found:
            found[name] += getattr(getattr(columns, table), name)[: columns.rows(table)].tolist()
    return found


def captured(ring: Ring, send: Callable[[], None], seconds: float = 0.5, table: str = "packets") -> dict[str, list[Any]]:
    """Rows of what came in while `send` ran and shortly after."""
    result: list[dict[str, list[Any]]] = []
    thread = threading.Thread(target=lambda: result.append(rows(Decoder(compiled=False).batches(ring), table)))
    thread.start()
    time.sleep(0.1)
    send()
    time.sleep(seconds)
    ring.stop()
    thread.join()
    return result[0]


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_module, "_LOOK_S", 0.1)


def small(**options: Any) -> Ring:
    return Ring("mirror0", blocks=8, block_bytes=1 << 16, compiled=False, **options)


@pytest.mark.parametrize("table", ["packets", "hops", "reports"])
def test_rows_from_a_ring_are_those_of_the_file(table: str) -> None:
    sent = [data for _, data in frames(CONGESTED)[:200]]

    def work() -> dict[str, list[Any]]:
        socket_out = sender()
        return captured(small(), lambda: [socket_out.send(data) for data in sent] and None, table=table)

    live = in_namespace(work)
    with open_source(str(CONGESTED)) as source:
        filed = rows(Decoder(compiled=False, packets=200).batches(source), table)
    count = len(live["packet"]) if "packet" in live else len(live["time_ns"])
    assert count >= 200
    for name in set(live) - {"time_ns", "packet", "first_hop", "roce_row", "first_report", "first_mirror"}:
        assert live[name] == filed[name][:count], name


def test_times_are_those_of_the_kernel() -> None:
    def work() -> tuple[int, dict[str, list[Any]], int]:
        socket_out = sender()
        before = time.time_ns()
        found = captured(small(), lambda: [socket_out.send(bytes(60)) for _ in range(3)] and None, 0.5)
        return before, found, time.time_ns()

    before, found, after = in_namespace(work)
    assert len(found["time_ns"]) == 3 and all(before < at < after for at in found["time_ns"])


def tagged(tci: int, tpid: int = 0x8100) -> bytes:
    return b"\2" * 6 + b"\4" * 6 + struct.pack(">HHH", tpid, tci, 0x0800) + frames(CONGESTED)[0][1][14:]


@pytest.mark.parametrize(("tag", "vlan"), [(tagged(5), 5), (tagged(0xE005), 5), (tagged(7, 0x88A8), 7), (tagged(0x1000), 0)])
def test_a_vlan_tag_that_the_kernel_took_out_is_back(tag: bytes, vlan: int) -> None:
    plain = tag[:12] + tag[16:]

    def work() -> dict[str, list[Any]]:
        socket_out = sender()
        return captured(small(), lambda: [socket_out.send(data) for data in (tag, plain, tag)] and None, 0.4)

    found = in_namespace(work)
    assert found["vlan_id"] == [vlan, ABSENT16, vlan]
    assert found["original_bytes"] == [len(tag), len(plain), len(tag)]
    assert len(set(found["src_lo"])) == 1 and len(set(found["hop_count"])) == 1


def test_a_tag_is_put_back_between_addresses_and_type() -> None:
    room = 4
    block = bytearray(RING_HEADER + room + 64)
    frame = bytes(range(60))
    block[RING_HEADER + room : RING_HEADER + room + 60] = frame
    struct.pack_into("<5I", block, 0, 0, 1, 2, 60, 60)
    struct.pack_into("<IH", block, RING_STATUS, 1 | 1 << 4 | 1 << 6, RING_HEADER + room)
    struct.pack_into("<IH", block, RING_TCI, 0x2064, 0x88A8)
    assert RING_TPID == RING_TCI + 4
    assert restore_tags(memoryview(block), 0, len(block)) == 1
    assert block[RING_HEADER : RING_HEADER + 64] == frame[:12] + bytes.fromhex("88a8 2064") + frame[12:]
    assert struct.unpack_from("<2I", block, 12) == (64, 64)
    assert restore_tags(memoryview(block), 0, len(block)) == 0


def test_compiled_and_plain_put_the_same_tags_back() -> None:
    from int_analyzer import _jit

    block = np.zeros(RING_HEADER + 68, dtype=np.uint8)
    block[RING_HEADER + 4 :] = np.arange(64)
    struct.pack_into("<5I", block, 0, 0, 1, 2, 60, 60)
    struct.pack_into("<IH", block, RING_STATUS, 1 | 1 << 4, RING_HEADER + 4)
    struct.pack_into("<IH", block, RING_TCI, 0x2064, 0)
    plain = block.copy()
    assert _jit.compiled(restore_tags)(block, 0, len(block)) == restore_tags(memoryview(plain), 0, len(plain)) == 1
    assert block.tobytes() == plain.tobytes()


def udp(src_port: int) -> bytes:
    """An Ethernet frame with IPv4, UDP and 20 bytes."""
    network = struct.pack(">BBHIBBH4s4s", 0x45, 0, 48, 0, 64, 17, 0, bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    return bytes(12) + struct.pack(">H", 0x0800) + network + struct.pack(">HHHH", src_port, 9, 28, 0) + bytes(20)


def test_rings_of_one_fanout_share_the_packets_by_flow() -> None:
    def work() -> tuple[list[dict[str, list[Any]]], int]:
        socket_out = sender()
        fanout = Fanout()
        rings = [small(fanout=fanout), small(fanout=fanout)]
        results: list[dict[str, list[Any]]] = []
        threads = [threading.Thread(target=lambda ring=ring: results.append(rows(Decoder(compiled=False).batches(ring)))) for ring in rings]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        for number in range(200):
            socket_out.send(udp(1000 + number % 20))
        time.sleep(0.5)
        for ring in rings:
            ring.stop()
        for thread in threads:
            thread.join()
        return results, 200

    results, sent = in_namespace(work)
    assert sum(len(found["time_ns"]) for found in results) == sent
    ports = [set(found["src_port"]) for found in results]
    assert all(ports) and not ports[0] & ports[1]


def test_two_sidecars_on_one_interface_see_all_packets_each(monkeypatch: pytest.MonkeyPatch) -> None:
    # as in two containers, where both are process 1
    monkeypatch.setattr("os.getpid", lambda: 1)

    def work() -> list[int]:
        socket_out = sender()
        one, other = Fanout(), Fanout()
        rings = [small(fanout=fanout) for fanout in (one, one, other, other)]
        found = dict.fromkeys(range(4), 0)
        threads = []
        for number, ring in enumerate(rings):

            def read(number: int = number, ring: Ring = ring) -> None:
                found[number] = len(rows(Decoder(compiled=False).batches(ring))["time_ns"])

            threads.append(threading.Thread(target=read))
            threads[-1].start()
        while any(ring.fault for ring in rings):
            time.sleep(0.05)
        for number in range(100):
            socket_out.send(udp(1000 + number))
        time.sleep(0.5)
        for ring in rings:
            ring.stop()
        for thread in threads:
            thread.join()
        return [found[0] + found[1], found[2] + found[3]]

    assert in_namespace(work) == [100, 100]


def captured_after(again: Callable[[], None], rings: list[Ring]) -> tuple[int, list[str]]:
    """How many of 100 packets these rings get together, each at least one, once the interface is made again; their faults since."""
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda ring=ring: found.append(rows(Decoder(compiled=False).batches(ring))["original_bytes"].count(62)))
        for ring in rings
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    again()
    time.sleep(0.6)
    before = [ring.fault for ring in rings]
    socket_out = sender()
    for number in range(100):
        socket_out.send(udp(1000 + number))
    time.sleep(0.5)
    faults = [earlier or ring.fault for earlier, ring in zip(before, rings, strict=True)]
    for ring in rings:
        ring.stop()
    for thread in threads:
        thread.join()
    assert all(found)
    return sum(found), faults


def test_rings_that_share_an_interface_share_it_again_when_it_is_made_again() -> None:
    def again() -> None:
        ip("link del mirror0")
        time.sleep(0.4)
        ip("link add fabric0 type veth peer name mirror0")
        ip("link set fabric0 up")
        ip("link set mirror0 up")

    def work() -> tuple[int, list[str]]:
        fanout = Fanout()
        return captured_after(again, [small(fanout=fanout), small(fanout=fanout)])

    assert in_namespace(work) == (100, ["", ""])


def test_an_interface_that_cannot_be_opened_again_is_tried_until_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> tuple[list[str], int]:
        ring = small()
        made, faults = socket.socket, list[str]()

        def refuse(*arguments: object) -> socket.socket:
            raise OSError(errno.EMFILE, "Too many open files")

        def send() -> None:
            ip("link del mirror0")
            monkeypatch.setattr(socket, "socket", refuse)
            ip("link add fabric0 type veth peer name mirror0")
            ip("link set fabric0 up")
            ip("link set mirror0 up")
            time.sleep(0.4)
            faults.append(ring.fault)
            monkeypatch.setattr(socket, "socket", made)
            time.sleep(0.4)
            faults.append(ring.fault)
            sender().send(bytes(60) + b"again")

        return faults, captured(ring, send, 0.4)["original_bytes"].count(65)

    assert in_namespace(work) == (["Too many open files", ""], 1)


def test_an_overloaded_ring_sheds_whole_blocks_and_counts_every_packet() -> None:
    def work() -> tuple[int, int, int, int]:
        socket_out = sender()
        ring = small()
        windows = ring.windows()
        threading.Timer(0.3, lambda: [socket_out.send(bytes(1000)) for _ in range(600)]).start()
        decoder = Decoder(compiled=False)
        seen = 0
        stop = threading.Timer(1.6, ring.stop)
        stop.start()

        class Slow:
            """Lets the ring fill up before each window."""

            def windows(self) -> Iterator[Any]:
                for window in windows:
                    time.sleep(0.4)
                    yield window

        for columns in decoder.batches(Slow()):
            seen += columns.rows("packets")
        return seen, ring.losses.own, ring.losses.kernel, 600

    seen, own, dropped, sent = in_namespace(work)
    assert own > 0 and seen + own + dropped == sent


def test_an_interface_that_goes_down_and_comes_up_is_waited_for() -> None:
    def work() -> tuple[list[str], int]:
        socket_out = sender()
        ring = small()
        faults: list[str] = []

        def send() -> None:
            socket_out.send(bytes(60))
            ip("link set mirror0 down")
            time.sleep(0.4)
            faults.append(ring.fault)
            ip("link set mirror0 up")
            time.sleep(0.4)
            faults.append(ring.fault)
            socket_out.send(bytes(60))

        return faults, len(captured(ring, send, 0.4)["time_ns"])

    assert in_namespace(work) == (["the interface is down", ""], 2)


def test_an_interface_that_is_made_again_is_captured_again() -> None:
    def work() -> tuple[list[str], int]:
        ring = small()
        faults: list[str] = []

        def send() -> None:
            sender().send(bytes(60))
            time.sleep(0.2)
            ip("link del mirror0")
            time.sleep(0.4)
            faults.append(ring.fault)
            ip("link add fabric0 type veth peer name mirror0")
            ip("link set fabric0 up")
            ip("link set mirror0 up")
            time.sleep(0.5)
            faults.append(ring.fault)
            sender().send(bytes(60) + b"again")

        found = captured(ring, send, 0.4)
        return faults, found["original_bytes"].count(65)

    assert in_namespace(work) == (["no such interface", ""], 1)


def make_again() -> None:
    """Delete the interface and make one that has its name and its index, faster than a ring looks."""
    fabric, mirror = socket.if_nametoindex("fabric0"), socket.if_nametoindex("mirror0")
    ip("link del mirror0")
    ip(f"link add fabric0 index {fabric} type veth peer name mirror0 index {mirror}")
    ip("link set fabric0 up")
    ip("link set mirror0 up")


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interface_that_is_made_again_with_its_index_is_captured_again(threads: int) -> None:
    def work() -> tuple[int, list[str]]:
        fanout = Fanout() if threads > 1 else None
        return captured_after(make_again, [small(fanout=fanout) for _ in range(threads)])

    assert in_namespace(work) == (100, [""] * threads)


def test_packets_that_wait_for_their_turn_when_the_interface_is_made_again_are_counted_as_lost() -> None:
    def work() -> tuple[int, int]:
        socket_out = sender()
        ring = small()
        windows = ring.windows()
        threading.Timer(0.2, lambda: socket_out.send(bytes(60))).start()
        next(windows)
        for _ in range(2):
            for _ in range(5):
                socket_out.send(bytes(60))
            time.sleep(0.3)
        make_again()
        ring.stop()
        return len(list(windows)), ring.losses.own

    assert in_namespace(work) == (0, 10)


def test_a_filter_of_the_kernel_keeps_out_what_nobody_wants() -> None:
    def work() -> dict[str, list[Any]]:
        socket_out = sender()
        packet = frames(CONGESTED)[0][1]
        ring = small(program=compile_filter("udp"))
        return captured(ring, lambda: [socket_out.send(data) for data in (bytes(60), packet, bytes(60))] and None, 0.4)

    assert len(in_namespace(work)["time_ns"]) == 1


def test_a_filter_that_is_none_is_refused() -> None:
    with pytest.raises(SourceError, match="syntax error"):
        compile_filter("udp and and")


def test_an_interface_that_is_not_there_is_one_line() -> None:
    with pytest.raises(SourceError, match="eth17: no such interface"):
        Ring("eth17", compiled=False)


def test_nothing_is_captured_before_it_begins() -> None:
    def work() -> int:
        ring, socket_out = small(), sender()
        socket_out.send(bytes(60))
        return len(captured(ring, lambda: socket_out.send(bytes(60)) and None, 0.4)["time_ns"])

    assert in_namespace(work) == 1


def test_what_the_machine_sends_itself_is_not_taken_for_the_mirror() -> None:
    def work() -> int:
        socket_out = sender("mirror0")
        return len(captured(small(), lambda: socket_out.send(bytes(60)) and None, 0.4)["time_ns"])

    assert in_namespace(work) == 0


def test_a_socket_without_the_right_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> socket.socket:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(SourceError, match="lo: no permission to capture: CAP_NET_RAW"):
        Ring("lo", compiled=False)
