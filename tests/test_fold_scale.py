"""That a large fabric is folded as a small one is, and what its stores are made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.batches import HOPS, LARGE, PACKET_BYTES, SMALL, Batches
from benchmarks.scale import bytes_of
from int_analyzer.columns import PACKETS_PER_BATCH
from int_analyzer.fold import buckets
from int_analyzer.fold.foresight import is_large
from int_analyzer.fold.sorting import order_by
from int_analyzer.fold.state import State
from int_analyzer.fold.table import Table, grown, guess


def test_a_large_fabric_gives_the_same_compiled_and_plain() -> None:
    columns = Batches(LARGE, whole_messages=False).next()
    plain, compiled = State(), State()
    plain.fold(columns, compiled=False)
    compiled.fold(columns)
    assert is_large(plain.flows.table.rows, plain.queues.table.rows)
    assert plain.hops_put_off == compiled.hops_put_off > 0
    plain.settle()
    compiled.settle()
    for part in ("queues", "paths", "flows", "pairs", "links"):
        np.testing.assert_array_equal(getattr(plain, part).table.data, getattr(compiled, part).table.data)
    np.testing.assert_array_equal(plain.queues.counters, compiled.queues.counters)
    np.testing.assert_array_equal(plain.queues.buckets.data, compiled.queues.buckets.data)
    np.testing.assert_array_equal(plain.queues.histograms.pool, compiled.queues.histograms.pool)


def test_no_packet_of_a_large_fabric_is_lost() -> None:
    batches, state, seen = Batches(LARGE, whole_messages=False), State(), []
    for _ in range(2):
        columns = batches.next()
        seen.append(np.stack([columns.packets.src_lo, columns.packets.dst_lo, columns.packets.src_port, columns.roce.dest_qp], axis=1))
        state.fold(columns)
    view = state.view()
    flows, counts = np.unique(np.concatenate(seen), axis=0, return_counts=True)
    assert len(view.flows.packets) == len(flows) and sorted(view.flows.packets) == sorted(counts)
    assert view.queues.packets.sum() == HOPS * 2 * PACKETS_PER_BATCH == view.buckets.packets.sum()
    assert view.queues.latency_histograms.counts().sum() == HOPS * 2 * PACKETS_PER_BATCH
    assert view.paths.bytes.sum() == PACKET_BYTES * 2 * PACKETS_PER_BATCH


def test_hosts_send_message_after_message_without_a_gap() -> None:
    state = State()
    batches = Batches(SMALL)
    for _ in range(2):
        state.fold(batches.next())
    connections = state.view().connections
    assert connections.unfilled.sum() == connections.retransmitted.sum() == connections.out_of_order.sum() == 0
    assert connections.one_sided.sum() > 2 * PACKETS_PER_BATCH // 16 // 2


def test_the_bytes_of_a_state_are_those_of_its_arrays() -> None:
    state = State()
    before = bytes_of(state)
    state.flows.table.reserve(1000)
    assert bytes_of(state) - before >= (1000 - 64) * 8 * state.flows.table.width


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-(1 << 62), 1 << 62), st.integers(0, 2)), max_size=30), st.booleans())
def test_rows_are_ordered_by_several_words(rows: list[tuple[int, int, int]], near: bool) -> None:
    first, second, third = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    if near:
        second = second % 5
    assert order_by(first, second, third).tolist() == np.lexsort((third, second, first)).tolist()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(0, 32),
)
@settings(deadline=None)
def test_a_log_of_buckets_becomes_compact_the_same_in_one_pass_and_in_pieces(words: list[tuple[int, int, int, int]], more: int) -> None:
    both = []
    for fast in (True, False):
        log = buckets.Buckets(1000, 64)
        log.log = np.zeros((len(words), buckets.WIDTH), dtype=np.int64)
        for row, (queue, bucket, most, when) in enumerate(words):
            log.log[row] = [queue, bucket, row, 1, 1, most, most, 1, most, most, when]
        log.used = len(words)
        both.append((log, log.compact(more, 64, fast)))
    (one, doublings), (other, same) = both
    assert doublings == same and one.width_ns == other.width_ns == 1000 << doublings
    np.testing.assert_array_equal(one.data, other.data)
    # An independent account of what each bucket holds.
    known: dict[tuple[int, int], list[int]] = {}
    for row, (queue, bucket, _, _) in enumerate(words):
        known.setdefault((queue, bucket >> doublings), []).append(row)
    assert list(map(tuple, one.data[:, :2].tolist())) == sorted(known)
    for at, rows in zip(one.data.tolist(), (known[key] for key in sorted(known)), strict=True):
        highest = max(words[row][2] for row in rows)
        earliest = min(words[row][3] for row in rows if words[row][2] == highest)
        assert at[2:] == [sum(rows), *[len(rows)] * 2, sum(words[row][2] for row in rows), highest, len(rows),
                          sum(words[row][2] for row in rows), highest, earliest]  # fmt: skip


def test_a_table_that_keeps_some_rows_finds_them_and_no_others() -> None:
    table = Table(3, 1, maximum=5000, capacity=5000)
    rows = np.stack([np.arange(4000), np.arange(4000) * 2, np.arange(4000)], axis=1)
    table.replace(rows)
    kept = np.flatnonzero(rows[:, 0] % 3 > 0)
    table.keep(kept)
    np.testing.assert_array_equal(table.data, rows[kept])
    assert not table.rows[len(kept) : 4000].any()
    found, new = table.match(rows[:6])
    assert found[~new].tolist() == [0, 1, 2, 3] and new.tolist() == [True, False, False, True, False, False]


def test_the_index_alone_tells_where_a_row_stands_whatever_stands_before_it() -> None:
    table = Table(width=3, words=1, maximum=32, capacity=32)
    # All begin to look in the last slot, so that they stand one behind the other, and go on at the beginning.
    last = 63
    hashes = [(number << 32) | last for number in range(1, 33)]
    table.replace(np.array([[number, 0, hashed] for number, hashed in enumerate(hashes)], dtype=np.int64))
    index = memoryview(table.index(fast=False))
    assert len(index) == last + 1
    assert [guess(index, hashed) for hashed in hashes] == list(range(32))
    assert guess(index, (33 << 32) | last) == guess(index, 40) == -1


def test_an_array_that_grows_keeps_its_rows_whoever_owns_the_memory() -> None:
    rows = np.arange(12, dtype=np.int64).reshape(4, 3)
    for array in (rows.copy(), np.frombuffer(rows.tobytes(), dtype=np.int64).reshape(4, 3)):
        larger = grown(array, 7)
        np.testing.assert_array_equal(larger[:4], rows)
        assert larger.shape == (7, 3) and not larger[4:].any() and larger.flags.writeable
