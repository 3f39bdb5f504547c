"""The reports, on summaries made by hand: what a reader sees, in which order, in which width."""

from __future__ import annotations

import dataclasses
import io
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
import summaries
from mode import unchecked

from int_analyzer.analysis.summary import Link, Port, Summary
from int_analyzer.report import drawing, figure, format_list, graph_files, json_document, json_text, terminal
from int_analyzer.report.layering import layers_of

pytestmark = unchecked

SCHEMA = Path(__file__).parent.parent / "docs/schema/analyze.schema.json"
ALL = {
    "congested": summaries.congested,
    "healthy": summaries.healthy,
    "blind": summaries.without_telemetry,
    "named": summaries.named_fabric,
}


def report(summary: Summary, monkeypatch: pytest.MonkeyPatch, columns: int | None = 100, top: int = 10) -> str:
    monkeypatch.setenv("COLUMNS", str(columns) if columns else "")
    stream = io.StringIO()
    terminal.print_report(summary, stream, top=top)
    return stream.getvalue()


def test_the_answer_stands_first(monkeypatch: pytest.MonkeyPatch) -> None:
    first = report(summaries.congested(), monkeypatch).splitlines()[0]
    assert first == "CONGESTED  node 2 port 2 queue 0 — overload, since 16:02:18.645 for 2.43 s, confidence 0.90"


