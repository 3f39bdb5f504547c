"""Flows: the row of a directed flow, its counters, and the path that it takes."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.columns import get
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, FACTOR_4, FACTOR_5, mixed, product
from int_analyzer.fold.paths import Paths, longer_of
from int_analyzer.fold.table import FLOWS, KEY, Table, find
from int_analyzer.fold.view import FlowView

if TYPE_CHECKING:
    from int_analyzer.fold.paths import Paths

# Words of a row, three cache lines.
SRC_HI, SRC_LO, DST_HI, DST_LO, PORTS, DEST_QP, PACKETS, BYTES = 0, 1, 2, 3, 4, 5, 6, 7
FIRST_NS, LAST_NS, TELEMETRY, GUESS, PATH, PATH_NS, CE, CNP = 8, 9, 10, 11, 12, 13, 14, 15
PATH_CHANGES, PATH_CHANGE_NS, FIRST_PATH, FIRST_PATH_NS, PATH_BEFORE = 16, 17, 18, 19, 20
HASH = 23
WIDTH, KEY_WORDS = 24, 6
_PATH_WORDS = [PATH, PATH_NS, PATH_CHANGES, PATH_CHANGE_NS, FIRST_PATH, FIRST_PATH_NS, PATH_BEFORE]
"""PORTS is IP version · 2^48 + protocol · 2^40 + (source port + 1) · 2^20 + destination port + 1, absent ports being −1. GUESS is
the path of the last packet, PATH that of the last packet with a whole stack, PATH_BEFORE that before the last change; a path is kept
as its row + 1, 0 if there is none."""

TCP, UDP = 6, 17


@inlined
def _ports_of(columns: Any, packet: int) -> int:
    """The word PORTS of a packet."""
    protocol = get(columns, "packets.protocol", packet)
    src_port, dst_port = get(columns, "packets.src_port", packet) + 1, get(columns, "packets.dst_port", packet) + 1
    # Ports are 0 where the transport header was not reached (fragments, short captures).
    if (protocol != UDP and protocol != TCP) or src_port + dst_port == 2:
        src_port, dst_port = 0, 0
    return (get(columns, "packets.ip_version", packet) << 48) | (protocol << 40) | (src_port << 20) | dst_port


@inlined
def hash_flow(columns: Any, packet: int, dest_qp: int) -> int:
    """The hash of the packet's flow; `dest_qp` is −1 where there is none."""
    return mixed(
        product(get(columns, "packets.src_hi", packet), FACTOR_0)
        ^ product(get(columns, "packets.src_lo", packet), FACTOR_1)
        ^ product(get(columns, "packets.dst_hi", packet), FACTOR_2)
        ^ product(get(columns, "packets.dst_lo", packet), FACTOR_3)
        ^ product(_ports_of(columns, packet), FACTOR_4)
        ^ product(dest_qp, FACTOR_5)
    )


@inlined
def find_flow(rows: Any, index: Any, work: Any, columns: Any, packet: int, dest_qp: int, hashed: int) -> int:
    """Row of the packet's flow, made if it is new; there is room for it."""
    work[KEY + SRC_HI] = get(columns, "packets.src_hi", packet)
    work[KEY + SRC_LO] = get(columns, "packets.src_lo", packet)
    work[KEY + DST_HI] = get(columns, "packets.dst_hi", packet)
    work[KEY + DST_LO] = get(columns, "packets.dst_lo", packet)
    work[KEY + PORTS] = _ports_of(columns, packet)
    work[KEY + DEST_QP] = dest_qp
    before = work[FLOWS]
    flow = find(rows, index, work, FLOWS, KEY_WORDS, hashed)
    if work[FLOWS] != before:
        rows[flow, FIRST_NS] = NEVER
    return flow


@inlined
def count_packet(rows: Any, flow: int, time: int, size: int, telemetry: int, marked: int, notified: int) -> None:
    """Add a packet to its flow; `telemetry`, `marked` (CE) and `notified` (it is a CNP) are 0 or 1."""
    rows[flow, PACKETS] += 1
    rows[flow, BYTES] += size
    rows[flow, TELEMETRY] += telemetry
    rows[flow, CE] += marked
    rows[flow, CNP] += notified
    rows[flow, LAST_NS] = max(rows[flow, LAST_NS], time)
    if time < rows[flow, FIRST_NS] and time > 0:
        rows[flow, FIRST_NS] = time


