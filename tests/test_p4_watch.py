"""Which packets the P4 program on BMv2 watches, and how all others pass by. Skipped where simple_switch_grpc is not installed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from bmv2_bench import FARTHER, H1, H2, S2, Bench, families, flow, needs_bmv2, sums_up, take, towards, untouched, with_byte
from mode import other_programs
from scapy.layers.inet import IP, UDP, IPOption, IPOption_EOL, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether

from int_analyzer.lab.entry import MONITOR_PORT

pytestmark = [needs_bmv2, other_programs]

OPTIONS = [
    IPOption(b"\x94\x04\x00\x00"),  # router alert (RFC 2113)
    [IPOption_NOP()] * 3 + [IPOption_EOL()],
    IPOption_RR(routers=["0.0.0.0"] * 9),  # all 40 bytes that there are
]


@pytest.mark.parametrize(
    "watch",
    [{"source": "10.0.1.0/24"}, {"destination": "10.0.2.3/32"}, {"dscp": 26}, {"dest_qp": 17}, {"source": "10.0.1.1/32", "dest_qp": 17}],
)
def test_the_watchlist_chooses(bench: Bench, watch: dict[str, Any]) -> None:
    bench.set(watch=(watch,))
    other = flow(source="10.0.3.1", destination="10.0.1.2", dscp=10, dest_qp=18)
    bench.send(H1, take(flow()) + take(dataclasses.replace(other, destination="10.0.2.3" if "destination" not in watch else "10.0.1.2")))
    watched = bench.receive(S2, 2 if "destination" not in watch else 1)
    assert list(bench.decode(watched).packets.hop_count) == ([1, 0] if "destination" not in watch else [1])
    if "destination" in watch:
        assert len(bench.receive(H2, 1)) == 1
        assert bench.nothing(MONITOR_PORT)


def test_sampling_takes_about_one_in_so_many_and_the_same_ones_again(bench: Bench) -> None:
    bench.set(mode="xd", sample=8)
    frames = take(flow(), 400)
    chosen = []
    for _ in range(2):
        for at in range(0, 400, 20):
            bench.send(H1, frames[at : at + 20])
            assert len(bench.receive(S2, 20)) == 20
        chosen.append(list(bench.decode(bench.receive(MONITOR_PORT, 400, 0.5)).roce.psn))
    assert chosen[0] == chosen[1]
    assert 25 <= len(chosen[0]) <= 85


@families
def test_what_is_not_rocev2_is_left_alone(bench: Bench, six: bool) -> None:
    bench.set()
    frame = take(flow(six=six))[0]
    port, checksum = 36 + FARTHER * six, 40 + FARTHER * six
    other = [frame[:port] + b"\x00\x35" + frame[port + 2 :], frame[:checksum] + b"\x12\x34" + frame[checksum + 2 :]]
    bench.send(H1, other)
    assert list(untouched(bench.receive(S2, 2))) == list(untouched(other))


@pytest.mark.parametrize("options", OPTIONS, ids=("router-alert", "nop", "record-route"))
@pytest.mark.parametrize("mode", ["md", "mx", "xd"])
def test_ipv4_with_options_passes_by_valid_and_counted(bench: Bench, mode: str, options: Any) -> None:
    bench.set(mode=mode)
    before = bench.switch.passed_by()
    made = Ether(take(flow())[0])
    made[IP].options, made[IP].ihl, made[IP].len, made[IP].chksum = options, None, None, None
    sent = bytes(made)
    assert sent[14] > 0x45
    bench.send(H1, [sent])
    (got,) = bench.receive(S2, 1)
    assert list(untouched([got])) == list(untouched([sent]))
    assert got[22] == sent[22] - 1
    assert sums_up(got)
    assert bench.nothing(MONITOR_PORT)
    assert bench.switch.passed_by() == {**before, "options": before["options"] + 1}


def test_the_checksum_of_ipv4_with_options_carries_as_it_would_be_made_anew(bench: Bench) -> None:
    """RFC 1624 §3: less TTL is more checksum, and above 0xFEFE that carries."""
    bench.set()
    made = Ether(take(flow())[0])
    made[IP].options = IPOption(b"\x94\x04\x00\x00")
    sent = []
    for checksum in (0x0001, 0xFEFE, 0xFEFF, 0xFF00, 0xFFFE):
        made[IP].id, made[IP].ihl, made[IP].len, made[IP].chksum = 0, None, None, None
        # by what the identification grows, the checksum falls
        made[IP].id = (Ether(bytes(made))[IP].chksum - checksum) % 0xFFFF
        sent.append(bytes(made))
        assert Ether(sent[-1])[IP].chksum == checksum
    bench.send(H1, sent)
    got = bench.receive(S2, len(sent))
    for frame in got:
        again = Ether(frame)
        again[IP].chksum = None
        assert bytes(again) == frame


def first_fragment(packet: Any) -> None:
    packet[IP].flags = "MF"


def later_fragment(packet: Any) -> None:
    packet[IP].flags, packet[IP].frag = 0, 8


def udp_checksum(packet: Any) -> None:
    packet[UDP].chksum = 0x1234


def destination_options(packet: Any) -> None:
    packet[IPv6].nh, packet[IPv6].payload = 60, IPv6ExtHdrDestOpt() / packet[UDP]


def fragment_header(packet: Any) -> None:
    packet[IPv6].nh, packet[IPv6].payload = 44, IPv6ExtHdrFragment() / packet[UDP]


@pytest.mark.parametrize(
    ("family", "change", "reason"),
    [
        (IP, first_fragment, "fragment"),
        (IP, later_fragment, "fragment"),
        (IP, udp_checksum, "checksum"),
        (IPv6, udp_checksum, "checksum"),
        (IPv6, destination_options, "extension"),
        (IPv6, fragment_header, "extension"),
    ],
)
def test_what_is_not_looked_into_passes_by_and_is_counted_by_its_reason(bench: Bench, family: Any, change: Any, reason: str) -> None:
    bench.set(mode="md" if family is IP else "ioam")
    before = bench.switch.passed_by()
    made = Ether(take(flow(six=family is IPv6))[0])
    change(made)
    if family is IP:
        made[IP].chksum = None
    else:
        made[IPv6].plen = None
    sent = bytes(made)
    bench.send(H1, [sent])
    got = bench.receive(S2, 1)
    assert list(untouched(got)) == list(untouched([sent]))
    assert family is IPv6 or sums_up(got[0])
    assert bench.switch.passed_by() == {**before, reason: before[reason] + 1}


SHIM_LENGTH, STACK = 14 + 20 + 8 + 1, 14 + 20 + 8 + 16
"""Where the length of an INT shim stands in a frame of IPv4, and where the hops begin."""


@families
@pytest.mark.parametrize("mode", ["md", "mx"])
@pytest.mark.parametrize("host", [(1, 2), (2, 3)], ids=["sink", "transit"])
@pytest.mark.parametrize("length", [0, 2, 200, None])
def test_int_that_is_cut_or_whose_length_cannot_be_passes_by_as_it_came_and_is_counted(
    bench: Bench, mode: str, host: tuple[int, int], length: int | None, six: bool
) -> None:
    """A shim that is shorter than its header or longer than its datagram; without a length: a frame that ends within its hops or header."""
    bench.set(mode=mode)
    bench.send(H1, take(flow(six=six, payload=256)))
    whole = towards(bench.receive(S2, 1)[0], host, six)
    if length is None:
        sent = whole[: STACK + FARTHER * six + (8 if mode == "md" else -4)]
    else:
        sent = with_byte(whole, SHIM_LENGTH + FARTHER * six, length)
    bench.set(mode=mode)  # the source's own report is forgotten
    before = bench.switch.passed_by()
    bench.send(H1, [sent])
    got = bench.receive(H2 if host == (1, 2) else S2, 1)
    assert list(untouched(got)) == list(untouched([sent]))
    assert bench.nothing(MONITOR_PORT)
    assert bench.switch.passed_by() == {**before, "broken": before["broken"] + 1}


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (14 + 40 + 1, 14, "extension"),  # a longer header: something stands behind the trace
        (14 + 40 + 10, 5 << 3, "broken"),  # five words a node, which this trace type does not have
        (14 + 40 + 11, 0x7F, "broken"),  # more room than the option has
    ],
)
@pytest.mark.parametrize("host", [(1, 2), (2, 3)], ids=["sink", "transit"])
def test_a_trace_that_contradicts_itself_passes_by_as_it_came_and_is_counted(
    bench: Bench, at: int, value: int, reason: str, host: tuple[int, int]
) -> None:
    bench.set(mode="ioam")
    bench.send(H1, take(flow(six=True)))
    sent = with_byte(towards(bench.receive(S2, 1)[0], host, six=True), at, value)
    before = bench.switch.passed_by()
    bench.send(H1, [sent])
    got = bench.receive(H2 if host == (1, 2) else S2, 1)
    assert list(untouched(got)) == list(untouched([sent]))
    assert bench.nothing(MONITOR_PORT)
    assert bench.switch.passed_by() == {**before, reason: before[reason] + 1}
