"""int-analyzer generate: from a scenario to a capture with its truth, end to end."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mode import other_programs, simulated

from int_analyzer.cli import main
from int_analyzer.crosscheck import Run
from int_analyzer.dissect import wireshark
from int_analyzer.profile import load_profile
from int_analyzer.report.terminal import verdict
from int_analyzer.result import analyze
from int_analyzer.synth.emission import EMISSIONS
from int_analyzer.synth.packets import told_truth
from int_analyzer.synth.scenario import SCENARIOS

SMALL = ("--leaves", "3", "--hosts", "3", "--seconds", "0.002")
TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")

Captured = pytest.CaptureFixture[str]


def generated(folder: Path, *options: str, scenario: str = "incast", name: str = "x.pcap") -> Path:
    """A small capture of a scenario."""
    assert main(["generate", scenario, "-o", str(folder / name), *SMALL, *options]) == 0
    return folder / name


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("generated"))


WITHOUT_HOPS = ("roce", "ioam-e2e", "ioam-dex", "csig")


@simulated
@pytest.mark.parametrize("name", [name for name in EMISSIONS if name not in (*WITHOUT_HOPS, "hpcc", "mri")])
def test_the_port_of_an_incast_is_found_with_the_profile_beside_it(name: str, tmp_path: Path) -> None:
    capture = generated(tmp_path, "--seconds", "0.008", "--snaplen", "384", "--format", name)
    truth = json.loads((tmp_path / "x.truth.json").read_text())
    result = analyze(str(capture), str(tmp_path / "x.profile.toml"))
    (root,) = truth["congested"]
    assert truth["scenario"] == "incast"
    assert (result.findings[0].node_id, result.findings[0].port_id) == (root["node_id"], root["port_id"])


def test_a_truth_has_the_addresses_of_the_capture() -> None:
    truth = {"congested": [{"culprits": [{"src_ip": "10.1.0.2", "udp_sport": 7}]}], "hosts": [{"host": "10.2.0.1", "name": "h"}], "seed": 1}
    assert told_truth(truth, EMISSIONS["int-md-2.1"]) == truth
    assert told_truth(truth, EMISSIONS["ioam"]) == {
        "congested": [{"culprits": [{"src_ip": "fd00::a01:2", "udp_sport": 7}]}],
        "hosts": [{"host": "fd00::a02:1", "name": "h"}],
        "seed": 1,
    }


@simulated
def test_hosts_may_speak_ipv6(tmp_path: Path) -> None:
    capture = generated(tmp_path, "--seconds", "0.008", "--ipv6")
    (root,) = json.loads((tmp_path / "x.truth.json").read_text())["congested"]
    result = analyze(str(capture), str(tmp_path / "x.profile.toml"))
    assert (result.findings[0].node_id, result.findings[0].port_id) == (root["node_id"], root["port_id"])
    assert all(":" in flow.src for flow in result.findings[0].culprits)
    # The truth calls hosts as the capture does.
    assert {flow.src for flow in result.findings[0].culprits} & {culprit["src_ip"] for culprit in root["culprits"]}


@pytest.mark.parametrize(("name", "carried"), [("ioam-e2e", "ioam-e2e"), ("ioam-dex", "ioam-dex"), ("csig", None), ("roce", None)])
def test_of_telemetry_without_hops_the_analysis_says_that_it_cannot_judge(name: str, carried: str | None, tmp_path: Path) -> None:
    capture = generated(tmp_path, "--snaplen", "256", "--format", name)
    summary = analyze(str(capture), str(tmp_path / "x.profile.toml")).summary
    quality = summary.quality
    assert quality is not None and quality.hops == 0 and quality.rejects == {}
    assert (quality.trust, summary.findings, summary.events) == ("none", [], [])
    assert "no hop of any packet is known" in quality.trust_reasons[0]
    said = verdict(summary)
    assert said.startswith("NO TELEMETRY") and said.endswith("nothing to judge")
    if carried is not None:
        assert f"{quality.formats[carried]} carry {carried}, which tells of no hops" in said


@pytest.mark.parametrize(
    ("name", "named"), [("ioam-e2e", {"sequence", "time_seconds"}), ("ioam-dex", {"sequence", "flow_id", "trace_type"})]
)
def test_options_of_a_flow_are_numbered_in_the_order_in_which_its_packets_come_out(name: str, named: set[str], tmp_path: Path) -> None:
    capture = generated(tmp_path, "--snaplen", "256", "--format", name)
    result = analyze(str(capture), str(tmp_path / "x.profile.toml"))
    options = result.options.merge(result.packets[["packet", "src", "dst", "src_port"]], on="packet")
    assert len(options) == len(result.packets) and not options[sorted(named)].isna().any(axis=None)
    for _, of_flow in options.groupby(["src", "dst", "src_port"]):
        assert of_flow["sequence"].tolist() == list(range(len(of_flow)))


@simulated
def test_csig_tags_tell_of_the_fullest_port(tmp_path: Path) -> None:
    capture = generated(tmp_path, "--seconds", "0.008", "--snaplen", "256", "--format", "csig")
    tags = analyze(str(capture)).packets["csig"].dropna().to_numpy(dtype="int64")
    left, place = tags >> 7 & 31, tags & 127
    assert len(tags) > 1000 and set((tags >> 13).tolist()) == {1} and set(place.tolist()) <= {1, 2, 3}
    # the incast leaves no room at one port; before it there is much
    assert left.min() == 0 and left.max() > 15


@simulated
def test_of_telemetry_that_names_no_node_the_analysis_says_so(tmp_path: Path) -> None:
    capture = generated(tmp_path, "--seconds", "0.008", "--snaplen", "256", "--format", "hpcc")
    finding = analyze(str(capture), str(tmp_path / "x.profile.toml")).findings[0]
    assert (finding.node, finding.port) == ("?", "?") and finding.confidence < 0.5
    assert "node id missing" in finding.evidence[-1]


def test_the_profile_holds_what_an_operator_knows_and_not_the_answer(incast: Path) -> None:
    profile = load_profile(str(incast.with_name("x.profile.toml")))
    assert profile.detect.int_ports and profile.units.queue_depth == "cells"
    assert len(profile.nodes) == 5
    assert all(port.speed_bps for node in profile.nodes.values() for port in node.ports.values())
    assert "incast" not in incast.with_name("x.profile.toml").read_text()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(incast: Path, tmp_path: Path) -> None:
    assert generated(tmp_path).read_bytes() == incast.read_bytes()
    assert generated(tmp_path, "--seed", "2", name="y.pcap").read_bytes() != incast.read_bytes()


def test_a_capture_is_compressed_and_becomes_a_pcapng_by_its_name(incast: Path, tmp_path: Path) -> None:
    packed = generated(tmp_path, name="x.pcap.gz")
    assert gzip.decompress(packed.read_bytes()) == incast.read_bytes()
    assert packed.with_name("x.truth.json").exists()
    assert generated(tmp_path, name="x.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_a_capture_on_standard_output_has_nothing_beside_it(incast: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "int_analyzer", "generate", "incast", "-o", "-", *SMALL]
    done = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parent.parent)
    assert done.stdout == incast.read_bytes()
    assert b"written to standard output" in done.stderr


def test_a_snap_length_makes_a_capture_smaller(incast: Path, tmp_path: Path) -> None:
    assert generated(tmp_path, "--snaplen", "256").stat().st_size < incast.stat().st_size / 5


def test_what_is_bad_about_the_telemetry_is_chosen_and_stands_in_the_truth(tmp_path: Path) -> None:
    capture = generated(tmp_path, "--sampling", "0.1", "--loss", "0.5", "--skew-ms", "50", "--snaplen", "256")
    truth = json.loads((tmp_path / "x.truth.json").read_text())
    told, clocks = truth["telemetry"], truth["clocks"]
    assert (told["one_packet_in"], told["report_loss"]) == (10, 0.5)
    assert 0.45 < told["lost"] / told["mirrored"] < 0.55
    assert 1e6 < max(abs(clock["offset_ns"]) for clock in clocks.values()) <= 50e6
    quality = analyze(str(capture)).quality
    assert quality is not None and quality.telemetry_share is not None
    assert 0.05 < quality.telemetry_share < 0.2
    assert 0.4 < sum(int(loss["lost"]) for loss in quality.losses) / told["mirrored"] < 0.6  # type: ignore[call-overload]


@simulated
@pytest.mark.parametrize("points", ["2", "3"])
def test_where_several_switches_mirror_a_packet_everything_counts_once(points: str, tmp_path: Path) -> None:
    found = {}
    for number in ("1", points):
        capture = generated(tmp_path, "--seconds", "0.008", "--snaplen", "384", "--mirror-points", number, name=f"{number}.pcap")
        found[number] = analyze(str(capture), str(tmp_path / f"{number}.profile.toml"))
    once, several = found["1"], found[points]
    (root,) = json.loads((tmp_path / f"{points}.truth.json").read_text())["congested"]
    (first, *_), quality = several.findings, several.summary.quality
    assert (first.node_id, first.port_id, first.role) == (root["node_id"], root["port_id"], "root")
    assert [(flow.flow, round(flow.share, 2)) for flow in first.culprits] == [
        (flow.flow, round(flow.share, 2)) for flow in once.findings[0].culprits
    ]
    assert quality is not None and once.summary.quality is not None
    # what is on its way when the first copy is met, and what is never seen at the other end
    assert quality.hops == pytest.approx(once.summary.quality.hops, rel=0.01)
    assert quality.copies == pytest.approx(quality.telemetry_packets - once.summary.quality.telemetry_packets, rel=0.01)
    assert quality.trust == once.summary.quality.trust


def test_packets_that_are_mirrored_twice_over_differ_in_what_is_around_them(incast: Path, tmp_path: Path) -> None:
    plain, second = generated(tmp_path, "--mirror", "none", name="a.pcap"), generated(tmp_path, "--mirror", "erspan2", name="b.pcap")
    assert plain.stat().st_size < second.stat().st_size < incast.stat().st_size


@pytest.mark.parametrize("name", EMISSIONS)
def test_every_format_is_analysed_without_a_reject(name: str, tmp_path: Path) -> None:
    capture = generated(tmp_path, "--format", name, "--seconds", "0.001")
    result = analyze(str(capture), str(tmp_path / "x.profile.toml"))
    quality = result.quality
    assert quality is not None and quality.packets > 0
    assert {status for statuses in quality.statuses_by_format.values() for status in statuses} == {"ok"}
    assert (quality.hops > 0) == (name not in WITHOUT_HOPS)


@other_programs
@needs_tshark
@pytest.mark.parametrize("name", EMISSIONS)
def test_tshark_finds_every_packet_well_formed_and_every_checksum_right(name: str, tmp_path: Path) -> None:
    capture = generated(tmp_path, "--format", name, "--seconds", "0.0003", scenario="healthy")
    fields = ("ip.checksum.status", "udp.checksum.status", "_ws.malformed", "_ws.expert.message")
    checks = ("-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")
    command = [
        str(TSHARK),
        "-r",
        str(capture),
        "-c",
        "1000",
        *checks,
        "-T",
        "fields",
        *(part for field in fields for part in ("-e", field)),
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 50
    for line in lines:
        ip, udp, malformed, complaint = line.split("\t")
        # 1 good; 3 not there, as RoCEv2 and reports have it in IPv4
        assert set(ip.split(",")) | set(udp.split(",")) <= {"1", "3", ""} and ip + udp
        # of IOAM's options tshark knows the traces
        unknown = {"Unknown Data (not interpreted)"} if name in ("ioam-e2e", "ioam-dex") else set()
        assert malformed == "" and complaint in {"", *unknown}


@other_programs
@needs_tshark
@pytest.mark.parametrize("name", EMISSIONS)
def test_tshark_with_our_plugin_reads_what_we_read(name: str, tmp_path: Path) -> None:
    capture = generated(tmp_path, "--format", name, "--seconds", "0.0003", scenario="healthy")
    profile = load_profile(str(tmp_path / "x.profile.toml"))
    (tmp_path / "int.lua").write_text(wireshark.plugin(profile))
    run = Run(str(capture), profile, limit=60, lua=tmp_path / "int.lua")
    assert list(run) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["incats", "-o", "x.pcap"], "no scenario is called 'incats'"),
        (["incast", "-o", "x.pcap", "--format", "int-md-2"], "did you mean 'int-md-2.1'?"),
        (["incast", "-o", "x.pcap", "--format", "ioam-pot"], "read and not written: it proves a path"),
        (["incast", "-o", "x.pcap", "--format", "mri", "--ipv6"], "mri is an option of IPv4"),
        (["incast", "-o", "x.pcap", "--mirror", "tap"], "known: none, erspan2, erspan3"),
        (["incast", "-o", "x.pcap", "--format", "report-2.0", "--mirror", "erspan3"], "only packets are mirrored"),
        (["incast", "-o", "x.pcap", "--format", "report-2.0", "--mirror-points", "2"], "only packets are mirrored"),
        (["incast", "-o", "x.pcap", "--leaves", "1"], "at least"),
        (["incast", "-o", "x.pcap", "--sampling", "0.7"], "nearest to 0.7 are 1 and 0.5"),
        (["incast", "-o", "x.pcap", "--sampling", "0"], "--sampling"),
        (["incast", "-o", "x.pcap", "--loss", "1"], "--loss"),
        (["incast", "-o", "x.pcap", "--skew-ms", "-1"], "--skew-ms"),
        (["incast"], "--output"),
    ],
)
def test_what_cannot_be_generated_is_said_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *arguments]) == 2
    message = capsys.readouterr().err
    assert said in message and message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_and_nothing_is_left(tmp_path: Path, capsys: Captured) -> None:
    assert main(["generate", "healthy", "-o", str(tmp_path / "missing" / "x.pcap"), *SMALL]) == 2
    assert "missing" in capsys.readouterr().err


def test_the_help_names_every_scenario_and_format(capsys: Captured) -> None:
    assert main(["generate", "--help"]) == 0
    text = capsys.readouterr().out
    for scenario in SCENARIOS:
        assert f" {scenario.id} " in text
    for name in EMISSIONS:
        assert f" {name} " in text


def test_the_help_of_the_whole_command_needs_no_list() -> None:
    code = "import sys; from int_analyzer.cli import main; main(['--help']); print('loaded', 'int_analyzer.synth' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    assert "generate" in done.stdout and done.stdout.endswith("loaded False\n")
