"""int-analyzer profile init: what a draft says of real captures, that it changes nothing unasked, and what it does not claim."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import asdict
from pathlib import Path

import mutate
import pytest
from capture_bytes import pcap_header, pcap_record

import int_analyzer
from int_analyzer import schema
from int_analyzer.cli import main
from int_analyzer.draft import sighting
from int_analyzer.draft.document import draft_text
from int_analyzer.draft.draft import draft_profile
from int_analyzer.draft.sighting import Sighting
from int_analyzer.profile import Profile, Units, load_profile
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
