"""int-analyzer anonymize: no address is left, and nothing that the analysis sees has changed."""

from __future__ import annotations

import ipaddress
import json
import re
import struct
from pathlib import Path
from typing import Any

import capture_bytes
import kernel
import mutate
import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mode import unchecked
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import HAO, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrRouting, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import ARP, GRE, Ether
from scapy.packet import Raw
from test_naive import icrc

from int_analyzer import analyze
from int_analyzer.anonymize import Rewriter, prefix, read_key, seeded_key
from int_analyzer.anonymize.checksum import Icrc
from int_analyzer.capture import open_source
from int_analyzer.capture.walk import records
from int_analyzer.cli import main

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
FOLDERS = sorted(path.name for path in PCAPS.iterdir() if path.is_dir())
CAPTURES = sorted(str(path.relative_to(PCAPS)) for path in PCAPS.glob("*/*.pcap"))
WORKED = mutate.worked_packets()
PLAIN = WORKED["01_rocev2_ipv4_rc_write_only"]
PROFILE = {"int_ports": (54321,), "report_ports": (32766,), "domains": {0x5453: (2, 0)}}
KEY = seeded_key(1)

Captured = pytest.CaptureFixture[str]


def rewriter(profile: dict[str, Any] | None = None, with_payload: bool = False) -> Rewriter:
    """A rewriter with the profile as the twin takes it."""
    made = Rewriter(KEY, with_payload=with_payload)
    made._kernel._settings = kernel.settings_of(profile)
    return made


def run(frame: Any, with_payload: bool = False, link: int = 1) -> bytes:
    """One packet, anonymised."""
    data = bytes(frame)
    return rewriter(with_payload=with_payload).packet(data, len(data), link)


# ----------------------------------------------------------------------------------------------------------------- addresses

MAPS = {"IPv4": prefix.ipv4(KEY), "IPv6": prefix.ipv6(KEY), "MAC": prefix.mac(KEY)}


def common(first: int, second: int, bits: int) -> int:
    """Length of the common prefix."""
    return bits - (first ^ second).bit_length()


