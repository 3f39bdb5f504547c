"""The fused fold kernel: one pass over the packets of a batch, each with its flow, its path and its hops."""

from __future__ import annotations

from typing import Any

from int_analyzer._jit import inlined, kernel
from int_analyzer.columns import get
from int_analyzer.fold import flows, paths, postcards, queues
from int_analyzer.fold.backlog import IS_COUNTED, LINK_SHIFT, NARROW_SHIFT, catch_up, put_off
from int_analyzer.fold.backlog import count as count_hop
from int_analyzer.fold.copies import find_copy, follow_copy, identify, is_watched, number_of, path_of, remember
from int_analyzer.fold.flows import count_packet as count_in_flow
from int_analyzer.fold.flows import find_flow, follow, hash_flow
from int_analyzer.fold.foresight import AHEAD, is_large, look_ahead
from int_analyzer.fold.links import SLOTS, difference_of, find_link
from int_analyzer.fold.pairs import count_pair
from int_analyzer.fold.paths import INGRESS_MASK, QUEUE_SHIFT, common_hops, find_path, take_back
from int_analyzer.fold.paths import count_packet as count_in_path
from int_analyzer.fold.postcards import keep
from int_analyzer.fold.quality import (
    BYTES,
    CE_PACKETS,
    CLOSING_NS,
    CNP_PACKETS,
    COPIES,
    FIRST_NS,
    HOPS,
    HOPS_IGNORED,
    ICRC,
    LAST_NS,
    LINKS_IGNORED,
    OPCODE,
    PACKETS,
    PATHS_IGNORED,
    ROCE_PACKETS,
    ROCE_WITH_TELEMETRY,
    TELEMETRY_BYTES,
    TELEMETRY_PACKETS,
    TIME_BACKWARDS,
    count_reading,
)
from int_analyzer.fold.queues import find_queue, hop_key, judge_hop
from int_analyzer.fold.table import (
    BLOCKS,
    BUCKET_NS,
    BUCKETS,
    FLOWS,
    HASHES,
    LINK_BASE,
    LINK_NS,
    LINKS,
    LONGEST,
    MAXIMUM_LINKS,
    MAXIMUM_PATHS,
    MAXIMUM_QUEUES,
    PAIRS,
    PATH_HOPS,
    PATHS,
    QUEUES,
    RING,
    ROOM,
    SLOT_SHIFT,
)
from int_analyzer.fold.waits import note_wait
from int_analyzer.schema import ABSENT32, HAS_EGRESS_TIME, HAS_INGRESS_TIME, HOP_FROM_REPORT, HOP_OPAQUE, HOP_TRUNCATED_PATH, TUNNELS
from int_analyzer.status import WARNING_BIT

_CE = 3
_CNP_OPCODE = 0x81
_MIRROR = sum(bit for bit, name in TUNNELS.items() if name.startswith("erspan"))
_HOLE = WARNING_BIT["int-hop-exceeded"] | WARNING_BIT["int-mtu-exceeded"] | WARNING_BIT["ioam-overflow"]
_POSTCARDS, _NODE, _QUEUE_PORT = postcards.FORMATS, queues.NODE, queues.PORT
_GUESS, _FLOW_HASH, _QUEUE_HASH, _LATENCY_LOW = flows.GUESS, flows.HASH, queues.HASH, queues.LATENCY_LOW
_OFFSET, _LENGTH = paths.OFFSET, paths.LENGTH


