"""The naive decoder against the worked packets of the format reference and packets put together by hand."""

from __future__ import annotations

import json
import struct
import zlib
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import golden_packet
import naive
import pytest
from golden_packet import GOLDEN, PCAPS
from mode import twin_alone

from int_analyzer import schema

pytestmark = twin_alone

WORKED = {entry["name"]: entry for entry in json.loads((GOLDEN / "worked-packets.json").read_text())}
SHORT = {name.split("_")[0]: name for name in WORKED}
WORKED_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if path.stem in WORKED)
MADE_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if "parts" in json.loads(path.read_text()))

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


@pytest.mark.parametrize("path", WORKED_GOLDEN, ids=lambda path: path.stem)
def test_worked_packet_gives_exactly_its_golden_rows(path: Path) -> None:
    golden = json.loads(path.read_text())
    entry = WORKED[path.stem]
    profile = golden_packet.profile_of(golden)
    results = naive.decode_record(bytes.fromhex(entry["hex"]), entry["linktype"], profile=profile)
    assert [plain(result) for result in results] == golden["results"]


def test_every_worked_packet_has_a_golden_result() -> None:
    assert {path.stem for path in WORKED_GOLDEN} == set(WORKED)


@pytest.mark.parametrize("path", MADE_GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_packet_put_together_by_hand_is_read_as_its_parts_say(path: Path) -> None:
    golden = golden_packet.load(path)
    golden.check(naive.decode_record(golden.data, 1, profile=golden.profile))


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
def test_06_every_coalesced_report_v2_is_a_packet_of_its_own(profile: dict[str, Any] | None) -> None:
    want = expected("06")
    results = naive.decode_record(bytes.fromhex(WORKED[SHORT["06"]]["hex"]), 1, profile=profile)
    group = want["group"]
    assert len(results) == len(want["reports"])
    for part, (result, entry) in enumerate(zip(results, want["reports"], strict=True)):
        (row,) = result["reports"]
        has(result["packet"], part=part, report_count=1)
        has(row, report=part, version=schema.FORMAT_REPORT_2, hw_id=group["hw_id"], sequence=group["seq"], node_id=group["node_id"])
        has(row, report_type=entry["rep_type"], inner_type=entry["in_type"], dropped=entry["d"], congested=entry["q"])
        has(row, tracked=entry["f"], intermediate=entry["i"])
    first, second = results
    row, md = first["reports"][0], want["reports"][0]["md"]
    has(row, metadata_bits=int(want["reports"][0]["rep_md_bits"], 16), ingress_port=md["l1_ingress"], egress_port=0xFFFF)
    has(row, ingress_port_2=md["l2_ingress"], egress_port_2=md["l2_egress"], queue_id=md["drop_queue_id"], drop_reason=md["drop_reason"])
    has(row, queue_depth_raw=None, hop_latency_raw=None)
    (hop,) = first["hops"]
    has(hop, node_id=1028, ingress_port=5, egress_port=0xFFFF, queue_id=3, queue_depth_raw=None)
    # 40 bytes of the dropped packet: IPv4, UDP and BTH, but not the RETH.
    has(first["packet"], src_lo=int(ip_address("10.0.0.1")), ip_bytes=76, dst_port=4791, telemetry=schema.FORMAT_REPORT_2)
    has(first["packet"], status="report-inner-truncated", status_at=118, warnings={"report-inner-cut"})
    has(first["roce"], opcode=10, psn=0xABCDEF, rkey=None, icrc_raw=None, payload_bytes=16)
    # 28 bytes in a TLV: IPv4 and UDP of the same flow, not its BTH.
    has(second["packet"], src_lo=int(ip_address("10.0.0.1")), dst_port=4791, telemetry=0, hop_count=0, status="ok", roce_row=None)


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


def test_12_direct_export_is_an_option_and_the_roce_behind_it_is_read() -> None:
    result, want = worked("12"), expected("12")["ioam"]
    has(result["packet"], formats=1 << schema.FORMAT_IOAM_DEX | 1 << schema.FORMAT_ROCE, tunnels=0, hop_count=0, dst_port=4791)
    has(result["packet"], status="ok", warnings=set(), telemetry=0)
    (option,) = result["options"]
    has(option, format=schema.FORMAT_IOAM_DEX, namespace=want["namespace"], flags=want["flags"], flow_id=int(want["flow_id"], 16))
    has(option, extension_flags=int(want["ext_flags"], 16), trace_type=int(want["trace_type"], 16), sequence=want["sequence"])
    has(option, sequence_bits=32, time_seconds=None, proof_packet_id=None, hop_id=None)
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


def test_14_ifa_has_its_records_and_the_roce_behind_them() -> None:
    result, want = worked("14"), expected("14")
    ifa, md = want["ifa"], want["ifa_md_header"]
    has(result["packet"], formats=1 << schema.FORMAT_IFA | 1 << schema.FORMAT_ROCE, telemetry=schema.FORMAT_IFA, namespace=ifa["gns"])
    has(
        result["packet"],
        telemetry_flags=ifa["flags"]["i"] << 2,
        instructions=md["request"] << 8 | md["action"],
        status="ok",
        warnings=set(),
    )
    has(result["packet"], remaining_hops=md["hop_limit"], telemetry_bytes=8 + 4 * md["current_len_words"], protocol=ifa["nexthdr"])
    has(result["packet"], dst_port=want["udp"]["dport"], hop_count=2)
    assert result["dialect"] == "ifa-32"
    newest, oldest = want["hops_wire_order"]
    for hop, record in zip(result["hops"], (oldest, newest), strict=True):
        has(
            hop,
            node_id=record["device_id"],
            hop_limit=record["ttl"],
            egress_port=record["egress_port"],
            ingress_port=record["ingress_port"],
        )
        has(hop, hop_latency_raw=record["latency_ns"], queue_id=newest["qid"], port_speed_bps=400_000_000_000)
        has(hop, ingress_time_raw=newest["rx_sec"] * 10**9 + record["rx_nsec"])
    has(result["hops"][1], queue_depth_raw=newest["queue_bytes"])
    assert result["roce"] == worked("01")["roce"]


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
