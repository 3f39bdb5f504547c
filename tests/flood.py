"""Frames as fast as the machine can send them, for a bounded number of packets: `python flood.py INTERFACE PACKETS`.

A frame that a process sends costs the kernel more than it costs a sidecar. So a few are sent to a fan, and the kernel copies each of them
onto the mirror.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import time

import numpy as np
from namespace import ip, sender
from traffic import CONGESTED, frames

COPIES = 16
"""Of each frame that is sent to the fan. More make bursts that no ring is made for, and are hardly faster."""
FAN = "fan0"

_BURST = 512
_IDENTIFICATION = slice(80, 82)
"""Of the packets in the reports of CONGESTED. It is sent as 0, as senders do that never fragment (RFC 6864 §4.1): else all that the kernel
makes of a frame would pass for copies of one packet, seen at several mirror points, which cost less to fold than packets do."""
_SOL_PACKET, _QDISC_BYPASS = 263, 20


def make_fan(copies: int = COPIES, onto: str = "fabric0") -> None:
    """An interface of which every frame is copied onto another so many times; in the namespace of this thread."""
    ip(f"link add {FAN} type veth peer name fan1")
    for name in (FAN, "fan1"):
        ip(f"link set {name} addrgenmode none mtu 9000 up")
    mirror = ["action", "mirred", "egress", "mirror", "dev", onto]
    for command in (
        ["qdisc", "add", "dev", "fan1", "clsact"],
        ["filter", "add", "dev", "fan1", "ingress", "protocol", "all", "u32", "match", "u32", "0", "0", *copies * mirror],
    ):
        subprocess.run(["tc", *command], check=True, capture_output=True)


def arrived(interface: str) -> int:
    """Packets that an interface has received; those that its queue had no room for are not among them."""
    told = subprocess.run(["ip", "-s", "-j", "link", "show", interface], check=True, capture_output=True, text=True).stdout
    return int(json.loads(told)[0]["stats64"]["rx"]["packets"])


def flood(interface: str, packets: int, per_second: float = float("inf"), burst: int = _BURST) -> tuple[int, float]:
    """Send the reports of a capture again and again: how many were sent, and in how many seconds."""
    held = [np.frombuffer(bytearray(data), dtype=np.uint8) for _, data in frames(CONGESTED)[:_BURST]]
    for frame in held:
        frame[_IDENTIFICATION] = 0
    vectors = np.array([(data.ctypes.data, len(data)) for data in held], dtype=np.uint64)
    messages = np.zeros((len(held), 8), dtype=np.uint64)
    messages[:, 2] = vectors.ctypes.data + np.arange(len(held), dtype=np.uint64) * 16
    messages[:, 3] = 1
    send = ctypes.CDLL(None, use_errno=True).sendmmsg
    done = 0
    with sender(interface) as out:
        out.setsockopt(_SOL_PACKET, _QDISC_BYPASS, 1)
        began = time.monotonic()
        while done < packets:
            count = send(out.fileno(), ctypes.c_void_p(messages.ctypes.data), min(burst, len(held), packets - done), 0)
            done += max(count, 0)
            left = began + done / per_second - time.monotonic()
            if left > 0:
                time.sleep(left)
    return done, time.monotonic() - began


if __name__ == "__main__":
    sent, seconds = flood(sys.argv[1], int(sys.argv[2]))
    print(f"{sent} packets in {seconds:.2f} s: {sent / seconds:.0f} a second")
