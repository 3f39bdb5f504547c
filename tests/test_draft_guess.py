"""int-analyzer profile init: what units and dialects are guessed from, and where nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_draft import PCAPS, loaded

from int_analyzer import schema
from int_analyzer.draft import sighting
from int_analyzer.draft.document import draft_text
from int_analyzer.draft.guess import contradicts, guess_units
from int_analyzer.draft.hop_rows import HopRows
from int_analyzer.draft.layout import hop_words, rivals
from int_analyzer.draft.node_tally import NTP_EPOCH, NodeTally
from int_analyzer.draft.port_tally import PortTally, tally_ports
from int_analyzer.draft.sample import LIMIT, Sample
from int_analyzer.draft.sighting import Sighting, see
from int_analyzer.formats.dialect import DIALECT_NAMES
from int_analyzer.profile import Units
from int_analyzer.reading import Reading

# ------------------------------------------------------------------------------------------------------- guesses by hand


def rows(count: int, **columns: Any) -> HopRows:
    """`count` hops of node 1 port 1, absent where nothing is said."""
    values = {name: columns.get(name, 0 if name in ("begin", "end", "packet_bytes") else -1) for name in HopRows._fields}
    values |= {"node": columns.get("node", 1), "egress": columns.get("egress", 1), "from_ioam": columns.get("from_ioam", False)}
    return HopRows(*(np.broadcast_to(np.asarray(value), count).copy() for value in values.values()))


def guessed(*nodes: HopRows) -> dict[str, str | None]:
    """Guesses for all nodes from the hops of each."""
    tallies: dict[int, NodeTally] = {}
    ports: dict[tuple[int, int], PortTally] = {}
    for number, hops in enumerate(nodes):
        tallies.setdefault(number + 1, NodeTally()).add(hops)
        tally_ports(ports, hops._replace(node=hops.node + number))
    return {guess.key: guess.value for guess in guess_units(tallies, ports)[0]}


def reason(hops: HopRows, key: str) -> str:
    tally = NodeTally()
    tally.add(hops)
    return next(guess.reason for guess in guess_units({1: tally}, {})[0] if guess.key == key)


COUNT = 400
CAPTURED = 10**18 + np.arange(COUNT) * 10_000_000


@pytest.mark.parametrize(
    ("depths", "unit", "words"),
    [
        (range(1, 80), "packets", "from 1 to 79 in steps of 1"),
        (range(1, 3000), "cells", "more than packets would be"),
        (range(80, 80_000, 80), "bytes", "all multiples of 80 (cells of 80 bytes?)"),
        (range(64, 9000, 3), "bytes", "from 64 to 8998 in steps of 1"),
        ([0, 1], None, "goes up to 1"),
        ([0, 1, 2, 3, 4, 5], None, "goes up to 5"),
        ([0, 100], None, "goes up to 100"),
        (range(4, 40, 4), None, "goes up to 36"),
        ([0], None, "always 0"),
        ([-1], None, "never reported"),
    ],
)
def test_the_unit_of_depth_is_guessed_from_range_and_steps(depths: Sequence[int], unit: str | None, words: str) -> None:
    hops = rows(4000, depth=np.resize(np.array(depths), 4000))
    assert guessed(hops)["queue_depth"] == unit and words in reason(hops, "queue_depth")


@pytest.mark.parametrize("damaged", [3, 0xFFFFFF])
def test_a_damaged_depth_does_not_decide(damaged: int) -> None:
    for depths, unit in ((range(1, 80), "packets"), (range(64, 90_000, 7), "bytes")):
        depth = np.resize(np.array(depths), 4000)
        depth[17] = damaged
        assert guessed(rows(4000, depth=depth))["queue_depth"] == unit


@pytest.mark.parametrize(
    ("unit_ns", "bits", "unit"), [(1, 64, "ns"), (1000, 64, "us"), (1, 32, "ns"), (1000, 32, "us"), (1.28, 64, None), (100, 64, None)]
)
def test_the_unit_of_times_is_that_by_which_they_keep_up_with_the_capture(unit_ns: float, bits: int, unit: str | None) -> None:
    late = np.random.default_rng(1).integers(0, 3_000_000, COUNT)
    ticks = ((CAPTURED - 10**18 + 4_000_000_000) / unit_ns).astype(np.int64) % (1 << min(bits, 62))
    assert guessed(rows(COUNT, time_ns=CAPTURED + late, end=ticks))["time"] == unit


def test_without_capture_times_a_thousand_between_latency_and_times_tells_both_units() -> None:
    latency = np.arange(20, 20 + COUNT)
    same = guessed(rows(COUNT, time_ns=0, end=CAPTURED, latency=latency, difference=latency))
    assert (same["time"], same["hop_latency"]) == (None, None)
    nanoseconds = guessed(rows(COUNT, time_ns=0, end=CAPTURED, latency=latency, difference=1000 * latency))
    assert (nanoseconds["time"], nanoseconds["hop_latency"]) == ("ns", "us")
    reverse = rows(COUNT, time_ns=0, end=CAPTURED, latency=1000 * latency, difference=latency)
    assert (guessed(reverse)["time"], guessed(reverse)["hop_latency"]) == ("us", "ns")
    assert "times in µs" not in reason(reverse, "time") and "is hop latency ÷ 1000 in 100 % of 400 hops" in reason(reverse, "time")


def test_a_latency_that_contradicts_the_times_is_no_ground_for_a_guess() -> None:
    latency = np.arange(20, 20 + COUNT)
    hops = rows(COUNT, time_ns=CAPTURED, end=CAPTURED - 10**18 + 1, latency=latency, difference=7 * latency)
    tally = NodeTally()
    tally.add(hops)
    assert contradicts(tally) and guessed(hops)["hop_latency"] is None and guessed(hops)["time"] == "ns"


@pytest.mark.parametrize(("unit_ns", "unit"), [(1, "ns"), (1000, "us"), (30, None)])
def test_depth_and_latency_tell_the_unit_by_the_rate_at_which_packets_left(unit_ns: int, unit: str | None) -> None:
    # a packet leaves every 10 ms; who found n packets before it has waited n × 10 ms
    depth = np.resize(np.arange(1, 60), COUNT)
    hops = rows(COUNT, time_ns=CAPTURED, depth=depth, latency=depth * 10_000_000 // unit_ns)
    assert guessed(hops)["hop_latency"] == unit
    # in bytes or cells nothing is known of packets
    assert guessed(hops._replace(depth=depth * 1100))["hop_latency"] is None


@pytest.mark.parametrize(
    ("seconds", "fractions", "unit"),
    [
        (0, np.arange(COUNT) * 2_000, "posix"),
        (0, np.arange(COUNT) * 2_000_000, "ptp"),
        (NTP_EPOCH, np.arange(COUNT) * 10_000_000, "ntp"),
        (0, np.arange(COUNT) * 10_000_000, None),
        (12345, np.arange(COUNT) * 2_000, None),
    ],
)
def test_the_kind_of_ioam_times_is_guessed_from_fraction_and_epoch(seconds: int, fractions: Any, unit: str | None) -> None:
    shift = seconds - 10**9 if seconds == 12345 else seconds
    begin = ((CAPTURED // 10**9 + shift) << 32) | fractions
    hops = rows(COUNT, time_ns=CAPTURED, begin=begin, from_ioam=True)
    assert guessed(hops)["ioam_time"] == unit
    assert guessed(hops.take(np.arange(2)))["ioam_time"] is None


def test_nodes_that_differ_have_guesses_of_their_own(tmp_path: Path) -> None:
    seen = Sighting()
    for node, unit_ns in ((5, 1), (6, 1000), (-16, 1)):
        seen.nodes[node] = NodeTally()
        seen.nodes[node].add(rows(COUNT, time_ns=CAPTURED, end=(CAPTURED - 10**18) // unit_ns + 1))
    text = draft_text(["made.pcap"], seen, [], True)
    profile = loaded(text, tmp_path)
    assert "# no guess: nodes differ (ns, us): see each\n" in text
    assert [profile.units_of(node).time for node in (5, 6, -16)] == ["ns", "us", "ns"] and profile.units.time == "unknown"
    assert loaded(draft_text(["made.pcap"], seen, [], False), tmp_path).units_of(5) == Units()


def test_a_node_that_contradicts_itself_has_no_guess() -> None:
    tally = NodeTally()
    for unit_ns in (1, 1000):
        tally.add(rows(COUNT, time_ns=CAPTURED, end=(CAPTURED - 10**18) // unit_ns + 1))
    assert {guess.key: guess.value for guess in guess_units({1: tally}, {})[0]}["time"] is None


def test_dialects_that_fit_the_same_lengths_are_told_apart_by_whether_they_read_the_same() -> None:
    names = DIALECT_NAMES
    assert rivals(names["int-2.x"], 0xFC00) == (["int-2.x-level2-16"], [])
    assert rivals(names["geant10"], 0xFC00) == (["int-1.0-time64"], [])
    assert rivals(names["onos-basic"], 0xFC00) == ([], [])
    # one time and level-2 ports: what one dialect takes for the time another takes for the ports
    assert rivals(names["int-1.0"], 0x8A00) == ([], ["geant10"])
    assert hop_words(names["int-1.0"], 0x8A00) == 4
    seen = Sighting(
        layouts=sighting.Counter({(schema.FORMAT_INT_MD_1, names["int-1.0"], 0x8A00): 2, (schema.FORMAT_INT_MD_1, 0, 0xFF00): 1})
    )
    text = draft_text(["made.pcap"], seen, [], False)
    assert "by its lengths it could be geant10, with other widths" in text.replace("\n#     ", " ")
    assert "INT that no dialect explains, bitmap 0xff00: 1 packet" in text


def test_a_sample_is_bounded_and_even_and_does_not_depend_on_the_batches() -> None:
    whole, pieces = Sample(), Sample()
    whole.add(np.arange(10_000))
    for begin in range(0, 10_000, 77):
        pieces.add(np.arange(begin, min(begin + 77, 10_000)))
    assert whole.numbers == pieces.numbers == list(range(0, 10_000, 64)) and len(whole.numbers) <= LIMIT
    assert whole.seen == 10_000


def test_more_nodes_than_a_profile_can_hold_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sighting, "MAXIMUM_NODES", 2)
    seen = see(Reading(PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap"))
    assert len(seen.nodes) == 2 and seen.hops_ignored > 0
    assert {node for node, _ in seen.ports} <= set(seen.nodes)
    assert "hops of further nodes are left out: there are too many nodes" in draft_text(["made.pcap"], seen, [], False)
