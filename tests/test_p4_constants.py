"""P4 and Python say the same: constants by their names, tables and actions by the shipped program, the program by its sources."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mode import files_alone

from int_analyzer.lab import constant
from int_analyzer.lab.entry import KEYED_TABLES, entries_of
from int_analyzer.lab.telemetry import ITEMS, Telemetry
from int_analyzer.lab.topology import load_topology

pytestmark = files_alone

ROOT = Path(__file__).parent.parent
DEFINES = ROOT / "p4/include/defines.p4"
SIZES = ROOT / "p4/include/sizes.p4"
HEADERS = ROOT / "p4/include/headers.p4"
PROGRAM = ROOT / "int_analyzer/lab/programs/bmv2.json"
WORDS = {"level2": 2, "ingress_time": 2, "egress_time": 2}


def p4_constants(file: Path = DEFINES) -> dict[str, int]:
    found = re.findall(r"^const bit<(\d+)> (\w+) = (0x[0-9A-Fa-f]+|\d+);", file.read_text(), re.MULTILINE)
    assert len(found) == file.read_text().count("const bit<"), "a constant that this test cannot read"
    for width, name, value in found:
        assert int(value, 0) < 1 << int(width), name
    return {name: int(value, 0) for _, name, value in found}


def python_constants() -> dict[str, int]:
    return {name: value for name, value in vars(constant).items() if name.isupper()}


@pytest.mark.parametrize("name", python_constants())
def test_a_constant_of_python_is_that_of_p4(name: str) -> None:
    assert python_constants()[name] == p4_constants()[name]


@pytest.mark.parametrize(("size", "codes"), [("FORMATS", "FORMAT_"), ("PASSED_REASONS", "PASSED_")])
def test_what_is_counted_by_a_code_has_a_place_for_each(size: str, codes: str) -> None:
    assert p4_constants(SIZES)[size] == 1 + max(value for name, value in p4_constants().items() if name.startswith(codes))


def test_an_ioam_node_has_the_words_of_its_trace_type() -> None:
    p4 = p4_constants()
    assert p4["IOAM_NODE_WORDS"] == bin(p4["IOAM_TRACE_TYPE"]).count("1")
    assert p4["IOAM_TRACE_WORDS"] % p4["IOAM_NODE_WORDS"] == 0
    # hop-by-hop header, PadN and option 8 bytes, trace header 8 bytes; whole units of 8 bytes (RFC 8200 §4.3)
    assert p4["IOAM_HEADER_WORDS"] == 4 + p4["IOAM_TRACE_WORDS"]
    assert p4["IOAM_HEADER_WORDS"] % 2 == 0


def header_bits() -> dict[str, int]:
    text = re.sub(r"//.*", "", HEADERS.read_text())
    blocks = re.findall(r"header (\w+) \{(.*?)\}", text, re.DOTALL)
    return {name: sum(int(width) for width in re.findall(r"bit<(\d+)>", body)) for name, body in blocks}


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("ethernet_t", 14),
        ("ipv4_t", 20),
        ("ipv6_t", 40),
        ("udp_t", 8),
        ("bth_t", 12),
        ("int_shim_t", 4),
        ("int_header_t", 12),
        ("hop_by_hop_t", 4),
        ("ioam_t", 12),
        ("ioam_node_t", 4 * p4_constants()["IOAM_NODE_WORDS"]),
        ("report_group_t", 8),
        ("report_t", 4),
        ("report_main_t", 8),
        ("report_drop_t", 4),
        ("gre_t", 8),
        ("erspan_t", 8),
    ],
)
def test_a_header_has_the_size_that_its_specification_gives(header: str, size: int) -> None:
    assert header_bits()[header] == 8 * size


def test_a_hop_item_has_the_words_that_the_bitmap_stands_for() -> None:
    bits = header_bits()
    headers = ("int_node_t", "int_ports_t", "int_latency_t", "int_queue_t", "int_time_t", "int_time_t", "int_level2_t")
    headers += ("int_utilisation_t", "int_buffer_t")
    assert [bits[header] // 32 for header in headers] == [WORDS.get(item, 1) for item in ITEMS]


def test_entries_name_tables_actions_keys_and_parameters_of_the_shipped_program() -> None:
    program = json.loads(PROGRAM.read_text())
    tables = {table["name"].split(".")[-1]: table for pipeline in program["pipelines"] for table in pipeline["tables"]}
    actions = {action["id"]: action for action in program["actions"]}
    assert set(KEYED_TABLES) == {name for name, table in tables.items() if table["key"] and name in KEYED_TABLES}
    topology = load_topology("leaf-spine")
    seen = set()
    for mode in ("md", "ioam"):
        telemetry = Telemetry(mode=mode, watch=({"source": "10.0.0.0/8", "destination": "10.0.0.0/8", "dscp": 26, "dest_qp": 17},))
        for switch in topology.switches.values():
            for entry in entries_of(topology, switch, telemetry, {}):
                table = tables[entry.table]
                seen.add(entry.table)
                offered = {actions[number]["name"].split(".")[-1]: actions[number]["runtime_data"] for number in table["action_ids"]}
                assert {parameter["name"] for parameter in offered[entry.action]} == set(entry.parameters)
                assert {key["name"] for key in table["key"]} >= set(entry.keys)
    assert seen == {"node", "monitor", *KEYED_TABLES}


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="no p4c-bm2-ss")
def test_the_shipped_program_is_what_the_sources_compile_to(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "p4", tmp_path / "p4")
    shipped = f"SHIPPED={PROGRAM.parent}"
    subprocess.run(["make", "-C", str(tmp_path / "p4"), "check", shipped], check=True, capture_output=True)


def complete(sources: Path, output: Path, *stages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "p4/complete.py", sources, output, *stages], capture_output=True, text=True, check=False)


def test_every_parser_state_and_table_of_the_sources_is_in_the_shipped_program() -> None:
    assert complete(ROOT / "p4/bmv2", PROGRAM).returncode == 0


def test_a_branch_that_a_compiler_dropped_is_named(tmp_path: Path) -> None:
    program = tmp_path / "int.json"
    program.write_text(PROGRAM.read_text().replace("parse_ioam_full", "parse_ioam_room"))
    done = complete(ROOT / "p4/bmv2", program)
    assert done.returncode == 1
    assert done.stderr.strip() == f"{program}: not there: parse_ioam_full"


def test_a_program_that_fills_more_stages_than_the_chip_has_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "int.bfa"
    program.write_text(PROGRAM.read_text() + "\nstage 11 ingress:\nstage 12 egress:\n")
    assert complete(ROOT / "p4/bmv2", program, "13").returncode == 0
    done = complete(ROOT / "p4/bmv2", program, "12")
    assert done.returncode == 1
    assert done.stderr.strip() == f"{program}: 13 stages, and the chip has 12"


def test_both_targets_have_the_same_files_and_the_same_states_of_int() -> None:
    bmv2, tofino = ({path.name for path in (ROOT / "p4" / target).glob("*.p4")} for target in ("bmv2", "tofino"))
    assert bmv2 == tofino
    states = [set(re.findall(r"state (\w+)", (ROOT / "p4" / target / "parser.p4").read_text())) for target in ("bmv2", "tofino")]
    shared = {"start", "parse_ipv4", "parse_ipv6", "parse_udp", "parse_shim", "parse_original_port", "parse_int", "parse_bth", "parse_ioam"}
    assert shared <= states[0] & states[1]


@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="no p4c-bm2-ss")
@pytest.mark.parametrize("generation", [1, 2])
def test_the_tofino_program_passes_the_type_checker(tmp_path: Path, generation: int) -> None:
    """The frontend is the same for all targets: the BMv2 compiler reads the program to its end, and then misses its own main package."""
    command = ["p4c-bm2-ss", f"-D__TARGET_TOFINO__={generation}", "--std", "p4-16", "--arch", "v1model", "-o", tmp_path / "int.json"]
    done = subprocess.run([*command, ROOT / "p4/tofino/int.p4"], capture_output=True, text=True, check=False)
    if "na.p4" in done.stderr and "No such file" in done.stderr:
        pytest.skip("this p4c has no tna.p4 and t2na.p4")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stderr
    assert "package Switch: main package" in errors[0]


@pytest.mark.skipif(shutil.which("p4c-barefoot") is None, reason="no p4c-barefoot: p4c with its Tofino backend")
@pytest.mark.parametrize("target", ["tofino", "tofino2"])
def test_the_tofino_program_compiles_and_nothing_of_it_is_lost(tmp_path: Path, target: str) -> None:
    """The compiler finds its headers by itself, or by P4INCLUDE in the environment."""
    shutil.copytree(ROOT / "p4", tmp_path / "p4", ignore=shutil.ignore_patterns("build"))
    done = subprocess.run(["make", "-C", str(tmp_path / "p4"), target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
