"""Frames as fast as the machine can send them, for a bounded number of packets: `python flood.py INTERFACE PACKETS [CAPTURE]`."""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path

import numpy as np
from namespace import sender
from traffic import CONGESTED, frames

_BURST = 512


def flood(interface: str, packets: int, capture: Path = CONGESTED, per_second: float = float("inf")) -> tuple[int, float]:
    """Send the frames of a capture again and again: how many were sent, and in how many seconds."""
    sent_from = [data for _, data in frames(capture)][:_BURST]
    held = [np.frombuffer(data, dtype=np.uint8) for data in sent_from]
    vectors = np.array([(data.ctypes.data, len(data)) for data in held], dtype=np.uint64)
    messages = np.zeros((len(held), 8), dtype=np.uint64)
    messages[:, 2] = vectors.ctypes.data + np.arange(len(held), dtype=np.uint64) * 16
    messages[:, 3] = 1
    send = ctypes.CDLL(None, use_errno=True).sendmmsg
    done = 0
    with sender(interface) as out:
        began = time.monotonic()
        while done < packets:
            count = send(out.fileno(), ctypes.c_void_p(messages.ctypes.data), min(len(held), packets - done), 0)
            done += max(count, 0)
            left = began + done / per_second - time.monotonic()
            if left > 0:
                time.sleep(left)
    return done, time.monotonic() - began


if __name__ == "__main__":
    sent, seconds = flood(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:4]))
    print(f"{sent} packets in {seconds:.2f} s: {sent / seconds:.0f} a second")
