"""Paths: exact ids for the sequences of (node, ingress port, egress port, queue) that packets report.

A path keeps, for each hop, the row of its queue. So a packet whose flow took the same path before finds all its queues by
comparison, with no lookup by hash; only a packet on another path hashes its hops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer._jit import inlined
from int_analyzer.fold.buckets import NEVER
from int_analyzer.fold.hashing import FACTOR_0, FACTOR_1, FACTOR_2, FACTOR_3, mixed, product
from int_analyzer.fold.queues import NODE, PORT, QUEUE_BITS, find_queue, hop_key
from int_analyzer.fold.ragged import Ragged
from int_analyzer.fold.table import LOWER, PATH_HOPS, PATHS, UPPER, Table
from int_analyzer.fold.view import PathView
from int_analyzer.schema import ICRC_BAD, ICRC_OK

# Words of a row, two lines of the cache: most packets touch the first. The key is not in the row but in the hops that it points to.
OFFSET, LENGTH, PACKETS, BYTES, HOLES, FIRST_NS, LAST_NS, CARRIED, CE, ICRC_RIGHT, ICRC_WRONG = range(11)
HASH = 15
WIDTH = 16
_COUNTED = [PACKETS, BYTES, HOLES, CARRIED, CE, ICRC_RIGHT, ICRC_WRONG]

QUEUE_SHIFT, INGRESS_MASK = 34, (1 << 34) - 1
"""A word of `hops`: queue row · 2^34 + ingress port + 1 (0 if absent)."""


@inlined
def _same(rows: Any, path_hops: Any, queue_rows: Any, columns: Any, path: int, first: int, count: int) -> bool:
    """Whether the hops from row `first` on are those of a path."""
    if rows[path, LENGTH] != count:
        return False
    offset = rows[path, OFFSET]
    for i in range(count):
        node, port, ingress = hop_key(columns, first + i)
        word = path_hops[offset + i]
        queue = word >> QUEUE_SHIFT
        if queue_rows[queue, NODE] != node or queue_rows[queue, PORT] != port or (word & INGRESS_MASK) != ingress:
            return False
    return True


@inlined
def _hash_hop(hashed: int, node: int, port: int, ingress: int) -> int:
    """The hash of a path with one more hop."""
    hashed = product(hashed ^ product(node, FACTOR_0) ^ product(port, FACTOR_1) ^ product(ingress, FACTOR_2), FACTOR_3)
    return hashed ^ (hashed >> 29)


@inlined
def find_path(
    rows: Any,
    index: Any,
    path_hops: Any,
    queue_rows: Any,
    queue_index: Any,
    work: Any,
    columns: Any,
    guess: int,
    first: int,
    count: int,
) -> int:
    """Path of the hops from row `first` on, made if it is new; `guess` (or −1) is tried first.

    −1 if there is no room for it or for one of its queues: its hops (queue −1 if there is no room) then stand behind those in use,
    until the next packet. There is room for that. path_hops int64[capacity]: hops of all paths.
    """
    if guess >= 0 and _same(rows, path_hops, queue_rows, columns, guess, first, count):
        return guess
    hashed: int = count
    for i in range(count):
        node, port, ingress = hop_key(columns, first + i)
        hashed = _hash_hop(hashed, node, port, ingress)
    hashed = mixed(hashed)
    mask = index.shape[0] - 1
    at = hashed & mask
    slot = index[at]
    while slot != 0:
        if (slot ^ hashed) >> 32 == 0:
            path: int = (slot & LOWER) - 1
            if _same(rows, path_hops, queue_rows, columns, path, first, count):
                return path
        at = (at + 1) & mask
        slot = index[at]
    offset = work[PATH_HOPS]
    path = work[PATHS]
    if path == rows.shape[0]:
        path = -1
    for i in range(count):
        node, port, ingress = hop_key(columns, first + i)
        queue = find_queue(queue_rows, queue_index, work, node, port)
        if queue < 0:
            path = -1
        path_hops[offset + i] = (queue << QUEUE_SHIFT) | ingress
    if path < 0:
        return -1
    rows[path, OFFSET] = offset
    rows[path, LENGTH] = count
    rows[path, FIRST_NS] = NEVER
    rows[path, HASH] = hashed
    index[at] = (hashed & UPPER) | (path + 1)
    work[PATHS] = path + 1
    work[PATH_HOPS] = offset + count
    return path


@inlined
def longer_of(rows: Any, path_hops: Any, queue_rows: Any, one: int, other: int) -> int:
    """The longer of two paths if it begins as the other does, else −1: a packet seen halfway has the first hops of its path only.

    Which queue of a port it took is its priority, not its way.
    """
    common = min(rows[one, LENGTH], rows[other, LENGTH])
    first, second = rows[one, OFFSET], rows[other, OFFSET]
    for i in range(common):
        mine, theirs = path_hops[first + i], path_hops[second + i]
        if mine != theirs:
            this, that = mine >> QUEUE_SHIFT, theirs >> QUEUE_SHIFT
            port, their_port = queue_rows[this, PORT] >> QUEUE_BITS, queue_rows[that, PORT] >> QUEUE_BITS
            if (mine ^ theirs) & INGRESS_MASK != 0 or queue_rows[this, NODE] != queue_rows[that, NODE] or port != their_port:
                return -1
    return one if rows[one, LENGTH] > common or rows[other, LENGTH] == common else other


@inlined
def count_packet(rows: Any, path: int, time: int, size: int, hole: int, marked: int, checked: int) -> None:
    """Add a packet to its path; `hole` is 1 if a node on it left no hop, `marked` 1 if it is CE, `checked` the state of its ICRC."""
    rows[path, PACKETS] += 1
    rows[path, CARRIED] += 1
    if marked != 0:
        rows[path, CE] += 1
    if checked == ICRC_OK:
        rows[path, ICRC_RIGHT] += 1
    elif checked == ICRC_BAD:
        rows[path, ICRC_WRONG] += 1
    rows[path, BYTES] += size
    rows[path, HOLES] += hole
    rows[path, LAST_NS] = max(rows[path, LAST_NS], time)
    if time < rows[path, FIRST_NS] and time > 0:
        rows[path, FIRST_NS] = time


@inlined
def common_hops(rows: Any, path_hops: Any, path: int, offset: int, count: int) -> int:
    """How many of the hops of a path are the first of the `count` hops from `offset` on."""
    first, common = rows[path, OFFSET], min(rows[path, LENGTH], count)
    same = 0
    while same < common and path_hops[first + same] == path_hops[offset + same]:
        same += 1
    return same


@inlined
def take_back(rows: Any, path: int) -> None:
    """Take a packet that went on from its path; what it tells itself (CE, ICRC) stays. Its bytes are those of a mean packet."""
    rows[path, BYTES] -= rows[path, BYTES] // rows[path, PACKETS]
    rows[path, PACKETS] -= 1
    rows[path, HOLES] = min(rows[path, HOLES], rows[path, PACKETS])


class Paths:
    """All paths, and the hops that they consist of."""

    def __init__(self, maximum: int) -> None:
        self.table = Table(WIDTH, 0, maximum)
        self.hops = np.zeros(512, dtype=np.int64)
        # Of each hop, the row + 1 of the link from it to the next, once it has been looked up.
        self.links = np.zeros(512, dtype=np.int64)
        self.used = 0

    def reserve(self, hops: int) -> None:
        """Make room for one more path, of so many hops."""
        self.table.reserve(1)
        if self.used + hops > self.hops.shape[0]:
            grown = np.zeros(max(self.used + hops, 2 * self.hops.shape[0]), dtype=np.int64)
            grown[: self.used] = self.hops[: self.used]
            self.hops = grown
            self.forget_links()

    def forget_links(self) -> None:
        """Let all links be looked up again."""
        self.links = np.zeros(self.hops.shape[0], dtype=np.int64)

    def sequences(self) -> list[Any]:
        """The hops of each path: int64[length], as they stand in `hops`."""
        return [self.hops[offset : offset + length] for offset, length in self.table.data[:, [OFFSET, LENGTH]].tolist()]

    def _keys(self, hops: Any) -> list[bytes]:
        """The words of each path as bytes, taken from `hops`, where they stand as in those of this object."""
        words = hops[: self.used].tobytes()
        return [words[8 * offset : 8 * (offset + length)] for offset, length in self.table.data[:, [OFFSET, LENGTH]].tolist()]

    def find_all(self, wanted: list[bytes], queue_rows: Any) -> Any:
        """The path of each of these sequences (its words of `hops` as bytes), made if it is new: int64[n], −1 if there is no room."""
        known = {key: row for row, key in enumerate(self._keys(self.hops))}
        rows = np.empty(len(wanted), dtype=np.int64)
        for at, sequence in enumerate(wanted):
            path = known.get(sequence, -1)
            if path < 0 and len(self.table) < self.table.maximum:
                path = known[sequence] = self._append(np.frombuffer(sequence, dtype=np.int64), queue_rows)
            rows[at] = path
        return rows

    def _append(self, hops: Any, queue_rows: Any) -> int:
        """Append a path that is not there yet; there is room for it."""
        self.reserve(len(hops))
        hashed = len(hops)
        for word in hops.tolist():
            node, port = queue_rows[word >> QUEUE_SHIFT, [NODE, PORT]].tolist()
            hashed = _hash_hop(hashed, node, port, word & INGRESS_MASK)
        row = np.zeros((1, WIDTH), dtype=np.int64)
        row[0, [OFFSET, LENGTH, FIRST_NS, HASH]] = self.used, len(hops), NEVER, mixed(hashed)
        self.hops[self.used : self.used + len(hops)] = hops
        self.used += len(hops)
        self.table.append(row[0])
        return len(self.table) - 1

    def count_all(self, paths: Any, times: Any, sizes: Any, holes: Any) -> None:
        """Add a packet that did not carry its path to each of these (int64[n], a path as often as it has packets)."""
        rows = self.table.data
        np.add.at(rows[:, PACKETS], paths, 1)
        np.add.at(rows[:, BYTES], paths, sizes)
        np.add.at(rows[:, HOLES], paths, holes)
        np.maximum.at(rows[:, LAST_NS], paths, times)
        np.minimum.at(rows[:, FIRST_NS], paths[times > 0], times[times > 0])

    def merge(self, other: Paths, queues: Any) -> Any:
        """Absorb other paths, whose queue rows are `queues` here: the row that each has here (int64[n]), −1 where there was no room."""
        known = {key: row for row, key in enumerate(self._keys(self.hops))}
        queue = queues[other.hops[: other.used] >> QUEUE_SHIFT]
        moved = (queue << QUEUE_SHIFT) | (other.hops[: other.used] & INGRESS_MASK)
        keys = other._keys(moved)
        rows = np.array([known.get(key, -1) for key in keys], dtype=np.int64)
        offset, length = other.table.data[:, [OFFSET, LENGTH]].T
        homeless = np.concatenate([[0], np.cumsum(queue < 0)])
        fresh = np.flatnonzero((rows < 0) & (homeless[offset + length] == homeless[offset]))
        fresh = fresh[: max(self.table.maximum - len(self.table), 0)]
        if len(fresh):
            rows[fresh] = len(self.table) + np.arange(len(fresh))
            new = other.table.data[fresh]
            new[:, _COUNTED] = 0
            new[:, [FIRST_NS, LAST_NS]] = NEVER, 0
            new[:, OFFSET] = self.used + np.cumsum(length[fresh]) - length[fresh]
            self.table.extend(new)
            hops = np.frombuffer(b"".join(keys[row] for row in fresh.tolist()), dtype=np.int64)
            self.hops = np.concatenate([self.hops[: self.used], hops])
            self.used = len(self.hops)
        self.forget_links()
        target, theirs = rows[rows >= 0], other.table.data[rows >= 0]
        mine = self.table.data[target]
        mine[:, _COUNTED] += theirs[:, _COUNTED]
        mine[:, FIRST_NS] = np.minimum(mine[:, FIRST_NS], theirs[:, FIRST_NS])
        mine[:, LAST_NS] = np.maximum(mine[:, LAST_NS], theirs[:, LAST_NS])
        self.table.data[target] = mine
        return rows

    def longer(self, queue_rows: Any, one: Any, other: Any) -> Any:
        """`longer_of` for arrays of paths: int64[n]."""
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        return np.array([longer_of(self.table.data, self.hops, queue_rows, *pair) for pair in pairs], dtype=np.int64)

    def copy(self) -> Paths:
        """An independent copy."""
        other = Paths(self.table.maximum)
        other.table = self.table.copy()
        other.hops = self.hops.copy()
        other.used = self.used
        other.forget_links()
        return other

    def view(self) -> PathView:
        """Counters and hops of every path."""
        rows = self.table.data
        lengths = rows[:, LENGTH].copy()
        moved = rows[:, OFFSET] - (np.cumsum(lengths) - lengths)
        hops = self.hops[np.arange(lengths.sum()) + np.repeat(moved, lengths)]
        return PathView(
            queues=Ragged(hops >> QUEUE_SHIFT, lengths),
            ingress_ports=Ragged((hops & INGRESS_MASK) - 1, lengths),
            packets=rows[:, PACKETS].copy(),
            bytes=rows[:, BYTES].copy(),
            holes=rows[:, HOLES].copy(),
            carried=rows[:, CARRIED].copy(),
            ce_packets=rows[:, CE].copy(),
            icrc_right=rows[:, ICRC_RIGHT].copy(),
            icrc_wrong=rows[:, ICRC_WRONG].copy(),
            first_ns=np.where(rows[:, FIRST_NS] == NEVER, 0, rows[:, FIRST_NS]),
            last_ns=rows[:, LAST_NS].copy(),
        )
