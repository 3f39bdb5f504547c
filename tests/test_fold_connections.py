"""Connections in the fold: against the slow twin on random traffic, and each trap of the transport by hand."""

from __future__ import annotations

import numpy as np
import pytest
from roce_reference import START, US, WRAP, Packet, expected, fill, folded, known
from roce_traffic import MTU, Wire, traffic

from int_analyzer.fold.state import Capacity, State

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def compare(packets: list[Packet], compiled: bool = False) -> None:
    told, wanted = known(folded(packets, compiled, batch=170).view()), expected(packets)
    assert told.keys() == wanted.keys()
    for key, values in wanted.items():
        assert told[key] == values, key


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("seed", range(12))
def test_connections_are_what_the_twin_knows(seed: int, compiled: bool) -> None:
    compare(traffic(seed), compiled)


@pytest.mark.parametrize("seed", range(100, 106))
def test_heavy_loss_and_reordering_are_what_the_twin_knows(seed: int) -> None:
    compare(traffic(seed, loss=0.15, late=0.3, copies=0.3))


def seen(wire: Wire | list[Packet], compiled: bool = False) -> dict[str, dict[str, object]]:
    """What is known of the two directions of a wire: "there" are its requests, "back" what answers them."""
    packets = wire.packets if isinstance(wire, Wire) else wire
    first = min(packet.dest_qp for packet in packets)
    rows = known(folded(packets, compiled).view())
    return {"back" if key[2] == first and len(rows) > 1 else "there": values for key, values in rows.items()}


def paired() -> Wire:
    """A wire whose directions are known to be one connection."""
    wire = Wire()
    wire.message("send", 1)
    wire.acknowledge(wire.psn - 1)
    return wire


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("kind", ["send", "write"])
def test_a_message_takes_from_its_first_packet_to_its_acknowledgement(kind: str, compiled: bool) -> None:
    wire = Wire()
    wire.message(kind, 4)
    wire.wait(7 * US)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire, compiled)["there"]
    assert there["fct"] == (1, 11 * US, 11 * US)
    assert there["rtt"] == (1, 8 * US, 8 * US, 8 * US)
    assert (there["completed_bytes"], there[kind], there["partial"], there["one_sided"]) == (4 * MTU, 1, 0, (0, 0, 0))


@pytest.mark.parametrize("transport", ["RC", "XRC"])
def test_psns_wrap_within_a_message(transport: str) -> None:
    wire = Wire(psn=WRAP - 2, transport=transport)
    for _ in range(3):
        wire.message("write", 3)
        wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["fct"][0], there["data"], there["unfilled"], there["retransmitted"], there["verified"]) == (3, 9, 0, 0, True)


def test_one_acknowledgement_completes_all_messages_that_it_covers() -> None:
    wire = paired()
    for _ in range(3):
        wire.message("send", 2)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["fct"][0], there["rtt"][0], there["unanswered"]) == (4, 4, 0)
    assert there["rtt"][3] == 5 * US


def test_an_acknowledgement_within_a_message_completes_those_before_it_only() -> None:
    wire = paired()
    wire.message("send", 1)
    sent = wire.message("send", 5)
    wire.acknowledge(sent[2].psn)
    there = seen(wire)["there"]
    assert (there["fct"][0], there["fct"][2], there["unanswered"]) == (2, 6 * US, 1)


def test_when_the_messages_before_the_first_acknowledgement_were_answered_is_not_known() -> None:
    wire = Wire()
    for _ in range(4):
        wire.message("send", 2)
    wire.acknowledge(wire.psn - 3)
    there = seen(wire)["there"]
    assert (there["one_sided"], there["fct"], there["unanswered"]) == ((2, 2 * US, US), (1, 4 * US, 4 * US), 1)


