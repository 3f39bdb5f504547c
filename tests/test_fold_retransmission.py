"""Connections in the fold: what is sent again, copied, late or lost, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from roce_reference import US, folded
from roce_traffic import MTU, Wire
from test_fold_connections import LIVES, paired, seen


@pytest.mark.parametrize("compiled", LIVES)
def test_a_nak_makes_a_go_back_n_and_no_timeout(compiled: bool) -> None:
    wire = Wire()
    sent = wire.message("write", 6)
    wire.answer("acknowledge", sent[2].psn, syndrome=0x60)
    for packet in sent[2:]:
        wire.again(packet)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire, compiled)["there"]
    assert (there["nak"], there["retransmitted"], there["rewinds"], there["timeouts"], there["data"]) == (1, 4, 1, 0, 10)
    assert (there["fct"], there["completed_bytes"], there["rtt"][0]) == ((1, 11 * US, 11 * US), 6 * MTU, 0)


def test_what_was_lost_before_the_mirror_is_retransmitted_when_a_nak_asked_for_it() -> None:
    wire = Wire()
    sent = wire.message("write", 6, lost=(2,))
    wire.answer("acknowledge", sent[2].psn, syndrome=0x60)
    wire.again(sent[2])
    wire.acknowledge(wire.psn - 1)
    alone = Wire()
    # not paired until its first acknowledgement: one message before makes the pair
    alone.message("send", 1)
    alone.acknowledge(alone.psn - 1)
    sent = alone.message("write", 6, lost=(2,))
    alone.answer("acknowledge", sent[2].psn, syndrome=0x60)
    alone.again(sent[2])
    alone.acknowledge(alone.psn - 1)
    there = seen(alone)["there"]
    assert (there["nak"], there["retransmitted"], there["out_of_order"], there["rewinds"], there["unfilled"]) == (1, 1, 0, 1, 0)
    assert there["fct"][0] == 2
    # a NAK cannot make the pair: its PSN is one that was never seen
    assert seen(wire)["there"]["nak"] == 0


def test_a_receiver_not_ready_is_no_loss_of_the_network() -> None:
    wire = Wire()
    sent = wire.message("send", 1)
    wire.answer("acknowledge", sent[0].psn, syndrome=0x20 | 12)
    wire.wait(640 * US)
    wire.again(sent[0])
    wire.acknowledge(sent[0].psn)
    view = folded(wire.packets).view().connections
    row = int(np.argmax(view.rnr_naks))
    assert (view.rnr_naks[row], view.rnr_wait_ns[row], view.naks[row], view.timeouts[row], view.retransmitted[row]) == (
        1,
        640 * US,
        0,
        0,
        1,
    )


def test_a_rewind_that_no_nak_asked_for_is_a_timeout() -> None:
    wire = paired()
    sent = wire.message("write", 3)
    wire.wait(4_000 * US)
    for packet in sent:
        wire.again(packet)
    there = seen(wire)["there"]
    assert (there["timeouts"], there["rewinds"], there["retransmitted"], there["nak"]) == (1, 1, 3, 0)
    # seen from one side only, a timeout cannot be told from what a NAK asked for
    assert seen([packet for packet in wire.packets if packet.src == 1])["there"]["timeouts"] == 0


@pytest.mark.parametrize("compiled", LIVES)
def test_a_copy_from_a_second_mirror_point_is_no_retransmission(compiled: bool) -> None:
    wire = Wire()
    for _ in range(3):
        for packet in wire.message("write", 4):
            wire.copy(packet, ttl=62)
        wire.copy(wire.acknowledge(wire.psn - 1), ttl=62)
    there = seen(wire, compiled)["there"]
    assert (there["duplicates"], there["retransmitted"], there["data"], there["fct"][0], there["packets"]) == (12, 0, 12, 3, 24)


def test_without_an_identification_a_copy_has_another_ttl_and_a_retransmission_the_same() -> None:
    wire = Wire(ip=6)
    sent = wire.message("write", 4)
    for packet in sent[:2]:
        wire.copy(packet, ttl=62)
    wire.again(sent[3])
    there = seen(wire)["there"]
    assert (there["duplicates"], there["retransmitted"]) == (2, 1)


def test_an_identification_that_never_changes_tells_no_copies() -> None:
    wire = Wire()
    sent = wire.message("write", 6)
    wire.again(sent[5])
    still = [packet.at(packet.time, identification=0) for packet in wire.packets]
    assert seen(still)["there"]["retransmitted"] == 1
    copied = [*still[:6], still[5].at(still[5].time + US, ttl=62)]
    assert seen(copied)["there"]["duplicates"] == 1


def test_a_copied_nak_counts_once_and_the_same_nak_after_a_retransmission_again() -> None:
    wire = paired()
    sent = wire.message("write", 4)
    for _ in range(2):
        nak = wire.answer("acknowledge", sent[1].psn, syndrome=0x60)
        wire.copy(nak, ttl=62)
        for packet in sent[1:]:
            wire.again(packet)
    there = seen(wire)["there"]
    assert (there["nak"], there["rewinds"], there["timeouts"]) == (2, 2, 0)


@pytest.mark.parametrize("compiled", LIVES)
def test_packets_that_overtake_each_other_are_no_loss(compiled: bool) -> None:
    wire = paired()
    for _ in range(3):
        wire.message("write", 8)
    wire.acknowledge(wire.psn - 1)
    packets = wire.packets.copy()
    # at 9 and 17 the last packet of one message and the first of the next
    for at in (3, 9, 13, 17):
        packets[at], packets[at + 1] = packets[at + 1].at(packets[at].time), packets[at].at(packets[at + 1].time)
    there = seen(packets, compiled)["there"]
    assert (there["retransmitted"], there["unfilled"], there["out_of_order"]) == (0, 0, 4)
    assert (there["fct"][0], there["partial"], there["completed_bytes"]) == (4, 0, 25 * MTU)


def test_what_comes_a_millisecond_after_the_gap_was_sent_again() -> None:
    wire = Wire()
    sent = wire.message("write", 5, lost=(1,))
    wire.wait(1_100 * US)
    wire.again(sent[1])
    there = seen(wire)["there"]
    assert (there["retransmitted"], there["out_of_order"]) == (1, 0)


def test_a_late_packet_that_is_followed_by_known_ones_was_a_go_back_n() -> None:
    wire = Wire()
    sent = wire.message("write", 6, lost=(1, 2))
    for packet in sent[1:]:
        wire.again(packet)
    there = seen(wire)["there"]
    assert (there["retransmitted"], there["out_of_order"], there["rewinds"]) == (5, 0, 1)


def test_a_gap_that_no_one_fills_is_counted_once_it_leaves_the_window() -> None:
    wire = Wire()
    wire.message("write", 140, lost=(3, 4))
    there = seen(wire)["there"]
    assert (there["unfilled"], there["retransmitted"], there["out_of_order"]) == (2, 0, 0)
    assert there["one_sided"][0] == 1


def test_a_packet_that_never_came_was_lost_between_the_two_around_it() -> None:
    wire = Wire(transport="UC")
    before, lost, after = wire.message("write", 3, lost=(1,))
    for _ in range(70):
        wire.message("write", 3)
    wire.wait(50 * US)
    _, late = wire.message("write", 2, lost=(0,))
    wire.wait(2_000 * US)
    wire.message("send", 1)
    view = folded(wire.packets).view().connections
    assert view.unfilled.tolist() == [2]
    first, last, longest = (int(column[0]) for column in (view.first_gap_ns, view.last_gap_ns, view.longest_gap_ns))
    assert 0 <= after.time - first < 1024 and 0 <= late.time - last < 1024
    assert longest == 52 * US and before.time < lost.time and first - longest <= lost.time <= first + 1024


def test_a_gap_that_was_filled_late_is_no_loss() -> None:
    wire = Wire(transport="UC")
    sent = wire.message("write", 4)
    wire.packets[1], wire.packets[2] = sent[2].at(sent[1].time), sent[1].at(sent[2].time)
    for _ in range(70):
        wire.message("write", 3)
    view = folded(wire.packets).view().connections
    assert (view.unfilled[0], view.first_gap_ns[0], view.last_gap_ns[0]) == (0, 0, 0)
