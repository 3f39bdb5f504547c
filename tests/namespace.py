"""A network of the test's own: a thread in a namespace with a pair of virtual interfaces, of which nothing reaches the outside."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest

_CLONE_NEWNET = 0x40000000

needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2 to make a network namespace"
)


def in_namespace(work: Callable[[], Any]) -> Any:
    """What `work` gives back, called in a thread that has a network of its own, with the interfaces fabric0 and mirror0 joined."""
    result: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "unshare")
            for command in (
                "link add fabric0 type veth peer name mirror0",
                "link set dev fabric0 addrgenmode none",
                "link set dev mirror0 addrgenmode none",
                "link set fabric0 mtu 9000 up",
                "link set mirror0 mtu 9000 up",
                "link set lo up",
            ):
                ip(command)
            result.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def ip(command: str) -> None:
    """Run ip(8) in the namespace of this thread."""
    subprocess.run(["ip", *command.split()], check=True, capture_output=True)


def sender(interface: str = "fabric0") -> socket.socket:
    """A socket that sends frames out of an interface."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.bind((interface, 0))
    return made
