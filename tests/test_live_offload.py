"""An interface that merges packets is known as one."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

import pytest
from namespace import in_namespace, needs_namespaces

from int_analyzer.live.offload import merging
from int_analyzer.sidecar import assembly
from int_analyzer.sidecar.service import Sidecar

pytestmark = needs_namespaces
_SET_GRO = 0x2C


def switch(on: bool) -> None:
    value = ctypes.create_string_buffer(struct.pack("=II", _SET_GRO, on), 8)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking.fileno(), 0x8946, struct.pack("16sP16x", b"mirror0", ctypes.addressof(value)))


def test_what_merges_packets_is_told_with_how_to_switch_it_off(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> list[list[str]]:
        found = []
        for on in (True, False):
            switch(on)
            found.append(merging("mirror0"))
            sidecar = Sidecar(compiled=False)
            assembly._open_live(sidecar, assembly.Options(interfaces=["mirror0"], ring_mb=4), lambda intake: intake)
            sidecar.workers[0].intake.stop()
        return found

    assert in_namespace(work) == [["gro"], []]
    said = [line for line in capsys.readouterr().err.splitlines() if "ethtool" in line]
    assert said == ["mirror0: TCP segments may come merged, with the telemetry of the first alone: ethtool -K mirror0 gro off"]


def test_an_interface_that_is_not_there_merges_nothing() -> None:
    assert merging("eth17") == []
