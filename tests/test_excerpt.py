"""What is drawn of a large fabric: the paths through what is congested, and the rest of them gathered, with nothing lost in the counts."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from xml.etree import ElementTree

import summaries
from mode import unchecked

from int_analyzer.analysis.summary import Finding, Link, PathSummary, Port, Summary
from int_analyzer.report.drawing import draw
from int_analyzer.report.excerpt import MOST_NODES, excerpt, shown

pytestmark = unchecked

LEAVES, SPINES = [f"leaf{number}" for number in range(12)], [f"spine{number}" for number in range(8)]
ROOT = dataclasses.replace(summaries.finding(), id="F1", node="leaf0", port="host0")


def victim(number: int, node: str, port: str) -> Finding:
    return dataclasses.replace(summaries.finding(), id=f"F{number}", role="victim", node=node, port=port, root="F1")


def fabric(findings: Sequence[Finding] = (), loops: int = 0, leaves: Sequence[str] = LEAVES, spines: Sequence[str] = SPINES) -> Summary:
    """Every leaf sends 10 packets over every spine to a host of every other leaf, and `loops` packets go from leaf1 to spine0 and back."""

    def out(node: str, towards: str) -> Port:
        return Port(node, towards, 0, None, None)

    def path(packets: int, *nodes: str) -> PathSummary:
        hops = [out(here, f"to-{after}") for here, after in itertools.pairwise(nodes)]
        return PathSummary([*hops, out(nodes[-1], nodes[-1].replace("leaf", "host"))], packets, packets, 0, 0, 0, None)

    paths = [path(10, one, spine, other) for one in leaves for spine in spines for other in leaves if one != other]
    paths += [path(loops, "leaf2", "spine0", "leaf1", "spine0", "leaf1", "spine0")] if loops else []
    links: dict[tuple[Port, Port | None], int] = {}
    for one in paths:
        for hop, after in zip(one.hops, [*one.hops[1:], None], strict=True):
            links[hop, after] = links.get((hop, after), 0) + one.packets
    ends: dict[tuple[Port, str | None], int] = {}
    for (hop, after), packets in links.items():
        end = hop, after.node if after is not None else None
        ends[end] = ends.get(end, 0) + packets
    deep = summaries.quantiles(9, 1, 2, 3, 4, "bytes")
    made = [
        Link(hop, to, None, f"to-{hop.node}" if to else None, packets, packets, summaries.ABSENT, deep)
        for (hop, to), packets in ends.items()
    ]
    return Summary(findings=list(findings), links=made, paths=paths)


def packets_between(summary: Summary) -> dict[tuple[str, str, str | None], int]:
    """Packets by the shown names of box, egress port and next box."""
    found: dict[tuple[str, str, str | None], int] = {}
    for link in excerpt(summary).links:
        ends = shown(link.source.node), shown(link.source.port), shown(link.to_node) if link.to_node is not None else None
        found[ends] = found.get(ends, 0) + link.packets
    return found


def texts(summary: Summary) -> str:
    return "\n".join(ElementTree.fromstring(draw(summary)).itertext())


def test_a_small_fabric_is_drawn_whole() -> None:
    small = fabric([ROOT], leaves=LEAVES[:10], spines=SPINES[: MOST_NODES - 10])
    assert excerpt(small).links == small.links and excerpt(small).left_out == ""


def test_of_a_large_fabric_the_paths_through_what_is_congested_are_drawn_and_the_rest_of_them_is_gathered() -> None:
    held = [victim(2, "spine0", "to-leaf0"), victim(3, "leaf4", "to-spine1"), *(victim(4, one, "to-leaf0") for one in SPINES[2:7])]
    between = packets_between(fabric([ROOT, *held]))
    told, more = ("spine0", "spine2", "spine3", "spine4"), "4 more core nodes"
    assert between == {
        ("leaf0", "host0", None): 880,
        **{(spine, "to-leaf0", "leaf0"): 110 for spine in told},
        # two ports that are held up, and two that are not
        (more, "2 ports", "leaf0"): 440,
        **{("leaf4", f"to-{spine}", spine): 10 for spine in told},
        ("leaf4", "to-spine1", more): 10,
        ("leaf4", "3 ports", more): 30,
        **{("10 more edge nodes", "10 ports", spine): 100 for spine in told},
        ("10 more edge nodes", "40 ports", more): 400,
    }
    marks = excerpt(fabric([ROOT, *held])).marks
    assert [mark.text for mark in marks if "port " not in mark.text] == ["2 ports held up"]
    assert [(mark.node, mark.port) for mark in marks][-2:] == [("spine0", "to-leaf0"), ("leaf0", "host0")]


def test_a_node_that_is_told_of_is_one_of_many_where_it_sends_to_others() -> None:
    other = dataclasses.replace(ROOT, id="F2", node="leaf1", port="host1")
    between = packets_between(fabric([ROOT, other]))
    assert between["12 edge nodes", "96 ports", "8 core nodes"] == 2 * 11 * 8 * 10
    assert {ends[0] for ends in between} == {"12 edge nodes", "8 core nodes", "leaf0", "leaf1"}


def test_of_a_calm_fabric_all_paths_are_drawn_by_tier() -> None:
    packets = 12 * 11 * 8 * 10
    assert packets_between(fabric()) == {
        ("12 edge nodes", "96 ports", "8 core nodes"): packets,
        ("8 core nodes", "96 ports", "12 edge nodes"): packets,
        ("12 edge nodes", "12 ports", None): packets,
    }


def test_a_loop_comes_back_to_its_box_and_makes_no_node_the_edge_of_the_fabric() -> None:
    between = packets_between(fabric(loops=3))
    assert between["12 edge nodes", "to-spine0", "8 core nodes"] == 6
    assert len(excerpt(fabric(loops=3)).links) == 5


def test_the_picture_says_what_it_leaves_out() -> None:
    said = texts(fabric([ROOT, victim(2, "spine0", "to-leaf0")]))
    assert "20 nodes, 1056 paths; drawn are the 88 through the port in red" in said
    assert "▲ host0" in said and "port to-leaf0 held up" in said
    assert "drawn are all" in texts(fabric())
