"""A trace as columns, batch by batch: the rows that decoding its capture gives, but for lengths and the ICRC, which the encoder makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_OPTIONS, N_PACKETS, N_REPORTS, N_ROCE, PACKETS_PER_BATCH, Columns, allocate
from int_analyzer.formats.roce import AETH, OPCODE_CNP, OPCODES, RETH
from int_analyzer.packet_encode import AS_OPTION, Surroundings
from int_analyzer.synth.emission import HPCC_PORT, INT_DSCP, INT_PORT, REPORT_PORT, Emission
from int_analyzer.synth.hop_rows import hop_rows
from int_analyzer.synth.option_rows import bottleneck_tags, number_packets, option_rows
from int_analyzer.synth.record import Records, records_of
from int_analyzer.synth.report_rows import numbered, report_rows
from int_analyzer.synth.stack import STACKS
from int_analyzer.synth.trace import Trace
from int_analyzer.wire.ethernet import ABSENT_CSIG
from int_analyzer.wire.layer import TUNNEL_ERSPAN_2, TUNNEL_ERSPAN_3, TUNNEL_NSH

MIRRORS = {"none": 0, "erspan2": 2, "erspan3": 3}
"""What stands around a mirrored packet, by the names of `generate --mirror`, as the column `mirrors.kind` has it."""

MANAGEMENT, COLLECTOR = 172 << 24 | 16 << 16, 192 << 24 | 2 << 8 | 1
"""IPv4 addresses: of a switch without its node id, of the collector."""

_RECORDS = PACKETS_PER_BATCH // 2
"""Packets of a batch, so that the hops of all find room."""
_REPORTED_BYTES = {4: 384, 6: 404}
"""A reported packet is cut behind its headers; this has room for all hops, by IP version."""
_ROCE_PORT, _UDP, _FULL_MEMBER = 4791, 17, 0xFFFF
IPV6_HOSTS = 0xFD << 120
"""fd00::/64, unique local: the last four bytes are those of a host's IPv4 address."""
_HIGH_HALF = (IPV6_HOSTS >> 64) - (1 << 64)
"""Its upper half, as the bits of an int64."""
_TUNNELS = {0: 0, 2: TUNNEL_ERSPAN_2, 3: TUNNEL_ERSPAN_3}
_ERSPAN = schema.HAS_MIRROR_OUTER | schema.HAS_MIRROR_SEQUENCE | schema.HAS_MIRROR_SESSION
_MIRROR_PRESENT = {
    0: 0,
    2: _ERSPAN | schema.HAS_MIRROR_INDEX,
    3: _ERSPAN | schema.HAS_MIRROR_TIMESTAMP | schema.HAS_MIRROR_TYPE_3,
}
_SESSION, _ON_EGRESS = 1, 1
_TICK_NS, _TICKS = 100, 1
"""Type III timestamps count 100 ns, which is granularity 1."""
_WORD = 0xFFFFFFFF
_PATH_ID = 0xFFF


