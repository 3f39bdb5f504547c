"""ECN and FNR by hand: marks and notifications, packets sent again by message, ICRCs by direction, and all of it merged."""

from __future__ import annotations

import pytest
from roce_reference import START, US, Packet, folded, known
from roce_traffic import MTU, Wire
from test_fold_connections import compare, paired, seen

from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.roce import sum_up_connections, sum_up_roce
from int_analyzer.analysis.summarise import examine
from int_analyzer.schema import ICRC_ALTERED, ICRC_BAD, ICRC_CUT, ICRC_OK

MS = 1000 * US
LIVES = [pytest.param(False, id="plain"), pytest.param(True, id="compiled")]


def marked(wire: Wire) -> Packet:
    """A SEND of one packet that a switch has marked."""
    (packet,) = wire.message("send", 1)
    wire.packets[-1] = packet.at(packet.time, ecn=3)
    return wire.packets[-1]


def notify_at(wire: Wire, time: int) -> None:
    wire.time = time - US
    wire.answer("notification", 0)


@pytest.mark.parametrize("compiled", LIVES)
def test_each_notification_is_timed_from_the_first_mark_since_the_last_one(compiled: bool) -> None:
    wire = paired()
    first = marked(wire).time
    marked(wire)
    notify_at(wire, first + 40 * US)
    again = marked(wire).time
    notify_at(wire, again + 55 * US)
    notify_at(wire, again + 110 * US)  # nothing was marked in between: it answers no mark
    assert seen(wire, compiled)["back"]["cnp_delays"] == (2, 95 * US, 40 * US, 55 * US)
    assert seen(wire, compiled)["back"]["cnp"] == (3, 3)


def test_the_densest_ten_milliseconds_are_told() -> None:
    wire = paired()
    begin = START - START % (10 * MS) + 10 * MS
    for at in (0, 1, 2, 9, 10, 11, 35):  # 4 in the first window, 2 in the second, 1 in the fourth
        notify_at(wire, begin + at * MS)
    assert seen(wire)["back"]["cnp"] == (7, 4)


def test_a_copy_of_a_notification_is_no_other_one() -> None:
    wire = paired()
    notify_at(wire, START + 1 * MS)
    wire.copy(wire.packets[-1], ttl=62)
    wire.answer("notification", 0)
    wire.copy(wire.packets[-1], ttl=62)
    notify_at(wire, START + 5 * MS)
    assert seen(wire)["back"]["cnp"] == (3, 3)
    compare(wire.packets)


def test_notifications_per_second_are_those_of_the_time_in_which_the_connection_was_seen() -> None:
    wire = Wire()
    begin = wire.message("send", 1)[0].time
    wire.acknowledge(wire.psn - 1)
    for step in range(1, 6):
        notify_at(wire, begin + step * 100 * MS)
    view = folded(wire.packets).view()
    (row,) = sum_up_connections(view, DirectionDelays(examine(view)[1]))
    assert (row.cnps, row.cnps_per_second, row.cnp_peak, row.cnp_delay_ns) == (5, 10.0, 1, None)
    roce = sum_up_roce(view, DirectionDelays(examine(view)[1]))
    assert roce is not None
    (pair,) = [pair for pair in roce.host_pairs if pair.src == "10.0.0.1"]
    assert (pair.cnps, pair.cnps_per_second) == (5, 10.0)


def test_of_a_one_sided_direction_notifications_are_not_known() -> None:
    wire = Wire()
    wire.message("send", 3)
    view = folded(wire.packets).view()
    (row,) = sum_up_connections(view, DirectionDelays(examine(view)[1]))
    assert (row.cnps, row.cnps_per_second, row.cnp_peak, row.cnp_delay_min_ns) == (None, None, None, None)


# ------------------------------------------------------------------------------------------------------------------------- FNR


