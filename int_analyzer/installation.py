"""What is installed here, what would not work and why: the checks behind `int-analyzer doctor`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from int_analyzer import _jit
from int_analyzer.live.privilege import raise_capture

GOOD, LACKING, BROKEN = "ok", "lacking", "broken"

# distribution, module, what does not work without it; these are imported, since a broken build shows only then
_CORE = (
    ("numpy", "numpy", "nothing works"),
    ("numba", "numba", "large captures cannot be read at speed"),
    ("pandas", "pandas", "no frames in Python"),
    ("pyarrow", "pyarrow", "no decode, no Parquet"),
    ("networkx", "networkx", "no path graph"),
    ("typer", "typer", "no command line"),
    ("rich", "rich", "no terminal report"),
    ("zstandard", "zstandard", "no .zst captures"),
)
# These are only looked for: importing them takes a second, and analysis does without.
_EXTRA = (
    ("scapy", "scapy", "no packet generator, fewer tests"),
    ("pyshark", "pyshark", "no cross-check against tshark"),
    ("p4runtime-shell", "p4runtime_sh", "no lab of BMv2 switches"),
    ("PyYAML", "yaml", "no lab: it reads topologies"),
    ("prometheus-client", "prometheus_client", "no sidecar --listen, no --otlp: extra sidecar"),
    ("starlette", "starlette", "no sidecar --listen: extra sidecar"),
    ("uvicorn", "uvicorn", "no sidecar --listen: extra sidecar"),
)
_TOOLS = (
    ("tshark", "cross-checks against Wireshark are skipped"),
    ("tcpdump", "captures must come from elsewhere; one benchmark is skipped"),
    ("gcc", "no comparison with C in make bench"),
    ("ip", "no lab: install iproute2"),
    ("tc", "no lab of Linux nodes: install iproute2"),
    ("simple_switch_grpc", "no lab of BMv2 switches: install BMv2 (behavioral-model) with its P4Runtime server and Thrift"),
    ("p4c-bm2-ss", "programs of p4/ cannot be compiled anew; those that come along are compiled"),
    ("dot", "int-analyzer graph --format dot cannot be drawn here; --format svg needs nothing"),
)
_IOAM_SETTING = Path("/proc/sys/net/ipv6/conf/all/ioam6_enabled")

KERNELS = (
    *("decode_batch", "fold_packets", "fold_reports", "fold_mirrors", "fold_roce"),
    *("catch_up", "unite", "join_all", "close_unanswered", "_fill_index"),
)
"""What warmup compiles and keeps: all that an analysis needs."""


class Check(NamedTuple):
    """One thing looked at: its name, how it stands (GOOD, LACKING: less works, BROKEN: the main job fails), what was found, and
    what that means."""

    name: str
    state: str
    found: str
    consequence: str = ""


def checks() -> Iterator[Check]:
    """Look at everything, one check after the other."""
    yield _python()
    for distribution, module, consequence in _CORE:
        yield _package(distribution, module, consequence)
    for distribution, module, consequence in _EXTRA:
        present = importlib.util.find_spec(module) is not None
        yield Check(distribution, GOOD, _version(distribution)) if present else Check(distribution, LACKING, "not installed", consequence)
    yield _jit_check()
    yield _cache()
    for tool, consequence in _TOOLS:
        path = shutil.which(tool)
        yield Check(tool, GOOD, path) if path else Check(tool, LACKING, "not found", consequence)
    yield _capture_permission()
    yield kernel_ioam()


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {len(_cores())} cores"
    return Check("python", GOOD, found)


def _cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "version unknown"


def _package(distribution: str, module: str, consequence: str) -> Check:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return Check(distribution, BROKEN, f"does not import: {error}", consequence)
    return Check(distribution, GOOD, _version(distribution))


def _jit_check() -> Check:
    if _jit.DISABLED:
        return Check("JIT", LACKING, "NUMBA_DISABLE_JIT is set", "large captures are read some hundred times slower")
    if _jit.BOUNDSCHECK:
        return Check("JIT", LACKING, "NUMBA_BOUNDSCHECK is set", "large captures are read several times slower")
    return Check("JIT", GOOD, "on")


def _cache() -> Check:
    folder = _jit.cache_folder()
    fault = _jit.cache_fault(folder)
    kept = _jit.cached_kernels()
    if fault and not kept:
        return Check(
            "kernel cache",
            LACKING,
            f"{folder}: {fault}",
            "nothing is kept and every long capture compiles anew, for about a minute; INT_ANALYZER_CACHE can name another folder",
        )
    if not kept:
        return Check("kernel cache", GOOD, f"{folder}, empty: the first long capture compiles for about a minute (or run warmup)")
    broken = sorted(name for name, loadable in kept.items() if not loadable)
    if broken:
        found = f"{folder}: {', '.join(broken)} cannot be loaded"
        return Check("kernel cache", LACKING, found, "compiled anew by the next long capture (or run warmup)")
    missing = [name for name in KERNELS if name not in kept]
    if missing:
        return Check("kernel cache", GOOD, f"{folder}, without {', '.join(missing)}: compiled when needed (or run warmup)")
    return Check("kernel cache", GOOD, f"{folder}, filled{' (and only read)' if fault else ''}")


def _capture_permission() -> Check:
    family = getattr(socket, "AF_PACKET", None)
    if family is None:
        return Check("live capture", LACKING, f"no packet sockets on {platform.system()}", "captures must be files or come by pipe")
    try:
        raise_capture()
        socket.socket(family, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return Check("live capture", LACKING, error.strerror or str(error), "needs root or CAP_NET_RAW; captures from files and pipes work")
    return Check("live capture", GOOD, "permitted")


def kernel_ioam() -> Check:
    """Whether this kernel can be a node that fills IOAM traces (net/ipv6/ioam6.c). That it can write empty ones is not needed."""
    if _IOAM_SETTING.exists():
        return Check("kernel IOAM", GOOD, "present")
    return Check("kernel IOAM", LACKING, f"no {_IOAM_SETTING}", "no lab of Linux nodes: needs Linux 5.15 or newer with IPv6")


def home_relative(text: str) -> str:
    """The text with the home folder written as ~: shorter, and fit to be pasted into a bug report."""
    return text.replace(str(Path.home()) + os.sep, "~" + os.sep)
