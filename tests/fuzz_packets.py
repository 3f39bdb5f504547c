"""Coverage-guided fuzzing of the plain kernel against the twin: python tests/fuzz_packets.py CORPUS [libFuzzer options]."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

with atheris.instrument_imports(include=["int_analyzer.packet", "int_analyzer.formats", "int_analyzer.wire", "naive"]):
    import kernel
    import naive
    from test_decode import DIALECTS, PROFILES, normal

CHOICES = {**PROFILES, **DIALECTS}
NAMES = sorted(CHOICES)


def one(data: bytes) -> None:
    """The first byte chooses the profile, the rest is an Ethernet frame."""
    if not data:
        return
    profile = CHOICES[NAMES[data[0] % len(NAMES)]]
    packet = bytes(data[1:])
    ours = kernel.decode([(packet, len(packet), 0)], 1, profile, compiled=False)
    expected = naive.decode_record(packet, 1, profile=profile)
    if [normal(row) for row in ours] != [normal(row) for row in expected]:
        raise AssertionError(packet.hex())


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
