"""RoCEv2 connections from a capture to what is said of them: decode, fold, summary, report, and the rows of the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from roce_reference import START, US, expected, known
from roce_traffic import MTU, Wire, capture, traffic

from int_analyzer import analyze, result
from int_analyzer.analysis.delays.direction_delay import DirectionDelays
from int_analyzer.analysis.roce import sum_up_connections, sum_up_roce
from int_analyzer.analysis.summarise import examine
from int_analyzer.cli import main
from int_analyzer.report import json_document, state_rows
from int_analyzer.report.roce_section import roce_lines


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """One connection that loses, with a NAK, a timeout and a receiver that is not ready; one that is well; one seen from one side only."""
    bad, good, alone = (Wire(psn=5000 * number, here_qp=16 + number, there_qp=32 + number, here=number) for number in (1, 3, 4))
    for number in range(10):
        good.message("send", 2)
        good.acknowledge(good.psn - 1)
        alone.message("write", 2)
        sent = bad.message("write", 5)
        if number in (3, 4):
            bad.answer("acknowledge", sent[1].psn, syndrome=0x60)
            for packet in sent[1:]:
                bad.again(packet)
        if number == 5:
            bad.wait(4_000 * US)
            bad.again(sent[4])
        if number == 6:
            bad.answer("acknowledge", sent[0].psn, syndrome=0x20 | 5)
            for packet in sent:
                bad.again(packet)
        bad.wait(10 * US)
        bad.acknowledge(bad.psn - 1)
    packets = sorted([*bad.packets, *good.packets, *alone.packets], key=lambda packet: packet.time)
    path = tmp_path / "lossy.pcap"
    path.write_bytes(capture(packets))
    return path


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", [300, 301, 302])
def test_a_capture_gives_what_the_twin_knows(seed: int, compiled: bool, tmp_path: Path) -> None:
    packets = traffic(seed, connections=6)
    path = tmp_path / "traffic.pcap"
    path.write_bytes(capture(packets))
    view, _ = result.fold_captures(path, compiled=compiled)
    # frames of zeros behind the headers, and cut: that no ICRC of the sample is right is another matter
    assert {key: row | {"icrc": None} for key, row in known(view).items()} == {
        key: row | {"icrc": None} for key, row in expected(packets).items()
    }


def test_every_direction_has_the_flow_whose_path_it_takes(lossy: Path) -> None:
    view, _ = result.fold_captures(lossy)
    seen, flows = view.connections, view.flows
    assert len(seen.src) == 5 and (seen.flow >= 0).all()
    for row, flow in enumerate(seen.flow.tolist()):
        assert (flows.src[flow], flows.dst[flow], flows.dest_qp[flow]) == (seen.src[row], seen.dst[row], seen.dest_qp[row])
        assert flows.packets[flow] == seen.packets[row]


def test_the_summary_counts_each_kind_of_loss_apart_and_names_the_worst(lossy: Path) -> None:
    roce = analyze(lossy).summary.roce
    assert roce is not None
    assert (roce.directions, roce.two_sided_share, roce.verified_share) == (3, 2 / 3, 2 / 3)
    assert (roce.naks, roce.timeouts, roce.rnr_naks, roce.rewinds) == (2, 1, 1, 4)
    assert (roce.data_packets, roce.retransmitted) == (50 + 14 + 20 + 20, 14)
    assert roce.retransmission_ratio == 14 / 104
    assert roce.transports == {"RC": 3}
    assert roce.messages == {"send": 10, "write": 20, "read": 0, "atomic": 0}
    assert (roce.completed, roce.one_sided, roce.partial, roce.unanswered) == (20, 10, 0, 0)
    (worst,) = roce.worst["retransmission"]
    assert (worst.src, worst.dest_qp, worst.src_qp, worst.two_sided, worst.verified) == ("10.0.0.1", 33, 17, True, True)
    assert (worst.naks, worst.timeouts, worst.rnr_naks, worst.rnr_wait_ns) == (2, 1, 1, 60 * US)
    assert [entry.src for entry in roce.worst["fct"]] == ["10.0.0.1", "10.0.0.3"]
    assert any("one-sided" in note for note in roce.notes)


def test_what_only_the_other_direction_tells_is_not_known_without_it(lossy: Path) -> None:
    view, _ = result.fold_captures(lossy)
    (alone,) = [entry for entry in sum_up_connections(view, DirectionDelays(examine(view)[1])) if not entry.two_sided]
    absent = (
        alone.src_qp,
        alone.naks,
        alone.timeouts,
        alone.rnr_naks,
        alone.cnps,
        alone.fct_mean_ns,
        alone.throughput_bps,
        alone.rtt_mean_ns,
    )
    assert absent == (None,) * 8
    assert (alone.one_sided, alone.one_sided_mean_ns, alone.one_sided_max_ns) == (10, US, US)


def test_a_pair_of_hosts_has_quantiles_and_a_reason_where_there_are_none(lossy: Path) -> None:
    roce = analyze(lossy).summary.roce
    assert roce is not None
    first, *rest = roce.host_pairs
    assert (first.src, first.dst, first.retransmitted, first.naks, first.timeouts) == ("10.0.0.1", "10.0.0.2", 14, 2, 1)
    assert first.fct.count == 10 and first.fct.unit == "ns" and first.fct.p50 == pytest.approx(15 * US, rel=0.01)
    assert first.throughput.p50 == pytest.approx(5 * MTU * 8e9 / (15 * US), rel=0.01)
    (alone,) = [pair for pair in rest if pair.src == "10.0.0.4"]
    assert alone.fct.count == 0 and alone.fct.why_absent and alone.fct_one_sided.count == 10


def test_gaps_that_reliable_connections_survived_are_the_mirrors_own(tmp_path: Path) -> None:
    wire = Wire()
    for number in range(6):
        wire.message("write", 4, lost=(1,) if number == 2 else ())
        wire.acknowledge(wire.psn - 1)
        wire.wait(1000 * US)
    path = tmp_path / "gap.pcap"
    path.write_bytes(capture(wire.packets))
    roce = analyze(path).summary.roce
    assert roce is not None and roce.unfilled == 1
    assert any("the mirror or the capture lost them" in note for note in roce.notes)
    path.write_bytes(capture([packet for packet in wire.packets if packet.src == 1]))
    roce = analyze(path).summary.roce
    assert roce is not None and any("lost before the mirror, by it, or by the capture" in note for note in roce.notes)


def test_without_roce_there_is_no_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(capture([]))
    assert analyze(empty).summary.roce is None
    assert main(["analyze", str(empty)]) == 0
    assert "\nRoCE\n" not in capsys.readouterr().out


def test_the_report_has_a_section_that_says_it_all(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(lossy)]) == 0
    text = capsys.readouterr().out
    section = text.split("\nRoCE\n")[1].split("\nRead\n")[0]
    for words in (
        "3 directions with data (RC 3), 67 % two-sided, 67 % verified",
        "14 of 104 data packets sent again (13 %), begun 4 times",
        "2 sequence NAKs, 1 timeout, 1 receiver-not-ready NAK",
        "10 SEND, 20 WRITE; 20 completed, 10 one-sided",
        "22 % 10.0.0.1 > 10.0.0.2 qp 0x21 14 of 64 packets, 2 NAKs, 1 timeout, 1 not ready",
    ):
        assert words in " ".join(section.split()), words
    assert all(len(line) <= 100 for line in section.splitlines())


def test_marks_and_notifications_stand_in_the_section(tmp_path: Path) -> None:
    wire = Wire()
    wire.message("send", 1)
    wire.acknowledge(wire.psn - 1)
    marked = wire.send("send only")
    wire.packets[-1] = marked.at(marked.time, ecn=3)
    wire.answer("notification", 0)
    path = tmp_path / "marked.pcap"
    path.write_bytes(capture(wire.packets))
    roce = analyze(path).summary.roce
    assert roce is not None
    assert ("ECN", "25 % marked CE, 1 CNP, 1.00 µs after the first mark (at least 1.00 µs)") in list(roce_lines(roce))


def test_the_json_document_is_as_its_schema_says(lossy: Path) -> None:
    document = json.loads(analyze(lossy).to_json())
    jsonschema.validate(document, json_document.json_schema())
    assert document["roce"]["naks"] == 2
    assert document["roce"]["worst"]["retransmission"][0]["dest_qp"] == 33


# ------------------------------------------------------------------------------------------------------------------- rows


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_connections_are_a_row_per_direction_the_worst_first(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = run(capsys, "connections", lossy).splitlines()
    assert head.split() == list(state_rows.TELLING["connections"])
    assert len(lines) == 3
    assert lines[0].split()[:9] == ["10.0.0.1", "10.0.0.2", "0x21", "RC", "true", "64", "14", "2", "1"]
    assert "·" in lines[2] or "·" in lines[1]


def test_connections_are_sorted_by_any_column_and_cut(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "connections", lossy, "--sort", "bytes", "--columns", "src,bytes", "--format", "csv", "--limit", "2")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["src"] for row in rows] == ["10.0.0.1", "10.0.0.3"]
    assert rows[0]["bytes"] == str(64 * MTU)


def test_json_is_one_list_and_parquet_has_the_same_rows(lossy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(run(capsys, "connections", lossy, "--json"))
    assert list(listed[0]) == list(state_rows.columns("connections"))
    assert (listed[0]["naks"] == 2 and listed[2]["naks"] is None) or listed[1]["naks"] is None
    run(capsys, "connections", lossy, "--output", tmp_path / "c.parquet")
    frame = pd.read_parquet(tmp_path / "c.parquet")
    assert frame["retransmitted"].tolist() == [row["retransmitted"] for row in listed]
    assert frame["write_messages"].tolist() == [row["write_messages"] for row in listed]


def test_an_analysis_writes_flows_and_connections_beside_the_row_tables(lossy: Path, tmp_path: Path) -> None:
    analyze(lossy, output=tmp_path / "tables")
    assert len(pd.read_parquet(tmp_path / "tables" / "flows.parquet")) == 5
    connections = pd.read_parquet(tmp_path / "tables" / "connections.parquet")
    assert connections["retransmitted"].tolist() == [14, 0, 0]


def test_flows_say_who_retransmits(lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = json.loads(run(capsys, "flows", lossy, "--json", "--sort", "retransmitted"))
    assert len(flows) == 5
    assert (flows[0]["src"], flows[0]["dest_qp"], flows[0]["retransmitted"], flows[0]["naks"]) == ("10.0.0.1", 33, 14, 2)
    assert flows[0]["path"] is None and flows[0]["first_ns"] >= START


def test_flows_of_a_real_capture_have_their_paths(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parent.parent / "pcaps/bmv2-geant-int-v1.0/s2-s4.pcap"
    flows = json.loads(run(capsys, "flows", path, "--json"))
    assert [flow["path"] for flow in flows] == ["1:3 > 2:2", "1:3 > 2:2"]
    # 860 packets went into node 2 and 747 came out
    assert sum(flow["unfilled"] for flow in flows) == 860 - 747


@pytest.mark.parametrize("verb", ["flows", "connections"])
def test_an_unknown_column_is_named(verb: str, lossy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--sort", "nonsense"], ["--columns", "src,nonsense"]):
        assert main([verb, str(lossy), *arguments]) == 2
        assert "no column 'nonsense'" in capsys.readouterr().err


def test_a_summary_without_any_connection_is_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(capture([]))
    view, _ = result.fold_captures(empty)
    assert (
        sum_up_roce(view, DirectionDelays(examine(view)[1])) is None and sum_up_connections(view, DirectionDelays(examine(view)[1])) == []
    )
