"""The command line where something is wrong: one clear line, exit codes, and no output destroyed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mode import unchecked
from test_cli import CONGESTED, ROOT, Captured, run

pytestmark = unchecked


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("text.pcap", b"hello, world, this is no capture", "not a pcap"),
        ("empty.pcap", b"", "empty"),
        ("link.pcap", bytes.fromhex("d4c3b2a1020004000000000000000000ffff0000fe000000"), "link type"),
    ],
)
@pytest.mark.parametrize("verb", ["analyze", "decode", "graph"])
def test_what_is_not_a_capture_is_one_line_and_exit_code_2(
    verb: str, name: str, content: bytes, reason: str, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    code, out, err = run(capsys, verb, str(tmp_path / name))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert name in err and reason in err


def test_missing_files_and_folders_without_captures_are_one_line(capsys: Captured, tmp_path: Path) -> None:
    for argument in (str(tmp_path / "absent.pcap"), str(tmp_path), str(tmp_path / "*.pcap")):
        code, out, err = run(capsys, "analyze", argument)
        assert code == 2 and out == "" and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["analyze"], "Missing argument 'CAPTURE' (see int-analyzer analyze --help)"),
        (["decode", CONGESTED, "--table", "bits"], "'bits' is not one of"),
        (["decode", CONGESTED, "--columns", "depth"], "no column 'depth'"),
        (["decode", CONGESTED, "-o", "rows.foo"], "rows.foo: no format has this ending"),
        (["analyze", CONGESTED, "--top", "0"], "--top"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], part: str, capsys: Captured) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("int-analyzer: ") and part in err


def test_a_cut_capture_is_analysed_as_far_as_it_goes_and_the_damage_is_said(capsys: Captured, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(CONGESTED).read_bytes()[:-100])
    code, out, _ = run(capsys, "analyze", str(cut))
    assert code == 0 and out.startswith("CONGESTED  node 2 port 2")
    assert "the last record is cut" in out


def test_damage_is_said_by_the_verbs_that_write_no_report(capsys: Captured, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(CONGESTED).read_bytes()[:-100])
    for arguments in (["decode", str(cut), "--limit", "0", "-o", str(tmp_path / "x.csv")], ["graph", str(cut)]):
        code, _, err = run(capsys, *arguments)
        assert code == 0 and err.count("\n") == 1
        assert err.startswith(f"int-analyzer: {cut}: at byte ") and "the last record is cut" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", CONGESTED],
        ["analyze", CONGESTED, "--json"],
        ["decode", CONGESTED, "-n", "0", "-f", "csv"],
        ["decode", CONGESTED, "-f", "parquet"],
        ["decode", CONGESTED],
        ["graph", CONGESTED],
        ["formats"],
    ],
)
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "int_analyzer", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "the first 50 rows" not in line] == [
        "int-analyzer: standard output: No space left on device"
    ]


def test_an_output_that_is_full_is_one_line_with_its_name(capsys: Captured) -> None:
    for arguments in (["decode", CONGESTED, "-f", "csv"], ["decode", CONGESTED, "-f", "parquet"], ["graph", CONGESTED]):
        code, out, err = run(capsys, *arguments, "-o", "/dev/full")
        assert (code, out, err) == (2, "", "int-analyzer: /dev/full: No space left on device\n")


def test_a_closed_output_is_no_error() -> None:
    script = f"{sys.executable} -m int_analyzer analyze {CONGESTED} --quiet >&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_character_that_the_output_has_not_is_one_line() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "int_analyzer", "analyze", CONGESTED], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "set PYTHONIOENCODING=utf-8" in done.stderr


def test_a_terminal_shows_a_question_mark_for_what_it_has_not() -> None:
    master, slave = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "int_analyzer", "analyze", CONGESTED, "--quiet"]
    done = subprocess.run(command, stdout=slave, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(slave)
    shown = os.read(master, 10_000)
    os.close(master)
    assert done.returncode == 0 and done.stderr == b"" and b"CONGESTED  node 2 port 2 queue 0 ? overload" in shown


def test_bad_input_destroys_no_output_and_leaves_none(capsys: Captured, tmp_path: Path) -> None:
    bad = tmp_path / "in" / "bad.pcap"
    bad.parent.mkdir()
    bad.write_bytes(b"hello, world, this is no capture")
    keep = tmp_path / "keep.csv"
    keep.write_text("mine\n")
    for arguments in (["decode", str(bad)], ["decode", CONGESTED, str(bad)]):
        assert run(capsys, *arguments, "-o", str(keep))[0] == 2
        assert keep.read_text() == "mine\n"
    assert run(capsys, "analyze", CONGESTED, str(bad), "--output", str(tmp_path / "deep" / "out"))[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "keep.csv"]


def test_an_output_is_replaced_with_its_mode_and_through_a_link(capsys: Captured, tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old\n")
    target.chmod(0o640)
    link.symlink_to(target)
    assert run(capsys, "decode", CONGESTED, "-o", str(link))[0] == 0
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640 and target.read_text().startswith("packet,")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be_written_is_one_line(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments in (
        ["decode", CONGESTED, "-f", "csv", "-o", str(tmp_path / "absent/x.csv")],
        ["graph", CONGESTED, "-o", str(tmp_path / "absent/x.svg")],
        ["analyze", CONGESTED, "--output", str(tmp_path / "file")],
    ):
        code, _, err = run(capsys, *arguments)
        assert code == 2 and err.count("\n") == 1
