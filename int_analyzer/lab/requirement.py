"""What a lab needs of this machine, and what to do where it is missing."""

from __future__ import annotations

import ctypes
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from int_analyzer.errors import LabError

KERNEL, BMV2 = "kernel", "bmv2"
_IOAM_KEY = Path("/proc/sys/net/ipv6/conf/all/ioam6_enabled")
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
        yield Requirement("IOAM in the kernel", _IOAM_KEY.exists(), "boot Linux 5.15 or newer with IPv6: this one has no ioam6 settings")
    else:
        yield Requirement(
            "simple_switch_grpc",
            shutil.which("simple_switch_grpc") is not None,
            "install BMv2 (behavioral-model) with its P4Runtime server",
        )


def check(lab: str) -> None:
    """Raise one error that names all that is missing."""
    missing = [f"{one.name}: {one.remedy}" for one in requirements(lab) if not one.present]
    if missing:
        raise LabError(f"lab {lab} cannot run here; missing: {'; '.join(missing)}")


def _may_make_namespaces() -> bool:
    """Try it in a thread of its own, which takes the namespace with it when it ends."""
    import threading

    outcome = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        thread = threading.Thread(target=lambda: outcome.append(libc.unshare(_CLONE_NEWNET)))
        thread.start()
        thread.join()
    return outcome == [0]
