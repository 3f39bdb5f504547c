"""Whether an interface merges packets before anybody sees them: <linux/ethtool.h>, Documentation/networking/segmentation-offloads.rst."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

_SIOCETHTOOL = 0x8946
_GET_FLAGS, _GET_GRO = 0x25, 0x2B
_FLAG_LRO = 1 << 15
_VALUE = struct.Struct("=II")
_REQUEST = struct.Struct("16sP16x")


def merging(interface: str) -> list[str]:
    """Of gro and lro those that are on: TCP segments of a flow come as one packet then, with the telemetry of the first. Needs no right."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        found = []
        if _asked(asking, interface, _GET_GRO):
            found.append("gro")
        if _asked(asking, interface, _GET_FLAGS) & _FLAG_LRO:
            found.append("lro")
    return found


def _asked(asking: socket.socket, interface: str, command: int) -> int:
    """What an interface answers; 0 if it does not know the question."""
    value = ctypes.create_string_buffer(_VALUE.pack(command, 0), _VALUE.size)
    try:
        fcntl.ioctl(asking.fileno(), _SIOCETHTOOL, _REQUEST.pack(os.fsencode(interface), ctypes.addressof(value)))
    except OSError:
        return 0
    return int(_VALUE.unpack(value.raw)[1])