@pytest.mark.parametrize("compiled", LIVES)
def test_a_read_takes_the_psns_of_its_response(compiled: bool) -> None:
    wire = Wire()
    for number in range(3):
        begin = wire.psn
        wire.send("read request", size=0, dma=4 * MTU)
        for at, part in enumerate(("first", "middle", "middle", "last")):
            wire.answer(f"response {part}", begin + at, MTU)
        # the request behind the first READ stands where only its response tells that it must stand
        wire.psn = begin + 4
        wire.message("send", 1)
        wire.acknowledge(wire.psn - 1)
        assert wire.psn == begin + 5, number
    rows = seen(wire, compiled)
    there, back = rows["there"], rows["back"]
    assert (there["read"], there["send"], there["fct"][0]) == (3, 3, 6)
    assert (there["unfilled"], there["out_of_order"], there["retransmitted"], there["restarts"]) == (0, 0, 0, 0)
    assert (back["data"], back["unfilled"], back["retransmitted"], back["bytes"]) == (12, 0, 0, 12 * MTU)


def test_a_read_is_complete_with_its_last_response_though_a_later_acknowledgement_came_first() -> None:
    wire = paired()
    begin = wire.psn
    wire.send("read request", size=0, dma=MTU)
    wire.message("send", 1)
    wire.acknowledge(begin + 1)
    wire.answer("response only", begin, MTU)
    there = seen(wire)["there"]
    assert (there["fct"][0], there["fct"][2], there["partial"]) == (3, 3 * US, 0)


def test_a_lost_response_within_a_read_is_a_hole_and_the_retried_read_a_retransmission() -> None:
    wire = Wire()
    begin = wire.psn
    wire.send("read request", size=0, dma=4 * MTU)
    wire.answer("response first", begin, MTU)
    wire.answer("response last", begin + 3, MTU)
    wire.wait(4_000 * US)
    wire.send("read request", begin + 1, size=0, dma=3 * MTU)
    for at, part in ((1, "first"), (2, "middle"), (3, "last")):
        wire.answer(f"response {part}", begin + at, MTU)
    wire.psn = begin + 4
    rows = seen(wire)
    assert (rows["there"]["retransmitted"], rows["there"]["timeouts"]) == (1, 1)
    assert (rows["back"]["retransmitted"], rows["back"]["out_of_order"], rows["back"]["unfilled"]) == (3, 0, 0)


@pytest.mark.parametrize("what", ["compare swap", "fetch add"])
def test_atomics_are_answered_by_atomic_acknowledgements(what: str) -> None:
    wire = Wire()
    wire.send(what, size=0)
    wire.wait(5 * US)
    wire.answer("atomic acknowledge", wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["atomic"], there["fct"]) == (1, (1, 6 * US, 6 * US))


def test_immediate_and_invalidate_variants_are_messages_too() -> None:
    wire = Wire()
    for ending in ("send only immediate", "write only immediate", "send only invalidate"):
        wire.send(ending, dma=MTU if ending.startswith("write") else None)
        wire.acknowledge(wire.psn - 1)
    wire.send("send first")
    wire.send("send last invalidate")
    wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["send"], there["write"], there["immediates"], there["invalidates"], there["fct"][0]) == (3, 1, 2, 2, 4)


def test_messages_cut_by_the_beginning_or_the_end_of_a_capture_are_not_measured() -> None:
    wire = Wire()
    wire.message("write", 6)
    wire.acknowledge(wire.psn - 1)
    wire.message("write", 6)
    wire.acknowledge(wire.psn - 1)
    wire.message("write", 6)
    there = seen(wire.packets[3:-2])["there"]
    assert (there["partial"], there["fct"][0], there["unanswered"]) == (1, 1, 1)


def test_without_the_way_back_a_message_takes_from_first_to_last_packet_and_says_so() -> None:
    wire = Wire()
    for _ in range(20):
        wire.message("write", 3)
    rows = known(folded(wire.packets).view())
    (there,) = rows.values()
    assert (there["one_sided"], there["fct"], there["peer"], there["rtt"][0]) == ((20, 40 * US, 2 * US), (0, 0, 0), None, 0)


