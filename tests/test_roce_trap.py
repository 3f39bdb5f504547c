"""Traps of the transport where two of them meet, each with what must come out worked out by hand (IBTA Vol.1 ch. 9)."""

from __future__ import annotations

import numpy as np
import pytest
from roce_reference import US, WRAP, folded
from roce_traffic import MTU, Wire
from test_fold_connections import compare, seen

LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def near_wrap(before: int, transport: str = "RC") -> Wire:
    """A wire that is known to be a connection, and whose next PSN stands so many before 2^24."""
    wire = Wire(psn=WRAP - before - 1, transport=transport)
    wire.message("send", 1)
    wire.acknowledge(wire.psn - 1)
    return wire


@pytest.mark.parametrize("transport", ["RC", "XRC"])
@pytest.mark.parametrize("compiled", LIVES)
def test_a_go_back_n_over_the_wrap_is_one_rewind(transport: str, compiled: bool) -> None:
    wire = near_wrap(3, transport)
    sent = wire.message("write", 6)  # PSNs 2^24 − 3 … 2
    assert (sent[0].psn, sent[-1].psn) == (WRAP - 3, 2)
    wire.answer("acknowledge", sent[2].psn, syndrome=0x60)
    for packet in sent[2:]:
        wire.again(packet)
    wire.acknowledge(2)
    there = seen(wire, compiled)["there"]
    assert (there["nak"], there["rewinds"], there["retransmitted"], there["unfilled"]) == (1, 1, 4, 0)
    # 6 packets, the NAK, 4 again, the acknowledgement: the eleventh microsecond after the first
    assert there["fct"] == (2, (1 + 11) * US, 11 * US)
    assert there["resent"] == (1, 400_000)
    compare(wire.packets, compiled)


def test_a_read_response_over_the_wrap_completes_its_read() -> None:
    wire = near_wrap(2)
    request = wire.send("read request", size=0, dma=4 * MTU)
    for number, part in enumerate(("first", "middle", "middle", "last")):
        wire.answer(f"response {part}", request.psn + number, MTU)
    wire.psn = 2
    wire.message("send", 1)
    wire.acknowledge(2)
    rows = seen(wire)
    assert (rows["there"]["read"], rows["there"]["send"], rows["there"]["unfilled"], rows["back"]["unfilled"]) == (1, 2, 0, 0)
    assert rows["there"]["fct"] == (3, (1 + 4 + 1) * US, 4 * US)
    compare(wire.packets)


def test_one_acknowledgement_over_the_wrap_completes_all_messages_before_it() -> None:
    wire = near_wrap(3)
    for _ in range(5):
        wire.message("send", 1)
    wire.acknowledge(1)
    there = seen(wire)["there"]
    # the one that made the pair, and five that waited 5, 4, 3, 2 and 1 µs
    assert there["fct"] == (6, (1 + 15) * US, 5 * US)
    assert there["unanswered"] == 0


@pytest.mark.parametrize(("timer", "wait_us"), [(0, 655_360), (1, 10), (14, 1_280), (31, 491_520)])
def test_a_receiver_that_is_not_ready_says_for_how_long(timer: int, wait_us: int) -> None:
    wire = near_wrap(1000)
    (sent,) = wire.message("send", 1)
    wire.answer("acknowledge", sent.psn, syndrome=0x20 | timer)
    wire.wait(wait_us * US)
    wire.again(sent)
    wire.acknowledge(sent.psn)
    view = folded(wire.packets).view().connections
    row = int(np.argmax(view.rnr_naks))
    assert (view.rnr_naks[row], view.rnr_wait_ns[row], view.timeouts[row], view.naks[row]) == (1, wait_us * US, 0, 0)


def test_a_timeout_after_a_lost_acknowledgement_repeats_the_last_packet_only() -> None:
    wire = near_wrap(1000)
    sent = wire.message("write", 3)
    wire.wait(4_000 * US)
    wire.again(sent[-1])
    wire.acknowledge(sent[-1].psn)
    there = seen(wire)["there"]
    assert (there["timeouts"], there["rewinds"], there["retransmitted"], there["out_of_order"]) == (1, 1, 1, 0)
    # from the first packet to the acknowledgement, the wait and all; and no RTT, as which packet it answers is not known
    assert there["fct"][2] == (2 + 4_000 + 2) * US
    assert there["rtt"][0] == 1


def test_copies_of_reordered_packets_are_copies() -> None:
    wire = near_wrap(1000)
    sent = wire.message("write", 4)
    wire.packets[-3], wire.packets[-2] = wire.packets[-2].at(wire.packets[-3].time), wire.packets[-3].at(wire.packets[-2].time)
    for packet in (sent[0], sent[2], sent[1], sent[3]):
        wire.copy(packet, ttl=62)
    wire.acknowledge(sent[-1].psn)
    there = seen(wire)["there"]
    assert (there["duplicates"], there["out_of_order"], there["retransmitted"], there["data"]) == (4, 1, 0, 5)
    compare(wire.packets)


