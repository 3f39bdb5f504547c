"""A mode of the tests cannot be green for having left everything out, and a mark is not taken on trust."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mode import Asked, called_kernels, files_alone, other_programs, unchecked

from int_analyzer import _jit
from int_analyzer.capture import records

ROOT = Path(__file__).parent.parent


def checked(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a run with checked indices."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@other_programs
@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_checked_run_in_which_everything_is_skipped_fails(workers: tuple[str, ...]) -> None:
    # no file is named: this is all the tests there are
    code, text = checked("-o", "testpaths=tests/test_excerpt.py", *workers)
    assert code == 1, text
    assert "no test asked for" in text and "decode_batch" in text and "join_all" in text


@other_programs
def test_a_checked_run_of_a_file_that_is_named_is_what_was_asked_for() -> None:
    assert checked("tests/test_excerpt.py")[0] == 0


@unchecked
def test_what_tests_ask_for_is_known_and_all_that_the_package_calls_is_asked_for() -> None:
    asked = Asked()
    assert records.next_record not in asked and asked.names == {"next_record"}
    assert {"decode_batch", "fold_reports", "next_record", "encode_batch", "advance"} <= called_kernels()
    assert "distance" not in called_kernels()


@files_alone
def test_a_test_that_is_marked_as_one_of_files_alone_cannot_ask_for_machine_code() -> None:
    with pytest.raises(pytest.fail.Exception, match="machine code of next_record"):
        _jit.compiled(records.next_record)


@files_alone
def test_what_the_plain_mode_leaves_out_is_missing_in_its_coverage_which_has_a_gate() -> None:
    (recipe,) = (line for line in (ROOT / "Makefile").read_text().splitlines() if "NUMBA_DISABLE_JIT=1 $(PYTEST)" in line)
    assert "--cov" in recipe.split()
    coverage = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]
    assert coverage["report"]["fail_under"] >= 94 and coverage["run"]["source"] == ["int_analyzer"]
