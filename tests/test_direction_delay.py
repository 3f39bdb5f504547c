"""What flows and connections say of delay: by hand, with a reason where nothing is known, and adding up to what all messages say."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from delay_traffic import CALM, IN_NS, calm, send
from roce_reference import US, Packet, folded
from roce_traffic import Wire
from simulated_capture import captured
from test_delay import SECONDS, SEED

from int_analyzer import analyze
from int_analyzer.analysis.delays.delay_summary import DirectionDelay
from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.flows import sum_up_flows
from int_analyzer.analysis.roce import sum_up_connections
from int_analyzer.analysis.summarise import examine
from int_analyzer.cli import main
from int_analyzer.profile import Profile, Units

SHARES = ("network_share", "resent_share", "elsewhere_share", "not_seen_share")


def delay_of(packets: list[Packet], profile: Profile = IN_NS) -> DirectionDelay:
    """Of the one direction that sends."""
    view = folded(packets).view()
    (connection,) = sum_up_connections(view, DirectionDelays(examine(view, profile)[1]))
    return connection.delay


def test_the_parts_of_the_slow_messages_are_summed_up_and_the_worst_queue_is_named() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 100_500), *[CALM] * 3])
    send(wire, [(60_500, 500), *[CALM] * 3])
    send(wire, [CALM] * 4, gap=40 * US)
    delay = delay_of(wire.packets)
    assert (delay.judged_messages, delay.slow_messages, delay.delay_ns) == (9, 3, 280 * US)
    assert (delay.network_share, delay.elsewhere_share, delay.not_seen_share) == pytest.approx((160 / 280, 120 / 280, 0))
    assert delay.worst_hop is not None and (delay.worst_hop.node_id, delay.worst_hop.port_id) == (2, 1)
    assert delay.worst_hop_share == pytest.approx(100 / 280)
    assert delay.delay_reason == ""


def test_without_a_slow_message_nothing_was_lost_and_no_share_is_known() -> None:
    wire = Wire()
    calm(wire)
    delay = delay_of(wire.packets)
    assert (delay.judged_messages, delay.slow_messages, delay.delay_ns) == (6, 0, 0)
    assert {getattr(delay, share) for share in SHARES} == {None} and delay.worst_hop is None
    assert delay.delay_reason == "none of its messages was slow"


def test_messages_without_their_like_are_not_judged() -> None:
    wire = Wire()
    calm(wire, count=2)
    delay = delay_of(wire.packets)
    assert (delay.judged_messages, delay.slow_messages, delay.delay_ns, delay.network_share) == (None,) * 4
    assert delay.delay_reason == "its messages have no like to be compared with"


def test_a_direction_without_a_whole_message_says_so() -> None:
    wire = Wire()
    wire.message("write", 4, lost=(3,))
    assert delay_of(wire.packets).delay_reason == "no whole message of it was seen"


def test_slow_messages_of_which_nothing_tells_are_counted_and_their_shares_are_unknown() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 60_500)] * 4, gap=30 * US)
    delay = delay_of(wire.packets, Profile(units=Units(hop_latency="unknown")))
    assert (delay.slow_messages, delay.delay_ns, delay.network_share) == (1, 90 * US, None)
    assert "unit of hop latency" in delay.delay_reason


def test_a_flow_has_the_delay_of_its_connection_once_and_else_a_reason() -> None:
    wire = Wire()
    calm(wire)
    send(wire, [(500, 100_500), *[CALM] * 3])
    view = folded(wire.packets).view()
    reasons = {
        flow.delay.delay_reason: flow.delay.slow_messages for flow in sum_up_flows(view, IN_NS, DirectionDelays(examine(view, IN_NS)[1]))
    }
    assert reasons == {"": 1, "no whole message of it was seen": None}


def test_the_columns_of_both_tables_add_up_to_what_is_said_of_all_messages(capsys: pytest.CaptureFixture[str]) -> None:
    path, profile, _, _ = captured("straggler-link", SEED, SECONDS["straggler-link"])
    summary = analyze(path, profile).summary
    assert summary.messages is not None and summary.messages.slow > 20
    for table in ("flows", "connections"):
        capsys.readouterr()
        assert main([table, str(path), "--profile", str(profile), "--json"]) == 0
        rows = pd.DataFrame(json.loads(capsys.readouterr().out))
        assert rows.slow_messages.sum() == summary.messages.slow
        assert rows.delay_ns.sum() == pytest.approx(summary.messages.delay_ns, abs=len(rows))
        shares = rows.dropna(subset="network_share")
        assert len(shares) >= 3 and (shares[list(SHARES)].sum(axis=1) - 1).abs().max() < 1e-9
        assert rows[rows.network_share.isna()].delay_reason.str.len().min() > 0
        told = summary.messages.in_queues_ns
        assert (rows.network_share * rows.delay_ns).sum() == pytest.approx(told, rel=0.01)
        worst = shares.sort_values("delay_ns").iloc[-1]
        root = summary.findings[0]
        assert worst.worst_hop.startswith(f"{root.node}:{root.port}") and worst.worst_hop_share <= worst.network_share + 1e-9
