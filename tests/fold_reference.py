"""The slow, obvious twin of the fold: packets as Python objects, dictionaries of lists, nothing shared but names of presence bits.

`fill` writes packets into columns that are full of garbage wherever nothing was given; `expected` says what a state must know of
them, and known_view.py brings a view into the same form: dictionaries by name, so that the order of rows does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import postcard_reference as postcards

from int_analyzer import schema
from int_analyzer.columns import N_HOPS, N_MIRRORS, N_PACKETS, N_REPORTS, N_ROCE, Columns, allocate
from int_analyzer.fold.state import Capacity, State
from int_analyzer.status import WARNING_BIT

START = 1_700_000_000_000_000_000
MS = 1_000_000
NEVER = 1 << 62


@dataclass(frozen=True)
class Hop:
    """A hop as reported: None where the value was not there."""

    node: int | None = 1
    port: int | None = 1
    queue: int | None = 0
    ingress: int | None = 7
    latency: int | None = None
    depth: int | None = None
    begin: int | None = None
    end: int | None = None
    utilisation: int | None = None
    flags: int = 0

    @property
    def key(self) -> tuple[int, int, int]:
        return tuple(-1 if value is None else value for value in (self.node, self.port, self.queue))  # type: ignore[return-value]


@dataclass(frozen=True)
class Packet:
    """A packet of flow number `flow` (from 1 on); roce is (opcode, destination queue pair)."""

    time: int
    hops: tuple[Hop, ...] = ()
    flow: int = 1
    size: int = 1000
    roce: tuple[int, int] | None = (7, 17)
    ecn: int = 0
    ip: int = 4
    protocol: int = 17
    telemetry: int = schema.FORMAT_INT_MD_2
    formats: int = 1 << schema.FORMAT_ROCE | 1 << schema.FORMAT_INT_MD_2
    status: int = 0
    warnings: int = 0
    dialect: int = 1
    reports: int = 0
    tunnels: int = 0
    ip_bytes: int = 77
    captured: int = 2000
    telemetry_bytes: int | None = None
    ttl: int = 60
    ip_id: int = 0
    psn: int = 0
    icrc: int = schema.ICRC_UNSAMPLED

    @property
    def crossed(self) -> int:
        """Bytes that crossed the ports."""
        wrapped = self.reports or self.tunnels & (0x04 | 0x08 | 0x10)
        return self.ip_bytes if wrapped and self.ip else self.size

    @property
    def overhead(self) -> int:
        """Bytes of telemetry in the frame."""
        if self.reports:
            return self.size
        added = 12 + 4 * len(self.hops) if self.telemetry_bytes is None else self.telemetry_bytes
        return min(added, self.captured, self.size) if self.telemetry else 0

    @property
    def flow_key(self) -> tuple[str, str, int, int, int, int]:
        src, dst = (f"10.0.0.{self.flow}", "10.0.1.1") if self.ip == 4 else (f"2001::{self.flow:x}", "2001::1:1")
        ports = (50000 + self.flow, 4791) if self.protocol in (6, 17) else (-1, -1)
        return src, dst, self.protocol, *ports, -1 if self.roce is None else self.roce[1]


@dataclass(frozen=True)
class Report:
    """A row of the report table; `packet` is a row of the packets."""

    sequence: int
    node: int = 1
    hw: int = 0
    version: int = schema.FORMAT_REPORT_2
    position: int = 0
    reason: int | None = None
    packet: int = 0
    bits: int | None = None

    @property
    def width(self) -> int:
        """Bits of its sequence number: those of its version, if nothing else is said."""
        return self.bits or (22 if self.version == schema.FORMAT_REPORT_2 else 32)


@dataclass(frozen=True)
class Mirror:
    """A row of the mirror table."""

    sequence: int | None
    source: int = 0x0A000001
    session: int | None = 5
    packet: int = 0


_HOLES = sum(WARNING_BIT[name] for name in ("int-hop-exceeded", "int-mtu-exceeded", "ioam-overflow"))
_COLUMNS = allocate()
_COLUMNS.arena[:] = np.random.default_rng(1).integers(0, 256, _COLUMNS.arena.size)
_HOP_VALUES = {
    "node_id": ("node", schema.HAS_NODE),
    "egress_port": ("port", schema.HAS_EGRESS_PORT),
    "queue_id": ("queue", schema.HAS_QUEUE),
    "ingress_port": ("ingress", schema.HAS_INGRESS_PORT),
    "hop_latency_raw": ("latency", schema.HAS_LATENCY),
    "queue_depth_raw": ("depth", schema.HAS_DEPTH),
    "ingress_time_raw": ("begin", schema.HAS_INGRESS_TIME),
    "egress_time_raw": ("end", schema.HAS_EGRESS_TIME),
    "tx_utilisation_raw": ("utilisation", schema.HAS_UTILISATION),
}


def fill(packets: Sequence[Packet], reports: Sequence[Report] = (), mirrors: Sequence[Mirror] = ()) -> Columns:
    """The columns of one batch; they are the same arrays in every call, and hold garbage where nothing was given."""
    table, hops, roce = _COLUMNS.packets, _COLUMNS.hops, _COLUMNS.roce
    hop, exchange = 0, 0
    for row, packet in enumerate(packets):
        version_6 = packet.ip == 6
        values = {
            "time_ns": packet.time,
            "captured_bytes": packet.captured,
            "original_bytes": packet.size,
            "part": 0,
            "ip_bytes": packet.ip_bytes,
            "tunnels": packet.tunnels,
            "report_count": packet.reports,
            "ip_version": packet.ip,
            "src_hi": 0x2001 << 48 if version_6 else 0,
            "src_lo": packet.flow if version_6 else 0x0A000000 + packet.flow,
            "dst_hi": 0x2001 << 48 if version_6 else 0,
            "dst_lo": 0x10001 if version_6 else 0x0A000101,
            "protocol": packet.protocol,
            "src_port": 50000 + packet.flow,
            "dst_port": 4791,
            "ecn": packet.ecn,
            "ttl": packet.ttl,
            "ip_id": packet.ip_id,
            "formats": packet.formats,
            "telemetry": packet.telemetry,
            "dialect": packet.dialect,
            "telemetry_bytes": 12 + 4 * len(packet.hops) if packet.telemetry_bytes is None else packet.telemetry_bytes,
            "hop_count": len(packet.hops),
            "first_hop": hop,
            "roce_row": schema.ABSENT32 if packet.roce is None else exchange,
            "status": packet.status,
            "warnings": packet.warnings,
        }
        for name, value in values.items():
            getattr(table, name)[row] = value
        if packet.roce is not None:
            roce.packet[exchange], roce.opcode[exchange], roce.dest_qp[exchange] = row, *packet.roce
            roce.psn[exchange], roce.icrc_check[exchange] = packet.psn, packet.icrc
            exchange += 1
        for position, seen in enumerate(packet.hops):
            present = seen.flags
            hops.packet[hop], hops.hop[hop] = row, position
            for name, (attribute, bit) in _HOP_VALUES.items():
                value = getattr(seen, attribute)
                if value is not None:
                    getattr(hops, name)[hop] = value
                    present |= bit
            hops.present[hop] = present
            hop += 1
    for row, report in enumerate(reports):
        target = _COLUMNS.reports
        target.packet[row], target.report[row], target.version[row] = report.packet, report.position, report.version
        target.hw_id[row], target.sequence[row], target.node_id[row] = report.hw, report.sequence, report.node
        target.sequence_bits[row] = report.width
        target.present[row] = 0 if report.reason is None else schema.HAS_REPORT_DROP
        if report.reason is not None:
            target.drop_reason[row] = report.reason
    for row, mirror in enumerate(mirrors):
        seen_by = _COLUMNS.mirrors
        seen_by.packet[row], seen_by.outer_src_hi[row], seen_by.outer_src_lo[row] = mirror.packet, 0, mirror.source
        seen_by.present[row] = schema.HAS_MIRROR_OUTER | (mirror.sequence is not None) | (mirror.session is not None) << 1
        if mirror.sequence is not None:
            seen_by.sequence[row] = mirror.sequence
        if mirror.session is not None:
            seen_by.session_id[row] = mirror.session
    _COLUMNS.counts[[N_PACKETS, N_HOPS, N_ROCE]] = len(packets), hop, exchange
    _COLUMNS.counts[[N_REPORTS, N_MIRRORS]] = len(reports), len(mirrors)
    return _COLUMNS


def folded(packets: Sequence[Packet], compiled: bool = False, capacity: Capacity | None = None, batch: int = 1000) -> State:
    """A state of these packets, `batch` at a time."""
    state = State(capacity)
    for begin in range(0, max(len(packets), 1), batch):
        state.fold(fill(packets[begin : begin + batch]), compiled)
    return state


def merged(*states: State) -> State:
    """The merge of states, which stay as they are."""
    result = states[0].copy()
    for state in states[1:]:
        result.merge(state)
    return result


_OF_PATHS = ("holes", "carried", "ce", ("icrc", schema.ICRC_OK), ("icrc", schema.ICRC_BAD))


@dataclass
class _Seen:
    """What was seen of one queue, bucket, path, flow or pair."""

    packets: int = 0
    bytes: int = 0
    times: list[int] = field(default_factory=list)
    latencies: list[int] = field(default_factory=list)
    depths: list[tuple[int, int]] = field(default_factory=list)
    utilisations: list[int] = field(default_factory=list)
    paths: list[tuple[Any, int, bool]] = field(default_factory=list)
    counters: Counter[Any] = field(default_factory=Counter)
    low: int = NEVER
    shallow: int = NEVER
    average: int = 0
    excess: int = 0

    def count(self, packet: Packet) -> None:
        self.packets += 1
        self.bytes += packet.crossed
        if packet.time > 0:
            self.times.append(packet.time)

    @property
    def span(self) -> tuple[int, int]:
        return min(self.times, default=0), max(self.times, default=0)

    @property
    def measures(self) -> tuple[int, ...]:
        peak = max((depth for depth, _ in self.depths), default=-1)
        return (
            *(len(self.latencies), sum(self.latencies), max(self.latencies, default=-1)),
            *(len(self.depths), sum(depth for depth, _ in self.depths), peak),
        )


def latency_of(hop: Hop) -> tuple[int | None, str]:
    """Latency of a hop, and how it came about: "" as reported, "times", or "contradicted" by the times."""
    difference = None
    if hop.begin is not None and hop.end is not None:
        begin, end = hop.begin % 2**64, hop.end % 2**64
        difference = (end - begin) % 2**32 if begin < 2**32 and end < 2**32 else end - begin
        if not 0 <= difference < 2**40:
            difference = None
    if hop.latency is None:
        return difference, "" if difference is None else "times"
    if difference is None:
        return hop.latency, ""
    scaled = [(hop.latency, difference), (hop.latency, difference // 1000), (hop.latency // 1000, difference)]
    agree = any(abs(a - b) <= max(a, b) / 10 + 2 for a, b in scaled)
    return hop.latency, "" if agree else "contradicted"


def expected(packets: Sequence[Packet], width: int = MS) -> dict[str, Any]:
    """What a state must know after these packets, in the form of `known`."""
    queues: dict[Any, _Seen] = defaultdict(_Seen)
    buckets: dict[Any, _Seen] = defaultdict(_Seen)
    paths: dict[Any, _Seen] = defaultdict(_Seen)
    flows: dict[Any, _Seen] = defaultdict(_Seen)
    of_all = _Seen()
    pairs: dict[Any, _Seen] = defaultdict(_Seen)
    kept: list[Packet] = []
    for packet in packets:
        if packet.ip:
            flow = flows[packet.flow_key]
            flow.count(packet)
            flow.counters["ce"] += packet.ecn == 3
            flow.counters["cnp"] += packet.roce is not None and packet.roce[0] == 0x81
            flow.counters["telemetry"] += packet.telemetry != 0
        if not packet.hops or packet.hops[0].flags & schema.HOP_OPAQUE:
            continue
        for hop in packet.hops:
            elevated, excess = _count_hop(queues[hop.key], buckets[hop.key, packet.time // width * width], of_all, packet, hop)
            if elevated and packet.ip:
                pair = pairs[hop.key, packet.flow_key, packet.time // width]
                pair.count(packet)
                pair.excess += excess
                pair.depths.append((hop.depth or 0, 0))
        if postcards.identity(packet) is not None:
            kept.append(packet)
            continue
        key = tuple((*hop.key, -1 if hop.ingress is None else hop.ingress) for hop in packet.hops)
        hole = any(hop.flags & schema.HOP_TRUNCATED_PATH for hop in packet.hops) or bool(packet.warnings & _HOLES)
        paths[key].count(packet)
        paths[key].counters["holes"] += hole
        paths[key].counters["carried"] += 1
        paths[key].counters["ce"] += packet.ecn == 3 and packet.ip != 0
        paths[key].counters["icrc", packet.icrc] += packet.roce is not None
        postcard = len(packet.hops) == 1 and packet.hops[0].flags & schema.HOP_FROM_REPORT
        if packet.ip:
            flows[packet.flow_key].paths.append((key, packet.time, not hole and not postcard))
    moves = {key: _moves(seen.paths) for key, seen in flows.items() if seen.paths}
    for made in postcards.put_together(kept):
        paths[made.path].count(replace(made.packet, time=made.time))
        paths[made.path].counters["holes"] += made.hole
    return {
        "queues": {key: _queue(seen) for key, seen in queues.items()},
        "buckets": {
            key: (seen.packets, seen.bytes, *seen.measures, min((at for depth, at in seen.depths if depth == seen.measures[5]), default=0))
            for key, seen in buckets.items()
        },
        "paths": {key: (seen.packets, seen.bytes, *(seen.counters[name] for name in _OF_PATHS), *seen.span) for key, seen in paths.items()},
        "flows": {
            key: (seen.packets, seen.bytes, *(seen.counters[name] for name in ("ce", "cnp", "telemetry")), *seen.span)
            for key, seen in flows.items()
        },
        "moves": moves | postcards.moves(postcards.put_together(kept)),
        "pairs": {
            key: (seen.packets, seen.bytes, seen.excess, sum(depth for depth, _ in seen.depths), *seen.span) for key, seen in pairs.items()
        },
    }


def _count_hop(queue: _Seen, bucket: _Seen, of_all: _Seen, packet: Packet, hop: Hop) -> tuple[bool, int]:
    latency, how = latency_of(hop)
    elevated = False
    for seen in (queue, bucket):
        seen.count(packet)
        if latency is not None:
            seen.latencies.append(latency)
        if hop.depth is not None:
            seen.depths.append((hop.depth, packet.time))
    queue.counters[how] += 1
    queue.counters["truncated"] += bool(hop.flags & schema.HOP_TRUNCATED_PATH)
    reported = [value for value in (hop.latency, hop.depth, hop.begin, hop.end) if value is not None]
    queue.counters["zero"] += bool(reported) and not any(reported)
    if hop.utilisation is not None:
        queue.utilisations.append(hop.utilisation)
    if latency is not None:
        queue.low = min(queue.low, latency)
        elevated = latency > 4 * queue.low + 4
    if hop.depth is not None:
        if queue.shallow == NEVER:
            queue.average = of_all.average
        queue.shallow = min(queue.shallow, hop.depth)
        mean = queue.average // 1024
        for seen in (queue, of_all):
            seen.average += hop.depth - seen.average // 1024
        factor = 4 if latency is not None and queue.low > 0 else 1
        elevated = elevated or hop.depth > max(4 * queue.shallow + 4, factor * mean)
    return elevated, 0 if latency is None else latency - queue.low


def _queue(seen: _Seen) -> tuple[Any, ...]:
    counters = [seen.counters[name] for name in ("times", "contradicted", "zero", "truncated")]
    histograms = (_counted(seen.latencies), _counted([depth for depth, _ in seen.depths]))
    return (seen.packets, seen.bytes, *seen.measures, *counters, max(seen.utilisations, default=-1), *seen.span, *histograms)


def _counted(values: list[int]) -> Counter[int]:
    """How often a value fell on what its upper 7 bits say."""
    return Counter(value >> max(value.bit_length() - 7, 0) << max(value.bit_length() - 7, 0) for value in values)


def _moves(paths: list[tuple[Any, int, bool]]) -> tuple[Any, int, int, Any]:
    """Last path, changes, time of the last change and path before it, by the whole stacks; without any, the path of the last packet."""
    whole = [(path, at) for path, at, is_whole in paths if is_whole]
    if not whole:
        return paths[-1][0], 0, 0, None
    known, changes = whole[0][0], []
    for path, at in whole[1:]:
        if any(_without_queue(mine) != _without_queue(theirs) for mine, theirs in zip(known, path, strict=False)):
            changes.append((at, known))
            known = path
        elif len(path) > len(known):
            known = path
    return known, len(changes), *(changes[-1] if changes else (0, None))


def _without_queue(hop: tuple[int, int, int, int]) -> tuple[int, int, int]:
    """Node, egress port and ingress port: which queue a packet was in is its priority, not its way."""
    node, port, _, ingress = hop
    return node, port, ingress
