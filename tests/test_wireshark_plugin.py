"""int-analyzer wireshark-plugin: what tshark shows with the plugin is what the decoder's tables say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import kernel
import mutate
import naive
import pytest
from mode import other_programs

from int_analyzer import schema
from int_analyzer.cli import main
from int_analyzer.dissect import wireshark
from int_analyzer.dissect.field import Form
from int_analyzer.profile import Profile, parse_profile
from int_analyzer.status import STATUSES, WARNINGS

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
WORKED = mutate.worked_packets()
LUA = sorted((ROOT / "int_analyzer/dissect/lua").glob("*.lua"))
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed: the plugin cannot be run")

PROFILE = {"int_ports": (54321,), "report_ports": (32766,), "domains": {0x5453: (2, 0)}}
PROFILE_FILE = parse_profile(
    {
        "detect": {"int_ports": [54321], "report_ports": [32766]},
        "domain": [{"id": 0x5453, "source_only_words": 2}],
        "node": {"257": {"name": "leaf-1"}},
    }
)
# Filter name of each column, from the declarations.
FILTERS = {
    field.column: f"{header.name}.{field.name}"
    for header in wireshark.HEADERS.values()
    for field in header.fields
    if field.column and not field.name.endswith("_2")
}
HOP_FILTERS = {column.removeprefix("hops."): name for column, name in FILTERS.items() if column.startswith("hops.")}
REPORT_FILTERS = {column.removeprefix("reports."): name for column, name in FILTERS.items() if column.startswith("reports.")}


def tshark(folder: Path, capture: Path, *options: str, profile: Profile | None = None, with_plugin: bool = True) -> str:
    """Output of tshark with the plugin; fails on any error of Lua."""
    script = folder / "int.lua"
    script.write_text(wireshark.plugin(profile), encoding="utf-8")
    loaded = ["-X", f"lua_script:{script}"] if with_plugin else []
    done = subprocess.run(
        [str(TSHARK), *loaded, "-r", str(capture), *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WIRESHARK_CONFIG_DIR": str(folder)},
    )
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr
    assert "Lua Error" not in done.stdout, done.stdout[done.stdout.index("Lua Error") - 200 :][:500]
    return done.stdout


def packets_of(folder: Path, capture: Path, *options: str, profile: Profile | None = None) -> list[ElementTree.Element]:
    """Packets as tshark's XML."""
    return ElementTree.fromstring(tshark(folder, capture, "-T", "pdml", *options, profile=profile)).findall("packet")


def written(folder: Path, packets: Iterable[bytes | kernel.Packet]) -> Path:
    path = folder / "packets.pcap"
    path.write_bytes(kernel.capture_bytes([(packet, len(packet), 0) if isinstance(packet, bytes) else packet for packet in packets]))
    return path


def number(field: ElementTree.Element) -> int:
    text = field.get("show", "")
    return {"True": 1, "False": 0}.get(text) if text in ("True", "False") else int(text, 0)  # type: ignore[return-value]