@inlined
def follow(rows: Any, flow: int, path: int, time: int, whole: bool, path_rows: Any, path_hops: Any, queue_rows: Any) -> None:
    """Note the path of a packet. Only a whole stack can tell that a flow has moved: a hole or a single node's report cannot.

    Nor can a packet seen at another mirror point, halfway: then one path begins as the other does, and the longer is kept.
    """
    rows[flow, GUESS] = path + 1
    if not whole:
        return
    known = rows[flow, PATH]
    if known == 0:
        rows[flow, FIRST_PATH] = path + 1
        rows[flow, FIRST_PATH_NS] = time
        rows[flow, PATH] = path + 1
    elif known != path + 1:
        longer = longer_of(path_rows, path_hops, queue_rows, known - 1, path) + 1
        if longer == 0:
            rows[flow, PATH_CHANGES] += 1
            rows[flow, PATH_CHANGE_NS] = time
            rows[flow, PATH_BEFORE] = known
            rows[flow, PATH] = path + 1
        elif longer != known:
            if rows[flow, PATH_CHANGES] == 0:
                rows[flow, FIRST_PATH] = longer
            rows[flow, PATH] = longer
    rows[flow, PATH_NS] = time


def _is_part(part: list[int], whole: list[int]) -> bool:
    """Whether the hops of one path stand in another, in that order."""
    rest = iter(whole)
    return all(hop in rest for hop in part)


@lru_cache(maxsize=1 << 16)
def address(version: int, high: int, low: int) -> str:
    """An address as text from its two halves (int64)."""
    high, low = high & (1 << 64) - 1, low & (1 << 64) - 1
    return str(ipaddress.IPv4Address(low & 0xFFFFFFFF) if version == 4 else ipaddress.IPv6Address(high << 64 | low))


def _join_paths(mine: Any, theirs: Any, paths: Paths, queue_rows: Any) -> None:
    """Put into `mine` what two halves of each flow tell of its path; both are int64[n, width], and `theirs` is used up."""
    both = (mine[:, PATH] > 0) & (theirs[:, PATH] > 0)
    swapped = np.ix_(both & (theirs[:, FIRST_PATH_NS] < mine[:, FIRST_PATH_NS]), _PATH_WORDS)
    mine[swapped], theirs[swapped] = theirs[swapped], mine[swapped]
    # The first path of the later half: the same, the same seen halfway, or another.
    longer = mine[:, PATH].copy()
    differs = np.flatnonzero(both & (mine[:, PATH] != theirs[:, FIRST_PATH]))
    longer[differs] = paths.longer(queue_rows, mine[differs, PATH] - 1, theirs[differs, FIRST_PATH] - 1) + 1
    stayed, moved = both & (longer > 0), both & (longer == 0)
    once = stayed & (theirs[:, PATH_CHANGES] == 1)
    theirs[once, PATH_BEFORE] = longer[once]
    still = stayed & (theirs[:, PATH_CHANGES] == 0)
    theirs[still, PATH] = longer[still]
    extended = stayed & (mine[:, PATH_CHANGES] == 0)
    mine[extended, FIRST_PATH] = longer[extended]
    mine[:, PATH_CHANGES] += theirs[:, PATH_CHANGES] + moved
    mine[moved, PATH_CHANGE_NS] = theirs[moved, FIRST_PATH_NS]
    mine[moved, PATH_BEFORE] = mine[moved, PATH]
    again = np.ix_(theirs[:, PATH_CHANGES] > 0, [PATH_CHANGE_NS, PATH_BEFORE])
    mine[again] = theirs[again]
    first = np.ix_(mine[:, PATH] == 0, [FIRST_PATH, FIRST_PATH_NS])
    mine[first] = theirs[first]
    last = np.ix_((theirs[:, PATH] > 0) & (theirs[:, PATH_NS] >= mine[:, PATH_NS]), [PATH, PATH_NS])
    mine[last] = theirs[last]


