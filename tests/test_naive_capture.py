"""The naive decoder on the recorded captures, against the notes that came with them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from ipaddress import ip_address
from pathlib import Path

import golden_packet
import pytest
from golden_packet import GOLDEN, PCAPS
from mode import twin_alone
from test_naive import capture, decoded, has, icrc, without

from int_analyzer import schema

pytestmark = twin_alone

CAPTURE_GOLDEN = sorted(path for path in GOLDEN.glob("*/*.json") if "capture" in json.loads(path.read_text()))
CAPTURE_FILES: dict[str, dict[str, int]] = json.loads((GOLDEN / "captures.json").read_text())


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
    golden_packet.load(path).check([result])
    if "outer" in golden:
        outer = golden["outer"]
        assert struct.unpack_from("!IIHH", data, 26) == (
            int(ip_address(outer["src"])),
            int(ip_address(outer["dst"])),
            outer["src_port"],
            outer["dst_port"],
        )


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
