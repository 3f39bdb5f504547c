"""Reports on a UDP socket: the same rows as the datagrams in a capture would give, in batches, with nothing lost in silence."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from namespace import in_namespace, ip, needs_namespaces
from test_live_ring import rows
from traffic import CONGESTED, frames

from int_analyzer.capture import open_source
from int_analyzer.decode import Decoder
from int_analyzer.errors import SourceError
from int_analyzer.live.report_socket import DATAGRAM_BYTES, SLOTS, ReportSocket, parse_address

DATAGRAMS = [data[42:] for _, data in frames(CONGESTED)]
"""The telemetry reports of a collector: what stands behind Ethernet, IPv4 and UDP."""


def received(host: str, send: Callable[[socket.socket, tuple[str, int]], None], table: str = "packets") -> tuple[dict[str, list[Any]], Any]:
    """Rows of what `send` sent to a socket on the loopback interface."""
    intake = ReportSocket(host, 0)
    result: list[dict[str, list[Any]]] = []
    thread = threading.Thread(target=lambda: result.append(rows(Decoder(compiled=False).batches(intake), table)))
    thread.start()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as out:
        send(out, (host, intake.port))
    time.sleep(0.4)
    intake.stop()
    thread.join()
    return result[0], intake


def send_all(out: socket.socket, to: tuple[str, int]) -> None:
    for number, data in enumerate(DATAGRAMS[:300]):
        out.sendto(data, to)
        if number % 50 == 0:
            time.sleep(0.005)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("table", ["hops", "reports"])
def test_reports_from_a_socket_are_those_of_the_capture(host: str, table: str) -> None:
    live, intake = received(host, send_all, table)
    with open_source(str(CONGESTED)) as source:
        filed = rows(Decoder(compiled=False).batches(source), table)
    count = len(live["packet"])
    assert count >= 300 and intake.losses.kernel == 0
    for name in set(live) - {"packet"}:
        assert live[name] == filed[name][:count], name


def test_each_datagram_has_the_kernels_time_and_its_senders_address() -> None:
    before = time.time_ns()
    found, _ = received("127.0.0.1", lambda out, to: [out.sendto(b"junk" * 10, to) for _ in range(3)] and None)
    assert len(found["time_ns"]) == 3 and all(before < at < time.time_ns() for at in found["time_ns"])
    assert found["src_lo"] == [0x7F000001] * 3 == found["dst_lo"]
    assert found["original_bytes"] == [28 + 40] * 3


def test_a_datagram_that_is_too_long_is_cut_and_says_so() -> None:
    found, _ = received("127.0.0.1", lambda out, to: out.sendto(bytes(20_000), to) and None)
    assert found["captured_bytes"] == [28 + DATAGRAM_BYTES] and found["original_bytes"] == [28 + 20_000]


def test_an_empty_datagram_is_a_packet_too() -> None:
    found, _ = received("127.0.0.1", lambda out, to: out.sendto(b"", to) and None)
    assert found["original_bytes"] == [28]


def test_what_the_kernel_had_to_drop_is_counted() -> None:
    intake = ReportSocket("127.0.0.1", 0)
    intake._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(200):
            out.sendto(bytes(500), ("127.0.0.1", intake.port))
    result: list[dict[str, list[Any]]] = []
    thread = threading.Thread(target=lambda: result.append(rows(Decoder(compiled=False).batches(intake))))
    thread.start()
    time.sleep(0.3)
    intake.stop()
    thread.join()
    assert intake.losses.kernel > 0 and len(result[0]["time_ns"]) + intake.losses.kernel == 200


def test_many_datagrams_come_in_few_batches() -> None:
    intake = ReportSocket("127.0.0.1", 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(100):
            out.sendto(bytes(64), ("127.0.0.1", intake.port))
    windows = intake.windows()
    window = next(windows)
    assert window.stop // intake._stride == 100 < SLOTS
    intake.stop()
    assert list(windows) == []


@needs_namespaces
def test_two_sidecars_at_one_port_the_second_is_told() -> None:
    def work() -> None:
        first = ReportSocket("127.0.0.1", 32766)
        with pytest.raises(SourceError, match=r"udp://127\.0\.0\.1:32766: somebody else listens there"):
            ReportSocket("127.0.0.1", 32766)
        first.stop()
        assert list(first.windows()) == []
        ip("link show lo")

    in_namespace(work)


def test_addresses_are_read_as_written() -> None:
    assert parse_address("udp://0.0.0.0:32766") == ("0.0.0.0", 32766)
    assert parse_address("udp://[::1]:32766") == ("::1", 32766)
    for wrong in ("0.0.0.0:32766", "udp://0.0.0.0", "udp://0.0.0.0:http", "udp://0.0.0.0:99999"):
        with pytest.raises(SourceError, match="udp://ADDRESS:PORT"):
            parse_address(wrong)
