"""int-analyzer profile init: what a draft says of real captures, that it changes nothing unasked, and what it does not claim."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mutate
import numpy as np
import pytest
from capture_bytes import pcap_header, pcap_record

import int_analyzer
from int_analyzer import schema
from int_analyzer.cli import main
from int_analyzer.draft import sighting
from int_analyzer.draft.document import draft_text
from int_analyzer.draft.draft import draft_profile
from int_analyzer.draft.guess import contradicts, guess_units
from int_analyzer.draft.hop_rows import HopRows
from int_analyzer.draft.layout import hop_words, rivals
from int_analyzer.draft.node_tally import NTP_EPOCH, NodeTally
from int_analyzer.draft.port_tally import PortTally, tally_ports
from int_analyzer.draft.sample import LIMIT, Sample
from int_analyzer.draft.sighting import Sighting, see
from int_analyzer.formats.dialect import DIALECT_NAMES
from int_analyzer.profile import Profile, Units, load_profile
from int_analyzer.reading import Reading
from int_analyzer.result import analyze

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
WORKED = json.loads((ROOT / "tests/golden/worked-packets.json").read_text())
Captured = pytest.CaptureFixture[str]

# What the READMEs of the captures say of the units.
UNITS = {
    "bmv2-laofan-int-md-v2.1": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-laofan-int-md-v2.1-healthy": Units("unknown", None, None, "us", "us", "auto"),
    "bmv2-geant-int-v1.0": Units("packets", None, None, "us", "ns", "auto"),
    "bmv2-onos-int-v1.0": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-stratum-fabric-v1model-xd": Units("packets", None, None, "unknown", "us", "auto"),
    "bmv2-tutorials-mri": Units("packets"),
    "linux-ioam-spine-to-leaf": Units("bytes", None, None, "unknown", "unknown", "posix"),
    "linux-ioam": Units("unknown", None, None, "unknown", "unknown", "posix"),
    "bmv2-int-md-erspan-slow-link": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-int-md-idle": Units("unknown", None, None, "us", "us", "auto"),
    "bmv2-int-md-incast": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-int-md-ipv6-erspan-incast": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-int-md-ipv6-incast": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-int-md-loop": Units("unknown", None, None, "us", "us", "auto"),
    "bmv2-int-mx-microburst": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-int-xd-polarised": Units("packets", None, None, "us", "us", "auto"),
    "bmv2-ioam-incast": Units("packets", None, None, "ns", "unknown", "auto"),
}
REPORT_PORTS = {
    "bmv2-laofan-int-md-v2.1": (1234,),
    "bmv2-laofan-int-md-v2.1-healthy": (1234,),
    "bmv2-geant-int-v1.0": (6000,),
    "bmv2-onos-int-v1.0": (32766,),
    "bmv2-stratum-fabric-v1model-xd": (32766,),
    "bmv2-int-md-idle": (32766,),
    "bmv2-int-md-incast": (32766,),
    "bmv2-int-md-ipv6-incast": (32766,),
    "bmv2-int-md-loop": (32766,),
    "bmv2-int-mx-microburst": (32766,),
    "bmv2-int-xd-polarised": (32766,),
    "bmv2-ioam-incast": (32766,),
}
DSCP = {
    "bmv2-laofan-int-md-v2.1": 0x17,
    "bmv2-laofan-int-md-v2.1-healthy": 0x17,
    "bmv2-geant-int-v1.0": 0x20,
    "bmv2-onos-int-v1.0": 0x17,
    "bmv2-int-md-erspan-slow-link": 0x17,
    "bmv2-int-md-ipv6-erspan-incast": 0x17,
    "bmv2-int-md-ipv6-incast": 0x17,
    # here a port marks INT, and the guess is only what all of its packets share
    "bmv2-int-md-idle": 26,
    "bmv2-int-md-incast": 26,
    "bmv2-int-md-loop": 26,
    "bmv2-int-mx-microburst": 26,
}
FOLDERS = sorted(UNITS)


@functools.cache
def drafted(folder: str, accept: bool = False) -> str:
    return draft_profile(PCAPS / folder, accept)


def loaded(text: str, tmp_path: Path) -> Profile:
    path = tmp_path / "draft.toml"
    path.write_text(text)
    return load_profile(path)


def test_every_capture_folder_is_drafted_here() -> None:
    assert {path.name for path in PCAPS.iterdir() if path.is_dir()} == set(UNITS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_draft_is_a_valid_profile_that_claims_no_unit_and_knows_every_node(folder: str, tmp_path: Path, capsys: Captured) -> None:
    profile = loaded(drafted(folder), tmp_path)
    seen = analyze(PCAPS / folder).summary
    assert profile.units == Units() and profile.thresholds == Profile().thresholds and profile.domains == ()
    assert all(node.name is node.role is None and not node.ports for node in profile.nodes.values())
    assert set(profile.nodes) == {queue.at.node_id for queue in seen.queues if queue.at.node_id is not None}
    assert profile.detect.report_ports == REPORT_PORTS.get(folder, ())
    assert main(["profile", "check", profile.path]) == 0
    assert f"valid. {len(profile.nodes)} nodes" in capsys.readouterr().out


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_draft_changes_nothing_that_is_found(folder: str, tmp_path: Path) -> None:
    without, with_draft = (asdict(analyze(PCAPS / folder, profile).summary) for profile in (None, loaded(drafted(folder), tmp_path)))
    for summary in (without, with_draft):
        del summary["capture"]["elapsed_seconds"]
    assert with_draft == without


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_guesses_are_what_the_readme_says_and_no_more(folder: str, tmp_path: Path) -> None:
    profile = loaded(drafted(folder, True), tmp_path)
    assert profile.units == UNITS[folder]
    assert {profile.units_of(node) for node in profile.nodes} <= {UNITS[folder]}
    assert profile.detect.int_dscp == ((DSCP[folder], 0x3F) if folder in DSCP else None)


@pytest.mark.parametrize("folder", FOLDERS)
def test_taking_the_sign_away_from_every_guess_says_what_accepting_them_says(folder: str) -> None:
    lines, guess = [], False
    for line in drafted(folder).splitlines():
        if guess and re.match(r'# \w+ = "', line):
            line, guess = line.removeprefix("# "), False
        elif line.startswith(("# guess: ", "# no guess: ", "[")):
            guess = line.startswith("# guess: ")
        lines.append(line)
    accepted = drafted(folder, True).splitlines()
    # but for the sentence at the top that says which of the two this is
    assert lines[lines.index("[detect]") :] == accepted[accepted.index("[detect]") :]


def test_every_guess_says_what_it_rests_on() -> None:
    geant, laofan = drafted("bmv2-geant-int-v1.0"), drafted("bmv2-laofan-int-md-v2.1")
    assert "# guess: depth in packets: 1034 values above 0, from 1 to 79 in steps of 1, at node 2; 3 more show nothing of it\n" in laofan
    assert "# guess: times in µs: one unit passes in 1.00 µs of capture time" in laofan
    assert "egress − ingress time in µs equals hop latency in 100 % of 1526 hops" in laofan
    assert "egress − ingress time in ns is 1000 × hop latency in 100 % of 1494 hops" in geant
    assert "times in ns: one unit passes in 1 ns of capture time (1494 times); their steps are 1000" in geant
    assert "# 1138 hops, depth up to 1; hop latency contradicts its own times in 100 % of 1138 hops" in geant
    assert "# no guess: queue depth goes up to 1: nothing can be known of its unit\n" in drafted("bmv2-laofan-int-md-v2.1-healthy")
    assert "hop latency is never reported (it is taken from the times)" in drafted("bmv2-stratum-fabric-v1model-xd")
    assert "fraction below 10^6 in all 1813 times" in drafted("linux-ioam-spine-to-leaf")


def test_formats_layouts_and_markings_are_counted() -> None:
    text = drafted("bmv2-laofan-int-md-v2.1")
    assert "#   int-md-2.x: 3559 packets\n" in text and "#   report-2.0: 1154 packets\n" in text
    assert "INT dialect int-2.x, bitmap 0xfc00, 8 words a hop: 3559 packets; int-2.x-level2-16 would read the same" in text
    assert "# guess: it marks INT: 3559 of 3559 packets with INT have it, and none without\n" in text
    assert "INT dialect onos-basic, bitmap 0xfc00, 6 words a hop" in drafted("bmv2-onos-int-v1.0")
    assert "#   IOAM trace type 0xf20000: 2443 packets\n" in drafted("linux-ioam-spine-to-leaf")
    assert "#   IOAM namespace 999: 4 packets\n" in drafted("linux-ioam")


def test_every_port_is_listed_with_what_lies_behind_it() -> None:
    text = drafted("bmv2-laofan-int-md-v2.1")
    assert re.findall(r"^# (\d+) = { name = \"\d+\", speed_bps = 0 }  # \d+ hops → ([^;\n]+)", text, re.M) == [
        ("3", "2:1"),
        ("4", "3:1"),
        ("2", "4:1"),
        ("2", "4:2"),
        ("3", "out"),
        ("5", "out"),
    ]
    # the port was limited to 200 packets/s
    assert "→ 4:1; sent 635 kbit/s (200 packets/s) while packets waited\n" in text


def test_a_speed_that_nobody_filled_in_is_an_error_and_one_that_is_filled_in_is_known(tmp_path: Path) -> None:
    text = drafted("bmv2-laofan-int-md-v2.1").replace("# 2 = {", "2 = {")
    with pytest.raises(int_analyzer.ProfileError, match=r"node.2.ports.2.speed_bps: must be above 0"):
        loaded(text, tmp_path)
    assert loaded(text.replace("speed_bps = 0", "speed_bps = 100e9"), tmp_path).port_speed_bps(2, 2) == 100e9


@pytest.mark.parametrize("folder", ["bmv2-geant-int-v1.0", "linux-ioam"])
def test_two_drafts_of_the_same_captures_are_the_same_text(folder: str) -> None:
    assert draft_profile(PCAPS / folder) == drafted(folder)


@pytest.mark.parametrize(
    ("folder", "factors"),
    [
        ("bmv2-laofan-int-md-v2.1", {"hop_latency": 1000, "ingress_time": 1000, "egress_time": 1000}),
        ("bmv2-geant-int-v1.0", {"hop_latency": 1000, "ingress_time": 1, "egress_time": 1}),
        ("bmv2-onos-int-v1.0", {"hop_latency": 1000, "ingress_time": 1000, "egress_time": 1000}),
        ("bmv2-stratum-fabric-v1model-xd", {"ingress_time": 1000, "egress_time": 1000}),
    ],
)
def test_accepted_guesses_give_the_nanoseconds_of_the_readme(folder: str, factors: dict[str, int], tmp_path: Path) -> None:
    hops = analyze(PCAPS / folder, loaded(drafted(folder, True), tmp_path)).hops
    assert len(hops) > 2000
    for name, factor in factors.items():
        # a drop report has no egress time
        there = hops[f"{name}_raw"].notna()
        assert there.mean() > 0.98
        assert (hops.loc[there, f"{name}_ns"].astype("int64") == hops.loc[there, f"{name}_raw"].astype("int64") * factor).all(), name


def test_a_packet_of_the_readme_has_its_nanoseconds_after_accepting(tmp_path: Path) -> None:
    capture = PCAPS / "bmv2-geant-int-v1.0/s4-coll.pcap"
    hops = analyze(capture, loaded(drafted("bmv2-geant-int-v1.0", True), tmp_path)).hops
    # s4-coll.pcap, packet 546: switch 2 has latency 315457 µs, ingress time 8733509000 ns
    middle = hops[(hops.packet == 545) & (hops.node_id == 2)].iloc[0]
    assert (middle.hop_latency_ns, middle.ingress_time_ns, middle.egress_time_ns) == (315_457_000, 8_733_509_000, 9_048_966_000)


def test_accepted_guesses_give_bytes_and_wall_time_in_linux_traces(tmp_path: Path) -> None:
    result = analyze(PCAPS / "linux-ioam-spine-to-leaf", loaded(drafted("linux-ioam-spine-to-leaf", True), tmp_path))
    hops, packets = result.hops, result.packets
    assert hops.queue_depth_bytes.max() == 47698 and (hops.queue_depth_bytes == hops.queue_depth_raw).all()
    joined = hops.merge(packets[["file", "packet", "time_ns"]], on=["file", "packet"])
    waited = joined.time_ns.astype("int64") - joined.ingress_time_ns.astype("int64")
    assert waited.min() > -1_000_000 and waited.max() < 100_000_000


def capture(tmp_path: Path, *packets: bytes, name: str = "made.pcap") -> Path:
    path = tmp_path / name
    path.write_bytes(pcap_header() + b"".join(pcap_record(data, 1 + number) for number, data in enumerate(packets)))
    return path


def udp(port: int, payload: bytes, dscp: int = 0) -> bytes:
    """Ethernet, IPv4 and UDP around a payload."""
    header = bytes((0x45, dscp << 2)) + (28 + len(payload)).to_bytes(2, "big") + bytes.fromhex("0000 0000 40 11 0000 0a000001 0a000002")
    ports = (49152).to_bytes(2, "big") + port.to_bytes(2, "big") + (8 + len(payload)).to_bytes(2, "big") + bytes(2)
    return bytes(12) + b"\x08\x00" + header + ports + payload


def worked(name: str) -> bytes:
    return bytes.fromhex(next(entry["hex"] for entry in WORKED if entry["name"].startswith(name)))


def test_a_report_port_to_which_something_else_came_too_stays_off(tmp_path: Path) -> None:
    reports = PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap"
    text = draft_profile([reports, capture(tmp_path, udp(1234, b"\x2fhello, this is no report"))])
    assert "other packets came to this port too\n# report_ports = [1234]\n" in text


def test_a_port_of_its_own_for_int_is_active_if_nothing_else_came_to_it(tmp_path: Path) -> None:
    # INT-MX with NPT 1 at port 54321
    alone = capture(tmp_path, worked("04"))
    assert loaded(draft_profile(alone), tmp_path).detect.int_ports == (54321,)
    mixed = capture(tmp_path, worked("04"), udp(54321, b"something else"), name="mixed.pcap")
    assert "INT came to these, but with this line packets would be read differently" in draft_profile(mixed)
    assert loaded(draft_profile(mixed), tmp_path).detect.int_ports == ()


def test_int_that_has_no_port_is_named_with_its_hops(tmp_path: Path) -> None:
    cases = mutate.corner_cases()
    tunnelled = draft_profile(capture(tmp_path, cases["geneve int with a node twice"][0]))
    assert "# INT was seen in tunnels only, not on UDP ports of its own\n# int_ports = []\n" in tunnelled
    assert "INT dialect int-0.5, bitmap 0x" in draft_profile(capture(tmp_path, worked("15")))
    assert "#   mri: 1 packet\n" in draft_profile(capture(tmp_path, cases["mri"][0])) and "# gre_int_protocols = []\n" in tunnelled


def test_a_dscp_that_other_packets_have_too_stays_off_even_when_guesses_are_accepted(tmp_path: Path) -> None:
    links = PCAPS / "bmv2-laofan-int-md-v2.1/s1-s2.pcap"
    others = capture(tmp_path, udp(80, b"something else", dscp=0x17))
    text = draft_profile([links, others], True)
    assert '860 of 860 packets with INT have it, but 1 packet without INT too\n# int_dscp = "0x17/0x3f"\n' in text


def test_dscp_values_with_nothing_in_common_are_no_marking() -> None:
    text = draft_profile([PCAPS / "bmv2-laofan-int-md-v2.1/s1-s3.pcap", PCAPS / "bmv2-geant-int-v1.0/s1-s3.pcap"], True)
    assert "INT has 2 DSCP values with no bit in common: an example\n# int_dscp" in text


def test_an_int_domain_is_named_for_somebody_to_say_its_words(tmp_path: Path) -> None:
    seen = Sighting(namespaces=sighting.Counter({(schema.FORMAT_INT_MD_2, 7): 3, (schema.FORMAT_INT_MD_2, 0): 5}))
    text = draft_text(["made.pcap"], seen, [], False)
    assert "# [[domain]]\n# id = 7\n# source_only_words = 0\n# hop_words = 0\n" in text and "INT domain 7: 3 packets" in text
    loaded(text.replace("# [[domain]]", "[[domain]]").replace("# id = 7", "id = 7"), tmp_path)


def test_a_capture_without_telemetry_and_an_empty_one_give_a_draft_too(tmp_path: Path) -> None:
    for path in (capture(tmp_path, udp(80, b"something else")), capture(tmp_path, name="empty.pcap")):
        text = draft_profile(path, True)
        assert "no format that is known here" in text and "# No node was seen." in text
        assert loaded(text, tmp_path).units == Units()


def test_a_name_of_a_capture_cannot_say_anything_in_the_profile(tmp_path: Path) -> None:
    path = capture(tmp_path, udp(80, b"x"), name='odd\n[units]\ntime = "ns"\x07.pcap')
    assert loaded(draft_profile(path), tmp_path).units == Units()


# ---------------------------------------------------------------------------------------------------------- command line


def test_the_command_prints_the_draft_or_writes_it_and_overwrites_only_with_force(tmp_path: Path, capsys: Captured) -> None:
    source = str(PCAPS / "linux-ioam")
    assert main(["profile", "init", source]) == 0
    text = capsys.readouterr().out
    assert text == drafted("linux-ioam")
    file = tmp_path / "fabric.toml"
    assert main(["profile", "init", source, "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == text and capsys.readouterr().out == ""
    file.write_text("mine")
    assert main(["profile", "init", source, "-o", str(file)]) == 2
    output = capsys.readouterr()
    assert file.read_text() == "mine" and output.err == f"int-analyzer: {file}: exists already: --force overwrites it\n"
    assert main(["profile", "init", source, "-o", str(file), "--force", "--accept-guesses"]) == 0
    assert file.read_text(encoding="utf-8") == drafted("linux-ioam", True)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["-"], "standard input cannot be read again"),
        (["absent.pcap"], "absent.pcap"),
        ([str(PCAPS / "linux-ioam"), "-o", "absent/folder.toml"], "absent/folder.toml: No such file"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_drafted_is_one_line_and_exit_code_2(arguments: list[str], part: str, capsys: Captured) -> None:
    assert main(["profile", "init", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.count("\n") == 1 and part in output.err


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
