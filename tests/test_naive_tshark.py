"""The naive decoder against tshark and scapy, which know nothing of it."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import mutate
import naive
import pytest
from golden_packet import PCAPS
from mode import twin_alone
from scapy.contrib.nsh import NSH
from test_naive import SHORT, WORKED, decoded, has, worked

from int_analyzer import schema

pytestmark = twin_alone

TSHARK = shutil.which("tshark")
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


TRACE = "ipv6.opt.ioam.trace."
HEADER = ("ns", "flags", "remlen", "type")
NODE = (
    "hlim",
    "id",
    "iif",
    "eif",
    "tss",
    "tsf",
    "trdelay",
    "nsdata",
    "qdepth",
    "csum",
    "id_wide",
    "iif_wide",
    "eif_wide",
    "nsdata_wide",
    "bufoccup",
)
SNAPSHOT = ("oss.len", "oss.scid")


def same_traces(path: Path, results: list[dict[str, Any]]) -> None:
    """Header and nodes of the trace of every packet as tshark reads them."""
    rows = tshark(path, *(TRACE + name for name in HEADER), *(TRACE + "node." + name for name in NODE + SNAPSHOT))
    assert len(rows) == len(results)
    for row, result in zip(rows, results, strict=True):
        packet = result["packet"]
        if packet["status"] == "ioam-node-length":
            continue
        namespace, flags, remaining, kind = (row[TRACE + name][0] for name in HEADER)
        has(packet, namespace=namespace, telemetry_flags=flags, remaining_hops=remaining, instructions=kind)
        value = {name: row[TRACE + "node." + name] for name in NODE + SNAPSHOT}
        # A node with a short and a wide id has its hop limit twice.
        each = 2 if value["id"] and value["id_wide"] else 1
        limits = [value["hlim"][number : number + each] for number in range(0, len(value["hlim"]), each)]
        assert packet["hop_count"] == max(len(limits), *(len(value[name]) for name in NODE[1:] + SNAPSHOT))
        for number, hop in enumerate(reversed(result["hops"])):
            same_node(hop, {name: column(value[name], number, ONES[name]) for name in NODE + SNAPSHOT if name != "hlim"})
            known = [limit for limit in (limits[number] if limits else []) if limit != 0xFF]
            assert hop["hop_limit"] == (known[-1] if known else None)


ONES = dict.fromkeys(NODE, 4294967295) | {"id": 0xFFFFFF, "iif": 0xFFFF, "eif": 0xFFFF, "id_wide": 2**56 - 1, "nsdata_wide": 2**64 - 1}
ONES |= {"oss.len": -1, "oss.scid": -1}


def same_node(hop: dict[str, Any], value: dict[str, int | None]) -> None:
    """One node; what is not populated is None, wide fields come before short ones."""
    for ours, short in (("node_id", "id"), ("ingress_port", "iif"), ("egress_port", "eif"), ("namespace_data", "nsdata")):
        wide = value[short + "_wide"]
        has(hop, **{ours: value[short] if wide is None else wide})
    delay = value["trdelay"]
    has(hop, hop_latency_raw=None if delay is None or delay >> 31 else delay)
    has(hop, queue_depth_raw=value["qdepth"], buffer_depth_raw=value["bufoccup"])
    seconds, fraction = value["tss"], value["tsf"]
    has(hop, ingress_time_raw=None if seconds is None or fraction is None else seconds << 32 | fraction)
    words, kind = value["oss.len"], value["oss.scid"]
    empty = words is None or (words, kind) == (0, 0xFFFFFF)
    has(hop, snapshot_schema=None if empty else kind, snapshot_bytes=None if empty else 4 * (words or 0))


@needs_tshark
@pytest.mark.parametrize(
    "name",
    ["linux-ioam/zi0-e0.pcap", "linux-ioam/zi2-w2.pcap", "linux-ioam/zi3-w3.pcap", "linux-ioam/zi3-any-sll2.pcap",
     "linux-ioam-spine-to-leaf/l3-h5.pcap"],
)  # fmt: skip
def test_tshark_reads_the_same_ioam_traces(name: str) -> None:
    same_traces(PCAPS / name, decoded(name))


@needs_tshark
def test_tshark_reads_the_same_traces_of_any_type_and_size(tmp_path: Path) -> None:
    rng = random.Random(9)
    packets = []
    for _ in range(300):
        kind = rng.randrange(1 << 24) & 0xFFF002
        if not kind & 0xFFF000:
            # tshark takes no node that has nothing but a snapshot.
            kind |= 0x800000
        nodes = [mutate.trace_node(rng, kind) for _ in range(rng.randrange(4))]
        free = rng.choice((0, mutate.node_words(kind)))
        option = (0, mutate.trace(nodes, kind, namespace=rng.randrange(1 << 16), flags=rng.choice((0, 8, 2)), remaining=free))
        if len(option[1]) <= 252:
            place = rng.choice((mutate.ipv6_inline, mutate.ipv6_around))
            packets.append(place([option], mutate.WORKED_FRAME, header=rng.choice((0, 60))))
    assert len(packets) > 250
    same_traces(write_pcap(tmp_path / "traces.pcap", packets), [naive.decode_packet(packet, 1) for packet in packets])


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


@needs_tshark
def test_tshark_and_scapy_read_the_same_service_headers(tmp_path: Path) -> None:
    rng = random.Random(5)
    frames = []
    for _ in range(60):
        size = rng.randrange(6)
        metadata = {"kind": 1} if rng.random() < 0.5 else {"kind": 2, "context": struct.pack("!HBB", 0x100, 7, 4 * size) + bytes(4 * size)}
        inner, following = rng.choice(((mutate.WORKED_FRAME, 3), (mutate.WORKED_FRAME[14:], 1), (mutate.nsh(mutate.WORKED_FRAME, 3), 4)))
        frames.append(next(mutate.nsh_frames(mutate.nsh(inner, following, **metadata)))[1])
    names = ("nsh.length", "nsh.mdtype", "nsh.nextproto", "infiniband.bth.psn")
    for frame, row in zip(frames, tshark(write_pcap(tmp_path / "nsh.pcap", frames), *names), strict=True):
        result = naive.decode_packet(frame, 1)
        has(result["packet"], status="ok", tunnels=0x100)
        assert row["infiniband.bth.psn"] == [result["roce"]["psn"]] == [0xABCDEF]
        scapy = NSH(frame[14:])
        assert (row["nsh.length"][0], row["nsh.mdtype"][0], row["nsh.nextproto"][0]) == (scapy.length, scapy.mdtype, scapy.nextproto)
        assert frame[14 + 4 * scapy.length :].endswith(mutate.WORKED_FRAME[14:])


@needs_tshark
def test_tshark_finds_the_same_packet_behind_ioam_in_geneve(tmp_path: Path) -> None:
    options = [
        (1, mutate.incremental([bytes(4)], 0x800000)),
        (2, mutate.pot(1, 2)),
        (3, mutate.e2e(0x8000, sequence=9)),
        (4, mutate.dex(0xC0)),
    ]
    frame = mutate.geneve_ioam(options, mutate.WORKED_FRAME)
    (row,) = tshark(write_pcap(tmp_path / "geneve.pcap", [frame]), "geneve.option.type", "geneve.option.length", "infiniband.bth.psn")
    result = naive.decode_packet(frame, 1, profile=mutate.EVERYTHING)
    assert row["geneve.option.type"] == [kind for kind, _ in options]
    sizes = [4 + len(body) for _, body in options]
    assert row["geneve.option.length"] == [sum(sizes), *sizes]
    assert row["infiniband.bth.psn"] == [result["roce"]["psn"]]
    assert [option["format"] for option in result["options"]] == [schema.FORMAT_IOAM_POT, schema.FORMAT_IOAM_E2E, schema.FORMAT_IOAM_DEX]
    has(result["packet"], telemetry=schema.FORMAT_IOAM_INCREMENTAL, status="ok")