@pytest.mark.parametrize("compiled", LIVES)
def test_however_many_messages_nothing_answers_the_view_closes_all_of_them(compiled: bool) -> None:
    packets, now = [], START
    for host in range(150):
        wire = Wire(here=10 + host, time=now)
        for count in (2, 3, 6, 12):
            wire.message("write", count)
        packets, now = packets + wire.packets, wire.time
    state = folded(packets, compiled, batch=500)
    view = state.view()
    assert (view.connections.one_sided.tolist(), view.connections.unanswered.sum()) == ([4] * 150, 0)
    assert view.connections.one_sided_sum.tolist() == [(1 + 2 + 5 + 11) * US] * 150
    assert view.host_pairs.fct_one_sided.counts().sum() == 600
    # They are closed in the view only: an answer may still come.
    assert state.view().connections.one_sided.tolist() == [4] * 150


def test_unreliable_connections_have_one_sided_messages_and_datagrams_no_gaps() -> None:
    wire = Wire(transport="UC")
    wire.message("send", 3)
    wire.message("write", 3)
    assert seen(wire)["there"]["one_sided"][0] == 2
    datagrams = Wire()
    for psn in (5, 900, 17, 4000):
        datagrams.send("datagram", psn)
    there = seen(datagrams)["there"]
    assert (there["send"], there["data"], there["unfilled"], there["retransmitted"]) == (4, 0, 0, 0)


def test_both_sides_of_a_connection_may_send() -> None:
    wire, other = Wire(psn=5), Wire(psn=70_000, here=2, there=1, here_qp=34, there_qp=17)
    for _ in range(4):
        wire.message("write", 3)
        other.time = wire.time
        other.message("send", 2)
        other.acknowledge(other.psn - 1)
        wire.time = other.time
        wire.acknowledge(wire.psn - 1)
    packets = sorted([*wire.packets, *other.packets], key=lambda packet: packet.time)
    rows = seen(packets)
    assert [rows[side]["fct"][0] for side in ("there", "back")] == [4, 4]
    assert [rows[side]["verified"] for side in ("there", "back")] == [True, True]
    assert [rows[side]["unfilled"] for side in ("there", "back")] == [0, 0]


def test_queue_pairs_with_the_same_psns_are_paired_only_where_one_fits() -> None:
    wires = [Wire(psn=0, here_qp=100 + number, there_qp=200 + number) for number in range(2)]
    for _ in range(6):
        for wire in wires:
            wire.time = max(other.time for other in wires)
            wire.message("send", 1)
        for wire in wires:
            wire.time = max(other.time for other in wires)
            wire.acknowledge(wire.psn - 1)
    packets = sorted([*wires[0].packets, *wires[1].packets], key=lambda packet: packet.time)
    assert all(values["peer"] is None for values in known(folded(packets).view()).values())
    # one of them gets ahead: then its PSNs are its own, and with it out of the way those of the other
    for wire in wires:
        for _ in range(3):
            wire.time = max(other.time for other in wires)
            wire.message("send", 1)
            wire.acknowledge(wire.psn - 1)
    packets = sorted([*wires[0].packets, *wires[1].packets], key=lambda packet: packet.time)
    rows = known(folded(packets).view())
    assert {key[2]: values["peer"][2] for key, values in rows.items()} == {100: 200, 200: 100, 101: 201, 201: 101}


def test_a_pair_that_does_not_fit_is_parted() -> None:
    wire = paired()
    for number in range(8):
        wire.message("send", 1)
        wire.acknowledge(3_000_000 + 10_000 * number)
    there = seen(wire)["there"]
    assert (there["peer"], there["fct"][0]) == (None, 1)


def test_a_new_connection_on_an_old_queue_pair_begins_anew() -> None:
    wire = Wire()
    for begin in (1000, 8_000_000):
        wire.psn = begin
        for _ in range(5):
            wire.message("send", 1)
            wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["restarts"], there["unfilled"], there["retransmitted"]) == (1, 0, 0)
    assert there["fct"][0] >= 8


