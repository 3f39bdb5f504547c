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

from benchmarks.queue_fold import BUCKET_WIDTH_NS, QueueFold
from int_analyzer._jit import compiled, kernel
from int_analyzer.capture import open_source
from int_analyzer.decode import Decoder
from int_analyzer.fold.state import State

SHARES = (0.5, 0.99, 0.999)
_VALUES = ["latency", "depth"]
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
    """Statistics of latency and depth by (node, egress port, queue) over all hops of a capture, the same in all three.

    By queue: p50, p99 and p99.9. By queue and 10 ms: count, sum and maximum. Ours is the fold of queues, measured batch by batch
    right behind the decode, as it is used; the whole fold, with flows and paths, is told beside it.
    """
    decoder = Decoder()
    names = {"node": "node_id", "port": "egress_port", "queue": "queue_id", "latency": "hop_latency_raw", "depth": "queue_depth_raw"}
    pieces: dict[str, list[Any]] = {name: [] for name in ("time", *names)}
    ours, whole = [], []
    groups = 0
    for _ in range(int(repeats) + 1):
        queues, state, spent, spent_whole = QueueFold(), State(), 0, 0
        with open_source(capture) as source:
            for columns in decoder.batches(source):
                started = time.process_time_ns()
                queues.fold(columns)
                folded = time.process_time_ns()
                state.fold(columns)
                spent, spent_whole = spent + folded - started, spent_whole + time.process_time_ns() - folded
                if not ours:
                    rows = columns.rows("hops")
                    pieces["time"].append(columns.packets.time_ns[columns.hops.packet[:rows]])
                    for name, column in names.items():
                        pieces[name].append(getattr(columns.hops, column)[:rows].copy())
        started = time.process_time_ns()
        groups = queues.quantiles(SHARES)
        ours.append(spent + time.process_time_ns() - started)
        whole.append(spent_whole)
    frame = {name: np.concatenate(arrays) for name, arrays in pieces.items()}
    # the first folds compile
    result: dict[str, Any] = {"hops": len(frame["node"]), "groups": groups}
    result |= {"ours": {"cpu_ns": min(ours[1:])}, "whole_fold": {"cpu_ns": min(whole[1:])}}
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
    from polars import col

    table = polars.DataFrame(frame)
    keys = ("node", "port", "queue")
    window = (col("time") // BUCKET_WIDTH_NS).alias("window")
    quantiles = [col(name).quantile(share, "nearest").alias(f"{name}_{share}") for name in _VALUES for share in SHARES]
    sums = [col(name).sum().alias(f"{name}_sum") for name in _VALUES] + [col(name).max().alias(f"{name}_max") for name in _VALUES]

    def run() -> int:
        table.group_by(*keys, window).agg(polars.len().alias("count"), *sums)
        return len(table.group_by(*keys).agg(quantiles))

    return run


def _pandas(frame: dict[str, Any]) -> Callable[[], int]:
    import pandas

    table = pandas.DataFrame(frame)
    keys: Any = ["node", "port", "queue"]

    def run() -> int:
        windows = table.groupby([*keys, table["time"] // BUCKET_WIDTH_NS], sort=False)[_VALUES]
        windows.agg(["sum", "max"])
        windows.size()
        queues: Any = table.groupby(keys, sort=False)[_VALUES]
        return len(queues.quantile(list(SHARES))) // len(SHARES)

    return run


if __name__ == "__main__":
    print(json.dumps({"decode": decode, "threads": threads, "groupby": groupby}[sys.argv[1]](*sys.argv[2:])))
