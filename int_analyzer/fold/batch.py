"""The fused fold kernel: one pass over the packets of a batch, each with its flow, its path and its hops."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get
from int_analyzer.fold import flows, paths, queues
from int_analyzer.fold.flows import count_packet as count_in_flow
from int_analyzer.fold.flows import find_flow, follow
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
    OPCODE,
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
from int_analyzer.fold.table import (
    BLOCKS,
    BUCKET_NS,
    BUCKETS,
    FLOWS,
    MAXIMUM_PATHS,
    MAXIMUM_QUEUES,
    PAIRS,
    PATH_HOPS,
    PATHS,
    QUEUES,
    SLOT_SHIFT,
)
from int_analyzer.schema import ABSENT32, HOP_FROM_REPORT, HOP_OPAQUE, HOP_TRUNCATED_PATH, TUNNELS, WARNING_BIT

_CE = 3
_CNP_OPCODE = 0x81
_MIRROR = sum(bit for bit, name in TUNNELS.items() if name.startswith("erspan"))
_HOLE = WARNING_BIT["int-hop-exceeded"] | WARNING_BIT["int-mtu-exceeded"] | WARNING_BIT["ioam-overflow"]
_GUESS, _FLOW_HASH, _QUEUE_HASH, _LATENCY_LOW, _OFFSET = flows.GUESS, flows.HASH, queues.HASH, queues.LATENCY_LOW, paths.OFFSET


@kernel
def fold_packets(
    row: int,
    stop: int,
    columns: Any,
    queue_rows: Any,
    queue_index: Any,
    blocks: Any,
    pool: Any,
    log: Any,
    path_rows: Any,
    path_index: Any,
    path_hops: Any,
    flow_rows: Any,
    flow_index: Any,
    pair_rows: Any,
    pair_index: Any,
    counters: Any,
    work: Any,
) -> int:
    """Absorb packets `row` … `stop` − 1; returns the row of the packet before which a table has to grow, or `stop`.

    columns: the arena, or views by name (columns.get); …_rows and …_index: table.find; blocks and pool: histogram.count_in; log:
    buckets.append; path_hops: paths.find_path; counters int64: quality.py; work int64[32]: table.py.
    """
    width = work[BUCKET_NS]
    bucket, bucket_begin, bucket_end = 0, 0, 0
    while row < stop:
        count = get(columns, "packets.hop_count", row)
        # Could this packet need more room than there is? Queues and paths at their maximum do without.
        if (
            work[FLOWS] == flow_rows.shape[0]
            or work[PAIRS] + count > pair_rows.shape[0]
            or work[BUCKETS] + count > log.shape[0]
            or work[BLOCKS] + 2 * count > pool.shape[0]
            or work[PATH_HOPS] + count > path_hops.shape[0]
            or (work[QUEUES] + count > queue_rows.shape[0] and queue_rows.shape[0] < work[MAXIMUM_QUEUES])
            or (work[PATHS] == path_rows.shape[0] and path_rows.shape[0] < work[MAXIMUM_PATHS])
        ):
            break
        time = max(get(columns, "packets.time_ns", row), 0)
        if time < bucket_begin or time >= bucket_end:
            bucket = time // width
            bucket_begin = bucket * width
            bucket_end = bucket_begin + width
        # Further reports of a datagram are packets of their own, but no further bytes of the capture.
        part = get(columns, "packets.part", row)
        size = get(columns, "packets.original_bytes", row) if part == 0 else 0
        reports = get(columns, "packets.report_count", row)
        telemetry = 1 if get(columns, "packets.telemetry", row) != 0 else 0
        dest_qp, notified = _count_packet(counters, columns, row, time, size, part, count, telemetry, reports)

        flow, guess = -1, -1
        crossed = size
        if get(columns, "packets.ip_version", row) != 0:
            # What crossed the ports is not the frame that brought a report or a copy of it, but the packet inside.
            if reports != 0 or get(columns, "packets.tunnels", row) & _MIRROR != 0:
                crossed = get(columns, "packets.ip_bytes", row)
            marked = 1 if get(columns, "packets.ecn", row) == _CE else 0
            counters[CE_PACKETS] += marked
            flow = find_flow(flow_rows, flow_index, work, columns, row, dest_qp)
            count_in_flow(flow_rows, flow, time, crossed, telemetry, marked, notified)
            guess = flow_rows[flow, _GUESS] - 1

        first = get(columns, "packets.first_hop", row)
        if count == 0 or get(columns, "hops.present", first) & HOP_OPAQUE != 0:
            row += 1
            continue
        path = find_path(path_rows, path_index, path_hops, queue_rows, queue_index, work, columns, guess, first, count)
        offset = work[PATH_HOPS]
        if path >= 0:
            offset = path_rows[path, _OFFSET]
        flags = 0
        for i in range(count):
            queue = path_hops[offset + i] >> QUEUE_SHIFT
            flags |= get(columns, "hops.present", first + i)
            if queue < 0:
                counters[HOPS_IGNORED] += 1
                continue
            latency, depth, elevated = count_hop(queue_rows, blocks, pool, log, work, columns, first + i, queue, bucket, time, crossed)
            if elevated and flow >= 0:
                excess = latency - queue_rows[queue, _LATENCY_LOW] if latency >= 0 else 0
                hashed = queue_rows[queue, _QUEUE_HASH] ^ flow_rows[flow, _FLOW_HASH]
                slot = bucket >> work[SLOT_SHIFT]
                count_pair(pair_rows, pair_index, work, queue, flow, slot, hashed, excess, depth, time, crossed)
        if path < 0:
            counters[PATHS_IGNORED] += 1
        else:
            hole = 1 if flags & HOP_TRUNCATED_PATH != 0 or get(columns, "packets.warnings", row) & _HOLE != 0 else 0
            count_in_path(path_rows, path, time, crossed, hole)
            if flow >= 0:
                # A stack of one hop that is the reporting node's own is a postcard: another node's tells of no change.
                follow(flow_rows, flow, path, time, hole == 0 and not (count == 1 and flags & HOP_FROM_REPORT != 0))
        row += 1
    return row


@inlined
def _count_packet(
    counters: Any, columns: Any, row: int, time: int, size: int, part: int, count: int, telemetry: int, reports: int
) -> tuple[int, int]:
    """Add a packet to the totals: its destination queue pair (−1 if it is not RoCE), and 1 if it is a congestion notification."""
    counters[PACKETS] += 1 if part == 0 else 0
    counters[BYTES] += size
    counters[HOPS] += count
    if time > 0:
        if counters[OPENING_NS] == 0:
            counters[OPENING_NS] = time
        if time < counters[CLOSING_NS]:
            counters[TIME_BACKWARDS] += 1
        counters[CLOSING_NS] = time
        counters[FIRST_NS] = min(counters[FIRST_NS], time)
        counters[LAST_NS] = max(counters[LAST_NS], time)
    count_reading(counters, columns, row)
    if telemetry != 0:
        counters[TELEMETRY_PACKETS] += 1
    # A report is nothing but telemetry; in a packet that was cut, only what was captured is sure to be any.
    if reports != 0:
        counters[TELEMETRY_BYTES] += size
    elif telemetry != 0:
        added = min(get(columns, "packets.telemetry_bytes", row), get(columns, "packets.captured_bytes", row))
        counters[TELEMETRY_BYTES] += min(added, size)
    roce_row = get(columns, "packets.roce_row", row)
    if roce_row == ABSENT32:
        return -1, 0
    counters[ROCE_PACKETS] += 1
    counters[ROCE_WITH_TELEMETRY] += telemetry
    opcode = get(columns, "roce.opcode", roce_row)
    counters[OPCODE + opcode] += 1
    notified = 1 if opcode == _CNP_OPCODE else 0
    counters[CNP_PACKETS] += notified
    return get(columns, "roce.dest_qp", roce_row), notified
