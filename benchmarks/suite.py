"""The suite: makes what it needs in build/, measures alternately, and puts ratios, numbers and reasons together."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import build, child, fabric, peers, target, traffic
from benchmarks.build import Twin, TwinError
from benchmarks.child import ROOT, ChildError

BUILD = ROOT / "build"
PEER_PACKETS = {"tcpdump": 300_000, "tshark": 20_000, "dpkt": 20_000, "scapy": 2_000}
SMALL_PACKETS = 2_000
GROUPBY_PACKETS = 1_000_000
SCALE_RATIOS = {
    "scale_steady_time": "steady_cpu_ns_per_packet",
    "scale_whole_time": "cpu_ns_per_packet",
    "scale_state_per_queue": "bytes_per_queue",
    "scale_state_per_flow": "bytes_per_flow",
}
"""Ratios of the large fabric to the small one, and the numbers that they are of."""


class Suite:
    """Ratios by key, numbers that they come from, and why a ratio is missing."""

    def __init__(self, scale: str) -> None:
        self.scale = scale
        # captures of another generator are other captures
        made_by = (Path(fabric.__file__).read_bytes(), Path(traffic.__file__).read_bytes())
        self.version = hashlib.sha256(b"".join(made_by)).hexdigest()[:6]
        self.decode_packets = 500_000 if scale == "quick" else 2_000_000
        self.analyze_packets = {"quick": 1_000_000, "normal": 10_000_000, "full": 20_000_000}[scale]
        self.rounds = 3 if scale == "quick" else 5
        self.ratios: dict[str, float | None] = {entry.key: None for entry in target.TARGETS}
        self.reasons: dict[str, str] = {}
        self.measured: dict[str, Any] = {}

    def capture(self, packets: int, kind: str = "int-dscp", seed: int = 1, size: int = 300) -> Path:
        """A capture in build/, made if it is not there yet."""
        path = BUILD / f"{kind}-{size}-{packets}-{seed}-{self.version}.pcap"
        if not path.exists():
            print(f"making {path.name}", file=sys.stderr, flush=True)
            partial = path.with_suffix(".partial")
            traffic.write(partial, packets, seed, kind, size)
            partial.rename(path)
        return path

    def _ratio(self, key: str, above: float, below: float) -> None:
        self.ratios[key] = round(above / below, 3)

    # ------------------------------------------------------------------------------------------------------------ decode

    def decode(self) -> None:
        """Ours, C, C through libpcap and reading every byte, in turns; other captures beside the main one."""
        try:
            twin: Twin | None = build.compile_twin(BUILD)
        except TwinError as error:
            twin = None
            self._missing(["decode_over_c", "decode_over_libpcap_c", "decode_over_bytesum"], str(error))
        if twin is not None and not twin.has_pcap:
            self._missing(["decode_over_libpcap_c"], "libpcap cannot be compiled against")
        for name, kind, size in (("main", "int-dscp", 300), ("int-port", "int-port", 300), ("roce", "roce", 300)):
            self._decode_capture(name, self.capture(self.decode_packets, kind, size=size), twin)
        self._decode_capture("ioam", self.capture(self.decode_packets, "ioam"), twin)
        self._decode_capture("large", self.capture(self.decode_packets // 4, size=1212), twin)
        main = self.measured["main"]
        for key, name in (("decode_over_c", "c"), ("decode_over_libpcap_c", "libpcap_c"), ("decode_over_bytesum", "bytesum")):
            if name in main:
                self._ratio(key, main["decode"]["cpu_ns_per_packet"], main[name]["cpu_ns_per_packet"])

    def _decode_capture(self, name: str, capture: Path, twin: Twin | None) -> None:
        modes = {"c": "decode", "libpcap_c": "pcap", "bytesum": "bytesum"} if twin is not None else {}
        if twin is not None and not twin.has_pcap:
            del modes["libpcap_c"]
        best: dict[str, list[dict[str, int]]] = {"decode": [], **{key: [] for key in modes}}
        for _ in range(self.rounds if name == "main" else 2):
            best["decode"].append(child.module("measure", "decode", str(capture), "3"))
            for key, mode in modes.items():
                assert twin is not None
                best[key].append(build.run_twin(twin, mode, str(capture), "3"))
        packets = best["decode"][0]["packets"]
        self.measured[name] = {
            key: {f"{clock}_per_packet": round(min(run[clock] for run in runs) / packets, 1) for clock in ("cpu_ns", "wall_ns")}
            for key, runs in best.items()
        } | {"packets": packets, "hops": best["decode"][0]["hops"], "bytes": capture.stat().st_size}
        if twin is not None:
            ours, theirs = (self.measured[name][key]["cpu_ns_per_packet"] for key in ("decode", "c"))
            self.measured[name]["decode_over_c"] = round(ours / theirs, 3)

    def peers(self) -> None:
        """tcpdump, tshark, dpkt and scapy on as many packets as they read in a second or so."""
        ours = self._decode_ns()
        for name, packets in PEER_PACKETS.items():
            result = peers.measure(name, self.capture(packets))
            if "missing" in result:
                self._missing([f"{name}_over_decode"], result["missing"])
                continue
            per_packet = result["cpu_ns"] / packets
            self.measured[name] = {"cpu_ns_per_packet": round(per_packet, 1), "packets": packets}
            self._ratio(f"{name}_over_decode", per_packet, ours)

    def _decode_ns(self) -> float:
        """CPU time of our decode per packet on the main capture."""
        if "main" not in self.measured:
            best = child.module("measure", "decode", str(self.capture(self.decode_packets)), "5")
            return float(best["cpu_ns"] / best["packets"])
        return float(self.measured["main"]["decode"]["cpu_ns_per_packet"])

    # ----------------------------------------------------------------------------------------------------- whole processes

    def analyze(self) -> None:
        """The command on a large capture: CPU time against decoding alone, private memory against a tenth of it."""
        large, small = self.capture(self.analyze_packets), self.capture(self.analyze_packets // 10)
        command = [sys.executable, "-m", "int_analyzer", "analyze", "--json", "--quiet"]
        child.cost_of([*command, str(small)])
        alone = child.module("measure", "decode", str(large), "2")
        whole = min(child.cost_of([*command, str(large)], sample_memory=True) for _ in range(2))
        tenth = child.cost_of([*command, str(small)], sample_memory=True)
        self.measured["analyze"] = {
            "packets": self.analyze_packets,
            "cpu_ns_per_packet": round(whole.cpu_ns / self.analyze_packets, 1),
            "wall_ns_per_packet": round(whole.wall_ns / self.analyze_packets, 1),
            "decode_cpu_ns_per_packet": round(alone["cpu_ns"] / self.analyze_packets, 1),
            "private_mb": round(whole.private_bytes / 1e6, 1),
            "private_mb_of_a_tenth": round(tenth.private_bytes / 1e6, 1),
        }
        if self.scale == "quick":
            self._missing(["analyze_over_decode", "private_memory_growth"], "start-up outweighs so short a capture")
            return
        self._ratio("analyze_over_decode", whole.cpu_ns, alone["cpu_ns"])
        if tenth.private_bytes == 0:
            self._missing(["private_memory_growth"], "the system does not tell private memory (/proc/…/smaps_rollup)")
            return
        self._ratio("private_memory_growth", whole.private_bytes, tenth.private_bytes)
        if whole.private_bytes > target.MEMORY_BOUND_MB * 1e6:
            self.reasons["private_memory_growth"] = f"more than {target.MEMORY_BOUND_MB} MB"

    def start_up(self) -> None:
        """--help and a small capture against what Python and numba need by themselves."""
        python = sys.executable
        small = self.capture(SMALL_PACKETS)
        commands = {
            "python": [python, "-c", "pass"],
            "help": [python, "-m", "int_analyzer", "--help"],
            "import_numba": [python, "-c", "import numba"],
            "warm_small": [python, "-m", "int_analyzer", "analyze", str(small), "--json", "--quiet"],
        }
        best = dict.fromkeys(commands, 1 << 62)
        for _ in range(2 * self.rounds):
            for name, command in commands.items():
                best[name] = min(best[name], child.cost_of(command).cpu_ns)
        self.measured["start_up"] = {f"{name}_cpu_ms": round(cost / 1e6, 1) for name, cost in best.items()}
        self._ratio("help_over_python", best["help"], best["python"])
        self._ratio("warm_small_over_import_numba", best["warm_small"], best["import_numba"])

    # ------------------------------------------------------------------------------------------------ threads and group-by

    def threads(self) -> None:
        """Two captures on two threads."""
        if (os.cpu_count() or 1) < 2:
            self._missing(["two_thread_scaling"], "a single core")
            return
        pair = [str(self.capture(self.decode_packets // 2, seed=seed)) for seed in (1, 2)]
        result = child.module("measure", "threads", *pair, str(8 * self.rounds))
        self.measured["threads"] = {key: round(value, 3) for key, value in result.items()}
        self.ratios["two_thread_scaling"] = round(result["ratio"], 3)

    def groupby(self) -> None:
        """Statistics by queue in polars and pandas against our fold of queues, over the same hops."""
        packets = min(GROUPBY_PACKETS, self.decode_packets)
        result = child.module("measure", "groupby", str(self.capture(packets)), str(self.rounds))
        hops = result["hops"]
        self.measured["groupby"] = {"hops": hops, "groups": result["groups"]}
        for name in ("ours", "whole_fold", "polars", "pandas"):
            if "missing" in result[name]:
                self._missing([f"{name}_groupby_over_ours"], result[name]["missing"])
                continue
            self.measured["groupby"][name] = {f"{clock}_per_hop": round(spent / hops, 1) for clock, spent in result[name].items()}
            if name in ("polars", "pandas"):
                self._ratio(f"{name}_groupby_over_ours", result[name]["cpu_ns"], result["ours"]["cpu_ns"])

    def scale_up(self) -> None:
        """A fabric of 128 leaves, 64 spines, 4096 hosts and 100 000 flows against one of 4, 2, 16 and 400."""
        result = child.module("scale", str(200 if self.scale == "quick" else 1000))
        self.measured["scale"] = result
        for key, name in SCALE_RATIOS.items():
            self._ratio(key, result["large"][name], result["small"][name])

    # ------------------------------------------------------------------------------------------------------------- results

    def _missing(self, keys: list[str], reason: str) -> None:
        for key in keys:
            self.reasons[key] = reason

    def result(self) -> dict[str, Any]:
        """What bench.json holds."""
        return {"ratios": self.ratios, "reasons": self.reasons, "measured": self.measured, "machine": machine()}


PARTS: dict[str, tuple[Callable[[Suite], None], tuple[str, ...]]] = {
    "decode": (Suite.decode, ("decode_over_c", "decode_over_libpcap_c", "decode_over_bytesum")),
    "peers": (Suite.peers, tuple(f"{name}_over_decode" for name in PEER_PACKETS)),
    "start-up": (Suite.start_up, ("help_over_python", "warm_small_over_import_numba")),
    "threads": (Suite.threads, ("two_thread_scaling",)),
    "groupby": (Suite.groupby, ("polars_groupby_over_ours", "pandas_groupby_over_ours")),
    "scale": (Suite.scale_up, tuple(SCALE_RATIOS)),
    "analyze": (Suite.analyze, ("analyze_over_decode", "private_memory_growth")),
}


def machine() -> dict[str, Any]:
    """Cores and versions: what the numbers depend on."""
    versions = {name: metadata.version(name) for name in ("numba", "numpy")}
    try:
        gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        gcc = "none"
    model = "unknown"
    if Path("/proc/cpuinfo").exists():
        names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version(), "gcc": gcc, **versions}


def main(arguments: list[str]) -> int:
    """Command line: 1 if a ratio is worse than its bound."""
    parser = argparse.ArgumentParser(prog="run.py", description="Ratios against C and other tools; targets in benchmarks/target.py.")
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", action="store_const", dest="scale", const="quick", help="smaller captures, about two minutes")
    scale.add_argument("--full", action="store_const", dest="scale", const="full", help="20 M packets for the whole analysis")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts only")
    keys = [entry.key for entry in target.TARGETS]
    parser.add_argument("--gate", nargs="+", choices=keys, metavar="RATIO", default=keys, help="fail for the bounds of these only")
    chosen = parser.parse_args(arguments)
    BUILD.mkdir(exist_ok=True)
    suite = Suite(chosen.scale or "normal")
    for name in chosen.only or PARTS:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        part, keys = PARTS[name]
        try:
            part(suite)
        except (ChildError, TwinError) as error:
            # one part that fails is a result of its own, the others are still wanted
            suite._missing([key for key in keys if suite.ratios[key] is None], f"failed: {error}")
    for key in {key for name, (_, keys) in PARTS.items() if chosen.only and name not in chosen.only for key in keys}:
        suite.reasons[key] = "not asked for"
    result = suite.result()
    (BUILD / "bench.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    print(target.table(suite.ratios, suite.reasons))
    violated = [entry.key for entry in target.TARGETS if target.verdict(entry, suite.ratios[entry.key]) == "WORSE THAN BOUND"]
    return int(any(key in chosen.gate for key in violated))
