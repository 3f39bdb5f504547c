"""The kernel cache: never stale, never in the way. Each case is a process of its own, with the JIT on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mode import other_programs, unchecked

from int_analyzer import _jit, installation
from int_analyzer.capture import records
from int_analyzer.cli import main

pytestmark = other_programs

ROOT = Path(__file__).parent.parent
PCAPS = ROOT / "pcaps"
KERNEL = """
import os
import tempfile

from int_analyzer import _jit
from int_analyzer._jit import compiled, kernel

# the sources may be edited while the tests run
_jit._source_hash = lambda: "pinned"

@kernel
def triple(value):
    return value * 3

def refuse(*arguments, **options):
    raise OSError(30, "Read-only file system")

read_only = bool(os.environ.get("READ_ONLY"))
if read_only:
    tempfile.TemporaryFile = refuse
print(compiled(triple)(14))
if read_only:
    print("read from the cache:", sum(compiled(triple).stats.cache_hits.values()))
"""


BEYOND = KERNEL.replace("value * 3", "value[3]").replace(
    "print(compiled(triple)(14))",
    """
import numpy as np
try:
    compiled(triple)(np.zeros(3, dtype=np.int64))
    print("read")
except IndexError:
    print("refused")
""",
)


def run(script: Path, cache: Path | str | None, **variables: str) -> str:
    """What a script prints that runs with this cache folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0", **variables}
    if cache is not None:
        environment["INT_ANALYZER_CACHE"] = str(cache)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "triple.py"
    path.parent.mkdir()
    path.write_text(KERNEL)
    return path


def kept(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.rglob(f"*{ending}"))


def test_kernels_are_kept_in_the_cache_folder_only(script: Path, tmp_path: Path) -> None:
    assert run(script, tmp_path / "cache") == "42\n"
    assert len(kept(tmp_path / "cache", ".nbi")) == len(kept(tmp_path / "cache", ".nbc")) == 1
    assert kept(script.parent, ".nbi") == []


def test_a_cache_that_cannot_be_written_leaves_nothing_beside_the_sources(script: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(script, tmp_path / "file") == "42\n"
    # numba would keep it there, where an edit of a called function goes unnoticed
    assert kept(tmp_path, ".nbi") == kept(tmp_path, ".nbc") == []


def test_kernels_with_checked_indices_are_kept_by_themselves(script: Path, tmp_path: Path) -> None:
    script.write_text(BEYOND)
    # whichever was kept first: the other mode neither loses its checks nor pays for them
    for checked, said in (("0", "read\n"), ("1", "refused\n"), ("0", "read\n")):
        assert run(script, tmp_path / "cache", NUMBA_BOUNDSCHECK=checked) == said
    assert len(kept(tmp_path / "cache", ".nbi")) == 2


def test_a_cache_that_can_only_be_read_is_used(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(script, tmp_path / "cache") == "42\n"
    before = {path: path.stat().st_mtime_ns for path in (*kept(tmp_path / "cache", ".nbi"), *kept(tmp_path / "cache", ".nbc"))}
    monkeypatch.setenv("READ_ONLY", "1")
    assert run(script, tmp_path / "cache") == "42\nread from the cache: 1\n"
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize("ending", [".nbc", ".nbi"])
@pytest.mark.parametrize("damage", ["cut", "empty", "rubbish"])
def test_a_broken_cache_file_is_made_anew(ending: str, damage: str, script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run(script, cache)
    (file,) = kept(cache, ending)
    whole = file.read_bytes()
    file.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "rubbish": bytes(reversed(whole))}[damage])
    assert run(script, cache) == "42\n"
    (again,) = kept(cache, ending)
    assert len(again.read_bytes()) == len(whole)


def test_doctor_sees_a_broken_cache_and_an_incomplete_one(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    run(script, cache)
    monkeypatch.setenv("INT_ANALYZER_CACHE", str(cache))
    monkeypatch.setattr(_jit, "_source_hash", lambda: "pinned")
    assert _jit.cached_kernels() == {"triple": True}
    assert "without decode_batch, fold_packets, fold_reports, fold_mirrors, fold_roce, catch_up" in installation._cache().found
    (file,) = kept(cache, ".nbc")
    file.write_bytes(file.read_bytes()[:-10])
    check = installation._cache()
    assert check.state == installation.LACKING and "triple cannot be loaded" in check.found


def test_warmup_says_that_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INT_ANALYZER_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(_jit, "DISABLED", False)
    assert main(["warmup"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "kernels cannot be kept there" in err


def test_warmup_compiles_all_that_an_analysis_needs_and_doctor_knows_all_of_it(tmp_path: Path) -> None:
    script = tmp_path / "warm.py"
    captures = [str(PCAPS / "bmv2-laofan-int-md-v2.1/s4-coll.pcap"), str(PCAPS / "linux-ioam-spine-to-leaf")]
    script.write_text(f"""
import io, sys
from int_analyzer import _jit, installation
from int_analyzer.capture import open_source, records
from int_analyzer.decode import Decoder
from int_analyzer.fold.state import Capacity, State
from int_analyzer.result import analyze, warm_up

def state():
    return {{kernel.__name__: len(made.signatures) for kernel, made in _jit._entries.items()}}

warm_up()
before = state()
# what kernels call of each other is compiled into them; where they come from the cache, it stays without signature
assert {{name for name, count in before.items() if count}} == set(installation.KERNELS), before
assert all(before[name] == 1 for name in installation.KERNELS), before
sys.stdin = io.TextIOWrapper(open({captures[0]!r}, "rb"))
for captures in ({captures!r}, "-"):
    analyze(captures, compiled=True)
# as in a large fabric: hops are put off, and more buckets than there is room for
large, widened = State(Capacity(bucket_ns=100, bucket_rows=64, at_once=0)), []
for columns in Decoder(compiled=True).batches(open_source({captures[0]!r})):
    large.fold(columns, compiled=True)
    large.settle()
    widened.append(large.queues.buckets.width_ns)
assert widened[-1] > 100, widened
assert state() == before, (before, state())
""")
    (tmp_path / "cold.py").write_text("from int_analyzer.result import warm_up; warm_up()")
    run(tmp_path / "cold.py", None)
    run(script, None)


@unchecked
def test_a_test_that_is_marked_as_unchecked_cannot_ask_for_machine_code() -> None:
    with pytest.raises(pytest.fail.Exception, match="machine code of next_record"):
        _jit.compiled(records.next_record)
