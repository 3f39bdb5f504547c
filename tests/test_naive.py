"""The naive decoder against everything known from elsewhere: worked packets, the notes of the captures, tshark."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import mutate
import naive
import pytest

from int_analyzer import schema

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
PCAPS = TESTS.parent / "pcaps"
TSHARK = shutil.which("tshark")

WORKED = {entry["name"]: entry for entry in json.loads((GOLDEN / "worked-packets.json").read_text())}
SHORT = {name.split("_")[0]: name for name in WORKED}
WORKED_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if path.stem in WORKED)
MADE_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if "parts" in json.loads(path.read_text()))
CAPTURE_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if path.stem not in WORKED and path not in MADE_GOLDEN)
CAPTURE_FILES: dict[str, dict[str, int]] = json.loads((GOLDEN / "captures.json").read_text())

DSCP_23 = {"int_dscp": (23, 63)}
PORT_54321 = {"int_ports": (54321,), "domains": {0x5453: (2, 0)}}


def worked(short: str, profile: dict[str, Any] | None = None) -> dict[str, Any]:
    """Decode a worked packet by the number in its name."""
    entry = WORKED[SHORT[short]]
    return naive.decode_packet(bytes.fromhex(entry["hex"]), entry["linktype"], profile=profile)


def expected(short: str) -> dict[str, Any]:
    """What the worked packet says about itself."""
    found: dict[str, Any] = WORKED[SHORT[short]]["expected"]
    return found


def has(row: dict[str, Any] | None, **columns: Any) -> None:
    """These columns have these values."""
    assert row is not None
    assert {name: row[name] for name in columns} == columns


@cache
def capture(name: str) -> tuple[int, list[tuple[int, int, bytes]]]:
    """A recorded capture, read once."""
    return naive.read_pcap(PCAPS / name)


@cache
def decoded(name: str) -> list[dict[str, Any]]:
    """A recorded capture, decoded once."""
    link_type, records = capture(name)
    return [naive.decode_packet(data, link_type, original, time_ns) for time_ns, original, data in records]


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """A result as it stands in a golden file: what is None is left out, sets are sorted lists."""

    def row(values: dict[str, Any] | None) -> dict[str, Any] | None:
        if values is None:
            return None
        return {name: sorted(value) if isinstance(value, set) else value for name, value in values.items() if value is not None}

    return {name: [row(entry) for entry in value] if isinstance(value, list) else row(value) if isinstance(value, dict) else value
            for name, value in result.items()}  # fmt: skip


def icrc(data: bytes, ip: int, end: int) -> int:
    """ICRC of a RoCEv2 packet whose IPv4 (no options) or IPv6 header begins at `ip`, as on the wire, first byte most significant (§6.3)."""
    packet = bytearray(data[ip:end])
    if packet[0] >> 4 == 4:
        udp = 20
        for at in (1, 8, 10, 11):
            packet[at] = 0xFF
    else:
        udp = 40
        packet[0] |= 0x0F
        packet[1:4] = b"\xff\xff\xff"
        packet[7] = 0xFF
    packet[udp + 6 : udp + 8] = b"\xff\xff"
    packet[udp + 8 + 4] = 0xFF
    return int.from_bytes(zlib.crc32(b"\xff" * 8 + bytes(packet)).to_bytes(4, "little"), "big")


def without(data: bytes, ip: int, at: int, size: int, port: int | None = None) -> bytes:
    """An IPv4/UDP packet as it was before `size` bytes were put in at `at`: lengths (and port) restored, from its IP header on."""
    packet = bytearray(data[ip:at] + data[at + size :])
    struct.pack_into("!H", packet, 2, struct.unpack_from("!H", packet, 2)[0] - size)
    struct.pack_into("!H", packet, 24, struct.unpack_from("!H", packet, 24)[0] - size)
    if port is not None:
        struct.pack_into("!H", packet, 22, port)
    return bytes(packet)


# ------------------------------------------------------------------------------------------------------------ worked packets


@pytest.mark.parametrize("path", WORKED_GOLDEN, ids=lambda path: path.stem)
def test_worked_packet_gives_exactly_its_golden_result(path: Path) -> None:
    golden = json.loads(path.read_text())
    profile = golden["profile"]
    if "domains" in profile:
        profile["domains"] = {int(domain): tuple(words) for domain, words in profile["domains"].items()}
    entry = WORKED[path.stem]
    assert plain(naive.decode_packet(bytes.fromhex(entry["hex"]), entry["linktype"], profile=profile)) == golden["result"]


def test_every_worked_packet_has_a_golden_result() -> None:
    assert {path.stem for path in WORKED_GOLDEN} == set(WORKED)


@pytest.mark.parametrize("path", MADE_GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_packet_put_together_by_hand_is_read_as_its_parts_say(path: Path) -> None:
    golden = json.loads(path.read_text())
    data = bytes.fromhex("".join(part for part, _ in golden["parts"]))
    result = naive.decode_packet(data, 1, profile=golden["profile"])
    has(result["packet"], captured_bytes=len(data), **{**golden["packet"], "warnings": set(golden["packet"]["warnings"])})
    assert result["dialect"] == golden["dialect"]
    assert len(result["hops"]) == len(golden["hops"])
    for hop, want in zip(result["hops"], golden["hops"], strict=True):
        has(hop, **want)
    assert (result["roce"] is None) == (golden["roce"] is None)
    if golden["roce"]:
        has(result["roce"], **golden["roce"])


def test_01_plain_rocev2_is_read_down_to_the_icrc() -> None:
    result, want = worked("01"), expected("01")
    ipv4, udp, bth, reth = want["ipv4"], want["udp"], want["bth"], want["reth"]
    has(result["packet"], dscp=ipv4["dscp"], ecn=ipv4["ecn"], ttl=ipv4["ttl"], ip_bytes=ipv4["total_len"], protocol=ipv4["proto"])
    has(result["packet"], ip_id=int(ipv4["id"], 16), src_port=udp["sport"], dst_port=udp["dport"], status="ok", warnings=set())
    has(result["packet"], src_lo=int(ip_address("10.0.0.1")), dst_lo=int(ip_address("10.0.0.2")), ip_version=4, telemetry=0, hop_count=0)
    has(result["roce"], opcode=bth["opcode"], se=bth["se"], migreq=bth["migreq"], pad=bth["padcnt"], transport_version=bth["tver"])
    has(result["roce"], pkey=int(bth["pkey"], 16), fecn=bth["fecn"], becn=bth["becn"], dest_qp=bth["destqp"], ack_req=bth["ackreq"])
    has(result["roce"], psn=bth["psn"], virtual_address=int(reth["va"], 16), rkey=int(reth["rkey"], 16), dma_bytes=reth["dmalen"])
    has(result["roce"], payload_bytes=want["payload_len"], icrc_raw=int(want["icrc_wire_bytes"], 16))


@pytest.mark.parametrize("profile", [None, DSCP_23], ids=["by structure", "by DSCP"])
def test_02_int_v1_hops_come_in_path_order_with_absent_items(profile: dict[str, Any] | None) -> None:
    result, want = worked("02", profile), expected("02")
    shim, md = want["int"]["shim"], want["int"]["md"]
    assert result["dialect"] == "int-1.0"
    has(result["packet"], telemetry=schema.FORMAT_INT_MD_1, original_dscp=shim["orig_dscp"], telemetry_bytes=4 * shim["len_words"])
    has(result["packet"], instructions=int(md["instr"], 16), remaining_hops=md["remaining_hop_cnt"], telemetry_flags=0, dscp=23)
    has(result["packet"], hop_count=want["int"]["n_hops"], ip_bytes=144, ttl=62, dst_port=4791, status="ok", warnings=set())
    assert [hop["node_id"] for hop in result["hops"]] == want["int"]["path_order_switch_ids"]
    for hop, wire in zip(result["hops"], reversed(want["int"]["hops_wire_order"]), strict=True):
        has(hop, node_id=wire["switch_id"], ingress_port=wire["ingress_port"], egress_port=wire["egress_port"])
        has(hop, hop_latency_raw=wire["hop_latency"], queue_id=wire["queue_id"], queue_depth_raw=wire["queue_occupancy"])
        has(hop, ingress_time_raw=wire["ingress_ts"], egress_time_raw=wire["egress_ts"])
        has(hop, tx_utilisation_raw=None if wire["tx_util"] == "invalid(all-ones)" else wire["tx_util"])
    has(result["roce"], opcode=want["bth"]["opcode"], psn=want["bth"]["psn"], icrc_raw=int(want["icrc_wire_bytes"], 16), payload_bytes=16)


def test_03_int_v2_source_only_data_is_at_the_bottom_and_no_hop() -> None:
    result, want = worked("03", PORT_54321), expected("03")
    shim, md = want["int"]["shim"], want["int"]["md"]
    assert result["dialect"] == "int-2.x"
    has(result["packet"], telemetry=schema.FORMAT_INT_MD_2, dst_port=shim["orig_dport"], telemetry_bytes=4 + 4 * shim["len_words"])
    has(result["packet"], instructions=int(md["instr"], 16), namespace=int(md["domain_id"], 16), remaining_hops=md["remaining_hop_cnt"])
    has(result["packet"], original_dscp=None, hop_count=want["int"]["n_hops"], status="ok", warnings=set(), telemetry_flags=0)
    for hop, wire in zip(result["hops"], reversed(want["int"]["hops_wire_order"]), strict=True):
        has(hop, node_id=wire["node_id"], ingress_port=wire["ingress_if"], egress_port=wire["egress_if"], queue_id=wire["queue_id"])
        has(hop, queue_depth_raw=wire["queue_occupancy"], ingress_time_raw=wire["ingress_ts"], buffer_id=wire["buffer_id"])
        has(hop, egress_time_raw=wire["egress_ts"] if isinstance(wire["egress_ts"], int) else None)
        has(hop, buffer_depth_raw=wire["buffer_occupancy"], hop_latency_raw=None)
    has(result["roce"], opcode=want["bth"]["opcode"], psn=want["bth"]["psn"], icrc_raw=int(want["icrc_wire_bytes"], 16))


def test_03_without_its_domain_the_stack_is_not_whole_hops() -> None:
    assert worked("03")["packet"]["hop_count"] == 0
    has(worked("03", {"int_ports": (54321,)})["packet"], status="int-stack-not-whole-hops", status_at=42, hop_count=0)


@pytest.mark.parametrize("profile", [None, PORT_54321], ids=["by structure", "by port"])
def test_04_int_mx_is_no_stack_and_the_roce_behind_it_is_read(profile: dict[str, Any] | None) -> None:
    result, want = worked("04", profile), expected("04")
    shim, mx = want["int"]["shim"], want["int"]["mx"]
    has(result["packet"], formats=1 << schema.FORMAT_INT_MX | 1 << schema.FORMAT_ROCE, telemetry=schema.FORMAT_INT_MX, hop_count=0)
    has(result["packet"], instructions=int(mx["instr"], 16), namespace=int(mx["domain_id"], 16), telemetry_flags=mx["d"], status="ok")
    has(result["packet"], remaining_hops=0, telemetry_bytes=4 + 4 * shim["len_words"], dst_port=shim["orig_dport"], original_dscp=None)
    assert result["dialect"] is None
    has(result["roce"], opcode=want["bth"]["opcode"], psn=want["bth"]["psn"])


@pytest.mark.parametrize("profile", [None, {"report_ports": (32766,)}], ids=["by structure", "by port"])
def test_05_report_v1_adds_its_own_metadata_as_the_last_hop(profile: dict[str, Any] | None) -> None:
    result, want = worked("05", profile), expected("05")["report"]
    (report,) = result["reports"]
    has(report, version=schema.FORMAT_REPORT_1, report_type=want["nproto"], metadata_bits=0b101000, dropped=want["d"], congested=want["q"])
    has(report, tracked=want["f"], hw_id=want["hw_id"], node_id=want["switch_id"], sequence=want["seq"])
    has(report, ingress_time_raw=want["ingress_ts"], ingress_port=want["md"]["ingress_port"], egress_port=want["md"]["egress_port"])
    has(report, queue_id=want["md"]["queue_id"], queue_depth_raw=want["md"]["queue_occupancy"], hop_latency_raw=None, egress_time_raw=None)
    inner = worked("02")
    assert [hop["node_id"] for hop in result["hops"]] == [257, 514, 771]
    for hop, same in zip(result["hops"], inner["hops"], strict=False):
        assert hop == same
    last = result["hops"][-1]
    assert last["present"] & schema.HOP_FROM_REPORT
    has(last, ingress_port=5, egress_port=21, queue_id=3, queue_depth_raw=77, ingress_time_raw=805306368, egress_time_raw=None)
    outer = ("captured_bytes", "original_bytes", "formats", "hop_count", "report_count")
    assert {k: v for k, v in result["packet"].items() if k not in outer} == {k: v for k, v in inner["packet"].items() if k not in outer}
    assert result["roce"] == inner["roce"]


@pytest.mark.parametrize("profile", [None, {"report_ports": (32766,)}], ids=["by structure", "by port"])
def test_06_coalesced_report_v2_gives_a_row_each_and_follows_the_first(profile: dict[str, Any] | None) -> None:
    result, want = worked("06", profile), expected("06")
    group = want["group"]
    for row, entry in zip(result["reports"], want["reports"], strict=True):
        has(row, version=schema.FORMAT_REPORT_2, hw_id=group["hw_id"], sequence=group["seq"], node_id=group["node_id"])
        has(row, report_type=entry["rep_type"], inner_type=entry["in_type"], dropped=entry["d"], congested=entry["q"])
        has(row, tracked=entry["f"], intermediate=entry["i"])
    first, md = result["reports"][0], want["reports"][0]["md"]
    has(first, metadata_bits=int(want["reports"][0]["rep_md_bits"], 16), ingress_port=md["l1_ingress"], egress_port=0xFFFF)
    has(first, ingress_port_2=md["l2_ingress"], egress_port_2=md["l2_egress"], queue_id=md["drop_queue_id"], drop_reason=md["drop_reason"])
    has(first, queue_depth_raw=None, hop_latency_raw=None)
    (hop,) = result["hops"]
    has(hop, node_id=1028, ingress_port=5, egress_port=0xFFFF, queue_id=3, queue_depth_raw=None)
    # 40 bytes of the dropped packet: IPv4, UDP and BTH, but not the RETH.
    has(result["packet"], src_lo=int(ip_address("10.0.0.1")), ip_bytes=76, dst_port=4791, telemetry=schema.FORMAT_REPORT_2)
    has(result["packet"], status="report-inner-truncated", status_at=118, warnings={"report-more", "report-inner-cut"})
    has(result["roce"], opcode=10, psn=0xABCDEF, rkey=None, icrc_raw=None, payload_bytes=16)


def test_07_erspan_2_keeps_the_mirror_and_shows_the_cnp_inside() -> None:
    result, want = worked("07"), expected("07")
    (mirror,) = result["mirrors"]
    erspan, inner = want["erspan"], want["inner"]
    has(mirror, kind=2, sequence=want["gre"]["seq"], vlan_id=erspan["vlan"], cos=erspan["cos"], encapsulation=erspan["en"])
    has(mirror, truncated=erspan["t"], session_id=erspan["session_id"], index=erspan["index"], timestamp_raw=None)
    has(mirror, outer_src_hi=0, outer_src_lo=int(ip_address("172.16.0.1")))
    has(result["packet"], dscp=inner["dscp"], ecn=inner["ecn"], tunnels=0x08, vlan_id=None, status="ok", warnings=set())
    bth = inner["bth"]
    has(result["roce"], opcode=bth["opcode"], becn=bth["becn"], fecn=bth["fecn"], dest_qp=bth["destqp"], psn=bth["psn"])
    has(result["roce"], migreq=bth["migreq"], payload_bytes=0, icrc_raw=int(inner["icrc_wire_bytes"], 16))


def test_08_erspan_3_with_subheader_and_vlan_shows_the_nak_inside() -> None:
    result, want = worked("08"), expected("08")
    (mirror,) = result["mirrors"]
    erspan, sub, inner = want["erspan"], want["erspan"]["subheader"], want["inner"]
    has(mirror, kind=3, sequence=want["gre"]["seq"], vlan_id=erspan["vlan"], cos=erspan["cos"], encapsulation=erspan["bso"])
    has(mirror, truncated=erspan["t"], session_id=erspan["session_id"], timestamp_raw=erspan["timestamp"], index=None)
    has(mirror, security_group=erspan["sgt"], hw_id=erspan["hw_id"], direction=erspan["d"], granularity=erspan["gra"])
    has(mirror, platform_id=sub["platf_id"], platform_info=sub["switch_id"] << 48 | sub["port_id"] << 32 | sub["seconds"])
    has(result["packet"], vlan_id=inner["vlan"]["vid"], tunnels=0x10, status="ok", warnings=set())
    has(result["roce"], opcode=inner["bth"]["opcode"], psn=inner["bth"]["psn"], syndrome=inner["aeth"]["syndrome"])
    has(result["roce"], msn=inner["aeth"]["msn"], icrc_raw=int(inner["icrc_wire_bytes"], 16), payload_bytes=0)


def test_12_what_is_only_recognised_leaves_the_roce_behind_it_right() -> None:
    result = worked("12")
    has(result["packet"], formats=1 << schema.FORMAT_IOAM_OTHER | 1 << schema.FORMAT_ROCE, tunnels=0, hop_count=0, dst_port=4791)
    has(result["packet"], status="ok", warnings=set(), telemetry=0)
    assert result["roce"] == worked("11")["roce"]


@pytest.mark.parametrize(("short", "carrier", "tunnel"), [("09", "geneve", 0x80), ("10", "vxlan_gpe", 0x40)])
def test_09_and_10_int_in_a_tunnel_has_its_hops_and_the_roce_behind_it(short: str, carrier: str, tunnel: int) -> None:
    result, want = worked(short), expected(short)
    md = want["int"]["md"]
    assert result["dialect"] == "int-2.x"
    size = 4 * want["int"]["shim"]["len_words"] if carrier == "vxlan_gpe" else 4 * want[carrier]["options"][0]["len_words"]
    has(result["packet"], formats=1 << schema.FORMAT_INT_MD_2 | 1 << schema.FORMAT_ROCE, telemetry=schema.FORMAT_INT_MD_2, tunnels=tunnel)
    has(result["packet"], instructions=int(md["instr"], 16), remaining_hops=md["remaining_hop_cnt"], telemetry_bytes=4 + size)
    has(result["packet"], telemetry_flags=0, namespace=0, original_dscp=None, dst_port=4791, status="ok", warnings=set())
    assert len(result["hops"]) == len(want["int"]["hops_wire_order"])
    for hop, wire in zip(result["hops"], reversed(want["int"]["hops_wire_order"]), strict=True):
        has(hop, node_id=wire["node_id"], queue_id=wire["queue_id"], queue_depth_raw=wire["queue_occupancy"], hop_latency_raw=None)
    assert result["roce"] == worked("01")["roce"]


@pytest.mark.parametrize("profile", [None, DSCP_23, {"int_ports": (4791,)}], ids=["by structure", "by DSCP", "by port"])
def test_15_int_05_has_its_hops_and_the_port_and_dscp_of_its_tail(profile: dict[str, Any] | None) -> None:
    result, want = worked("15", profile), expected("15")["int"]
    shim, md, tail = want["shim"], want["md"], want["tail"]
    assert result["dialect"] == "int-0.5"
    has(result["packet"], formats=1 << schema.FORMAT_INT_05 | 1 << schema.FORMAT_ROCE, telemetry=schema.FORMAT_INT_05, tunnels=0)
    has(result["packet"], instructions=int(md["instr"], 16), remaining_hops=md["max_hop"] - md["total_hop"], telemetry_flags=0)
    has(result["packet"], telemetry_bytes=4 * shim["len_words"], dst_port=tail["dport"], original_dscp=tail["dscp"], dscp=23)
    has(result["packet"], hop_count=md["total_hop"], status="ok", warnings=set())
    for hop, wire in zip(result["hops"], reversed(want["hops_wire_order"]), strict=True):
        has(hop, node_id=wire["switch_id"], queue_id=wire["queue_id"], queue_depth_raw=wire["queue_occupancy"], hop_latency_raw=None)
    assert result["roce"] == worked("01")["roce"]


def test_13_the_csig_tag_is_kept_as_it_stands() -> None:
    result, want = worked("13"), expected("13")
    csig = want["csig"]
    has(result["packet"], csig=csig["t"] << 13 | csig["r"] << 12 | csig["s"] << 7 | csig["lm"], vlan_id=want["vlan"]["vid"], telemetry=0)
    has(result["packet"], formats=1 << schema.FORMAT_ROCE, status="ok", warnings=set())
    assert result["roce"] == worked("01")["roce"]
    assert worked("01")["packet"]["csig"] is None


def test_14_ifa_is_a_protocol_that_is_not_read() -> None:
    has(worked("14")["packet"], status="not-udp", status_at=34, protocol=131, formats=0)


def test_11_ioam_trace_skips_the_free_room_and_what_is_not_populated() -> None:
    result, want = worked("11"), expected("11")["ioam"]
    has(result["packet"], telemetry=schema.FORMAT_IOAM_TRACE, namespace=want["namespace"], instructions=int(want["trace_type"], 16))
    has(result["packet"], remaining_hops=want["remaining_len"], telemetry_flags=0, telemetry_bytes=2 + want["opt_len"], ttl=64)
    has(result["packet"], hop_count=want["n_nodes"], status="ok", warnings=set(), ip_version=6)
    inner = expected("11")["inner"]
    source, destination = (int(ip_address(text.strip())) for text in inner["ip"].split(">"))
    has(result["packet"], src_hi=source >> 64, src_lo=source & 2**64 - 1, dst_hi=destination >> 64, dst_lo=destination & 2**64 - 1)
    for hop, node in zip(result["hops"], reversed(want["nodes_wire_order"]), strict=True):
        has(hop, hop_limit=node["hop_lim"], node_id=node["node_id"], egress_port=node["egress_if"])
        has(hop, ingress_port=node["ingress_if"] if isinstance(node["ingress_if"], int) else None, hop_latency_raw=None)
        has(hop, ingress_time_raw=node["ts_sec"] << 32 | node["ts_frac_raw"], namespace_data=int(node["ns_data"], 16))
        has(hop, queue_depth_raw=node["queue_depth"])
    has(result["roce"], opcode=inner["bth"]["opcode"], pad=inner["bth"]["padcnt"], psn=inner["bth"]["psn"], dest_qp=inner["bth"]["destqp"])
    has(result["roce"], payload_bytes=inner["payload_len_without_pad"], icrc_raw=int(inner["icrc_wire_bytes"], 16))


def test_n1_a_stack_of_broken_hops_gives_no_hops_and_keeps_the_outer_layers() -> None:
    result = worked("N1", DSCP_23)
    has(result["packet"], status="int-stack-not-whole-hops", status_at=42, hop_count=0, telemetry=0, dst_port=4791, dscp=23)
    assert result["roce"] is None


def test_n2_a_shim_length_beyond_udp_is_rejected() -> None:
    result = worked("N2", PORT_54321)
    has(result["packet"], status="int-length-beyond-udp", status_at=42, hop_count=0, dst_port=54321)
    assert result["roce"] is None


def test_n3_an_unknown_version_is_skipped_by_its_length() -> None:
    result = worked("N3", PORT_54321)
    has(result["packet"], status="int-version-unknown", status_at=42, hop_count=0, dst_port=4791)
    has(result["roce"], opcode=expected("N3")["bth"]["opcode"], psn=0xABCDEF)


def test_n4_a_trace_with_more_room_than_space_gives_no_hops() -> None:
    result = worked("N4")
    has(result["packet"], status="ioam-remaining-length", status_at=58, hop_count=0, formats=1 << 8 | 1 << 1)
    assert result["roce"] == worked("11")["roce"]


@pytest.mark.parametrize("short", ["01", "N5"])
def test_the_icrc_column_decides_good_and_bad(short: str) -> None:
    data = bytes.fromhex(WORKED[SHORT[short]]["hex"])
    assert (worked(short)["roce"]["icrc_raw"] == icrc(data, 14, len(data) - 4)) is expected(short)["icrc_ok"]


@pytest.mark.parametrize(("short", "ip"), [("07", 64), ("08", 80), ("11", 158)])
def test_the_icrc_column_is_right_inside_mirrors_and_tunnels(short: str, ip: int) -> None:
    data = bytes.fromhex(WORKED[SHORT[short]]["hex"])
    assert worked(short)["roce"]["icrc_raw"] == icrc(data, ip, len(data) - 4)


@pytest.mark.parametrize(
    ("short", "profile", "size", "port"),
    [("02", None, 68, None), ("03", PORT_54321, 88, 4791), ("04", None, 24, 4791), ("15", None, 32, 4791)],
)
def test_the_icrc_column_is_right_once_int_is_taken_out(short: str, profile: dict[str, Any] | None, size: int, port: int | None) -> None:
    restored = without(bytes.fromhex(WORKED[SHORT[short]]["hex"]), 14, 42, size, port)
    assert worked(short, profile)["roce"]["icrc_raw"] == icrc(restored, 0, len(restored) - 4)


# ---------------------------------------------------------------------------------------------------------- recorded captures


@pytest.mark.parametrize("name", CAPTURE_FILES)
def test_capture_has_the_packets_and_hops_of_its_notes(name: str) -> None:
    want = CAPTURE_FILES[name]
    assert (PCAPS / name).stat().st_size == want["bytes"]
    results = decoded(name)
    assert len(results) == want["packets"]
    assert {result["packet"]["status"] for result in results} == {"ok"}
    if "hops" in want:
        assert {result["packet"]["hop_count"] for result in results} == {want["hops"]}


@pytest.mark.parametrize("path", CAPTURE_GOLDEN, ids=lambda path: path.stem)
def test_packet_of_a_capture_is_decoded_as_its_notes_say(path: Path) -> None:
    golden = json.loads(path.read_text())
    time_ns, original, data = capture(golden["capture"])[1][golden["index"]]
    result = decoded(golden["capture"])[golden["index"]]
    assert (time_ns, original, len(data)) == (golden["time_ns"], golden["bytes"], golden["bytes"])
    assert golden["packet_in_readme"] == golden["index"] + 1
    for name in ("report_header", "shim", "int_header", "trace_header", "option"):
        assert bytes.fromhex(golden.get(name, "")) in data
    packet = dict(golden["packet"])
    for side in ("src", "dst"):
        if side in packet:
            assert result["packet"][side + "_lo"] == int(ip_address(packet.pop(side)))
    has(result["packet"], **packet)
    if "outer" in golden:
        outer = golden["outer"]
        assert struct.unpack_from("!IIHH", data, 26) == (
            int(ip_address(outer["src"])),
            int(ip_address(outer["dst"])),
            outer["src_port"],
            outer["dst_port"],
        )
    if "roce" in golden:
        has(result["roce"], **golden["roce"])
    if "report" in golden:
        report = dict(golden["report"])
        assert report.pop("version") == 0
        has(result["reports"][0], version=schema.FORMAT_REPORT_05, report_type=report.pop("nproto"), **report)
    assert len(result["hops"]) == len(golden.get("hops", []))
    for hop, want in zip(result["hops"], golden.get("hops", []), strict=True):
        has(hop, **want)


def test_mri_hops_are_in_path_order_with_node_and_depth_only() -> None:
    for path in (GOLDEN / "mri").glob("*.json"):
        golden = json.loads(path.read_text())
        data = capture(golden["capture"])[1][golden["index"]][2]
        hops = decoded(golden["capture"])[golden["index"]]["hops"]
        newest_first = [struct.unpack_from("!II", data, 38 + 8 * number) for number in range(int(golden["option"][4:], 16))]
        assert [(hop["node_id"], hop["queue_depth_raw"]) for hop in reversed(hops)] == newest_first
        assert {hop["present"] for hop in hops} == {schema.HAS_NODE | schema.HAS_DEPTH}


@pytest.mark.parametrize(
    ("name", "path"),
    [("s1-s2", [1]), ("s1-s3", [1]), ("s2-s4", [1, 2]), ("s3-s4", [1, 3]), ("s4-h3", [1, 2, 4]), ("s4-h4", [1, 3, 4])],
)
def test_mri_path_is_the_way_through_the_network(name: str, path: list[int]) -> None:
    for result in decoded(f"bmv2-tutorials-mri/{name}.pcap"):
        assert [hop["node_id"] for hop in result["hops"]] == path
        has(result["packet"], telemetry=schema.FORMAT_MRI, telemetry_bytes=4 + 8 * len(path), instructions=0, remaining_hops=0)
        assert result["dialect"] is None


def test_mri_depth_is_the_one_of_the_notes() -> None:
    # The notes of the capture: s4 has the only deep queue, 455 packets saw 8 or more, the largest is 63.
    depths = [(hop["node_id"], hop["queue_depth_raw"]) for result in decoded("bmv2-tutorials-mri/s4-h3.pcap") for hop in result["hops"]]
    assert Counter(node for node, depth in depths if depth >= 8) == {4: 455}
    assert max(depth for _, depth in depths) == 63


def test_icrc_column_is_the_one_computed_before_the_mri_option_was_there() -> None:
    name = "bmv2-tutorials-mri/s4-h3.pcap"
    for result, (_, _, data) in zip(decoded(name), capture(name)[1], strict=True):
        size = result["packet"]["telemetry_bytes"]
        restored = bytearray(data[14:34] + data[34 + size :])
        restored[0] = 0x45
        struct.pack_into("!H", restored, 2, len(restored))
        assert result["roce"]["icrc_raw"] == icrc(bytes(restored), 0, len(restored) - 4)


@pytest.mark.parametrize(
    ("name", "formats", "dialect", "warnings"),
    [
        ("bmv2-geant-int-v1.0/s2-s4.pcap", {1, 2}, "geant10", {"int-dialect"}),
        ("bmv2-geant-int-v1.0/s4-coll.pcap", {2, 6}, "geant10", {"int-dialect", "report-inner-cut"}),
        ("bmv2-onos-int-v1.0/s2-s4.pcap", {1, 2}, "onos-basic", {"int-dialect"}),
        ("bmv2-onos-int-v1.0/s4-coll.pcap", {2, 6}, "onos-basic", {"int-dialect", "report-inner-cut"}),
        ("bmv2-laofan-int-md-v2.1/s2-s4.pcap", {1, 3}, "int-2.x", set()),
        ("bmv2-laofan-int-md-v2.1/s4-coll.pcap", {3, 7}, "int-2.x", {"report-length-zero", "report-inner-cut"}),
        ("bmv2-stratum-fabric-v1model-xd/s1-coll.pcap", {1, 5}, None, set()),
        ("bmv2-tutorials-mri/s4-h3.pcap", {1, 10}, None, set()),
        ("linux-ioam-spine-to-leaf/l3-h5.pcap", {1, 8}, None, set()),
    ],
)
def test_program_is_recognised_by_its_bytes_alone(name: str, formats: set[int], dialect: str | None, warnings: set[str]) -> None:
    for result in decoded(name):
        has(result["packet"], formats=sum(1 << number for number in formats), warnings=warnings)
        assert result["dialect"] == dialect


def test_original_dscp_is_what_the_hosts_sent() -> None:
    for name in ("bmv2-geant-int-v1.0/s1-s2.pcap", "bmv2-onos-int-v1.0/s1-s2.pcap", "bmv2-laofan-int-md-v2.1/s1-s2.pcap"):
        assert {result["packet"]["original_dscp"] for result in decoded(name)} == {26}


@pytest.mark.parametrize("folder", ["bmv2-geant-int-v1.0", "bmv2-onos-int-v1.0", "bmv2-laofan-int-md-v2.1"])
def test_deepest_queue_is_where_the_truth_has_it(folder: str) -> None:
    # The sink's hop shows its report port (notes of the captures), so it is left out.
    truth = json.loads((PCAPS / folder / "truth.json").read_text())
    (congested,) = {(entry["node"], entry["port"]) for entry in truth["congested"]}
    deep = Counter(
        (f"s{hop['node_id']}", hop["egress_port"])
        for result in decoded(folder + "/s4-coll.pcap")
        for hop in result["hops"][:-1]
        if hop["queue_depth_raw"] >= 8
    )
    assert set(deep) == {congested}


def test_reports_of_a_program_are_read_with_its_flag_bits() -> None:
    for name, hw_id in (("bmv2-geant-int-v1.0/s4-coll.pcap", 0), ("bmv2-onos-int-v1.0/s4-coll.pcap", 1)):
        for result in decoded(name):
            has(result["reports"][0], dropped=0, congested=0, tracked=1, hw_id=hw_id, node_id=4, version=schema.FORMAT_REPORT_1)
    for number, result in enumerate(decoded("bmv2-laofan-int-md-v2.1/s4-coll.pcap")):
        has(result["reports"][0], dropped=0, congested=0, tracked=1, hw_id=1, node_id=4, sequence=number, inner_type=3, report_type=1)


def test_icrc_column_is_the_one_the_hosts_computed() -> None:
    # No switch touched these packets; the hosts' ICRC is valid as sent (notes of the captures).
    name = "bmv2-stratum-fabric-v1model-xd/s1-s2.pcap"
    for result, (_, _, data) in zip(decoded(name), capture(name)[1], strict=True):
        assert result["roce"]["icrc_raw"] == icrc(data, 14, len(data) - 4)
    # The INT between UDP and BTH has to be taken out, and nothing else.
    for name in ("bmv2-geant-int-v1.0/s2-s4.pcap", "bmv2-onos-int-v1.0/s2-s4.pcap", "bmv2-laofan-int-md-v2.1/s2-s4.pcap"):
        for result, (_, _, data) in zip(decoded(name), capture(name)[1], strict=True):
            restored = without(data, 14, 42, result["packet"]["telemetry_bytes"])
            assert result["roce"]["icrc_raw"] == icrc(restored, 0, len(restored) - 4)


def test_icrc_column_is_the_one_computed_before_the_trace_header_was_there() -> None:
    name = "linux-ioam-spine-to-leaf/l3-h5.pcap"
    for result, (_, _, data) in zip(decoded(name), capture(name)[1], strict=True):
        size = 8 * (data[55] + 1)
        restored = bytearray(data[14:54] + data[54 + size :])
        struct.pack_into("!HB", restored, 4, len(restored) - 40, 17)
        assert result["roce"]["icrc_raw"] == icrc(bytes(restored), 0, len(restored) - 4)


def test_every_capture_is_the_one_that_was_recorded() -> None:
    sums = dict(reversed(line.split("  ")) for line in (PCAPS / "SHA256SUMS").read_text().splitlines())
    assert {path.relative_to(PCAPS).as_posix() for path in PCAPS.glob("*/*")} == set(sums)
    for name, digest in sums.items():
        assert hashlib.sha256((PCAPS / name).read_bytes()).hexdigest() == digest, name


LINUX_NODES = {  # UDP source port → hops at zi3 (notes of the capture)
    4000: 2, 4001: 2, 4002: 2, 4003: 2, 4004: 1, 4005: 2, 4006: 2, 4007: 0, 4008: 2, 4009: 2, 4010: 2, 4011: 0, 4012: 2,
}  # fmt: skip


@pytest.mark.parametrize("name", ["linux-ioam/zi3-w3.pcap", "linux-ioam/zi3-any-sll2.pcap"])
def test_linux_trace_has_the_nodes_that_its_notes_expect(name: str) -> None:
    by_port = {result["packet"]["src_port"]: result for result in decoded(name)}
    assert {port: result["packet"]["hop_count"] for port, result in by_port.items()} == LINUX_NODES
    assert {result["packet"]["status"] for result in by_port.values()} == {"ok"}
    assert {port for port, result in by_port.items() if "ioam-overflow" in result["packet"]["warnings"]} == {4004, 4011}
    assert [hop["node_id"] for hop in by_port[4006]["hops"]] == [101, 201]
    assert [(hop["ingress_port"], hop["egress_port"]) for hop in by_port[4001]["hops"]] == [(11, 12), (21, 22)]
    first, second = (hop["ingress_time_raw"] for hop in by_port[4002]["hops"])
    assert second - first == 15


def test_linux_trace_whose_node_length_lies_is_rejected() -> None:
    by_port = {result["packet"]["src_port"]: result for result in decoded("linux-ioam/zi0-e0.pcap")}
    assert {port for port, result in by_port.items() if result["packet"]["status"] != "ok"} == {4013}
    has(by_port[4013]["packet"], status="ioam-node-length", hop_count=0, dst_port=9)


# -------------------------------------------------------------------------------------------------------------------- tshark

needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")


def tshark(path: Path, *fields: str) -> list[dict[str, list[int]]]:
    """Fields of every packet, all occurrences, as numbers."""
    assert TSHARK is not None
    command = [TSHARK, "-n", "-r", str(path), "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in fields:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    return [
        {field: [int(value, 0) for value in text.split(",") if value] for field, text in zip(fields, line.split("\t"), strict=True)}
        for line in lines
    ]


def column(values: list[int], number: int, ones: int) -> int | None:
    """One occurrence; all ones mean that it is not there."""
    if number >= len(values):
        return None
    return None if values[number] == ones else values[number]


@needs_tshark
@pytest.mark.parametrize(
    "name",
    ["linux-ioam/zi0-e0.pcap", "linux-ioam/zi2-w2.pcap", "linux-ioam/zi3-w3.pcap", "linux-ioam/zi3-any-sll2.pcap",
     "linux-ioam-spine-to-leaf/l3-h5.pcap"],
)  # fmt: skip
def test_tshark_reads_the_same_ioam_traces(name: str) -> None:
    prefix = "ipv6.opt.ioam.trace."
    node = prefix + "node."
    names = ("ns", "flags", "remlen", "type")
    items = ("hlim", "id", "iif", "eif", "tss", "tsf", "trdelay", "nsdata", "qdepth", *("id_wide", "iif_wide", "eif_wide", "nsdata_wide"))
    items += ("bufoccup",)
    rows = tshark(PCAPS / name, *(prefix + item for item in names), *(node + item for item in items))
    assert len(rows) == len(decoded(name))
    for row, result in zip(rows, decoded(name), strict=True):
        packet = result["packet"]
        if packet["status"] == "ioam-node-length":
            continue
        has(packet, namespace=row[prefix + "ns"][0], telemetry_flags=row[prefix + "flags"][0], remaining_hops=row[prefix + "remlen"][0])
        has(packet, instructions=row[prefix + "type"][0])
        # A node with a short and a wide id has its hop limit twice.
        row[node + "hlim"] = row[node + "hlim"][:: 2 if row[node + "id"] and row[node + "id_wide"] else 1]
        count = max(len(row[node + item]) for item in items)
        assert packet["hop_count"] == count
        for number, hop in enumerate(reversed(result["hops"])):
            value = {item: row[node + item] for item in items}
            wide = column(value["id_wide"], number, 2**56 - 1)
            has(hop, node_id=column(value["id"], number, 0xFFFFFF) if wide is None else wide, hop_limit=column(value["hlim"], number, 0xFF))
            for ours, short in (("ingress_port", "iif"), ("egress_port", "eif")):
                wide = column(value[short + "_wide"], number, 0xFFFFFFFF)
                has(hop, **{ours: column(value[short], number, 0xFFFF) if wide is None else wide})
            wide = column(value["nsdata_wide"], number, 2**64 - 1)
            has(hop, namespace_data=column(value["nsdata"], number, 0xFFFFFFFF) if wide is None else wide)
            has(
                hop,
                queue_depth_raw=column(value["qdepth"], number, 0xFFFFFFFF),
                hop_latency_raw=column(value["trdelay"], number, 0xFFFFFFFF),
            )
            has(hop, buffer_depth_raw=column(value["bufoccup"], number, 0xFFFFFFFF))
            seconds, fraction = column(value["tss"], number, 0xFFFFFFFF), column(value["tsf"], number, 0xFFFFFFFF)
            has(hop, ingress_time_raw=None if seconds is None or fraction is None else seconds << 32 | fraction)


BTH = {
    "opcode": "opcode", "se": "se", "migreq": "m", "pad": "padcnt", "transport_version": "tver", "pkey": "p_key", "dest_qp": "destqp",
    "ack_req": "a", "psn": "psn",
}  # fmt: skip


@needs_tshark
@pytest.mark.parametrize(
    "name",
    ["bmv2-stratum-fabric-v1model-xd/s1-s3.pcap", "bmv2-laofan-int-md-v2.1/s4-h3.pcap", "bmv2-tutorials-mri/s2-s4.pcap",
     "linux-ioam-spine-to-leaf/l3-h6.pcap"],
)  # fmt: skip
def test_tshark_reads_the_same_rocev2_transport(name: str) -> None:
    fields = {ours: "infiniband.bth." + theirs for ours, theirs in BTH.items()}
    fields |= {"virtual_address": "infiniband.reth.va", "rkey": "infiniband.reth.r_key", "dma_bytes": "infiniband.reth.dmalen"}
    fields |= {"icrc_raw": "infiniband.invariant.crc"}
    rows = tshark(PCAPS / name, *fields.values())
    assert len(rows) == len(decoded(name))
    for row, result in zip(rows, decoded(name), strict=True):
        for ours, theirs in fields.items():
            assert result["roce"][ours] == (row[theirs][0] if row[theirs] else None), ours


def write_pcap(path: Path, packets: list[bytes]) -> Path:
    """Ethernet frames as a classic pcap."""
    records = b"".join(struct.pack("<IIII", 0, 0, len(data), len(data)) + data for data in packets)
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + records)
    return path


@needs_tshark
def test_tshark_finds_the_same_extension_headers_behind_every_opcode(tmp_path: Path) -> None:
    # tshark 4.0 does not know XRC, IETH, FLUSH and ATOMIC WRITE, nor the headers of RD.
    opcodes = [opcode for opcode in naive.OPCODES if opcode < 0x20 or opcode >> 5 in (1, 3)]
    opcodes = [opcode for opcode in opcodes if opcode not in (0x16, 0x17, 0x1C, 0x1D)]
    path = write_pcap(tmp_path / "opcodes.pcap", [mutate.opcode_frame(opcode) for opcode in opcodes])
    fields = {
        "virtual_address": ("infiniband.reth.va",),
        "rkey": ("infiniband.reth.r_key",),
        "dma_bytes": ("infiniband.reth.dmalen",),
        "swap_add": ("infiniband.atomiceth.swapdt",),
        "compare": ("infiniband.atomiceth.cmpdt",),
        "syndrome": ("infiniband.aeth.syndrome",),
        "msn": ("infiniband.aeth.msn",),
        "original_data": ("infiniband.atomicacketh.origremdt",),
        "queue_key": ("infiniband.deth.q_key",),
        "source_qp": ("infiniband.deth.srcqp",),
    }
    rows = tshark(path, *(name for names in fields.values() for name in names), "infiniband.bth.opcode")
    for opcode, row, (_, _, data) in zip(opcodes, rows, naive.read_pcap(path)[1], strict=True):
        roce = naive.decode_packet(data, 1)["roce"]
        assert row["infiniband.bth.opcode"] == [opcode]
        for ours, names in fields.items():
            theirs = [value for name in names for value in row[name]]
            assert [roce[ours]] == (theirs or [None]), (hex(opcode), ours)


@needs_tshark
def test_tshark_reads_the_same_mirrors(tmp_path: Path) -> None:
    names = ("vlan", "cos", "truncated", "spanid", "timestamp", "sgt", "hw", "gra", "direction", "index", "platid")
    path = write_pcap(tmp_path / "mirrors.pcap", [bytes.fromhex(WORKED[SHORT[short]]["hex"]) for short in ("07", "08")])
    two, three = tshark(path, *("erspan." + name for name in names), "gre.sequence_number", "infiniband.bth.opcode", "infiniband.aeth.msn")
    for row, short in ((two, "07"), (three, "08")):
        (mirror,) = worked(short)["mirrors"]
        has(mirror, sequence=row["gre.sequence_number"][0], vlan_id=row["erspan.vlan"][0], cos=row["erspan.cos"][0])
        has(mirror, truncated=row["erspan.truncated"][0], session_id=row["erspan.spanid"][0])
        has(worked(short)["roce"], opcode=row["infiniband.bth.opcode"][0])
    has(worked("07")["mirrors"][0], index=two["erspan.index"][0])
    has(worked("08")["mirrors"][0], timestamp_raw=three["erspan.timestamp"][0], security_group=three["erspan.sgt"][0])
    has(worked("08")["mirrors"][0], hw_id=three["erspan.hw"][0], granularity=three["erspan.gra"][0], direction=three["erspan.direction"][0])
    has(worked("08")["mirrors"][0], platform_id=three["erspan.platid"][0])
    has(worked("08")["roce"], msn=three["infiniband.aeth.msn"][0])