def test_a_notification_comes_some_time_after_the_first_marked_packet() -> None:
    wire = paired()
    for packet in wire.message("write", 3):
        at = wire.packets.index(packet)
        wire.packets[at] = packet.at(packet.time, ecn=3)
    wire.wait(9 * US)
    wire.answer("notification", 0)
    wire.answer("notification", 0)
    rows = seen(wire)
    assert (rows["back"]["cnp"], rows["back"]["cnp_delays"], rows["there"]["ce"]) == ((2, 2), (1, 12 * US, 12 * US, 12 * US), 3)


def test_packets_without_a_time_have_no_completion_time() -> None:
    wire = Wire()
    wire.message("send", 2)
    wire.acknowledge(wire.psn - 1)
    there = seen([packet.at(0) for packet in wire.packets])["there"]
    assert (there["fct"], there["rtt"][0], there["partial"]) == ((0, 0, 0), 0, 1)


def test_compiled_and_plain_rows_are_the_same() -> None:
    packets = traffic(50, connections=12, loss=0.05)
    plain, compiled = folded(packets, False, batch=150).connections, folded(packets, True, batch=150).connections
    np.testing.assert_array_equal(plain.directions.data, compiled.directions.data)
    np.testing.assert_array_equal(plain.pairs.data, compiled.pairs.data)
    np.testing.assert_array_equal(plain.hints, compiled.hints)
    rows = plain.times.blocks.shape[0]
    np.testing.assert_array_equal(plain.times.blocks, compiled.times.blocks[:rows])
    np.testing.assert_array_equal(plain.times.pool[: plain.times.used], compiled.times.pool[: compiled.times.used])


@pytest.mark.parametrize("seed", range(3))
def test_garbage_is_survived_and_is_the_same_garbage_in_both_lives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = State(), State()
    for _ in range(3):
        columns = fill(traffic(seed, connections=2)[:120])
        rows = columns.rows("roce")
        for name in ("psn", "dest_qp"):
            column = getattr(columns.roce, name)
            few = rng.random(rows) < 0.5
            column[:rows][few] = rng.choice((0, 1, 5, 0xFFFFFF, 0xFFFFFFFF), few.sum())
        columns.roce.opcode[:rows] = rng.integers(0, 256, rows) if seed else rng.choice((0, 1, 2, 6, 12, 13, 15, 17), rows)
        for name in ("syndrome", "present", "dma_bytes", "payload_bytes", "ack_req"):
            column = getattr(columns.roce, name)
            column[:rows] = rng.integers(0, np.iinfo(column.dtype).max, rows, endpoint=True)
        columns.packets.time_ns[:rows] = rng.choice((0, 1, START, np.iinfo(np.int64).max), rows)
        for state, compiled in zip(states, (False, True), strict=True):
            state.fold(columns, compiled)
    np.testing.assert_array_equal(states[0].connections.directions.data, states[1].connections.directions.data)
    assert states[0].view().connections.packets.sum() <= 360


# ---------------------------------------------------------------------------------------------------- memory and merging


def test_directions_are_bounded_and_the_forgotten_are_counted() -> None:
    wires = [Wire(psn=1000 * number, here_qp=100 + number, there_qp=5000 + number, time=START + number * 100 * US) for number in range(60)]
    for wire in wires:
        wire.message("write", 2)
        wire.acknowledge(wire.psn - 1)
    packets = [packet for wire in wires for packet in wire.packets]
    state = folded(packets, capacity=Capacity(connections=32))
    view = state.view().connections
    assert len(view.src) <= 32 and len(view.src) + view.evicted == 120
    assert view.completed.sum() < 60
    # what is kept is whole: peers point at each other, and the last connections are there
    peers = view.peer[view.peer >= 0]
    np.testing.assert_array_equal(view.peer[peers], np.flatnonzero(view.peer >= 0))
    assert {5059, 159} <= set(view.dest_qp.tolist())