def test_sections_come_in_the_order_of_interest(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report(summaries.congested(), monkeypatch)
    places = [text.index(f"\n{title}") for title in ("Findings\n", "Links\n", "Paths\n", "Read\n", "Trust  fair")]
    assert places == sorted(places)


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
@pytest.mark.parametrize("name", list(ALL))
def test_no_line_is_wider_than_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = report(ALL[name](), monkeypatch, columns).splitlines()
    assert max(map(len, lines)) <= columns, [line for line in lines if len(line) > columns]
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("name", list(ALL))
def test_there_is_no_colour_where_there_is_no_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in report(ALL[name](), monkeypatch)


def test_the_congested_link_is_marked_without_colour_and_stands_first(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = report(summaries.congested(), monkeypatch).splitlines()
    links = [line for line in lines[lines.index("Links") :] if "→" in line]
    assert links[0].startswith(" ! 2:2 → 4:1")
    assert " ! congested" in lines


def test_a_capture_that_ends_on_another_day_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    summary, day_ns = summaries.healthy(), 86_400_000_000_000
    assert summary.capture is not None and summary.capture.first_ns is not None
    for later_ns, shown in ((1_000_000_000, r" to \d\d:\d\d:\d\d\.\d{3} UTC"), (3 * day_ns, r" to \d{4}-\d\d-\d\d \d\d:.* UTC, 72\.0 h")):
        capture = dataclasses.replace(summary.capture, last_ns=summary.capture.first_ns + later_ns)
        assert re.search(shown, report(dataclasses.replace(summary, capture=capture), monkeypatch))


def test_a_unit_that_is_not_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report(summaries.congested(), monkeypatch)
    assert "hop latency (raw)" in text and "queue depth (raw)" in text and "depth 79 raw" in text


def test_known_units_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report(summaries.named_fabric(), monkeypatch)
    assert "depth 1.48 MB" in text and "latency 118 ms" in text and "(raw)" not in text


def test_rejects_losses_and_damage_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "rejects    none" in report(summaries.congested(), monkeypatch)
    text = report(summaries.named_fabric(), monkeypatch)
    assert "int-hop-length-mismatch: 12 · udp-truncated: 3" in text
    assert "100 of 1000 lost (10 %)" in text and "its sequence number never moves" in text
    assert "cut.pcap at byte 267000: the last record is cut" in report(summaries.without_telemetry(), monkeypatch)


def test_nothing_found_and_nothing_seen_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report(summaries.healthy(), monkeypatch).startswith("NO CONGESTION  in 3462 hops of 1154 packets")
    assert report(summaries.without_telemetry(), monkeypatch).startswith("NO TELEMETRY  none of 1154 packets")
    assert report(Summary(), monkeypatch).startswith("NO PACKETS")


def test_telemetry_without_hops_is_named_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    quality = summaries.quality(hops=0, reports=0, formats={"roce": 747, "ioam-e2e": 747})
    assert "(747 carry ioam-e2e, which tells of no hops)" in report(Summary(quality=quality), monkeypatch, 120)


@pytest.mark.parametrize(
    ("role", "impact", "unit", "words"),
    [
        ("root", 1.22e9, "packets × ns", "487 packets waited 1.22 s in all"),
        ("root", 1.43e8, "packets × latency (raw)", "487 packets waited 143M raw in all"),
        ("root", 3.55e7, "packets × bytes", "487 packets; the depths that they met add up to 35.5 MB"),
        ("root", 74, "times packets had to be sent again", "487 packets, 74 times packets had to be sent again"),
        ("host", 3.2e9, "messages × ns", "487 times, 3.20 s longer in all"),
        ("host", 3.04e7, "bytes", "487 times, 30.4 MB more in all"),
    ],
)
def test_an_impact_is_said_as_what_it_is(role: str, impact: float, unit: str, words: str) -> None:
    assert figure.impact(summaries.finding(role=role, impact=impact, impact_unit=unit)) == words


def test_top_says_how_many_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (report(crowded(), monkeypatch, top=top) for top in (10, 40))
    assert few.count("10.0.3.3:4791") == 10 + 3 and "and 7 more paths (--top)" in few
    assert many.count("10.0.3.3:4791") == 20 + 12 and "more paths" not in many


def crowded() -> Summary:
    """A finding with 20 culprits and as many victims, and 12 paths."""
    found = [summaries.flow(f"10.0.1.{number}", "10.0.3.3", 49153, 17, 242, 0.05) for number in range(20)]
    summary = summaries.congested()
    (path, *_) = summary.paths
    paths = [
        dataclasses.replace(path, hops=[Port(str(number), "1", 0, number, 1), *path.hops], share_of_latency=None) for number in range(12)
    ]
    findings = [dataclasses.replace(summary.findings[0], culprits=found, victims=found)]
    return dataclasses.replace(summary, findings=findings, paths=paths)


def test_a_victim_names_its_root(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "root       finding 1, spine-1 port Ethernet1/47 queue 3" in report(summaries.named_fabric(), monkeypatch)


def test_top_cuts_lists_and_says_so_but_never_the_congested_link(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report(summaries.congested(), monkeypatch, top=1)
    assert " ! 2:2 → 4:1" in text and "and 5 more links (--top)" in text and "and 1 more" in text


def test_of_many_ports_that_are_held_up_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    root = summaries.finding(victim_ports=[f"leaf-{number} port 1" for number in range(40)])
    text = " ".join(report(dataclasses.replace(summaries.congested(), findings=[root]), monkeypatch, 120, top=3).split())
    assert "holds up leaf-0 port 1, leaf-1 port 1, leaf-2 port 1 and 37 more" in text and "leaf-3" not in text


def test_of_many_streams_those_that_lost_most_are_told_and_the_others_together(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = {"kind": "report-2.0", "stream": 1, "received": 100, "reordered": 0, "duplicated": 0, "static": False}
    losses = [{**stream, "node_id": node, "lost": 50 if node == 70 else 0} for node in range(90)]
    text = report(Summary(quality=summaries.quality(losses=losses)), monkeypatch, 120)
    assert "losses     report-2.0 of node 70, hw 1: 50 of 150 lost (33 %)" in text
    assert text.count("report-2.0 of node") == 8 and "and 82 more: 0 of 8200 lost" in text


def test_the_headline_alone_is_one_line_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    terminal.print_headline(summaries.congested(), stream)
    assert stream.getvalue().count("\n") == 1 and "confidence 0.9" in stream.getvalue()


@pytest.mark.parametrize("name", list(ALL))
def test_the_json_document_follows_its_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json_document.text(ALL[name]())), schema)


@pytest.mark.parametrize("name", list(ALL))
def test_the_json_text_is_that_of_the_plain_document(name: str) -> None:
    summary = ALL[name]()
    assert json_document.text(summary) == json.dumps(json_document.document(summary), indent=2, ensure_ascii=False, allow_nan=False)


def test_json_text_knows_numbers_of_numpy_and_has_no_nan_within_lists_and_mappings() -> None:
    values = {"ä\n": [np.float64("inf"), 0.1, True], 3: (np.int32(7), np.float32("nan"), None), "none": {}, "empty": ()}
    text = json_text.text_of(values)
    assert text == json.dumps({"ä\n": [None, 0.1, True], "3": [7, None, None], "none": {}, "empty": []}, indent=2, ensure_ascii=False)


def test_the_json_document_begins_with_its_version_and_has_no_nan() -> None:
    summary = summaries.congested()
    broken = Summary(capture=summary.capture, quality=summaries.quality(telemetry_overhead=float("nan")))
    document = json.loads(json_document.text(broken))
    assert next(iter(document)) == "schema_version"
    assert document["quality"]["telemetry_overhead"] is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0"), (7.5, "7.50"), (9999, "9999"), (12_345, "12.3k"), (999_960, "1.00M"), (395_000, "395k"), (1.5e9, "1.50G")],
)
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert figure.number(value) == shown


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [(None, "–"), (0, "0 ns"), (999, "999 ns"), (1500, "1.50 µs"), (2_430_000_000, "2.43 s"), (7.2e11, "12 min"), (7.2e12, "2.0 h")],
)
def test_durations_have_their_unit(nanoseconds: float | None, shown: str) -> None:
    assert figure.duration(nanoseconds) == shown


@pytest.mark.parametrize(
    ("part", "shown"), [(None, "–"), (0.0, "0 %"), (0.0004, "<0.1 %"), (0.05, "5 %"), (0.503, "50 %"), (0.9999, ">99.9 %"), (1.0, "100 %")]
)
def test_a_share_that_is_not_nothing_never_shows_as_nothing(part: float | None, shown: str) -> None:
    assert figure.share(part) == shown


@pytest.mark.parametrize("name", list(ALL))
def test_the_picture_is_well_formed_and_always_the_same(name: str) -> None:
    text = drawing.draw(ALL[name]())
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text == drawing.draw(ALL[name]())


def test_the_picture_says_congestion_in_words_and_marks() -> None:
    texts = "".join(ElementTree.fromstring(drawing.draw(summaries.congested())).itertext())
    assert "port 2 congested: overload, depth 79 raw" in texts and "▲ 2" in texts
    assert "▲" not in "".join(ElementTree.fromstring(drawing.draw(summaries.healthy())).itertext())


def two_queues() -> Summary:
    """A port with a deep queue that is congested, and one that is not, which sends more packets."""
    deep = summaries.quantiles(9, 5e5, 7e5, 8e5, 9e5, "bytes")
    empty = summaries.quantiles(9, 0, 0, 0, 0, "bytes")
    full, idle = Port("2", "2", 3, 2, 2), Port("2", "2", 6, 2, 2)
    links = [
        Link(idle, "4", 4, "1", 800, 800, summaries.ABSENT, empty),
        Link(full, "4", 4, "1", 400, 400, summaries.ABSENT, deep),
        Link(idle, "4", 4, "1", 100, 100, summaries.ABSENT, empty),
    ]
    return Summary(links=links, findings=[dataclasses.replace(summaries.finding(), node="2", node_id=2, port="2", port_id=2, queue=3)])


def test_of_a_port_only_the_queue_that_is_congested_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    links = [line for line in report(two_queues(), monkeypatch).splitlines() if "→" in line]
    assert [line[:10] for line in links] == [" ! 2:2 q3 ", "   2:2 q6 ", "   2:2 q6 "]
    coloured = [line for line in graph_files.dot(two_queues(), None).splitlines() if "->" in line and drawing.RED in line]
    assert len(coloured) == 1 and "q3" in coloured[0]


def test_the_picture_has_one_line_for_all_queues_of_a_port_and_the_depth_of_the_deepest() -> None:
    picture = ElementTree.fromstring(drawing.draw(two_queues()))
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("1300") == 1 and "700 kB" in texts and "0 B" not in texts


def test_names_cannot_break_the_picture_or_the_dot_file() -> None:
    evil = Port('a"<&>\\', "1/1", None, 1, 1)
    link = Link(evil, "b]]>", 2, "1", 5, 5, summaries.ABSENT, summaries.ABSENT)
    ElementTree.fromstring(drawing.draw(Summary(links=[link])))
    assert 'a\\"<&>' in graph_files.dot(Summary(links=[link]), None)


def links_of(*pairs: tuple[str, str]) -> Summary:
    def link(source: str, sink: str) -> Link:
        return Link(summaries.port(source, 1), sink, int(sink), "1", 1, 1, summaries.ABSENT, summaries.ABSENT)

    return Summary(links=[link(*pair) for pair in pairs])


def test_layers_follow_the_longest_way() -> None:
    summary = links_of(("1", "2"), ("2", "3"), ("1", "3"), ("3", "4"))
    assert layers_of(summary, ["1", "2", "3", "4"]) == [["1"], ["2"], ["3"], ["4"]]


def test_a_loop_still_has_layers_and_a_picture() -> None:
    summary = links_of(("1", "2"), ("2", "3"), ("3", "1"), ("3", "3"))
    assert sorted(name for layer in layers_of(summary, ["1", "2", "3"]) for name in layer) == ["1", "2", "3"]
    ElementTree.fromstring(drawing.draw(summary))


def test_a_link_that_goes_back_is_drawn_below_the_boxes_not_behind_them() -> None:
    picture = drawing.draw(links_of(("1", "2"), ("2", "1")))
    bottoms = [
        float(y) + float(height)
        for y, height in re.findall(r'<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)" rx="6"', picture)
    ]
    curves = [[float(number) for number in re.findall(r"[\d.]+", curve)] for curve in re.findall(r'<path d="(M[^"]+)"', picture)]
    assert [max(curve[1::2]) > max(bottoms) for curve in curves] == [False, True]


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    names = [str(number) for number in range(3000)]
    summary = links_of(*itertools.pairwise(names))
    assert len(layers_of(summary, names)) == 3000


def test_boxes_of_the_picture_do_not_overlap() -> None:
    leaves, spines = [str(number) for number in range(1, 9)], ["21", "22", "23"]
    summary = links_of(
        *((leaf, spine) for leaf in leaves[:4] for spine in spines), *((spine, leaf) for leaf in leaves[4:] for spine in spines)
    )
    boxes = [
        tuple(float(value) for value in found)
        for found in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" rx="6"', drawing.draw(summary))
    ]
    assert len(boxes) == 11
    for position, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[position + 1 :]:
            assert x + width < x2 or x2 + width2 < x or y + height < y2 or y2 + height2 < y


def test_the_dot_file_draws_the_congested_link_red() -> None:
    text = graph_files.dot(summaries.congested(), None)
    line = next(line for line in text.splitlines() if '"2" -> "4"' in line)
    assert drawing.RED in line and "depth p99 79 raw" in line


@pytest.mark.parametrize(
    ("name", "format"), [("a.svg", "svg"), ("a.gv", "dot"), ("a.GRAPHML", "graphml"), ("a.txt", "json"), (None, "json")]
)
def test_the_graph_format_follows_the_name_of_the_file(name: str | None, format: str) -> None:
    assert graph_files.format_of(Path(name) if name else None) == format


def test_the_format_list_has_every_format_as_text_and_as_document() -> None:
    text, document = format_list.text(), format_list.document()
    for entry in document["formats"]:
        assert f"  {entry['name']} " in text
    assert "int-md-2.x" in {entry["name"] for entry in document["formats"] if entry["hops"]}
    assert "roce" in {entry["name"] for entry in document["formats"] if not entry["hops"]}


def test_no_line_ends_between_a_number_and_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [report(summaries.congested(), monkeypatch, columns) for columns in range(50, 121)]
    assert not [line for text in texts for line in text.splitlines() if re.match(r"\s*(%|µs|ms|kB|MB|Gbit/s)(\W|$)", line)]
    assert not [text for text in texts if "\ue000" in text]