@pytest.mark.parametrize("kind", MAPS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_two_addresses_share_after_it_exactly_the_prefix_that_they_shared_before(kind: str, data: st.DataObject) -> None:
    bits = MAPS[kind].bits
    first = data.draw(st.integers(0, (1 << bits) - 1))
    # neighbours of all distances, not only far ones
    second = first ^ (data.draw(st.integers(0, (1 << bits) - 1)) >> data.draw(st.integers(0, bits)))
    assert common(MAPS[kind].of(first), MAPS[kind].of(second), bits) == common(first, second, bits)


def image(text: str) -> Any:
    address = ipaddress.ip_address(text)
    return ipaddress.ip_address(MAPS[f"IPv{address.version}"].of(int(address)).to_bytes(address.max_prefixlen // 8, "big"))


def test_addresses_stay_of_their_kind() -> None:
    for text in ("0.0.0.0", "255.255.255.255", "::"):
        assert image(text) == ipaddress.ip_address(text)
    for number in range(200):
        assert image(f"{224 + number % 16}.0.0.{number}").is_multicast and not image(f"{number + 1}.7.7.7").is_multicast
        assert image(f"fe80::{number:x}").is_link_local and image(f"ff02::{number:x}").packed[:2] == b"\xff\x02"
        assert image(f"2001:db8::{number:x}") in ipaddress.ip_network("2000::/3") and image(f"fd00::{number:x}") in ipaddress.ip_network(
            "fc00::/7"
        )


def test_mac_addresses_keep_group_and_local_bits_and_the_vendors_stay_together() -> None:
    mac = MAPS["MAC"].of
    for address in (0xFFFFFFFFFFFF, 0x0180C2000001, 0x0180C200000E):
        assert mac(address) == address
    for number in range(200):
        address = number * 0x0139_2A71_55C3 & 0xFFFFFFFFFFFF
        assert (mac(address) ^ address) & 0x0300_0000_0000 == 0
    assert mac(0x001B21AAAAAA) >> 24 == mac(0x001B21BBBBBB) >> 24 != 0x001B21


def test_another_key_gives_other_addresses_and_the_same_key_the_same(tmp_path: Path) -> None:
    addresses = [int(ipaddress.ip_address(f"10.1.{number}.7")) for number in range(50)]
    images = [[prefix.ipv4(key).of(address) for address in addresses] for key in (KEY, seeded_key(1), seeded_key(2))]
    assert images[0] == images[1] != images[2]
    assert sum(first == second for first, second in zip(images[0], addresses, strict=True)) == 0
    (tmp_path / "key").write_bytes(b"secret")
    assert read_key(tmp_path / "key") == read_key(tmp_path / "key") != seeded_key(1)


# ------------------------------------------------------------------------------------------------------- the decode is as before

ADDRESSES = {"src_hi", "src_lo", "dst_hi", "dst_lo", "outer_src_hi", "outer_src_lo"}


def seen(result: dict[str, Any]) -> dict[str, Any]:
    """Rows of a packet but for addresses, captured bytes and what is cut behind the headers."""

    def row(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name not in ADDRESSES | {"captured_bytes", "icrc_raw", "icrc_check"}}

    packet = row(result["packet"])
    packet["warnings"] = packet["warnings"] - {"captured-short"}
    roce = row(result["roce"]) if result["roce"] else None
    if roce is not None:
        # the bit of an ICRC that is cut
        roce["present"] &= ~64
    return {**result, "packet": packet, "roce": roce, "mirrors": [row(mirror) for mirror in result["mirrors"]]}


def unchanged(packets: list[bytes | kernel.Packet], link: int = 1, profile: dict[str, Any] | None = None) -> None:
    """The decode sees the same in each packet and in every report of it, with and without payload."""
    given_packets = [(packet, len(packet), 0) if isinstance(packet, bytes) else packet for packet in packets]
    before = kernel.decode_records(given_packets, link, profile)
    for with_payload in (False, True):
        made = rewriter(profile, with_payload)
        after = [(made.packet(data, original, link), original, time_ns) for data, original, time_ns in given_packets]
        for (data, _, _), (short, _, _), parts, parts_after in zip(
            given_packets, after, before, kernel.decode_records(after, link, profile), strict=True
        ):
            assert len(short) <= len(data)
            assert [seen(part) for part in parts_after] == [seen(part) for part in parts], data.hex()


@pytest.mark.parametrize("name", CAPTURES)
def test_every_recorded_packet_decodes_as_before(name: str) -> None:
    link, packets = naive.read_pcap(PCAPS / name)
    unchanged([(data, original, time_ns) for time_ns, original, data in packets[:: max(1, len(packets) // 60)]], link)


@pytest.mark.parametrize("profile", [None, PROFILE, {"int_dscp": (0x17, 0x3F)}], ids=["no profile", "by port", "by DSCP"])
def test_worked_packets_cut_and_damaged_decode_as_before(profile: dict[str, Any] | None) -> None:
    for name, data in sorted(WORKED.items()):
        unchanged([data, *list(mutate.cuts(data))[::3]], 1, profile)
        unchanged([(cut, len(data), 7) for cut in list(mutate.cuts(data))[::5]], 1, profile)
        # what a report of unknown layout holds is not kept, so that it can be unknown in another way
        damaged = [changed for changed in mutate.byte_changes(data, 1) if not name.startswith("06")]
        unchanged(damaged[::17], 1, profile)


def test_tunnels_corner_cases_and_junk_decode_as_before() -> None:
    for position, (name, data) in enumerate(sorted(WORKED.items())):
        if position % 3 == 0:
            unchanged([wrapped for _, wrapped in mutate.tunnels(data)])
            unchanged([wrapped for _, wrapped in mutate.nested(data, position, 8)])
            unchanged(mutate.fragments(data) if mutate.is_plain(data) else [])
        if name.startswith("01"):
            for link, packet in mutate.links(data):
                unchanged([packet, *list(mutate.cuts(packet))[::9]], link)
    for data, profile, _, _ in mutate.corner_cases().values():
        unchanged([data, data[: len(data) // 2]], 1, profile)
    unchanged(list(mutate.junk(3, 300)))
    for link in (0, 12, 101, 113, 147, 229, 276):
        unchanged(list(mutate.junk(link, 40)), link)


@unchecked
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_analyses_as_before(folder: str, tmp_path: Path) -> None:
    made = rewriter()
    for path in sorted((PCAPS / folder).glob("*.pcap")):
        write_copy(path, tmp_path / path.name, made)

    # the ICRCs are cut off: none is checked
    before, after = (json.loads(analyze(capture, icrc=0).to_json()) for capture in (PCAPS / folder, tmp_path))
    assert after["links"] == before["links"] and after["paths"] == before["paths"] and after["queues"] == before["queues"]
    assert [told(finding, hide=True) for finding in before["findings"]] == [told(finding) for finding in after["findings"]]
    before["quality"]["warnings"].pop("captured-short", None)
    after["quality"]["warnings"].pop("captured-short", None)
    assert {name: after["quality"][name] for name in QUALITY} == {name: before["quality"][name] for name in QUALITY}


QUALITY = ("packets", "bytes", "hops", "reports", "formats", "dialects", "rejects", "warnings")


def told(finding: dict[str, Any], hide: bool = False) -> dict[str, Any]:
    """A finding whole; its flows as a set, with the addresses that they get."""

    def flow(entry: dict[str, Any]) -> tuple[Any, ...]:
        addresses = [str(image(entry[name])) if hide else entry[name] for name in ("src", "dst")]
        return (*addresses, *(entry[name] for name in ("src_port", "dst_port", "packets", "bytes", "share")))

    return {**finding, "culprits": set(map(flow, finding["culprits"])), "victims": set(map(flow, finding["victims"]))}


def write_copy(source: Path, target: Path, made: Rewriter) -> None:
    """A classic pcap with every packet anonymised."""
    content = source.read_bytes()
    parts, at = [content[:24]], 24
    link = int.from_bytes(content[20:22], "little")
    while at < len(content):
        size, original = struct.unpack_from("<II", content, at + 8)
        packet = made.packet(content[at + 16 : at + 16 + size], original, link)
        parts += [content[at : at + 8], struct.pack("<II", len(packet), original), packet]
        at += 16 + size
    target.write_bytes(b"".join(parts))


# --------------------------------------------------------------------------------------------------------- nothing is left of it


def addresses_in(data: bytes) -> set[bytes]:
    """IP addresses behind whatever looks like the EtherType and first byte of an IP header."""
    found = set()
    for match in re.finditer(rb"(?=\x08\x00[\x45-\x4f])", data):
        found |= {data[match.start() + 14 : match.start() + 18], data[match.start() + 18 : match.start() + 22]}
    for match in re.finditer(rb"(?=\x86\xdd[\x60-\x6f])", data):
        found |= {data[match.start() + 10 : match.start() + 26], data[match.start() + 26 : match.start() + 42]}
    return {address for address in found if len(address) in (4, 16)}


@pytest.mark.parametrize("name", CAPTURES)
def test_no_address_of_a_recorded_capture_is_left_anywhere_in_it(name: str) -> None:
    link, packets = naive.read_pcap(PCAPS / name)
    made = rewriter()
    sample = packets[:: max(1, len(packets) // 100)]
    after = b"".join(made.packet(data, original, link) for _, original, data in sample)
    addresses = set[bytes]().union(*(addresses_in(data) for _, _, data in sample))
    assert addresses or link != 1
    assert [address.hex() for address in addresses if address in after] == []


@pytest.mark.parametrize("name", sorted(WORKED))
def test_no_address_of_a_worked_packet_is_left_in_its_headers_in_any_tunnel(name: str) -> None:
    frames = [WORKED[name], *(wrapped for _, wrapped in mutate.tunnels(WORKED[name]))]
    for frame in frames:
        after = rewriter(PROFILE).packet(frame, len(frame), 1)
        for address in addresses_in(frame):
            assert address not in after, (address.hex(), after.hex())


def test_both_packets_of_a_datagram_of_reports_are_anonymised() -> None:
    frame = WORKED["06_telemetry_report_v2.0_coalesced_drop_tlv"]
    after = rewriter(PROFILE).packet(frame, len(frame), 1)
    address = ipaddress.ip_address("10.0.0.1").packed
    assert frame.count(address) == 2 and address not in after
    hidden = MAPS["IPv4"].of(int.from_bytes(address, "big")).to_bytes(4, "big")
    assert after.count(hidden) == 2
    # what stands between them is bit for bit as it was
    assert after[42:78] == frame[42:78] and after[118:134] == frame[118:134]


def test_payload_is_gone_and_the_length_on_the_wire_stays(tmp_path: Path) -> None:
    source, target = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(capture_bytes.pcap_header(decimals=9) + capture_bytes.pcap_record(PLAIN, 1, 2))
    assert main(["anonymize", str(source), str(target), "--seed", "1"]) == 0
    (record,) = records(open_source(target))
    assert (record.original, record.captured) == (len(PLAIN), len(PLAIN) - 20) and record.time_ns == 1_000_000_002
    assert PLAIN[70:86] not in record.data and record.data[54:70] == PLAIN[54:70]


def test_what_is_not_read_is_not_kept() -> None:
    ether = Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a")
    ip = IP(src="10.0.0.1", dst="10.0.0.2")
    assert len(run(ether / ARP(psrc="10.0.0.1"))) == 14
    with_options = run(ether / ip / TCP(options=[("Timestamp", (1, 2))]) / Raw(b"x" * 50))
    assert len(with_options) == 14 + 20 + 32 and with_options[54:] == bytes(12)
    assert len(run(ether / ip / ICMP(type=5, gw="10.0.0.9") / Raw(bytes(ip)))) == 14 + 20 + 4
    assert len(run(ether / ip / UDP(sport=5, dport=6) / Raw(b"x" * 50))) == 14 + 20 + 8
    assert len(run(ether / IP(proto=89) / Raw(b"\x02" * 40))) == 14 + 20
    assert len(run(bytes(ether / ip / UDP(dport=6) / Raw(b"abc")) + b"trailer", with_payload=True)) == 14 + 20 + 8 + 3
    pause = bytes(Ether(dst="01:80:c2:00:00:01", type=0x8808)) + bytes.fromhex("0101000fffff") + bytes(40)
    assert run(pause)[:6] == pause[:6] and run(pause)[12:] == pause[12:34]


def test_addresses_in_options_and_routing_headers_are_replaced() -> None:
    ether = Ether(dst="02:00:00:00:00:0b", src="02:00:00:00:00:0a", type=0x86DD)
    route = IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrRouting(addresses=["2001:db8::77", "2001:db8::78"], segleft=2)
    segments = IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrSegmentRouting(addresses=["2001:db8::77", "2001:db8::78"], segleft=1)
    home = IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrDestOpt(options=[HAO(hoa="2001:db8::77")])
    for chain in (route, segments, home):
        frame = bytes(ether / chain / UDP(dport=6) / Raw(b"abc"))
        after = run(frame)
        assert frame.count(b"\x20\x01\x0d\xb8") >= 3 and b"\x20\x01\x0d\xb8" not in after
        assert len(after) == len(frame) - 3
    options = b"\x07\x0b\x04\x0a\x00\x00\x01\x0a\x00\x00\x02" + b"\x99\x04\x0a\x01" + b"\x01"
    frame = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2", options=[], ihl=9) / Raw(options) / UDP(dport=6))
    after = run(frame)
    assert b"\x0a\x00\x00" not in after and after[34:37] == b"\x07\x0b\x04" and after[45:50] == b"\x99\x04\x00\x00\x01"


# ----------------------------------------------------------------------------------------------------------------- checksums


def checksum_of(frame: bytes) -> tuple[int, int]:
    """Checksums of IP and of UDP or TCP as scapy computes them anew (IPv6: 0 and the transport's)."""
    packet = Ether(frame)
    transport = (
        packet.lastlayer() if not packet.haslayer(UDP) and not packet.haslayer(TCP) else packet[UDP if packet.haslayer(UDP) else TCP]
    )
    if packet.haslayer(IP):
        del packet[IP].chksum
    del transport.chksum
    again = Ether(bytes(packet))
    found = again[UDP if again.haslayer(UDP) else TCP]
    return (again[IP].chksum if again.haslayer(IP) else 0), found.chksum


FRAMES = {
    "UDP": IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=5, dport=6) / Raw(b"abcde"),
    "UDP over IPv6": IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=5, dport=6) / Raw(b"abcde"),
    "TCP": IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=5, dport=6) / Raw(b"abcde"),
    "UDP behind a routing header": IPv6(src="2001:db8::1", dst="2001:db8::2")
    / IPv6ExtHdrRouting(addresses=["2001:db8::77"], segleft=1)
    / UDP(sport=5, dport=6)
    / Raw(b"abcde"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_right_checksum_is_right_again_and_a_wrong_one_wrong(name: str) -> None:
    frame = bytearray(bytes(Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / FRAMES[name]))
    after = run(frame, with_payload=True)
    assert len(after) == len(frame) and after != frame
    packet = Ether(after)
    layer = UDP if packet.haslayer(UDP) else TCP
    assert ((packet[IP].chksum if packet.haslayer(IP) else 0), packet[layer].chksum) == checksum_of(after)
    at = frame.index(b"abcde") - (2 if layer is UDP else 4)
    frame[at] ^= 0x10
    wrong = run(frame, with_payload=True)
    assert wrong[:at] == after[:at] and wrong[at : at + 2] != after[at : at + 2]
    # not the bits that it had: these know something of the addresses
    assert wrong[at : at + 2] != bytes(frame[at : at + 2])
    frame[at : at + 2] = b"\0\0"
    assert run(frame, with_payload=True)[at : at + 2] == b"\0\0"


@pytest.mark.parametrize("name", FRAMES)
def test_the_checksum_of_a_packet_that_is_cut_is_that_of_the_whole(name: str) -> None:
    frame = bytes(Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / FRAMES[name])
    whole = run(frame)
    cut = rewriter().packet(frame[:-3], len(frame), 1)
    # behind a routing header the sums may differ in how they write zero
    assert cut == whole[: len(cut)]


def test_checksums_of_tunnels_cover_what_has_changed_inside() -> None:
    inner = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / FRAMES["UDP"]
    outer = Ether() / IP(src="172.16.0.1", dst="172.16.0.9")
    vxlan = outer / UDP(sport=9, dport=4789) / Raw(bytes.fromhex("0800000000004d00")) / Raw(bytes(inner))
    after = run(vxlan, with_payload=True)
    assert Ether(after)[UDP].chksum == checksum_of(after)[1]
    gre = bytes(outer / GRE(proto=0x6558, chksum_present=1) / Raw(bytes(inner)))
    after = run(gre, with_payload=True)
    total = sum(struct.unpack(f"!{len(after[34:]) // 2}H", (after[34:] + b"\0")[: len(after[34:]) // 2 * 2]))
    total += after[-1] * 256 if len(after[34:]) % 2 else 0
    assert total % 0xFFFF == 0
    echo = bytes(Ether() / IPv6(src="2001:db8::1", dst="2001:db8::2") / ICMPv6EchoRequest(data=b"abcd"))
    assert run(echo)[56:58] != echo[56:58] and len(run(echo)) == 14 + 40 + 4


ICRC_PLACES = {"01": (14, 90), "07": (64, 124), "08": (80, 128)}


@pytest.mark.parametrize("name", ICRC_PLACES)
def test_a_valid_icrc_is_valid_again_where_the_payload_is_kept(name: str) -> None:
    frame = next(packet for full, packet in WORKED.items() if full.startswith(name))
    at, end = ICRC_PLACES[name]
    after = run(frame, with_payload=True)
    assert len(after) == len(frame) and after[end - 4 : end] != frame[end - 4 : end]
    assert int.from_bytes(after[end - 4 : end], "big") == icrc(after, at, end - 4)
    bad = bytearray(frame)
    bad[end - 1] ^= 1
    wrong = run(bad, with_payload=True)[end - 4 : end]
    assert wrong not in (after[end - 4 : end], bytes(bad[end - 4 : end]))


@pytest.mark.parametrize(
    ("name", "begin", "size", "port"), [("02", 42, 68, 4791), ("03", 42, 88, 4791), ("04", 42, 24, 4791), ("15", 42, 32, 4791)]
)
def test_the_icrc_behind_int_is_that_of_the_packet_without_it(name: str, begin: int, size: int, port: int) -> None:
    frame = next(packet for full, packet in WORKED.items() if full.startswith(name))
    after = rewriter(PROFILE, with_payload=True).packet(frame, len(frame), 1)
    restored = bytearray(after[14:begin] + after[begin + size :])
    restored[2:4] = struct.pack("!H", len(restored))
    restored[22:26] = struct.pack("!HH", port, len(restored) - 20)
    assert int.from_bytes(after[-4:], "big") == icrc(bytes(restored), 0, len(restored) - 4)
    assert after[begin : begin + size] == frame[begin : begin + size]


@pytest.mark.parametrize("name", sorted(WORKED))
def test_the_icrc_of_every_worked_packet_is_known_to_be_what_it_is(name: str) -> None:
    frame = WORKED[name]
    made = rewriter(PROFILE, with_payload=True)
    before = [fix for fix in made._plan(frame, len(frame), 1, 4).fixes if isinstance(fix, Icrc)]
    after = made.packet(frame, len(frame), 1)
    assert [fix._of(frame) == frame[fix.end - 4 : fix.end] for fix in before] == [not name.startswith("N5")] * len(before)
    assert [fix._of(after) == after[fix.end - 4 : fix.end] for fix in before] == [not name.startswith("N5")] * len(before)
    # 06 holds headers only, 14 is not read, N1 and N2 end in their INT header
    assert len(before) == (0 if name[:2] in ("06", "14", "N1", "N2") else 1), before
