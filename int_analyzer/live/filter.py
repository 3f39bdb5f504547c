"""A filter expression as the program that the kernel runs on every packet; tcpdump knows the language and compiles it."""

from __future__ import annotations

import shutil
import struct
import subprocess

from int_analyzer.errors import SourceError


def compile_filter(expression: str) -> bytes:
    """The program (struct sock_filter each) of a pcap-filter(7) expression, for Ethernet."""
    tcpdump = shutil.which("tcpdump")
    if tcpdump is None:
        raise SourceError(expression, "tcpdump compiles filters, and is not installed")
    done = subprocess.run([tcpdump, "-y", "EN10MB", "-ddd", expression], capture_output=True, text=True, timeout=10, check=False)
    lines = done.stdout.split("\n")
    if done.returncode or not lines[0].isdigit():
        raise SourceError(expression, done.stderr.strip().splitlines()[-1].removeprefix("tcpdump: ") if done.stderr else "no filter")
    return b"".join(struct.pack("=HBBI", *map(int, line.split())) for line in lines[1 : 1 + int(lines[0])])
