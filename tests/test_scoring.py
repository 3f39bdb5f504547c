"""Scores: findings against truth. A score must be able to fail, and the analysis must not be able to see the truth."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mode import simulated
from typer.testing import CliRunner

from int_analyzer.analysis import summarise as summarising
from int_analyzer.analysis.clocks import envelope
from int_analyzer.analysis.clocks.band import Band
from int_analyzer.analysis.root import Place
from int_analyzer.analysis.summary import Clock, Event, Finding, FlowShare, Summary
from int_analyzer.cli import app
from int_analyzer.errors import ScenarioError, TruthError
from int_analyzer.result import analyze
from int_analyzer.scoring.case import CONDITIONS, SIZES, Case, cases, chosen
from int_analyzer.scoring.listing import score_lines, score_tables
from int_analyzer.scoring.run import run_case, score_captures
from int_analyzer.scoring.score import Score, score
from int_analyzer.scoring.table import calibration_of, document_of, rows_of
from int_analyzer.scoring.truth import read_truth, truth_of

PCAPS = Path(__file__).parent.parent / "pcaps"
RECORDED = PCAPS / "bmv2-int-md-incast"
CHAIN = Case("pfc-chain", 1001, "small", "clear")
SKEWED = Case("skewed-clocks", 1001, "small", "clear")


def finding(node: int, port: int, role: str = "root", confidence: float = 0.9, **values: Any) -> Finding:
    made = Finding(
        id="",
        role=role,
        cause="overload",
        node=str(node),
        port=str(port),
        queue=0,
        node_id=node,
        port_id=port,
        start_ns=1000,
        end_ns=2000,
        confidence=confidence,
        impact=1.0,
        impact_unit="",
        peak_depth=None,
        peak_depth_ns=None,
        depth_unit="raw",
        peak_latency=None,
        latency_unit="raw",
        packets=1,
        episodes=1,
        root=None,
        culprits=[],
        victims=[],
        victim_ports=[],
        evidence=[],
    )  # type: ignore[arg-type]
    return replace(made, **values)


def root(node: int, port: int, **values: Any) -> dict[str, Any]:
    return {"node": "x", "node_id": node, "port": port, "port_id": port, "from_ns": 1000, "to_ns": 2000} | values


def scored(*findings: Finding, **truth: Any) -> Score:
    return score(Summary(findings=list(findings)), truth_of({"congested": []} | truth))


def test_the_first_finding_decides_top_1_and_all_roots_decide_recall() -> None:
    both = [root(1, 1), root(2, 2)]
    right = scored(finding(1, 1), finding(2, 2), congested=both)
    assert (right.top1, right.recall, right.false_findings) == (True, 1.0, 0)
    half = scored(finding(2, 2), finding(3, 3), congested=both)
    assert (half.top1, half.recall, half.false_findings) == (True, 0.5, 1)
    late = scored(finding(3, 3), finding(2, 2), congested=both)
    assert (late.top1, late.recall) == (False, 0.5)
    assert scored(congested=both).top1 is False


def test_nothing_is_the_right_answer_where_nothing_is_wrong() -> None:
    assert scored().top1 is True
    assert scored(finding(1, 1)).top1 is False
    assert scored(finding(1, 1, role="victim")).false_findings == 0


def test_a_victim_that_is_called_root_is_counted_apart() -> None:
    truth = [root(1, 1, victim_ports=[{"node_id": 2, "port_id": 2}])]
    wrong = scored(finding(1, 1), finding(2, 2), finding(3, 3), congested=truth)
    assert (wrong.false_findings, wrong.confused) == (2, 1)


def test_a_port_that_the_flows_of_a_root_overload_on_their_way_is_no_mistake_and_not_the_first_answer() -> None:
    truth = [root(1, 1, overloaded_ports=[{"node_id": 2, "port_id": 2}])]
    second = scored(finding(1, 1), finding(2, 2, confidence=0.5), congested=truth)
    assert (second.top1, second.false_findings, second.recall) == (True, 0, 1.0)
    assert len(second.judged) == 1
    held_up_by_another = [*truth, root(4, 4, victim_ports=[{"node_id": 2, "port_id": 2}])]
    assert scored(finding(1, 1), finding(2, 2), congested=held_up_by_another).confused == 1
    first = scored(finding(2, 2), finding(1, 1), congested=truth)
    assert (first.top1, first.false_findings) == (False, 0)
    assert scored(finding(2, 2), congested=truth).recall == 0


def test_where_telemetry_tells_no_port_the_node_is_enough() -> None:
    assert scored(finding(1, 1, port_id=None), congested=[root(1, 1)]).top1
    assert not scored(finding(1, 7), congested=[root(1, 1)]).top1


def test_a_port_congested_several_times_is_one_root() -> None:
    truth = truth_of({"congested": [root(1, 1), root(1, 1, from_ns=5000, to_ns=6000)]})
    assert [(entry.start_ns, entry.end_ns) for entry in truth.roots] == [(1000, 6000)]


def share(src: str, port: int) -> FlowShare:
    return FlowShare("", src, "h", port, 4791, None, 1, 1, 0.1)


def test_culprits_have_precision_and_recall() -> None:
    culprits = [{"src_ip": name, "dst_ip": "h", "udp_sport": 7} for name in ("a", "b", "c", "d")]
    named = [share("a", 7), share("b", 7), share("x", 7)]
    result = scored(finding(1, 1, culprits=named), congested=[root(1, 1, culprits=culprits)])
    assert (result.culprit_precision, result.culprit_recall) == (pytest.approx(2 / 3), 0.5)
    any_port = [{"src_ip": "a", "dst_ip": "h"}]
    assert scored(finding(1, 1, culprits=[share("a", 7), share("a", 8)]), congested=[root(1, 1, culprits=any_port)]).culprit_recall == 1


def test_an_event_counts_by_kind_port_and_time() -> None:
    truth = [{"kind": "loop", "ports": [{"node_id": 1, "port_id": 2}], "start_ns": 10_000_000}]
    event = Event("loop", "1", "2", 1, 2, 11_000_000, 12_000_000, 1, 1, [])
    assert score(Summary(events=[event]), truth_of({"congested": [], "events": truth})).top1
    for wrong in (replace(event, kind="path-change"), replace(event, port_id=3), replace(event, start_ns=90_000_000)):
        assert not score(Summary(events=[wrong]), truth_of({"congested": [], "events": truth})).top1


@pytest.mark.parametrize(("start_ms", "right"), [(4, False), (5, True), (60, True), (65, True), (66, False)])
def test_an_event_that_shows_late_counts_until_it_must_have_shown(start_ms: int, right: bool) -> None:
    truth = [{"kind": "loop", "ports": [{"node_id": 1, "port_id": 2}], "start_ns": 10_000_000, "seen_by_ns": 60_000_000}]
    event = Event("loop", "1", "2", 1, 2, start_ms * 1_000_000, 70_000_000, 1, 1, [])
    assert score(Summary(events=[event]), truth_of({"congested": [], "events": truth})).top1 is right


def test_the_worst_offset_said_is_the_error_of_the_clocks() -> None:
    since = 1_000_000
    told = {node: {"offset_ns": offset, "drift_ppm": ppm, "at_ns": since} for node, offset, ppm in ((1, 500, 0), (2, -2000, 10), (3, 0, 0))}
    reference = Clock("one", 1, "reference", "one", 0.0, 0.0, "ns", at_ns=since)
    found = Clock("two", 2, "both directions", "one", -2450.0, 100.0, "ns", at_ns=since + 10_000_000)
    one_way = Clock("three", 3, "one direction", "one", None, None, "ns", at_ns=since)
    # 10 ms at 10 ppm are 100 ns: the second clock is 2400 ns behind the first by then.
    truth = truth_of({"congested": [], "clocks": told})
    assert score(Summary(clocks=[reference, found, one_way]), truth).clock_error_ns == 50
    assert score(Summary(clocks=[reference, one_way]), truth).clock_error_ns is None
    assert score(Summary(clocks=[reference, replace(found, unit="raw")]), truth).clock_error_ns is None


def test_calibration_holds_confidence_against_being_right() -> None:
    sure = scored(finding(1, 1, confidence=0.95), finding(2, 2, confidence=0.95), congested=[root(1, 1)])
    unsure = scored(finding(3, 3, confidence=0.6), congested=[root(1, 1)])
    found = {(entry.low, entry.findings, entry.right) for entry in calibration_of([("a", sure), ("a", unsure)])}
    assert found == {(0.9, 2, 0.5), (0.5, 1, 0.0)}


def test_a_table_has_no_column_of_which_no_scenario_tells() -> None:
    healthy, incast = ("healthy", scored()), ("incast", scored(finding(1, 1), congested=[root(1, 1)]))
    for listed in (score_tables, score_lines):
        alone, both = listed([healthy])[0], listed([healthy, incast])[0]
        assert "roots found" not in alone and "roots found" in both
        assert not any(head in line for head in ("hosts", "clocks off by") for line in (alone, both))
    assert score_tables([healthy, incast])[-4:-2] == ["", "| said with | findings | mean confidence | were right |"]
    assert len({line.count("|") for line in score_tables([healthy, incast])[:5]}) == 1


def test_the_document_has_what_dashboards_ask_for() -> None:
    good, bad = scored(), scored(finding(1, 1))
    document = document_of(
        [("healthy", good), ("healthy", bad), ("incast", scored(finding(1, 1), congested=[root(1, 1)]))], {"seeds": [1, 2]}
    )
    assert (document["top1"], document["false_findings_healthy"]) == (pytest.approx(2 / 3), 1)
    assert [(entry["scenario"], entry["top1"]) for entry in document["scenarios"]] == [("healthy", 0.5), ("incast", 1.0)]
    assert json.loads(json.dumps(document))["seeds"] == [1, 2]


def test_the_truth_of_every_recorded_capture_is_understood() -> None:
    folders = sorted(path.parent for path in PCAPS.glob("*/truth.json"))
    assert len(folders) >= 8
    for folder in folders:
        assert read_truth(folder / "truth.json").document["congested"] is not None


def test_what_is_no_truth_is_told(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text('{"congested": [{"node": "x"}]}')
    with pytest.raises(TruthError, match="'port' is missing"):
        read_truth(tmp_path / "truth.json")


def test_captures_of_a_real_data_plane_are_scored() -> None:
    ((name, result),) = score_captures([RECORDED])
    assert (name, result.top1, result.false_findings) == (RECORDED.name, True, 0)


def test_the_analysis_does_not_see_the_truth(tmp_path: Path) -> None:
    """The same captures with a truth beside them that lies, and with none."""
    for name in ("lying", "alone"):
        folder = tmp_path / name
        folder.mkdir()
        for capture in RECORDED.glob("*.pcap*"):
            shutil.copy(capture, folder)
    (tmp_path / "lying" / "truth.json").write_text(json.dumps({"congested": [root(77, 7)]}))
    lying, alone = (analyze([str(tmp_path / name)]).summary for name in ("lying", "alone"))
    assert lying.findings == alone.findings != []
    ((_, result),) = score_captures([tmp_path / "lying"])
    assert result.top1 is False


def test_cases_are_every_combination_and_the_first_seed_is_whole() -> None:
    listed = list(cases(["a", "b"], [1, 2], SIZES, CONDITIONS))
    assert len(listed) == 2 * 2 * len(SIZES) * len(CONDITIONS)
    assert {case.seed for case in listed[: len(listed) // 2]} == {1}
    assert (Case("a", 1, "small", "clear").label, Case("a", 1, "large", "lossy").label) == ("a", "a large lossy")


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    assert chosen("all", ["a", "b"], "size") == ["a", "b"]
    with pytest.raises(ScenarioError, match="no size is called 'c'; there are a, b"):
        chosen("a,c", ["a", "b"], "size")


@simulated
def test_a_simulated_chain_of_back_pressure_is_answered_right() -> None:
    result = run_case(CHAIN, "int-md-2.1")
    assert result is not None
    assert (result.top1, result.recall, result.false_findings, result.cause) == (True, 1.0, 0, True)
    assert result.culprit_precision == result.culprit_recall == 1.0
    assert result.start_error_ns is not None and result.start_error_ns < 1_000_000


@simulated
def test_an_analysis_without_the_wait_for_walk_scores_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything_is_a_root(view: Any, congestions: Any, crossed: Any, drains: Any, faint: Any) -> dict[int, Place]:
        return {entry.queue: Place("root", entry.queue, {}, 0.0, None, False) for entry in congestions}

    monkeypatch.setattr(summarising, "place_all", everything_is_a_root)
    result = run_case(CHAIN, "int-md-2.1")
    assert result is not None and result.confused > 0


@simulated
def test_an_analysis_with_roots_and_victims_swapped_scores_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    right = summarising.place_all

    def swapped(view: Any, congestions: Any, crossed: Any, drains: Any, faint: Any) -> dict[int, Place]:
        places = right(view, congestions, crossed, drains, faint)
        roots = [queue for queue, place in places.items() if place.role == "root"]
        victims = [queue for queue, place in places.items() if place.role == "victim"]
        return {
            queue: replace(place, role="victim", root=victims[0]) if queue in roots else replace(place, role="root", root=queue)
            for queue, place in places.items()
        }

    monkeypatch.setattr(summarising, "place_all", swapped)
    result = run_case(CHAIN, "int-md-2.1")
    assert result is not None
    assert (result.top1, result.recall) == (False, 0.0) and result.confused > 0


@simulated
def test_an_analysis_that_does_not_correct_clocks_scores_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    right = run_case(SKEWED, "int-md-2.1")
    monkeypatch.setattr(envelope, "fit_bands", lambda pairs: [Band(0.0, 0.0, 0.0, 0.0, 0.0) for _ in pairs])
    wrong = run_case(SKEWED, "int-md-2.1")
    assert right is not None and right.clock_error_ns is not None and wrong is not None and wrong.clock_error_ns is not None
    # What is asked for where both directions are seen is 2 µs; the clocks are off by up to 50 ms.
    assert right.clock_error_ns < 2_000 and wrong.clock_error_ns > 10_000_000
    assert right.clock_faults == 0 and wrong.clock_faults > 0
    # No finding rests on two clocks.
    assert wrong.top1 and wrong.false_findings == 0


def test_the_verb_prints_a_table_and_json() -> None:
    table = CliRunner().invoke(app, ["score", "--captures", str(RECORDED)])
    assert table.exit_code == 0 and RECORDED.name in table.stdout and "100 %" in table.stdout
    printed = CliRunner().invoke(app, ["score", "--captures", str(RECORDED), "--json"])
    assert json.loads(printed.stdout)["scenarios"][0]["top1"] == 1.0
    markdown = CliRunner().invoke(app, ["score", "--captures", str(RECORDED), "--markdown"])
    assert markdown.stdout.startswith("| scenario |")
    assert [entry.scenario for entry in rows_of([])] == []
