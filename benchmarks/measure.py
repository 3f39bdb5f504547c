"""Our own speed, inside one process and after compilation.

    python -m benchmarks.measure decode FILE REPEATS       best CPU and wall time of decoding the whole file
    python -m benchmarks.measure threads FILE FILE N       two captures one after the other against both at once
    python -m benchmarks.measure groupby FILE REPEATS      statistics by queue: our fold, polars, pandas
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from int_analyzer._jit import compiled, kernel
from int_analyzer.capture import open_source
from int_analyzer.decode import Decoder
from int_analyzer.fold.state import State

SHARES = (0.5, 0.99, 0.999)
_SPINS = 15_000_000


def _best(function: Callable[[], Any], repeats: int) -> dict[str, int]:
    cpu, wall = [], []
    for _ in range(repeats):
        started, started_wall = time.process_time_ns(), time.perf_counter_ns()
        function()
        cpu.append(time.process_time_ns() - started)
        wall.append(time.perf_counter_ns() - started_wall)
    return {"cpu_ns": min(cpu), "wall_ns": min(wall)}


def _decode(decoder: Decoder, capture: Path) -> dict[str, int]:
    packets = hops = 0
    with open_source(capture) as source:
        for columns in decoder.batches(source):
            packets += columns.rows("packets")
            hops += columns.rows("hops")
    return {"packets": packets, "hops": hops}


def decode(capture: str, repeats: str) -> dict[str, int]:
    """Decode alone: every batch is dropped."""
    decoder = Decoder()
    _compile(decoder)
    counts: dict[str, int] = {}
    return _best(lambda: counts.update(_decode(decoder, Path(capture))), int(repeats)) | counts


def _compile(decoder: Decoder) -> None:
    """Have the kernel compiled, or loaded from the cache, before anything is measured."""
    import io

    header = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000")
    for _ in decoder.batches(open_source(io.BytesIO(header + bytes(8) + bytes.fromhex("10000000 10000000") + bytes(16)))):
        pass


@kernel
def _spin(turns: int) -> int:
    value = turns
    for _ in range(turns):
        value ^= (value << 13) & 0x7FFFFFFFFFFFFFFF
        value ^= value >> 7
    return value


def threads(first: str, second: str, repeats: str) -> dict[str, float]:
    """How much faster two threads are than one: at decoding, and at spinning without memory."""
    decoders = [Decoder(), Decoder()]
    _compile(decoders[0])
    spin = compiled(_spin)
    spin(1)
    decoding: list[Callable[[], Any]] = [lambda: _decode(decoders[0], Path(first)), lambda: _decode(decoders[1], Path(second))]
    # about as long as decoding, so that both meet the same moments of a busy machine
    spinning: list[Callable[[], Any]] = [lambda: spin(_SPINS), lambda: spin(_SPINS)]
    best = {"decode_one_ns": 1e18, "decode_two_ns": 1e18, "spin_one_ns": 1e18, "spin_two_ns": 1e18}
    for _ in range(int(repeats)):
        for name, work in (("decode", decoding), ("spin", spinning)):
            started = time.perf_counter_ns()
            for function in work:
                function()
            best[f"{name}_one_ns"] = min(best[f"{name}_one_ns"], time.perf_counter_ns() - started)
            running = [threading.Thread(target=function) for function in work]
            started = time.perf_counter_ns()
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
            best[f"{name}_two_ns"] = min(best[f"{name}_two_ns"], time.perf_counter_ns() - started)
    decode_gain, spin_gain = best["decode_one_ns"] / best["decode_two_ns"], best["spin_one_ns"] / best["spin_two_ns"]
    return best | {"decode_speed_up": decode_gain, "spin_speed_up": spin_gain, "ratio": decode_gain / spin_gain}


def groupby(capture: str, repeats: str) -> dict[str, Any]:
    """Count, p50, p99, p99.9 and maximum of latency and depth by (node, egress port, queue), over all hops of a capture.

    Ours is the whole fold with its view: flows, paths, time buckets and pairs come with it, a group-by has none of them. It is
    measured batch by batch, right behind the decode, as it is used.
    """
    decoder = Decoder()
    names = {"node": "node_id", "port": "egress_port", "queue": "queue_id", "latency": "hop_latency_raw", "depth": "queue_depth_raw"}
    pieces: dict[str, list[Any]] = {name: [] for name in names}
    ours = []
    groups = 0
    for _ in range(int(repeats) + 1):
        state, spent = State(), 0
        with open_source(capture) as source:
            for columns in decoder.batches(source):
                started = time.process_time_ns()
                state.fold(columns)
                spent += time.process_time_ns() - started
                if not ours:
                    for name, column in names.items():
                        pieces[name].append(getattr(columns.hops, column)[: columns.rows("hops")].copy())
        started = time.process_time_ns()
        queues = state.view().queues
        queues.latency_histograms.quantiles(SHARES)
        queues.depth_histograms.quantiles(SHARES)
        ours.append(spent + time.process_time_ns() - started)
        groups = len(queues.node_id)
    frame = {name: np.concatenate(arrays) for name, arrays in pieces.items()}
    # the first fold compiles
    result: dict[str, Any] = {"hops": len(frame["node"]), "groups": groups, "ours": {"cpu_ns": min(ours[1:])}}
    for name, prepare in (("polars", _polars), ("pandas", _pandas)):
        try:
            run = prepare(frame)
        except ImportError:
            result[name] = {"missing": f"{name} is not installed"}
            continue
        if run() != groups:
            raise AssertionError(f"{name} finds another number of groups")
        result[name] = _best(run, int(repeats))
    return result


def _polars(frame: dict[str, Any]) -> Callable[[], int]:
    import polars

    table = polars.DataFrame(frame)
    wanted = [polars.len().alias("count")]
    for name in ("latency", "depth"):
        wanted += [polars.col(name).quantile(share, "nearest").alias(f"{name}_{share}") for share in SHARES]
        wanted.append(polars.col(name).max().alias(f"{name}_max"))
    return lambda: len(table.group_by("node", "port", "queue").agg(wanted))


def _pandas(frame: dict[str, Any]) -> Callable[[], int]:
    import pandas

    table = pandas.DataFrame(frame)

    def run() -> int:
        groups = table.groupby(["node", "port", "queue"], sort=False)[["latency", "depth"]]
        groups.quantile(list(SHARES))
        groups.max()
        return len(groups.size())

    return run


if __name__ == "__main__":
    print(json.dumps({"decode": decode, "threads": threads, "groupby": groupby}[sys.argv[1]](*sys.argv[2:])))
