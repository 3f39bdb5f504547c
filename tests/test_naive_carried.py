"""The naive decoder on INT in tunnels and over TCP, INT 0.5, MRI and CSIG: damaged, cut, built and read again."""

from __future__ import annotations

import mutate
import pytest
from mode import twin_alone
from test_naive_robust import CONFIGURED, WORKED, check

from int_analyzer import schema

pytestmark = twin_alone


# ----------------------------------------------------------------------------------------------- telemetry in tunnels and over TCP

REPORT_FORMATS = (schema.FORMAT_REPORT_05, schema.FORMAT_REPORT_1, schema.FORMAT_REPORT_2)
TELEMETRY = ("telemetry", "dialect", "telemetry_flags", "instructions", "namespace", "remaining_hops", "hop_count")
UNDER_PORT = {**CONFIGURED, "int_dscp": None, "int_ports": (mutate.INT_PORT,)}
SMALL = mutate.int_md([{"node_id": 5}, {"node_id": 6}], flags=3)
HEADERS: dict[str, tuple[int, bytes]] = {
    "all items": (1, mutate.int_md(mutate.random_hops(4, 2), instructions=0xFD80, flags=7, remaining=0)),
    "checksum complement": (1, mutate.int_md(mutate.random_hops(4, 3), instructions=0x8001)),
    "absent items": (1, mutate.int_md([{"node_id": 1}, {"queue_id": 2, "queue_depth_raw": 9}], instructions=0xDC80)),
    "no hops": (1, mutate.int_md([], instructions=0x9000)),
    "no instructions": (1, mutate.int_md([], instructions=0)),
    "reserved instructions": (1, mutate.int_md(mutate.random_hops(1, 1), instructions=0x8070)),
    "32-bit times": (1, b"\x20\0\1\5\x08\0" + bytes(6) + b"\0\0\0\5"),
    "domain 0": (1, mutate.int_md(mutate.random_hops(1, 1), instructions=0x8000, ds_instruction=0x8000)),
    "a known domain": (
        1,
        mutate.int_md(mutate.random_hops(1, 2), instructions=0x9000, domain=7, ds_instruction=1, hop_extra=bytes(4), source_only=bytes(4)),
    ),
    "another version": (1, b"\x70" + SMALL[1:]),
    "stack without bitmap": (1, SMALL[:4] + bytes(8) + SMALL[12:]),
    "stack without hop length": (1, b"\x20\0\0\5" + SMALL[4:]),
    "not whole hops": (1, b"\x20\0\3\5" + SMALL[4:]),
    "hops of another length": (1, b"\x20\0\2\5" + SMALL[4:]),
    "node twice": (1, mutate.int_md([{"node_id": 5}, {"node_id": 5}])),
    "all-zero metadata": (1, mutate.int_md([{"node_id": 1, "hop_latency_raw": 0}])),
    "mx": (3, mutate.int_mx(0x9000, discard=1, domain=7, ds_instruction=0xC000, source_inserted=bytes(8))),
    "mx of another version": (3, b"\x10" + mutate.int_mx(0x9000)[1:]),
    "destination": (2, bytes(8)),
    "a shim type that is not defined": (5, SMALL),
    "too short": (1, SMALL[:8]),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_int_in_a_tunnel_is_judged_as_over_udp(name: str) -> None:
    kind, body = HEADERS[name]
    over_udp = mutate.udp_frame(mutate.shim(body, kind, mutate.ROCE_PORT, npt=1) + mutate.roce_payload(), mutate.INT_PORT)
    same = check(over_udp, profile=UNDER_PORT)
    for carrier, frame in mutate.int_tunnels(mutate.WORKED_FRAME, body, kind):
        if "geneve" in carrier and kind not in (1, 3):
            continue
        result = check(frame, profile=UNDER_PORT)
        assert result["hops"] == same["hops"], carrier
        assert {column: result["packet"][column] for column in TELEMETRY} == {column: same["packet"][column] for column in TELEMETRY}, (
            carrier
        )
        assert result["packet"]["telemetry_bytes"] == same["packet"]["telemetry_bytes"], carrier
        assert (result["packet"]["status"], result["dialect"]) == (same["packet"]["status"], same["dialect"]), carrier
        assert result["packet"]["warnings"] == same["packet"]["warnings"], carrier
        assert result["packet"]["original_dscp"] is None, carrier
        # The packet inside is read where INT over UDP reads on, and behind any Geneve option.
        assert (result["roce"] is not None) == ("geneve" in carrier or same["roce"] is not None), carrier


@pytest.mark.parametrize("name", [name for name, (kind, _) in HEADERS.items() if kind < 4])
def test_int_in_a_tunnel_is_cut_as_over_udp(name: str) -> None:
    kind, body = HEADERS[name]
    over_udp = mutate.udp_frame(mutate.shim(body, kind, mutate.ROCE_PORT, npt=1) + mutate.roce_payload(), mutate.INT_PORT)
    # The shim over UDP is behind 42 bytes; over GPE behind 8 more; over GRE with two words behind 34 + 12.
    for carrier, frame in mutate.int_tunnels(mutate.WORKED_FRAME, body, kind):
        at = 46 if carrier == "gre" else 50
        if "geneve" in carrier:
            continue
        for size in range(4 + len(body)):
            same = check(over_udp[: 42 + size], original=len(over_udp), profile=UNDER_PORT)
            result = check(frame[: at + size], original=len(frame), profile=UNDER_PORT)
            assert result["hops"] == same["hops"], (carrier, size)
            # Behind a cut in what belongs to no hop, the next header is missing: Ethernet here, a BTH there.
            missing = {"bth-truncated": "link-truncated"}.get(same["packet"]["status"], same["packet"]["status"])
            assert result["packet"]["status"] == missing, (carrier, size)
            assert result["packet"]["status_at"] - at == same["packet"]["status_at"] - 42, (carrier, size)
            columns = (*TELEMETRY, "telemetry_bytes")
            assert {name: result["packet"][name] for name in columns} == {name: same["packet"][name] for name in columns}, (carrier, size)


@pytest.mark.parametrize("name", WORKED)
def test_int_in_a_tunnel_leaves_the_packet_inside_as_it_is(name: str) -> None:
    data = WORKED[name]
    alone = check(data, profile=CONFIGURED)
    hops = mutate.random_hops(6, 2)
    own = bool(alone["packet"]["telemetry"]) and alone["packet"]["telemetry"] not in REPORT_FORMATS
    for carrier, frame in mutate.int_tunnels(data, mutate.int_md(hops)):
        result = check(frame, profile=CONFIGURED)
        assert result["roce"] == alone["roce"], carrier
        assert result["reports"] == alone["reports"], carrier
        assert result["packet"]["status"] == alone["packet"]["status"], carrier
        if own:
            assert result["hops"] == alone["hops"], carrier
        else:
            nodes = [hop["node_id"] for hop in hops] + [hop["node_id"] for hop in alone["hops"]]
            assert [hop["node_id"] for hop in result["hops"]] == nodes, carrier
            assert result["packet"]["telemetry"] == schema.FORMAT_INT_MD_2, carrier


@pytest.mark.parametrize("dialect", ["int-1.0", "onos-basic", "geant10"])
def test_int_1_in_vxlan_gpe_has_the_dialects_of_udp(dialect: str) -> None:
    hops = [{name: hop[name] for name in list(hop)[:8]} for hop in mutate.random_hops(4, 3)]
    body = mutate.int_md(hops, dialect=dialect, instructions=0xFF00 if dialect != "onos-basic" else 0xFC00, flags=12)
    result = check(mutate.gpe_int(mutate.shim_1(body, last=3), mutate.WORKED_FRAME, 0x08))
    assert (result["dialect"], result["packet"]["telemetry_flags"], result["packet"]["original_dscp"]) == (dialect, 12, None)
    assert result["packet"]["telemetry_bytes"] == 4 + len(body)
    for hop, want in zip(result["hops"], hops, strict=True):
        assert {name: hop[name] for name in want} == want
    assert result["roce"]["psn"] == 0xABCDEF


def test_the_last_valid_int_option_of_geneve_wins() -> None:
    first, second = mutate.int_md([{"node_id": 1}]), mutate.int_md([{"node_id": 2}, {"node_id": 3}])
    broken = mutate.geneve_option(b"\x70" + second[1:])
    opaque = mutate.geneve_option(b"\x20\0\2\5" + second[4:])
    mx = mutate.geneve_option(mutate.int_mx(0x4000, domain=9), 3)
    one, two = mutate.geneve_option(first), mutate.geneve_option(second)
    for options, nodes, size, status in (
        (one + two, [2, 3], 24, "ok"),
        (two + one, [1], 20, "ok"),
        (two + broken, [2, 3], 24, "int-version-unknown"),
        (two + one[:3] + b"\x02" + one[4:12], [2, 3], 24, "int-length-too-small"),
        (two + opaque, [None], 24, "int-hop-length-mismatch"),
        (two + mx, [], 16, "ok"),
        (mx + one, [1], 20, "ok"),
    ):
        result = check(mutate.geneve_int(options, mutate.WORKED_FRAME))
        assert [hop["node_id"] for hop in result["hops"]] == nodes
        assert (result["packet"]["telemetry_bytes"], result["packet"]["status"]) == (size, status)
        assert result["roce"]["psn"] == 0xABCDEF
    assert result["packet"]["formats"] >> schema.FORMAT_INT_MX & 1


def test_a_status_of_a_geneve_option_is_at_that_option() -> None:
    options = mutate.geneve_option(b"\0\0\0\0", 9, 0x0107) + mutate.geneve_option(b"\x70" + SMALL[1:])
    result = check(mutate.geneve_int(options, mutate.WORKED_FRAME))
    assert (result["packet"]["status"], result["packet"]["status_at"]) == ("int-version-unknown", 42 + 8 + 8)


@pytest.mark.parametrize("count", [0, 1, 3, 15])
@pytest.mark.parametrize("instructions", [0xFF00, 0xFFFF, 0xFC00, 0xE500, 0x9000])
def test_built_int_05_comes_back(count: int, instructions: int) -> None:
    hops = [{name: hop[name] for name in list(hop)[:9]} for hop in mutate.random_hops(count, count)]
    data = mutate.int_05(hops, instructions=instructions, flags=10, max_hops=63, original_dscp=0x5A)
    result = check(mutate.udp_frame(data + mutate.roce_payload(), 7777), profile={"int_ports": (7777,)})
    assert (result["dialect"], result["packet"]["telemetry"]) == ("int-0.5", schema.FORMAT_INT_05)
    assert result["packet"]["remaining_hops"] == 63 - count
    assert (result["packet"]["telemetry_bytes"], result["packet"]["original_dscp"]) == (len(data), 26)
    assert (result["packet"]["instructions"], result["packet"]["telemetry_flags"]) == (instructions, 10)
    assert result["packet"]["warnings"] == {"int-hop-exceeded"}
    assert (result["packet"]["dst_port"], result["roce"]["psn"]) == (4791, 0xABCDEF)
    items = (("node_id",), ("ingress_port", "egress_port"), ("hop_latency_raw",), ("queue_id", "queue_depth_raw"))
    items += (("ingress_time_raw",), ("egress_time_raw",), (), ("tx_utilisation_raw",))
    for hop, want in zip(result["hops"], hops, strict=True):
        for bit, names in enumerate(items):
            for name in names:
                assert hop[name] == (want[name] if instructions & 0x8000 >> bit else None)
        assert hop["buffer_id"] is None


def test_int_05_is_not_seen_where_its_tail_was_not_captured() -> None:
    data = mutate.int_05(mutate.random_hops(2, 2))
    frame = mutate.udp_frame(data + mutate.roce_payload(), mutate.INT_PORT)
    for size in range(len(data)):
        result = check(frame[: 42 + size], original=len(frame), profile=UNDER_PORT)
        assert not result["packet"]["formats"] >> schema.FORMAT_INT_05 & 1
    assert check(frame[: 42 + len(data)], original=len(frame), profile=UNDER_PORT)["packet"]["hop_count"] == 2


def test_congestion_status_of_int_05_is_no_depth() -> None:
    data = mutate.int_05([{}, {}], instructions=0x0200)
    result = check(mutate.udp_frame(data + mutate.roce_payload(), 7777), profile={"int_ports": (7777,)})
    assert [hop["present"] for hop in result["hops"]] == [0, 0]


def test_int_mx_leaves_no_hops_of_the_header_before_it() -> None:
    mx = mutate.udp_frame(mutate.shim(mutate.int_mx(0x9000, discard=1, domain=7), 3, 4791, npt=1) + mutate.roce_payload(), mutate.INT_PORT)
    for frame in (
        mutate.gpe_int(mutate.shim(mutate.int_md(mutate.random_hops(1, 3)), last=3), mx),
        mutate.mri_frame(mutate.mri_option([(1, 2)]), mx[42:], mutate.INT_PORT),
    ):
        result = check(frame, profile=UNDER_PORT)
        packet = result["packet"]
        assert (result["hops"], packet["telemetry"], packet["instructions"]) == ([], schema.FORMAT_INT_MX, 0x9000)
        assert (packet["namespace"], packet["telemetry_flags"], packet["telemetry_bytes"]) == (7, 1, 16)
        assert (packet["remaining_hops"], result["dialect"], packet["status"]) == (0, None, "ok")
        assert result["roce"]["psn"] == 0xABCDEF


def test_int_over_tcp_is_found_at_both_ends_of_the_options() -> None:
    options = bytes([2, 4, 5, 0xB4, 1, 3, 3, 7])
    hops = mutate.random_hops(3, 2)
    header = mutate.shim(mutate.int_md(hops, flags=1), last=26 << 2)
    mark = CONFIGURED["marker"].to_bytes(8, "big")
    for before, more, profile in ((b"", 0, {"int_dscp": (23, 63)}), (mark, 8, {"marker": CONFIGURED["marker"]})):
        frames = (
            mutate.tcp_frame(before + header + b"text"),
            mutate.tcp_frame(before + header + b"text", options=options),
            mutate.tcp_frame(before + header + options + b"text", offset=7),
            mutate.tcp_frame(before + header + options + b"text", offset=7, ip_version=6),
        )
        for frame in frames:
            result = check(frame, profile=profile)
            packet = result["packet"]
            assert [hop["node_id"] for hop in result["hops"]] == [hop["node_id"] for hop in hops]
            assert (packet["telemetry"], packet["telemetry_bytes"], packet["telemetry_flags"]) == (
                schema.FORMAT_INT_MD_2, len(header) + more, 1,
            )  # fmt: skip
            assert (packet["status"], packet["status_at"], packet["original_dscp"], packet["dst_port"]) == ("ok", 0, 26, 5001)
            assert (packet["formats"], packet["protocol"]) == (1 << schema.FORMAT_INT_MD_2, 6)
            assert check(frame)["packet"]["status"] == "not-udp"


def test_int_behind_the_options_of_tcp_comes_before_int_in_front_of_them() -> None:
    first, second = mutate.shim(mutate.int_md([{"node_id": 1}])), mutate.shim(mutate.int_md([{"node_id": 2}]))
    result = check(mutate.tcp_frame(first + second, offset=5 + len(first) // 4), profile={"int_dscp": (23, 63)})
    assert [hop["node_id"] for hop in result["hops"]] == [2]


def test_nothing_behind_int_over_tcp_is_read() -> None:
    frame = mutate.tcp_frame(mutate.shim(mutate.int_md([{"node_id": 1}])) + mutate.roce_payload())
    result = check(frame[:34] + b"\xc0\x00\x12\xb7" + frame[38:], profile={"int_dscp": (23, 63)})
    assert (result["packet"]["dst_port"], result["roce"], result["packet"]["status"]) == (4791, None, "ok")


def test_a_cut_stack_over_tcp_keeps_the_newest_hops() -> None:
    frame = mutate.tcp_frame(mutate.shim(mutate.int_md(mutate.random_hops(5, 5), instructions=0x8000)))
    # 54 bytes to the shim, 16 of shim and header, 4 for each hop.
    result = check(frame[: 54 + 16 + 4 * 2 + 3], original=len(frame), profile={"int_dscp": (23, 63)})
    assert (result["packet"]["status"], result["packet"]["status_at"]) == ("int-stack-truncated", 78)
    assert [(hop["hop"], hop["node_id"]) for hop in result["hops"]] == [(3, 307), (4, 407)]


def test_int_05_over_tcp_has_the_port_of_its_tail() -> None:
    hops = mutate.random_hops(2, 2)
    result = check(mutate.tcp_frame(mutate.int_05(hops, protocol=6, original_port=80)), profile={"int_dscp": (23, 63)})
    assert (result["dialect"], result["packet"]["dst_port"], result["packet"]["original_dscp"]) == ("int-0.5", 80, 26)
    assert [hop["node_id"] for hop in result["hops"]] == [hop["node_id"] for hop in hops]


def test_mri_hops_give_way_to_telemetry_that_is_read_later() -> None:
    one, two = mutate.mri_option([(1, 9)]), mutate.mri_option([(2, 8), (3, 7)])
    inner = mutate.int_md_packet([{"node_id": 5}, {"node_id": 6}], 1)[42:]
    broken = mutate.edited(inner, 1, 200)
    for frame, nodes, size, telemetry in (
        (mutate.mri_frame(one + two), [1], 12, schema.FORMAT_MRI),
        (mutate.mri_frame(mutate.mri_option([(4, 4)], count=3) + two), [2, 3], 20, schema.FORMAT_MRI),
        (mutate.mri_frame(one + two, inner, mutate.INT_PORT), [5, 6], 24, schema.FORMAT_INT_MD_2),
        (mutate.mri_frame(one + two, broken, mutate.INT_PORT), [1], 12, schema.FORMAT_MRI),
        (mutate.ipv4_frame(one, mutate.mri_frame(two)[14:], 4), [2, 3], 20, schema.FORMAT_MRI),
        (mutate.ipv4_frame(one, WORKED["01_rocev2_ipv4_rc_write_only"][14:], 4), [1], 12, schema.FORMAT_MRI),
    ):
        packet = check(frame, profile=UNDER_PORT)
        assert [hop["node_id"] for hop in packet["hops"]] == nodes
        assert (packet["packet"]["telemetry_bytes"], packet["packet"]["telemetry"]) == (size, telemetry)
        assert packet["packet"]["formats"] >> schema.FORMAT_MRI & 1


def test_mri_values_of_ones_are_values() -> None:
    (hop,) = check(mutate.mri_frame(mutate.mri_option([(0xFFFFFFFF, 0xFFFFFFFF)])))["hops"]
    assert (hop["node_id"], hop["queue_depth_raw"]) == (0xFFFFFFFF, 0xFFFFFFFF)


def test_mri_in_a_report_has_the_reporting_node_behind_it() -> None:
    result = check(mutate.report_1_frame(mutate.mri_frame(mutate.mri_option([(1, 9), (2, 8)]))))
    assert [hop["node_id"] for hop in result["hops"]] == [1, 2, 77]
    assert result["packet"]["telemetry"] == schema.FORMAT_MRI


def test_the_first_csig_tag_counts() -> None:
    plain = WORKED["01_rocev2_ipv4_rc_write_only"]
    for tags, want in (((), None), ((5,), 5), ((5, 6), 5), ((0,), 0), ((0xFFFF,), 0xFFFF), ((0xFFFF, 6), 0xFFFF)):
        assert check(mutate.csig_tagged(plain, *tags))["packet"]["csig"] == want
    outside = mutate.csig_tagged(mutate.ANY["vxlan"](mutate.csig_tagged(plain, 6)), 5)
    inside = mutate.ANY["vxlan"](mutate.csig_tagged(plain, 6))
    assert [check(frame)["packet"]["csig"] for frame in (outside, inside)] == [5, 6]
    assert check(mutate.csig_tagged(plain, 5)[:17])["packet"]["csig"] is None