def fields_of(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [field for field in element.iter("field") if field.get("name") == name]


def hops_of(packet: ElementTree.Element) -> list[dict[str, int]]:
    """Hops in the order of the display: column → value, and "hop"."""
    hops = []
    for hop in fields_of(packet, "int.hop"):
        values = {
            name: number(field)
            for field in hop.iter("field")
            if (name := field.get("name", "")).startswith("int.hop.") and name not in ("int.hop.absent", "int.hop.opaque")
        }
        shown = {column: values[name] for column, name in HOP_FILTERS.items() if name in values}
        if "int.hop.ingress_port_2" in values and "ingress_port" not in shown:
            shown |= {"ingress_port": values["int.hop.ingress_port_2"], "egress_port": values["int.hop.egress_port_2"]}
        hops.append({"hop": values["int.hop.number"], **shown})
    return hops


def hop_rows(result: dict[str, Any]) -> list[dict[str, int]]:
    """The kernel's rows of the stack, in the same shape."""
    names = ["hop", *HOP_FILTERS]
    rows = [row for row in result["hops"] if not row["present"] & schema.HOP_FROM_REPORT]
    return [{name: row[name] for name in names if row[name] is not None} for row in rows]


def report_rows(result: dict[str, Any]) -> list[dict[str, int]]:
    return [{name: row[name] for name in REPORT_FILTERS if row[name] is not None} for row in result["reports"]]


def reports_of(packet: ElementTree.Element) -> list[dict[str, int]]:
    """Reports in order; what stands in the group header belongs to each."""
    found = []
    for proto in packet.findall("proto"):
        if proto.get("name") != "intreport":
            continue
        reports = [field for field in proto if field.get("name") == "intreport.report"]
        common = _report_values(field for field in proto if field.get("name") != "intreport.report")
        found += [common | _report_values(report.iter("field")) for report in reports] if reports else [common]
    return found


def _report_values(fields: Iterable[ElementTree.Element]) -> dict[str, int]:
    columns = {name: column for column, name in REPORT_FILTERS.items()}
    values = {name: number(field) for field in fields if (name := field.get("name", "")) in columns or name == "intreport.drop_queue_id"}
    shown = {columns[name]: value for name, value in values.items() if name in columns}
    # the queue of a drop stands in where there is no occupancy
    return {"queue_id": values["intreport.drop_queue_id"], **shown} if "intreport.drop_queue_id" in values else shown


# --------------------------------------------------------------------------------------------------------------- with tshark


@other_programs
@needs_tshark
@pytest.mark.parametrize(
    "capture",
    [
        f"{folder}/{name}.pcap"
        for folder in ("bmv2-laofan-int-md-v2.1", "bmv2-geant-int-v1.0", "bmv2-onos-int-v1.0")
        for name in ("s1-s2", "s2-s4", "s4-coll", "s4-h3")
    ]
    + ["bmv2-laofan-int-md-v2.1-healthy/s4-coll.pcap", "bmv2-stratum-fabric-v1model-xd/s1-coll.pcap"],
)
def test_hops_and_reports_of_a_capture_are_those_of_the_tables(capture: str, tmp_path: Path) -> None:
    link_type, records = naive.read_pcap(PCAPS / capture)
    ours = kernel.decode([(data, original, time_ns) for time_ns, original, data in records[:150]], link_type, compiled=False)
    theirs = packets_of(tmp_path, PCAPS / capture, "-c", "150", "-Y", "frame")
    assert len(theirs) == len(ours)
    for row, packet in zip(ours, theirs, strict=True):
        assert hops_of(packet) == hop_rows(row)
        assert [{**known, **shown} for known, shown in zip(report_rows(row), reports_of(packet), strict=True)] == report_rows(row)


@other_programs
@needs_tshark
@pytest.mark.parametrize("name", [name for name in WORKED if name[:2] in ("02", "03", "04", "05", "06", "15")])
def test_hops_and_reports_of_a_worked_packet_are_those_of_the_tables(name: str, tmp_path: Path) -> None:
    parts = kernel.decode([(WORKED[name], len(WORKED[name]), 0)], 1, PROFILE, compiled=False)
    (packet,) = packets_of(tmp_path, written(tmp_path, [WORKED[name]]), profile=PROFILE_FILE)
    if not name.startswith("15"):
        assert hops_of(packet) == [hop for part in parts for hop in hop_rows(part)]
    reports = [report for part in parts for report in report_rows(part)]
    assert [{**known, **shown} for known, shown in zip(reports, reports_of(packet), strict=True)] == reports
    psns = [part["roce"]["psn"] for part in parts if part["roce"]]
    if psns:
        assert [number(field) for field in fields_of(packet, "infiniband.bth.psn")] == psns


@other_programs
@needs_tshark
def test_fields_come_out_in_path_order(tmp_path: Path) -> None:
    capture = written(tmp_path, [WORKED["02_int_v1.0_dscp_udp_rocev2"]])
    names = ["int.hop.number", "int.hop.node_id", "int.hop.queue_depth", "int.hop.utilisation", "int.dialect", "int.hops"]
    out = tshark(tmp_path, capture, "-T", "fields", *(part for name in names for part in ("-e", name)))
    assert out == "0,1\t257,514\t1000,16777215\t4500\tint-1.0\t2\n"


@other_programs
@needs_tshark
def test_a_display_filter_finds_the_packets_that_the_tables_find(tmp_path: Path) -> None:
    capture = PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap"
    link_type, records = naive.read_pcap(capture)
    ours = kernel.decode([(data, original, time_ns) for time_ns, original, data in records], link_type, compiled=False)
    deep = [number + 1 for number, row in enumerate(ours) if any((hop["queue_depth_raw"] or 0) > 60 for hop in row["hops"])]
    out = tshark(tmp_path, capture, "-Y", "int.hop.queue_depth > 60", "-T", "fields", "-e", "frame.number")
    assert deep and [int(line) for line in out.splitlines()] == deep


@other_programs
@needs_tshark
@pytest.mark.parametrize("name", ["N1_int_v1.0_stack_not_multiple", "N2_int_v2.1_len_beyond_udp", "N3_int_v2_unknown_version"])
def test_what_is_malformed_has_the_status_of_the_tables_and_expert_information(name: str, tmp_path: Path) -> None:
    (row,) = kernel.decode([(WORKED[name], len(WORKED[name]), 0)], 1, PROFILE, compiled=False)
    (packet,) = packets_of(tmp_path, written(tmp_path, [WORKED[name]]), profile=PROFILE_FILE)
    status = row["packet"]["status"]
    assert [field.get("show") for field in fields_of(packet, "int.status")] == [status]
    assert [field for field in packet.iter("field") if field.get("name") == f"int.status.{status.replace('-', '_')}"]
    assert bool(fields_of(packet, "infiniband.bth.psn")) == bool(row["roce"])


INT_LAYERS = ("int", "report")
NOT_OVER_UDP = ("gpe int", "gre int", "geneve int", "mri")
"""Corner cases with telemetry that stands where the plugin does not look: it reads what is in UDP payloads."""


@other_programs
@needs_tshark
def test_statuses_of_corner_cases_are_those_of_the_tables(tmp_path: Path) -> None:
    statuses = {entry.name: entry for entry in STATUSES}
    chosen = [
        (name, data)
        for name, (data, twin, status, _) in mutate.corner_cases().items()
        if statuses[status].layer in INT_LAYERS
        and status != "report-inner-truncated"
        and set(twin) <= {"int_ports", "report_ports"}
        and not name.startswith(NOT_OVER_UDP)
    ]
    assert len(chosen) > 15
    twin = {"int_ports": (54321,), "report_ports": (32766,)}
    rows = kernel.decode([(data, len(data), 0) for _, data in chosen], 1, twin, compiled=False)
    ours = [row for row in rows if row["packet"]["part"] == 0]
    detect = {"detect": {"int_ports": [54321], "report_ports": [32766]}}
    theirs = packets_of(tmp_path, written(tmp_path, [data for _, data in chosen]), profile=parse_profile(detect))
    for (name, _), row, packet in zip(chosen, ours, theirs, strict=True):
        shown = [field.get("show") for field in packet.iter("field") if field.get("name") in ("int.status", "intreport.status")]
        assert shown[:1] == [row["packet"]["status"]], name
        assert hops_of(packet) == hop_rows(row), name


@other_programs
@needs_tshark
@pytest.mark.parametrize("dialect", ["int-2.x", "int-1.0", "onos-basic", "geant10"])
def test_hops_of_every_dialect_and_npt_are_those_of_the_tables(dialect: str, tmp_path: Path) -> None:
    packets = [
        mutate.int_md_packet(mutate.random_hops(seed, seed % 5), npt, dialect=dialect, flags=seed % 8)
        for seed in range(12)
        for npt in ((0, 1, 2) if dialect == "int-2.x" else (0,))
    ]
    ours = kernel.decode([(data, len(data), 0) for data in packets], 1, {"int_ports": (54321,)}, compiled=False)
    theirs = packets_of(tmp_path, written(tmp_path, packets), "-o", "int.ports:54321")
    for row, packet in zip(ours, theirs, strict=True):
        assert hops_of(packet) == hop_rows(row)
        assert [number(field) for field in fields_of(packet, "infiniband.bth.psn")] == [row["roce"]["psn"]]


@other_programs
@needs_tshark
def test_int_is_found_by_the_dscp_of_the_preferences(tmp_path: Path) -> None:
    data = mutate.int_md_packet(mutate.random_hops(1, 2), dst_port=7777)
    capture = written(tmp_path, [data])
    by_dscp = ("-o", "int.structure:FALSE", "-o", "int.dscp_value:23", "-o", "int.dscp_mask:63")
    assert tshark(tmp_path, capture, *by_dscp, "-T", "fields", "-e", "int.hops") == "2\n"
    assert tshark(tmp_path, capture, "-o", "int.structure:FALSE", "-T", "fields", "-e", "int.hops") == "\n"


@other_programs
@needs_tshark
def test_int_over_tcp_is_found_by_its_dscp(tmp_path: Path) -> None:
    dscp = {"int_dscp": (23, 63)}
    chosen = [(name, data) for name, (data, twin, *_) in mutate.corner_cases().items() if name.startswith("tcp ") and twin == dscp]
    rows = kernel.decode([(data, len(data), 0) for _, data in chosen], 1, dscp, compiled=False)
    assert sum(bool(row["hops"]) for row in rows) > 8
    by_dscp = ("-o", "int.dscp_value:23", "-o", "int.dscp_mask:63")
    packets = packets_of(tmp_path, written(tmp_path, [data for _, data in chosen]), *by_dscp)
    for (name, _), row, packet in zip(chosen, rows, packets, strict=True):
        assert hops_of(packet) == hop_rows(row), name
    cuts = [(cut, len(data), 0) for _, data in chosen[::4] for cut in mutate.cuts(data) if len(cut) > 33]
    assert tshark(tmp_path, written(tmp_path, cuts), "-V", *by_dscp).count("Frame Number:") == len(cuts)


@other_programs
@needs_tshark
def test_plain_roce_stays_as_it_is_whole_and_cut(tmp_path: Path) -> None:
    data = WORKED["01_rocev2_ipv4_rc_write_only"]
    plain = [data, *(mutate.opcode_frame(opcode) for opcode in range(0, 256, 3)), *(frame for _, frame in mutate.tunnels(data))]
    # cut by the snap length, more often than Lua's calls may nest
    cut = [(frame[:-size], len(frame), 0) for frame in plain for size in (1, 17, 30)]
    for capture in (written(tmp_path, [*plain, *cut]), PCAPS / "bmv2-laofan-int-md-v2.1/s4-h3.pcap"):
        shown = [tshark(tmp_path, capture, "-V", with_plugin=plugin) for plugin in (False, True)]
        assert shown[0] == shown[1] and "InfiniBand" in shown[0]
        assert tshark(tmp_path, capture, "-Y", "int or intreport") == ""


@other_programs
@needs_tshark
def test_int_on_the_port_of_roce_is_found_behind_every_link_type_and_tunnel(tmp_path: Path) -> None:
    data = WORKED["02_int_v1.0_dscp_udp_rocev2"]
    # what tshark itself does not open: another port of VXLAN, IP in ERSPAN III, the control word of a pseudowire, CSIG tags
    closed = ("vxlan-linux", "erspan-3-ip", "mpls-pseudowire", "csig")
    frames = [frame for name, frame in mutate.tunnels(data) if name not in closed]
    ours = kernel.decode([(frame, len(frame), 0) for frame in frames], compiled=False)
    for row, packet in zip(ours, packets_of(tmp_path, written(tmp_path, frames)), strict=True):
        assert hops_of(packet) == hop_rows(row)
    for link_type, packet_bytes in mutate.links(data):
        # two of them stand for raw IP in odd files, and for other things to tshark
        if link_type not in (12, 14):
            path = tmp_path / "link.pcap"
            path.write_bytes(kernel.capture_bytes([(packet_bytes, len(packet_bytes), 0)], link_type))
            assert [hop["node_id"] for hop in hops_of(packets_of(tmp_path, path)[0])] == [257, 514], link_type


@other_programs
@needs_tshark
@pytest.mark.parametrize("profile", [None, PROFILE_FILE], ids=["alone", "profile"])
def test_no_cut_of_a_worked_packet_is_an_error_of_lua(profile: Profile | None, tmp_path: Path) -> None:
    cuts: list[bytes | kernel.Packet] = [*WORKED.values()]
    for data in WORKED.values():
        cuts += [cut for cut in mutate.cuts(data) if len(cut) > 33]
        cuts += [(cut, len(data), 0) for cut in mutate.cuts(data) if len(cut) > 33]
    assert tshark(tmp_path, written(tmp_path, cuts), "-V", profile=profile).count("Frame Number:") == len(cuts)


@other_programs
@needs_tshark
def test_no_damage_is_an_error_of_lua(tmp_path: Path) -> None:
    damaged = [changed for name in WORKED if name[0] != "N" for changed in list(mutate.byte_changes(WORKED[name], 4))[::2]]
    damaged += [data for data, *_ in mutate.corner_cases().values()]
    assert tshark(tmp_path, written(tmp_path, damaged), "-V", profile=PROFILE_FILE).count("Frame Number:") == len(damaged)


# ------------------------------------------------------------------------------------------------------------- without tshark


def test_the_verb_prints_the_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wireshark-plugin"]) == 0
    assert capsys.readouterr().out == wireshark.plugin()


def test_every_declared_field_is_a_field_of_the_plugin() -> None:
    text = wireshark.plugin()
    for header in wireshark.HEADERS.values():
        for field in header.fields:
            if field.form != Form.RESERVED:
                assert f'["{header.name}.{field.name}"] = {{' in text
    assert "--@" not in text


def test_every_status_that_the_plugin_names_is_one_of_the_schema() -> None:
    known = {entry.name for entry in (*STATUSES, *WARNINGS)}
    code = "".join(path.read_text(encoding="utf-8") for path in LUA)
    named: Sequence[str] = re.findall(r'"((?:int|report)-[a-z0-9-]+)"', code)
    assert set(named) - {"int-1.0", "int-2.x"} <= known


def test_the_plugin_begins_with_what_the_profile_says() -> None:
    text = wireshark.plugin(PROFILE_FILE)
    assert 'INT_PORTS, REPORT_PORTS = "54321", "32766"' in text
    assert '[257] = "leaf-1"' in text and "[21587] = { source = 2, hop = 0 }" in text


def test_a_name_in_the_profile_cannot_break_out_of_its_text() -> None:
    text = wireshark.plugin(parse_profile({"node": {"1": {"name": 'a"\\\n] end'}}}))
    assert '[1] = "a\\"\\\\ ] end"' in text


def test_the_code_of_the_plugin_stays_short() -> None:
    assert LUA and all(len(path.read_text(encoding="utf-8").splitlines()) <= 400 for path in LUA)
