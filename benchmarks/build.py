"""Compiling the C twin: header from the schema, then gcc, with libpcap where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import columns_header

HERE = Path(__file__).parent
# -O2, because -O3 makes this program 3–15 % slower with gcc 12: the twin is to be as fast as it can be
FLAGS = ["-O2", "-march=native", "-std=gnu11", "-Wall", "-Wextra", "-Werror"]


class Twin(NamedTuple):
    """The compiled program, and whether it can read through libpcap."""

    program: Path
    has_pcap: bool


class TwinError(Exception):
    """The twin cannot be compiled or run here; the message says why."""


def compile_twin(folder: Path) -> Twin:
    """Compile benchmarks/decode.c into `folder`. Raises TwinError if there is no gcc or it fails."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise TwinError("gcc is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "columns.h").write_text(columns_header.header())
    program = folder / "decode"
    command = [gcc, *FLAGS, f"-I{folder}", f"-I{HERE}", "-o", str(program), str(HERE / "decode.c")]
    with_pcap = subprocess.run([*command, "-DWITH_PCAP", "-lpcap"], capture_output=True, text=True, check=False)
    if with_pcap.returncode == 0:
        return Twin(program, True)
    without = subprocess.run(command, capture_output=True, text=True, check=False)
    if without.returncode != 0:
        raise TwinError(f"gcc failed: {without.stderr.strip()}")
    return Twin(program, False)


def run_twin(twin: Twin, *arguments: str) -> dict[str, Any]:
    """Run the twin in one of its modes and read its line of JSON."""
    run = subprocess.run([str(twin.program), *arguments], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise TwinError(f"{' '.join(arguments[:1])}: {run.stderr.strip()}")
    result: dict[str, Any] = json.loads(run.stdout)
    return result