def test_pairs_of_hosts_beyond_their_number_share_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from int_analyzer.fold import connections

    monkeypatch.setattr(connections, "MAXIMUM_HOST_PAIRS", 4)
    wires = [Wire(psn=1000 * number, here=number, there=100 + number) for number in range(1, 9)]
    for wire in wires:
        wire.message("write", 2)
        wire.acknowledge(wire.psn - 1)
    packets = [packet for wire in wires for packet in wire.packets]
    pairs = folded(packets).view().host_pairs
    assert len(pairs.src) == 5 and pairs.src[0] == ""
    assert pairs.fct.counts().tolist() == [6, 1, 0, 1, 0]
    merged = folded(packets[:12])
    merged.merge(folded(packets[12:]))
    assert merged.view().host_pairs.fct.counts().sum() == 8


def test_pieces_that_are_cut_between_messages_merge_to_the_whole() -> None:
    pieces, wires = [], [Wire(psn=WRAP - 20 + 5000 * number, here_qp=100 + number, there_qp=200 + number) for number in range(4)]
    for _ in range(3):
        for wire in wires:
            wire.time = max(other.time for other in wires)
            wire.packets = []
            for number in range(4):
                sent = wire.message("write", 5)
                # before a piece has found its pairs it knows of no timeouts
                if number > 0:
                    wire.again(sent[4])
                wire.acknowledge(wire.psn - 1)
        pieces.append([packet for wire in wires for packet in wire.packets])
    whole = folded([packet for piece in pieces for packet in piece])
    merged = folded(pieces[0])
    for piece in pieces[1:]:
        later = folded(piece)
        before = later.view()
        merged.merge(later)
        assert known(later.view()) == known(before)
    assert known(merged.view()) == known(whole.view())
    one, other = merged.view().host_pairs, whole.view().host_pairs
    shares = (0.0, 0.5, 0.99, 1.0)
    np.testing.assert_array_equal(one.fct.quantiles(shares), other.fct.quantiles(shares))
    np.testing.assert_array_equal(one.rtt.quantiles(shares), other.rtt.quantiles(shares))


def test_a_message_goes_on_over_the_boundary_of_two_pieces() -> None:
    wire = Wire()
    wire.message("write", 3)
    wire.acknowledge(wire.psn - 1)
    wire.message("write", 6)
    merged = folded(wire.packets[:-3])
    merged.merge(folded(wire.packets[-3:]))
    # its acknowledgement is folded into the merged state
    wire.acknowledge(wire.psn - 1)
    merged.fold(fill(wire.packets[-1:]), False)
    assert known(merged.view()) == known(folded(wire.packets).view())


def test_what_the_boundary_cut_is_counted_as_partial() -> None:
    wire = Wire()
    wire.message("write", 3)
    wire.acknowledge(wire.psn - 1)
    wire.message("write", 6)
    wire.acknowledge(wire.psn - 1)
    merged = folded(wire.packets[:-4])
    merged.merge(folded(wire.packets[-4:]))
    there = next(values for key, values in known(merged.view()).items() if key[2] == 34)
    assert (there["fct"][0], there["partial"], there["data"], there["unfilled"]) == (1, 2, 9, 0)


@pytest.mark.parametrize("compiled", LIVES)
def test_random_traffic_merges_without_losing_a_packet(compiled: bool) -> None:
    packets = traffic(77, connections=8)
    whole = known(folded(packets, compiled).view())
    merged: State | None = None
    for begin in range(0, len(packets), 200):
        piece = folded(packets[begin : begin + 200], compiled)
        if merged is None:
            merged = piece
        else:
            merged.merge(piece)
    assert merged is not None
    told = known(merged.view())
    assert told.keys() == whole.keys()
    for key, values in whole.items():
        for what in ("packets", "ce", "cnp", "acks"):
            assert told[key][what] == values[what], (key, what)
        assert abs(int(told[key]["data"]) - int(values["data"])) <= int(values["restarts"]) + 8
    assert sum(values["fct"][0] for values in told.values()) > 0