@kernel
def fold_packets(
    row: int,
    stop: int,
    columns: Any,
    queue_rows: Any,
    queue_index: Any,
    queue_counters: Any,
    blocks: Any,
    pool: Any,
    log: Any,
    backlog: Any,
    parts: Any,
    path_rows: Any,
    path_index: Any,
    path_hops: Any,
    path_links: Any,
    flow_rows: Any,
    flow_index: Any,
    pair_rows: Any,
    pair_index: Any,
    link_rows: Any,
    link_index: Any,
    postcard_log: Any,
    wait_log: Any,
    seen: Any,
    counters: Any,
    work: Any,
) -> int:
    """Absorb packets `row` … `stop` − 1; returns the row of the packet before which a table has to grow, or `stop`.

    columns: the arena, or views by name (columns.get); …_rows and …_index: table.find; queue_counters, blocks, pool and
    log: queues.count_hop; backlog and parts: backlog.catch_up; path_hops: paths.find_path; path_links int64[capacity]: of each hop, row + 1
    of the link to the next, or 0; postcard_log: postcards.keep; wait_log: waits.note_wait, as many rows as the batch has hops; seen:
    copies.memory; counters int64: quality.py; work int64[96]: table.py.
    """
    width = work[BUCKET_NS]
    bucket, bucket_begin, bucket_end, timed = 0, 0, 0, False
    large, begin = is_large(flow_rows, queue_rows), row
    ahead = row - AHEAD
    while row < stop:
        while large and ahead <= row:
            look_ahead(
                ahead,
                begin,
                stop,
                columns,
                flow_rows,
                flow_index,
                path_rows,
                path_hops,
                path_links,
                queue_rows,
                work,
            )
            ahead += 1
        count = get(columns, "packets.hop_count", row)
        # Could this packet need more room than there is? Queues and paths at their maximum do without.
        if (
            work[FLOWS] == flow_rows.shape[0]
            or work[PAIRS] + count > pair_rows.shape[0]
            or work[BUCKETS] + count > log.shape[0]
            or work[BLOCKS] + 2 * count > pool.shape[0]
            or work[PATH_HOPS] + count > path_hops.shape[0]
            or (work[QUEUES] + count > queue_rows.shape[0] and queue_rows.shape[0] < work[MAXIMUM_QUEUES])
            or (work[LINKS] + count > link_rows.shape[0] and link_rows.shape[0] < work[MAXIMUM_LINKS])
            or (work[PATHS] == path_rows.shape[0] and path_rows.shape[0] < work[MAXIMUM_PATHS])
        ):
            break
        if work[ROOM] > 0 and work[LONGEST] + count > work[ROOM]:
            least = min(work[ROOM] // 2, work[ROOM] - count + 1)
            has_room = catch_up(least, backlog, parts, queue_counters, blocks, pool, log, link_rows, work)
            if not has_room or work[LONGEST] + count > work[ROOM]:
                break
        time = max(get(columns, "packets.time_ns", row), 0)
        if time < bucket_begin or time >= bucket_end:
            bucket = time // width
            bucket_begin = bucket * width
            bucket_end = bucket_begin + width
            # A packet without a time is in no slot of the links.
            timed = time > 0
            link_slot = time // work[LINK_NS] - work[LINK_BASE]
            if timed and (link_slot < 0 or link_slot >= SLOTS or work[LINK_BASE] < 0):
                break
        # Further reports of a datagram are packets of their own, but no further bytes of the capture.
        part = get(columns, "packets.part", row)
        size = get(columns, "packets.original_bytes", row) if part == 0 else 0
        reports = get(columns, "packets.report_count", row)
        telemetry = 1 if get(columns, "packets.telemetry", row) != 0 else 0
        dest_qp, notified, checked = _count_packet(counters, columns, row, time, size, part, count, telemetry, reports)

        first = get(columns, "packets.first_hop", row)
        flow, guess, marked = -1, -1, 0
        identity, copy = 0, -1
        crossed = size
        if get(columns, "packets.ip_version", row) != 0:
            # What crossed the ports is not the frame that brought a report or a copy of it, but the packet inside.
            if reports != 0 or get(columns, "packets.tunnels", row) & _MIRROR != 0:
                crossed = get(columns, "packets.ip_bytes", row)
            marked = 1 if get(columns, "packets.ecn", row) == _CE else 0
            counters[CE_PACKETS] += marked
            hashed = work[HASHES + (row & (RING - 1))] if large else hash_flow(columns, row, dest_qp)
            flow = find_flow(flow_rows, flow_index, work, columns, row, dest_qp, hashed)
            # Reports of single nodes are numbered, and put together elsewhere.
            if count > 0 and (reports == 0 or count > 1):
                number = number_of(columns, row, get(columns, "packets.roce_row", row))
                if is_watched(seen, number):
                    identity = identify(columns, hashed, number, first)
                    copy = find_copy(seen, identity, time) if identity != 0 else -1
            if copy < 0:
                count_in_flow(flow_rows, flow, time, crossed, telemetry, marked, notified)
            guess = flow_rows[flow, _GUESS] - 1

        if count == 0 or get(columns, "hops.present", first) & HOP_OPAQUE != 0:
            row += 1
            continue
        offset = work[PATH_HOPS]
        postcard = (
            reports != 0
            and count == 1
            and flow >= 0
            and get(columns, "hops.present", first) & HOP_FROM_REPORT != 0
            and (_POSTCARDS >> get(columns, "packets.telemetry", row)) & 1 != 0
            and _keep_postcard(columns, row, first, time, crossed, flow, flow_rows, queue_rows, queue_index, path_hops, postcard_log, work)
        )
        path = -1
        if not postcard:
            path = find_path(path_rows, path_index, path_hops, queue_rows, queue_index, work, columns, guess, first, count)
        if path >= 0:
            offset = path_rows[path, _OFFSET]
        counted = 0
        if copy >= 0:
            # Hops that another mirror point told of are counted.
            counters[COPIES] += 1
            before = path_of(seen, copy)
            counted = common_hops(path_rows, path_hops, before, offset, count)
            counters[HOPS] -= counted
            if counted == count:
                row += 1
                continue
            if path >= 0 and counted == path_rows[before, _LENGTH]:
                take_back(path_rows, before)
                follow_copy(seen, copy, path)
        elif identity != 0 and path >= 0:
            remember(seen, identity, time, path)
        flags = 0
        # Of the last hop that is counted already the link to the next is new.
        for i in range(max(counted - 1, 0), count):
            queue = path_hops[offset + i] >> QUEUE_SHIFT
            flags |= get(columns, "hops.present", first + i)
            if queue < 0:
                counters[HOPS_IGNORED] += 1 if i >= counted else 0
                continue
            latency, depth, elevated, said = -1, -1, False, IS_COUNTED
            if i >= counted:
                latency, depth, elevated, said = judge_hop(queue_rows, work, columns, first + i, queue)
            difference = 0
            if timed and path >= 0 and i + 1 < count and _have_times(columns, first + i):
                link = path_links[offset + i] - 1
                if link < 0:
                    link = _look_up_link(link_rows, link_index, path_links, path_hops, queue_rows, work, offset + i)
                sent, arrived = get(columns, "hops.egress_time_raw", first + i), get(columns, "hops.ingress_time_raw", first + i + 1)
                if link < 0:
                    counters[LINKS_IGNORED] += 1
                elif (sent | arrived) >= 0:
                    difference, narrow = difference_of(sent, arrived)
                    said |= (link + 1) << LINK_SHIFT | narrow << NARROW_SHIFT
            if work[ROOM] > 0:
                put_off(backlog, parts, work, queue, crossed, time, latency, depth, said, difference)
            else:
                count_hop(queue_counters, blocks, pool, log, link_rows, work, queue, crossed, time, latency, depth, said, difference)
            if elevated and flow >= 0:
                excess = latency - queue_rows[queue, _LATENCY_LOW] if latency >= 0 else 0
                hashed = queue_rows[queue, _QUEUE_HASH] ^ flow_rows[flow, _FLOW_HASH]
                slot = bucket >> work[SLOT_SHIFT]
                count_pair(pair_rows, pair_index, work, queue, flow, slot, hashed, excess, depth, time, crossed)
                if dest_qp >= 0 and excess > 0:
                    note_wait(wait_log, work, row, queue, excess)
        if path < 0:
            # What path a postcard's packet took is known when those of the other nodes have come.
            counters[PATHS_IGNORED] += 0 if postcard else 1
        else:
            hole = 1 if flags & HOP_TRUNCATED_PATH != 0 or get(columns, "packets.warnings", row) & _HOLE != 0 else 0
            count_in_path(path_rows, path, time, crossed, hole, marked, checked)
            if flow >= 0:
                # A stack of one hop that is the reporting node's own is a postcard: another node's tells of no change.
                whole = hole == 0 and not (count == 1 and flags & HOP_FROM_REPORT != 0)
                follow(flow_rows, flow, path, time, whole, path_rows, path_hops, queue_rows)
        row += 1
    return row


@inlined
def _have_times(columns: Any, hop: int) -> bool:
    """Whether a hop tells when the packet left it, and the next when it came."""
    return get(columns, "hops.present", hop) & HAS_EGRESS_TIME != 0 and get(columns, "hops.present", hop + 1) & HAS_INGRESS_TIME != 0


@kernel
def _look_up_link(link_rows: Any, link_index: Any, path_links: Any, path_hops: Any, queue_rows: Any, work: Any, at: int) -> int:
    """Row of the link that begins at hop `at` of all paths' hops, kept there; −1 if there is no room."""
    before, after = path_hops[at] >> QUEUE_SHIFT, path_hops[at + 1] >> QUEUE_SHIFT
    port, ingress = queue_rows[before, _QUEUE_PORT] >> 9, path_hops[at + 1] & INGRESS_MASK
    link = find_link(link_rows, link_index, work, queue_rows[before, _NODE], port, queue_rows[after, _NODE], ingress)
    path_links[at] = link + 1
    return link


@kernel
def _keep_postcard(
    columns: Any,
    row: int,
    hop: int,
    time: int,
    crossed: int,
    flow: int,
    flow_rows: Any,
    queue_rows: Any,
    queue_index: Any,
    path_hops: Any,
    postcard_log: Any,
    work: Any,
) -> bool:
    """Keep a postcard, and leave its hop behind the hops in use, as `find_path` does: false if it has no identity or no room."""
    node, port, ingress = hop_key(columns, hop)
    queue = find_queue(queue_rows, queue_index, work, node, port)
    if queue < 0:
        return False
    word = (queue << QUEUE_SHIFT) | ingress
    path_hops[work[PATH_HOPS]] = word
    version, roce_row = get(columns, "packets.ip_version", row), get(columns, "packets.roce_row", row)
    hashed = flow_rows[flow, _FLOW_HASH]
    return keep(postcard_log, work, columns, row, version, roce_row, flow, hashed, time, word, crossed)


@inlined
def _count_packet(
    counters: Any, columns: Any, row: int, time: int, size: int, part: int, count: int, telemetry: int, reports: int
) -> tuple[int, int, int]:
    """Add a packet to the totals: its destination queue pair (−1: not RoCE), 1 if it is a congestion notification, state of its ICRC."""
    counters[PACKETS] += 1 if part == 0 else 0
    counters[BYTES] += size
    counters[HOPS] += count
    if time > 0:
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
        return -1, 0, 0
    counters[ROCE_PACKETS] += 1
    counters[ROCE_WITH_TELEMETRY] += telemetry
    opcode = get(columns, "roce.opcode", roce_row)
    counters[OPCODE + opcode] += 1
    notified = 1 if opcode == _CNP_OPCODE else 0
    counters[CNP_PACKETS] += notified
    checked = get(columns, "roce.icrc_check", roce_row)
    counters[ICRC + checked] += 1
    return get(columns, "roce.dest_qp", roce_row), notified, checked
