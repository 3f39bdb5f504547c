"""The fused fold kernel: one pass over the packets of a batch, each with its flow, its path and its hops."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.fold import flows as flow_rows
from int_analyzer.fold.flows import find_flow, follow
from int_analyzer.fold.flows import count_packet as count_in_flow
from int_analyzer.fold.hashing import wide
from int_analyzer.fold.pairs import count_pair
from int_analyzer.fold.paths import QUEUE_SHIFT, find_path
from int_analyzer.fold.paths import count_packet as count_in_path
from int_analyzer.fold.quality import (
    BYTES,
    CE_PACKETS,
    CLOSING_NS,
    CNP_PACKETS,
    FIRST_NS,
    HOPS,
    HOPS_IGNORED,
    LAST_NS,
    OPENING_NS,
    PACKETS,
    PATHS_IGNORED,
    ROCE_PACKETS,
    ROCE_WITH_TELEMETRY,
    TELEMETRY_BYTES,
    TELEMETRY_PACKETS,
    TIME_BACKWARDS,
    count_reading,
)
from int_analyzer.fold.queues import count_hop
from int_analyzer.schema import ABSENT32, HOP_FROM_REPORT, HOP_OPAQUE, HOP_TRUNCATED_PATH, WARNING_BIT

# Module-level: a kernel's argument.
StateArrays = namedtuple("StateArrays", ["queues", "latencies", "depths", "buckets", "paths", "flows", "pairs", "quality", "maxima", "key"])
"""queues, flows, pairs: TableArrays; latencies, depths: HistogramArrays; BucketArrays; PathArrays; QualityArrays; maxima int64[2]:
rows that queues and paths may grow to; key int64[8]: scratch."""
MAXIMUM_QUEUES, MAXIMUM_PATHS = 0, 1

_CE = 3
_CNP_OPCODE = 0x81
_HOLE = WARNING_BIT["int-hop-exceeded"] | WARNING_BIT["int-mtu-exceeded"] | WARNING_BIT["ioam-overflow"]


@inlined
def _lacks_room(state: Any, hops: int) -> bool:
    """Whether a packet of so many hops could need more room than there is; queues and paths at their maximum do without."""
    queues, paths = state.queues, state.paths
    return (
        state.flows.used[0] == state.flows.rows.shape[0]
        or state.pairs.used[0] + hops > state.pairs.rows.shape[0]
        or state.buckets.used[0] + hops > state.buckets.log.shape[0]
        or state.latencies.used[0] + hops > state.latencies.pool.shape[0]
        or state.depths.used[0] + hops > state.depths.pool.shape[0]
        or paths.used[0] + hops > paths.hops.shape[0]
        or (queues.used[0] + hops > queues.rows.shape[0] and queues.rows.shape[0] < state.maxima[MAXIMUM_QUEUES])
        or (paths.table.used[0] == paths.table.rows.shape[0] and paths.table.rows.shape[0] < state.maxima[MAXIMUM_PATHS])
    )


@kernel
def fold_packets(row: int, stop: int, packets: Any, hops: Any, roce: Any, state: Any) -> int:
    """Absorb packets `row` … `stop` − 1; returns the row of the packet before which a table has to grow, or `stop`."""
    totals = state.quality.totals
    width = state.buckets.width[0]
    bucket, bucket_begin, bucket_end = 0, 0, 0
    while row < stop:
        count = wide(packets.hop_count[row])
        if _lacks_room(state, count):
            break
        time = max(packets.time_ns[row], 0)
        if time < bucket_begin or time >= bucket_end:
            bucket = time // width
            bucket_begin = bucket * width
            bucket_end = bucket_begin + width
        size = wide(packets.original_bytes[row])
        telemetry = wide(packets.telemetry[row])
        roce_row = wide(packets.roce_row[row])

        totals[PACKETS] += 1
        totals[BYTES] += size
        totals[HOPS] += count
        if time > 0:
            if totals[OPENING_NS] == 0:
                totals[OPENING_NS] = time
            if time < totals[CLOSING_NS]:
                totals[TIME_BACKWARDS] += 1
            totals[CLOSING_NS] = time
            totals[FIRST_NS] = min(totals[FIRST_NS], time)
            totals[LAST_NS] = max(totals[LAST_NS], time)
        count_reading(state.quality, packets, row)
        dest_qp, notified = -1, 0
        if roce_row != ABSENT32:
            dest_qp = wide(roce.dest_qp[roce_row])
            opcode = wide(roce.opcode[roce_row])
            state.quality.opcodes[opcode] += 1
            totals[ROCE_PACKETS] += 1
            if telemetry != 0:
                totals[ROCE_WITH_TELEMETRY] += 1
            if opcode == _CNP_OPCODE:
                notified = 1
                totals[CNP_PACKETS] += 1

        flow = -1
        if packets.ip_version[row] != 0:
            marked = 1 if packets.ecn[row] == _CE else 0
            totals[CE_PACKETS] += marked
            flow = find_flow(state.flows, state.key, packets, row, dest_qp)
            count_in_flow(state.flows, flow, time, size)
            state.flows.rows[flow, flow_rows.CE] += marked
            state.flows.rows[flow, flow_rows.CNP] += notified
            if telemetry != 0:
                state.flows.rows[flow, flow_rows.TELEMETRY] += 1
        if telemetry != 0:
            totals[TELEMETRY_PACKETS] += 1
            totals[TELEMETRY_BYTES] += wide(packets.telemetry_bytes[row])
        if count > 0 and wide(hops.present[packets.first_hop[row]]) & HOP_OPAQUE == 0:
            _fold_hops(packets, hops, row, count, flow, bucket, time, size, state)
        row += 1
    return row


@inlined
def _fold_hops(packets: Any, hops: Any, row: int, count: int, flow: int, bucket: int, time: int, size: int, state: Any) -> None:
    """Absorb the hops of one packet."""
    first = wide(packets.first_hop[row])
    guess = -1
    if flow >= 0:
        guess = state.flows.rows[flow, flow_rows.GUESS] - 1
    path = find_path(state.paths, state.queues, state.key, hops, guess, first, count)
    offset = state.paths.used[0]
    if path >= 0:
        offset = state.paths.table.rows[path, 0]
    flags = 0
    for i in range(count):
        queue = state.paths.hops[offset + i] >> QUEUE_SHIFT
        flags |= wide(hops.present[first + i])
        if queue < 0:
            state.quality.totals[HOPS_IGNORED] += 1
            continue
        latency, depth, elevated = count_hop(
            state.queues, state.latencies, state.depths, state.buckets, hops, first + i, queue, bucket, time, size
        )
        if elevated and flow >= 0:
            count_pair(state.pairs, state.key, state.queues, state.flows, queue, flow, latency, depth, time, size)
    if path < 0:
        state.quality.totals[PATHS_IGNORED] += 1
        return
    hole = 0
    if flags & HOP_TRUNCATED_PATH != 0 or wide(packets.warnings[row]) & _HOLE != 0:
        hole = 1
    count_in_path(state.paths, path, time, size, hole)
    if flow >= 0:
        # A stack of one hop that is the reporting node's own is a postcard: another node's tells of no change.
        whole = hole == 0 and not (count == 1 and flags & HOP_FROM_REPORT != 0)
        follow(state.flows, flow, path, time, whole)