@pytest.mark.parametrize("compiled", LIVES)
def test_the_worst_message_has_its_own_share_of_retransmissions(compiled: bool) -> None:
    wire = paired()
    wire.message("write", 4)
    wire.acknowledge(wire.psn - 1)
    begin = wire.psn
    sent = wire.message("write", 6)
    wire.answer("acknowledge", begin + 4, syndrome=0x60)
    for packet in sent[4:]:
        wire.again(packet)
    wire.acknowledge(wire.psn - 1)
    begin = wire.psn
    (only,) = wire.message("send", 1)
    wire.answer("acknowledge", begin, syndrome=0x60)
    wire.again(only)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire, compiled)["there"]
    # 2 of 8 and 1 of 2 sent packets were retransmissions; of all, 3 of 15 (with that of `paired`)
    assert there["resent"] == (2, 500_000)
    assert (there["retransmitted"], there["data"]) == (3, 15)
    compare(wire.packets, compiled)


def test_what_was_lost_before_the_mirror_counts_in_its_message_too() -> None:
    wire = paired()
    begin = wire.psn
    sent = wire.message("write", 3, lost=(1,))
    wire.answer("acknowledge", begin + 1, syndrome=0x60)
    wire.again(sent[1])
    wire.again(sent[2])
    wire.acknowledge(wire.psn - 1)
    assert seen(wire)["there"]["resent"] == (1, 400_000)
    compare(wire.packets)


def test_what_seemed_late_and_was_a_go_back_n_counts_in_its_message() -> None:
    wire = paired()
    sent = wire.message("write", 4, lost=(1,))
    for packet in sent[1:]:  # within the reorder window, and no NAK is seen: late, until the next shows what it was
        wire.again(packet)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["out_of_order"], there["retransmitted"], there["resent"]) == (0, 3, (1, 428_571))
    compare(wire.packets)


def test_a_message_whose_packets_only_overtook_each_other_has_no_retransmissions() -> None:
    wire = paired()
    wire.message("write", 5)
    wire.packets[-2], wire.packets[-3] = wire.packets[-3].at(wire.packets[-2].time), wire.packets[-2].at(wire.packets[-3].time)
    wire.packets.sort(key=lambda packet: packet.time)
    wire.acknowledge(wire.psn - 1)
    there = seen(wire)["there"]
    assert (there["out_of_order"], there["retransmitted"], there["resent"]) == (1, 0, (0, 0))


def test_a_read_that_was_asked_for_twice_is_its_connections_retransmission_only() -> None:
    wire = paired()
    request = wire.send("read request", size=0, dma=MTU)
    wire.wait(3 * MS)
    wire.again(request)
    wire.answer("response only", request.psn, MTU)
    there = seen(wire)["there"]
    assert (there["retransmitted"], there["resent"]) == (1, (0, 0))


# ----------------------------------------------------------------------------------------------------------------- ICRC, merging


def test_icrcs_are_counted_by_direction() -> None:
    wire = paired()
    states = (ICRC_OK, ICRC_OK, ICRC_BAD, ICRC_CUT, ICRC_ALTERED, ICRC_OK)
    for packet, state in zip(wire.message("write", 6), states, strict=True):
        at = wire.packets.index(packet)
        wire.packets[at] = packet.at(packet.time, icrc=state)
    rows = seen(wire)
    assert (rows["there"]["icrc"], rows["back"]["icrc"]) == ((3, 1, 2), (0, 0, 0))


def test_pieces_add_up_and_keep_extremes() -> None:
    wire = paired()
    marks = []
    for delay in (70, 20, 50):
        marks.append(marked(wire).time)
        notify_at(wire, marks[-1] + delay * US)
        wire.acknowledge(wire.psn - 1)
        wire.wait(20 * MS)
    cut = next(at for at, packet in enumerate(wire.packets) if packet.time > marks[1] + MS)
    early, late = folded(wire.packets[:cut]), folded(wire.packets[cut:])
    early.merge(late)
    back = known(early.view())["10.0.0.2", "10.0.0.1", 17]
    # that the last one answers a mark was not to be seen: its piece has no acknowledgement before it that shows the pair
    assert back["cnp"] == (3, 1)
    assert back["cnp_delays"] == (2, 90 * US, 20 * US, 70 * US)