@pytest.mark.parametrize("transport", ["RC", "XRC"])
def test_a_capture_that_begins_within_a_message_measures_the_next_one(transport: str) -> None:
    wire = near_wrap(1000, transport)
    wire.message("write", 5)
    wire.acknowledge(wire.psn - 1)
    wire.message("write", 2)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire.packets[4:])["there"]
    assert (there["partial"], there["fct"], there["unfilled"]) == (1, (1, 2 * US, 2 * US), 0)


def test_a_capture_that_ends_within_a_read_leaves_it_unanswered() -> None:
    wire = near_wrap(1000)
    request = wire.send("read request", size=0, dma=3 * MTU)
    wire.answer("response first", request.psn, MTU)
    wire.answer("response middle", request.psn + 1, MTU)
    rows = seen(wire)
    assert (rows["there"]["read"], rows["there"]["fct"][0], rows["there"]["unanswered"]) == (1, 1, 1)
    assert (rows["back"]["data"], rows["back"]["unfilled"]) == (2, 0)


@pytest.mark.parametrize("what", ["compare swap", "fetch add"])
@pytest.mark.parametrize("transport", ["RC", "XRC"])
def test_an_atomic_that_was_lost_and_repeated_is_one_message(what: str, transport: str) -> None:
    wire = near_wrap(1000, transport)
    sent = wire.send(what, size=0)
    wire.wait(4_000 * US)
    wire.again(sent)
    wire.answer("atomic acknowledge", sent.psn)
    there = seen(wire)["there"]
    assert (there["atomic"], there["retransmitted"], there["timeouts"], there["fct"][2]) == (1, 1, 1, 4_002 * US)


@pytest.mark.parametrize(
    ("transport", "endings", "immediates", "invalidates"),
    [
        ("RC", ("immediate", "invalidate"), 2, 2),
        ("XRC", ("immediate", "invalidate"), 2, 2),
        ("UC", ("immediate",), 2, 0),
    ],
)
def test_immediate_and_invalidate_variants_end_messages_of_every_transport(
    transport: str, endings: tuple[str, ...], immediates: int, invalidates: int
) -> None:
    wire = Wire(transport=transport)
    for ending in endings:
        wire.send(f"send only {ending}")
        wire.send("send first")
        wire.send(f"send last {ending}")
    wire.send("send only")
    there = seen(wire)["there"]
    assert (there["send"], there["immediates"], there["invalidates"]) == (2 * len(endings) + 1, immediates, invalidates)
    assert there["one_sided"][0] == 2 * len(endings) + 1


def test_a_datagram_with_immediate_data_is_a_message_whatever_its_psn() -> None:
    wire = Wire()
    for psn, what in ((9, "datagram"), (9, "datagram immediate"), (3, "datagram immediate")):
        wire.send(what, psn)
    there = seen(wire)["there"]
    assert (there["send"], there["immediates"], there["retransmitted"], there["out_of_order"]) == (3, 2, 0, 0)


@pytest.mark.parametrize("compiled", LIVES)
@pytest.mark.parametrize("syndrome", [0x61, 0x62, 0x63], ids=["invalid request", "access error", "operation error"])
def test_what_follows_a_fatal_nak_at_its_psn_is_a_new_connection_and_no_retransmission(syndrome: int, compiled: bool) -> None:
    wire = near_wrap(1000)
    request = wire.send("read request", size=0, dma=MTU)
    wire.answer("acknowledge", request.psn, syndrome=syndrome)
    wire.psn = request.psn
    wire.message("send", 3)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire, compiled)["there"]
    assert (there["other"], there["restarts"], there["retransmitted"], there["resent"]) == (1, 1, 0, (0, 0))
    # the READ was never answered; the message before it and the one after it were
    assert (there["read"], there["send"], there["fct"], there["unanswered"]) == (1, 2, (2, 4 * US, 3 * US), 1)
    compare(wire.packets, compiled)


def test_a_copy_of_what_a_fatal_nak_refused_is_a_copy() -> None:
    wire = near_wrap(1000)
    request = wire.send("read request", size=0, dma=MTU)
    wire.answer("acknowledge", request.psn, syndrome=0x62)
    wire.copy(request, ttl=request.ttl - 1)
    there = seen(wire)["there"]
    assert (there["other"], there["restarts"], there["duplicates"], there["read"]) == (1, 0, 1, 1)
    compare(wire.packets, False)