class Rows:
    """Columns of a trace as an emission tells of it; `mirror` is what stands around packets, a value of MIRRORS."""

    def __init__(self, trace: Trace, emission: Emission, mirror: int) -> None:
        self._trace, self._emission, self._mirror = trace, emission, mirror
        self._records = records_of(trace, emission)
        self._sequence = numbered(trace, emission, self._records)
        self._numbers = number_packets(trace.packets)
        self._columns = allocate()

    def __len__(self) -> int:
        """Packets in the capture."""
        return len(self._records.packet)

    @property
    def surroundings(self) -> Surroundings:
        """What the encoder puts around these rows."""
        reported = _REPORTED_BYTES[self._emission.ip_version]
        return Surroundings(INT_PORT if self._emission.by_port else 0, REPORT_PORT, MANAGEMENT, COLLECTOR, reported)

    def batches(self) -> Iterator[Columns]:
        """One batch after another, in the same columns."""
        for begin in range(0, len(self), _RECORDS):
            batch = slice(begin, begin + _RECORDS)
            self._fill(self._records.part(batch), self._sequence[batch])
            yield self._columns

    def _fill(self, records: Records, sequence: Any) -> None:
        columns, count = self._columns, len(records.packet)
        columns.counts[:] = 0
        columns.counts[N_PACKETS] = columns.counts[N_ROCE] = count
        hops, values = hop_rows(self._trace, self._emission, records)
        columns.counts[N_HOPS] = hops.sum()
        _put(columns.hops, int(hops.sum()), values)
        _put(columns.packets, count, self._packets(records, hops))
        _put(columns.roce, count, self._roce(records))
        frames = np.flatnonzero(records.report != schema.FORMAT_NONE)
        columns.counts[N_REPORTS] = len(frames)
        _put(columns.reports, len(frames), report_rows(self._trace, self._emission, records, frames, sequence[frames]))
        if self._emission.telemetry in AS_OPTION:
            carrying = np.flatnonzero(self._inside(records))
            columns.counts[N_OPTIONS] = len(carrying)
            _put(columns.options, len(carrying), option_rows(self._trace, self._emission, records, carrying, self._numbers))
        if self._mirror:
            frames = np.flatnonzero(records.report == schema.FORMAT_NONE)
            columns.counts[N_MIRRORS] = len(frames)
            _put(columns.mirrors, len(frames), self._mirrors(records, frames))

    def _packets(self, records: Records, hops: Any) -> dict[str, Any]:
        emission, packets, rows = self._emission, self._trace.packets, records.packet
        flows, flow = self._trace.flows, packets.flow[rows]
        inside = self._inside(records)
        by_dscp, wide = inside & emission.by_dscp, emission.ip_version == 6
        stacked = schema.FORMAT_NONE if emission.telemetry in AS_OPTION else emission.telemetry
        reported = records.report != schema.FORMAT_NONE
        behind_nsh, in_hpcc = (inside & (emission.telemetry == kind) for kind in (schema.FORMAT_IOAM_INCREMENTAL, schema.FORMAT_HPCC))
        return {
            "time_ns": packets.time_ns[rows],
            "interface": 0,
            "tunnels": np.where(reported, 0, _TUNNELS[self._mirror]) | np.where(behind_nsh, TUNNEL_NSH, 0),
            "vlan_id": schema.ABSENT16,
            "ip_version": emission.ip_version,
            "src_hi": _HIGH_HALF if wide else 0,
            "src_lo": flows.src_ip[flow],
            "dst_hi": _HIGH_HALF if wide else 0,
            "dst_lo": flows.dst_ip[flow],
            "protocol": _UDP,
            "src_port": flows.udp_source_port[flow],
            "dst_port": np.where(in_hpcc, HPCC_PORT, _ROCE_PORT),
            "dscp": np.where(by_dscp, INT_DSCP, packets.dscp[rows]),
            "original_dscp": np.where(by_dscp & (packets.dscp[rows] != 0), packets.dscp[rows], schema.ABSENT8),
            "ecn": packets.ecn[rows],
            "ttl": packets.ttl[rows],
            "ip_id": 0 if wide else packets.ip_id[rows],
            "formats": 1 << schema.FORMAT_ROCE | np.where(inside, 1 << emission.telemetry, 0) | np.where(reported, 1 << records.report, 0),
            "telemetry": np.where(inside, stacked, np.where(hops > 0, records.report, schema.FORMAT_NONE)),
            "dialect": np.where(inside, emission.dialect, 0),
            "instructions": np.where(inside, emission.instructions, 0),
            "namespace": np.where(in_hpcc, self._path_ids(records), 0),
            **self._room(records, inside),
            "telemetry_bytes": 0,
            "hop_count": hops,
            "first_hop": np.cumsum(hops) - hops,
            "roce_row": np.arange(len(rows)),
            "report_count": reported,
            "csig": bottleneck_tags(self._trace, rows) if emission.csig else ABSENT_CSIG,
            "status": 0,
            "status_at": 0,
            "warnings": 0,
        }

    def _inside(self, records: Records) -> Any:
        """Which of the packets carry telemetry themselves."""
        return (self._trace.packets.telemetry[records.packet] != 0) & (self._emission.telemetry != schema.FORMAT_NONE)

    def _room(self, records: Records, inside: Any) -> dict[str, Any]:
        """How many hops more a packet had room for, and whether a node found none."""
        stack = STACKS.get(self._emission.telemetry)
        if stack is None:
            return {"telemetry_flags": 0, "remaining_hops": 0}
        exceeded = inside & (self._trace.packets.hop_exceeded[records.packet] != 0)
        room = np.where(inside & ~exceeded, self._emission.most_hops - records.stack, 0)
        flags = np.where(inside, stack.flags, 0) | np.where(exceeded, stack.exceeded, 0)
        return {"telemetry_flags": flags, "remaining_hops": room * stack.room}

    def _path_ids(self, records: Records) -> Any:
        """Path ids as HPCC's switches make them: all node ids of the stack, xor."""
        crossed = np.bitwise_xor.accumulate(np.r_[0, self._trace.hops.node_id].astype(np.int64))
        first = self._trace.packets.first_hop[records.packet]
        return (crossed[first] ^ crossed[first + records.stack]) & _PATH_ID

    def _roce(self, records: Records) -> dict[str, Any]:
        packets, rows = self._trace.packets, records.packet
        carries = OPCODES[packets.opcode[rows]]
        with_address, with_syndrome = carries & RETH != 0, carries & AETH != 0
        return {
            "packet": np.arange(len(rows)),
            "opcode": packets.opcode[rows],
            "se": 0,
            "migreq": 1,
            "pad": -packets.payload_bytes[rows] & 3,
            "transport_version": 0,
            "pkey": _FULL_MEMBER,
            "fecn": 0,
            "becn": packets.opcode[rows] == OPCODE_CNP,
            "dest_qp": self._trace.flows.dest_qp[packets.flow[rows]],
            "ack_req": packets.ack_req[rows],
            "psn": packets.psn[rows],
            "virtual_address": packets.virtual_address[rows],
            "rkey": packets.rkey[rows],
            "dma_bytes": packets.dma_bytes[rows],
            "syndrome": packets.syndrome[rows],
            "msn": packets.msn[rows],
            "payload_bytes": packets.payload_bytes[rows],
            "present": np.where(with_address, schema.HAS_RETH | schema.HAS_RKEY, 0) | np.where(with_syndrome, schema.HAS_AETH, 0),
        }

    def _mirrors(self, records: Records, frames: Any) -> dict[str, Any]:
        """Mirror headers: copies are numbered by their switch and stamped by its port, whose clock follows the collector's."""
        packets, rows = self._trace.packets, records.packet[frames]
        return {
            "packet": frames,
            "kind": self._mirror,
            "outer_src_hi": 0,
            "outer_src_lo": packets.mirror_node[rows].astype(np.int64) + MANAGEMENT,
            "sequence": packets.mirror_sequence[rows] & _WORD,
            "session_id": _SESSION,
            "vlan_id": 0,
            "cos": 0,
            "encapsulation": 0,
            "truncated": 0,
            "index": 0,
            "timestamp_raw": packets.time_ns[rows] // _TICK_NS & _WORD,
            "granularity": _TICKS,
            "security_group": 0,
            "hw_id": 0,
            "direction": _ON_EGRESS,
            "present": _MIRROR_PRESENT[self._mirror],
        }


def _put(table: Any, count: int, values: dict[str, Any]) -> None:
    for name, value in values.items():
        getattr(table, name)[:count] = value
