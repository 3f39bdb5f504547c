"""int-analyzer show: packets header by header, as its user meets them."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mutate
import pytest
from capture_bytes import pcap_header
from dissected import PCAPS, PROFILE, ROOT, declared_headers, every, hop_branches, of_bytes, text_of, worked
from mode import unchecked
from rich.console import Console

from int_analyzer.cli import main
from int_analyzer.dissect import wording
from int_analyzer.dissect.field import PROFILE_UNITS, Form
from int_analyzer.profile import Profile, parse_profile
from int_analyzer.report import packet_tree

pytestmark = unchecked

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output goes into a pipe of no particular width, whoever runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


def test_hops_stand_in_path_order_with_the_names_of_the_profile() -> None:
    packet = of_bytes(worked("02"))
    assert [(branch.hop, branch.number("node_id"), branch.at) for branch in hop_branches(packet)] == [(0, 257, 82), (1, 514, 54)]
    assert re.search(r"hop 0  leaf-1 .*hop 1  node 514 ", text_of(packet), re.S)


def test_units_come_from_the_profile_or_are_said_to_be_unknown() -> None:
    text = text_of(of_bytes(worked("02")))
    assert re.search(r"queue depth +1000 cells = 80000 bytes", text) and re.search(r"hop latency +820 µs", text)
    assert re.search(r"utilisation +4500 unit unknown", text)
    assert re.search(r"queue depth +1000 unit unknown", text_of(of_bytes(worked("02"), Profile()), Profile()))


def test_every_unit_of_a_profile_has_a_word_for_not_knowing_it() -> None:
    for header in declared_headers():
        for field in header.fields:
            if field.unit in PROFILE_UNITS:
                assert wording.unit(field, Profile().units) == wording.UNKNOWN_UNIT


def test_values_of_ones_are_absent_not_huge() -> None:
    packet = of_bytes(worked("03"))
    newest = hop_branches(packet)[-1]
    assert newest.number("egress_time") is None and newest.number("ingress_time") == 1700000000000002000
    assert wording.ABSENT in text_of(packet)


def test_hops_in_tunnels_and_options_and_of_the_first_version_are_rows_like_others() -> None:
    for name in ("09", "10", "15"):
        packet = of_bytes(worked(name))
        assert [branch.hop for branch in hop_branches(packet)] == [row["hop"] for row in packet.rows["hops"]] != []


def test_hops_that_a_header_further_in_replaces_are_shown_but_said_to_be_no_rows() -> None:
    data = mutate.corner_cases()["mri in front of INT"][0]
    packet = of_bytes(data)
    assert packet.telemetry.startswith("int-md") and [branch.name for branch in hop_branches(packet)] == ["int.hop"] * len(
        packet.rows["hops"]
    )
    replaced = [branch for branch in every(packet) if branch.name == "mri.switch"]
    assert (
        replaced and not any(branch.is_row for branch in replaced) and "the rows are those, not these" in " ".join(text_of(packet).split())
    )


def test_options_of_tcp_behind_int_are_shown_behind_it() -> None:
    profile = parse_profile({"detect": {"int_dscp": "23"}})
    packet = of_bytes(mutate.corner_cases()["tcp int in front of options"][0], profile)
    assert [branch.title for branch in packet.branches][2:] == ["TCP", "INT shim", "INT-MD header", "TCP options", "not read further"]
    behind = of_bytes(mutate.corner_cases()["tcp int behind options"][0], profile)
    assert [branch.title for branch in behind.branches][2:] == ["TCP", "INT shim", "INT-MD header", "not read further"]


def test_the_reports_own_metadata_is_a_hop_of_the_path() -> None:
    assert "= hop 2" in text_of(of_bytes(worked("05")))
    packet = of_bytes(worked("06"))
    assert [branch.title for branch in hop_branches(packet)] == ["report 0"]


# ------------------------------------------------------------------------------------------------------------- the reject


@pytest.mark.parametrize(
    ("name", "title"),
    [("N1", "INT shim"), ("N2", "INT shim"), ("N3", "INT shim"), ("N4", "IOAM option")],
)
def test_a_reject_is_marked_at_the_byte_where_the_kernel_stopped(name: str, title: str) -> None:
    packet = of_bytes(worked(name))
    marked = packet.marked()
    assert packet.status.reject and marked is not None and marked.at == packet.status_at and marked.title == title
    text = text_of(packet)
    assert f"rejected  {packet.status.name} at byte {packet.status_at}: {packet.status.doc}" in text
    assert f"◀ {packet.status.name}" in text
    lines = text.splitlines()
    pointer = next(number for number, line in enumerate(lines) if line.strip() == "^^")
    pointed = lines[pointer - 1][lines[pointer].index("^^") :][:2]
    assert pointed == f"{packet.data[packet.status_at or 0]:02x}"


def test_a_stop_behind_the_captured_bytes_is_said() -> None:
    packet = of_bytes(worked("01")[:14], original=90)
    assert packet.status_at == 14 and "behind the captured bytes ^" in text_of(packet)
    assert "^ behind the captured bytes" in text_of(of_bytes(worked("01")[:34], original=90))


def test_a_packet_without_a_byte_is_shown() -> None:
    packet = of_bytes(b"", original=60)
    assert "link-truncated at byte 0" in text_of(packet)


# ---------------------------------------------------------------------------------------------------------------- the verb


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    code = main(["show", *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


LAOFAN = str(PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap")


def test_show_prints_the_packet_with_this_number(capsys: Captured) -> None:
    code, out, err = run(capsys, LAOFAN, "--packet", "20")
    assert code == 0 and err == "" and out.startswith(f"packet 20 of {LAOFAN}\n")
    assert re.search(r"^path +1 → 3 → 4$", out, re.M) and re.search(r"^ +126  0005 +egress port +5$", out, re.M)


def test_the_readme_shows_what_the_command_says(capsys: Captured) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\$ int-analyzer show (\S+) --packet (\d+)\n…\n(.*?)```", readme, re.S)
    assert found is not None
    assert found[3] in run(capsys, str(ROOT / found[1]), "--packet", found[2])[1]


def test_several_packets_are_shown_in_the_order_asked_for(capsys: Captured) -> None:
    _, out, _ = run(capsys, LAOFAN, "-p", "3", "-p", "1")
    assert re.findall(r"^packet (\d+) of", out, re.M) == ["3", "1"]


def test_the_first_packet_is_shown_if_none_is_named(capsys: Captured) -> None:
    assert run(capsys, LAOFAN)[1].startswith("packet 0 of")


@pytest.mark.parametrize("number", ["1154", "99999"])
def test_a_packet_number_that_is_not_there_is_one_line_and_exit_code_2(number: str, capsys: Captured) -> None:
    code, out, err = run(capsys, LAOFAN, "--packet", number)
    assert code == 2 and out == "" and err.count("\n") == 1 and f"no packet {number}: its packets are 0 to 1153" in err


def test_other_wrong_usage_is_one_line_and_exit_code_2(capsys: Captured, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pcap_header())
    for arguments, part in (
        ((LAOFAN, "--packet", "-1"), "--packet"),
        ((LAOFAN, "--packet", "one"), "valid integer"),
        ((str(PCAPS / "linux-ioam"),), "names 4 captures"),
        ((str(empty),), "no packet 0: it has none"),
        ((str(tmp_path / "absent.pcap"),), "no such file"),
    ):
        code, out, err = run(capsys, *arguments)
        assert code == 2 and out == "" and err.count("\n") == 1 and part in err, err


def test_damage_in_front_of_the_packet_is_said(capsys: Captured, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(LAOFAN).read_bytes()[:1000])
    code, _, err = run(capsys, str(cut), "--packet", "7")
    assert code == 2 and "its packets are 0 to 3" in err and "the last record is cut" in err


def test_json_is_one_document_with_fields_and_the_kernels_rows(capsys: Captured) -> None:
    code, out, err = run(capsys, LAOFAN, "--packet", "20", "--json")
    document = json.loads(out)
    packet = document["packets"][0]
    assert code == 0 and err == "" and packet["status"]["name"] == "ok" and packet["dialect"] == "int-2.x"
    assert [hop["node_id"] for hop in packet["rows"]["hops"]] == [1, 3, 4]
    headers = {header["title"]: header for header in packet["headers"]}
    hops = headers["INT-MD header"]["headers"]
    assert [hop["hop"] for hop in hops] == [0, 1, 2] and all(hop["is_row"] for hop in hops)
    for hop, row in zip(hops, packet["rows"]["hops"], strict=True):
        values = {field["name"]: field["value"] for field in hop["fields"]}
        assert (values["queue_depth"], values["egress_time"]) == (row["queue_depth_raw"], row["egress_time_raw"])
    for field in every_field(packet["headers"]):
        first, count = 8 * field["offset"] + field["bit"], field["bits"]
        size = (field["bit"] + count + 7) // 8
        assert field["raw"] == packet["bytes"][2 * field["offset"] : 2 * (field["offset"] + size)]
        if isinstance(field["value"], int):
            number = int(packet["bytes"], 16) >> (4 * len(packet["bytes"]) - first - count)
            assert number & ((1 << count) - 1) == field["value"]


def every_field(headers: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for header in headers:
        yield from header["fields"]
        yield from every_field(header["headers"])


@pytest.mark.parametrize("width", [72, 80, 120, 200])
def test_lines_fit_a_terminal_of_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name in ("03", "06", "08", "11", "N1"):
        for line in text_of(of_bytes(worked(name))).splitlines():
            assert len(line) <= width and line == line.rstrip(), line


def test_a_pipe_gets_whole_lines_without_colour_and_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = text_of(of_bytes(worked("03")))
    assert "\x1b" not in plain and "instructions        0xdc80 node id, level-1 ports, queue, ingress time, egress time, buffer" in plain
    assert all(line == line.rstrip() for line in plain.splitlines())

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    assert Console(file=screen).is_terminal
    packet_tree.print_packets([of_bytes(worked("N1"))], "x.pcap", PROFILE, screen)
    assert "\x1b[1;31mint-stack-not-whole-hops" in screen.getvalue()


def test_show_needs_no_numba() -> None:
    code = (
        "import sys\nfrom int_analyzer.cli import main\n" + f"assert main(['show', {LAOFAN!r}]) == 0\n" + "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0


def test_every_form_is_used_and_written() -> None:
    assert {field.form for header in declared_headers() for field in header.fields} >= set(Form)