class Flows:
    """The flows seen last, at most `maximum`; those forgotten are counted."""

    def __init__(self, maximum: int) -> None:
        self.table = Table(WIDTH, KEY_WORDS, maximum)
        self.evicted = 0

    def evict(self, keep: int, wanted: Any) -> Any:
        """Forget all but `keep` flows: those that are `wanted` (bool[n]) stay before others, those seen last before those seen early.

        Returns the new row of each (int64[n]), −1 for the forgotten.
        """
        rows = self.table.data
        order = np.lexsort((rows[:, LAST_NS], wanted))
        kept = np.sort(order[max(len(rows) - keep, 0) :])
        moved = np.full(len(rows), -1, dtype=np.int64)
        moved[kept] = np.arange(len(kept))
        self.evicted += len(rows) - len(kept)
        self.table.keep(kept)
        return moved

    def follow_all(self, flows: Any, paths: Any, times: Any, whole: Any, known: Paths) -> None:
        """Note the paths of packets that were put together of several reports (int64[n] each, bool[n]); as `follow`.

        Of these packets a report may be missing without a trace: a path that is part of the flow's path is no other path, and one of
        which the flow's path is a part takes its place. A packet older than what is known of its flow tells of no change.
        """
        order = np.lexsort((times, flows))
        flows, paths, times, whole = flows[order], paths[order], times[order], whole[order]
        rows = self.table.data
        last = np.flatnonzero(np.diff(flows, append=-1))
        guessed = rows[flows[last], GUESS] == 0
        rows[flows[last[guessed]], GUESS] = paths[last[guessed]] + 1
        flows, paths, times = flows[whole], paths[whole], times[whole]
        if len(flows) == 0:
            return
        # Of a run of packets of one flow on one path the first may tell of a change, and the last says how long it lasted.
        begins = np.flatnonzero((np.diff(flows, prepend=-1) != 0) | (np.diff(paths, prepend=-1) != 0))
        ends = np.append(begins[1:], len(flows)) - 1
        hops = known.sequences()
        for flow, path, first, end in zip(
            flows[begins].tolist(), paths[begins].tolist(), times[begins].tolist(), times[ends].tolist(), strict=True
        ):
            row = rows[flow]
            before = int(row[PATH]) - 1
            if before >= 0 and before != path:
                if _is_part(hops[path].tolist(), hops[before].tolist()):
                    path = before
                elif _is_part(hops[before].tolist(), hops[path].tolist()):
                    if row[PATH_CHANGES] == 0:
                        row[FIRST_PATH] = path + 1
                elif first < row[PATH_NS]:
                    continue
                else:
                    row[[PATH_CHANGES, PATH_CHANGE_NS, PATH_BEFORE]] = row[PATH_CHANGES] + 1, first, before + 1
            elif before < 0:
                row[[FIRST_PATH, FIRST_PATH_NS]] = path + 1, first
            row[[PATH, PATH_NS]] = path + 1, max(int(row[PATH_NS]), end)

    def merge(self, other: Flows, rows_of_paths: Any, paths: Paths, queue_rows: Any) -> Any:
        """Absorb other flows, seen later than these, whose path rows are `rows_of_paths` in `paths`: the row that each has here (int64[n]).

        The table may then hold more than its maximum: the caller evicts.
        """
        theirs = other.table.data.copy()
        moved = np.concatenate([[0], rows_of_paths + 1])
        for word in (GUESS, PATH, FIRST_PATH, PATH_BEFORE):
            theirs[:, word] = moved[theirs[:, word]]
        maximum, self.table.maximum = self.table.maximum, len(self.table) + len(theirs)
        rows, new = self.table.match(theirs)
        self.table.maximum = maximum
        self.evicted += other.evicted
        theirs, target = theirs[~new], rows[~new]
        mine = self.table.data[target]
        mine[:, [PACKETS, BYTES, TELEMETRY, CE, CNP]] += theirs[:, [PACKETS, BYTES, TELEMETRY, CE, CNP]]
        _join_paths(mine, theirs, paths, queue_rows)
        mine[:, GUESS] = np.where(theirs[:, GUESS] > 0, theirs[:, GUESS], mine[:, GUESS])
        mine[:, FIRST_NS] = np.minimum(mine[:, FIRST_NS], theirs[:, FIRST_NS])
        mine[:, LAST_NS] = np.maximum(mine[:, LAST_NS], theirs[:, LAST_NS])
        self.table.data[target] = mine
        return rows

    def copy(self) -> Flows:
        """An independent copy."""
        other = Flows(self.table.maximum)
        other.table = self.table.copy()
        other.evicted = self.evicted
        return other

    def view(self) -> FlowView:
        """Names and counters of every flow."""
        rows = self.table.data
        version, protocol = rows[:, PORTS] >> 48, (rows[:, PORTS] >> 40) & 0xFF
        path = np.where(rows[:, PATH] > 0, rows[:, PATH], rows[:, GUESS]) - 1
        return FlowView(
            src=[address(*key) for key in zip(version.tolist(), rows[:, SRC_HI].tolist(), rows[:, SRC_LO].tolist(), strict=True)],
            dst=[address(*key) for key in zip(version.tolist(), rows[:, DST_HI].tolist(), rows[:, DST_LO].tolist(), strict=True)],
            protocol=protocol,
            src_port=((rows[:, PORTS] >> 20) & 0xFFFFF) - 1,
            dst_port=(rows[:, PORTS] & 0xFFFFF) - 1,
            dest_qp=rows[:, DEST_QP].copy(),
            packets=rows[:, PACKETS].copy(),
            bytes=rows[:, BYTES].copy(),
            ce_packets=rows[:, CE].copy(),
            cnp_packets=rows[:, CNP].copy(),
            telemetry_packets=rows[:, TELEMETRY].copy(),
            path=path,
            path_changes=rows[:, PATH_CHANGES].copy(),
            path_change_ns=rows[:, PATH_CHANGE_NS].copy(),
            path_before=rows[:, PATH_BEFORE] - 1,
            first_ns=np.where(rows[:, FIRST_NS] == NEVER, 0, rows[:, FIRST_NS]),
            last_ns=rows[:, LAST_NS].copy(),
            evicted=self.evicted,
        )
