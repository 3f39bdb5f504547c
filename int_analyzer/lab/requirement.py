"""What a lab needs of this machine, and what to do where it is missing."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from int_analyzer.errors import LabError
from int_analyzer.installation import GOOD, kernel_ioam

KERNEL, BMV2 = "kernel", "bmv2"
_SWITCH = "simple_switch_grpc"
_ALL_USERS = "4294967295"
_CLONE_NEWNET = 0x4000_0000


class Requirement(NamedTuple):
    """A thing that a lab needs: its name, whether it is there, and how to get it."""

    name: str
    present: bool
    remedy: str


def requirements(lab: str) -> Iterator[Requirement]:
    """All that a lab needs, one after the other, looked at now."""
    yield Requirement("Linux", sys.platform == "linux", "run it on Linux: other systems have no network namespaces")
    for tool in ("ip", "tc"):
        yield Requirement(tool, shutil.which(tool) is not None, "install iproute2")
    yield Requirement("right to make namespaces", _may_make_namespaces(), "run it as root, or below: unshare --user --map-root-user")
    if lab == KERNEL:
        yield Requirement("root of the machine", _is_root_of_the_machine(), "run it as root: a user namespace may not add IOAM namespaces")
        ioam = kernel_ioam()
        yield Requirement(ioam.name, ioam.state == GOOD, f"{ioam.found}; boot Linux 5.15 or newer with IPv6")
    else:
        found = shutil.which(_SWITCH) is not None
        yield Requirement(_SWITCH, found, "install BMv2 (behavioral-model) with its P4Runtime server and Thrift")


def check(lab: str) -> None:
    """Raise one error that names all that is missing."""
    missing = [f"{one.name}: {one.remedy}" for one in requirements(lab) if not one.present]
    if missing:
        raise LabError(f"lab {lab} cannot run here; missing: {'; '.join(missing)}")


def _is_root_of_the_machine() -> bool:
    """Root, and not of a user namespace: the kernel asks for that where IOAM namespaces are added (GENL_ADMIN_PERM in net/ipv6/ioam6.c)."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", _ALL_USERS]


def _may_make_namespaces() -> bool:
    """Try it in a thread of its own, which takes the namespace with it when it ends."""
    outcome = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        thread = threading.Thread(target=lambda: outcome.append(libc.unshare(_CLONE_NEWNET)))
        thread.start()
        thread.join()
    return outcome == [0]
