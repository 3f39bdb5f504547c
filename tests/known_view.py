"""What a view says in the form of the slow twin (fold_reference.py): dictionaries by name, so that the order of rows does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from int_analyzer.fold.histogram import Histograms, lowest
from int_analyzer.fold.view import View


def known(view: View) -> dict[str, Any]:
    """What a view says, by name instead of by row."""
    queues, buckets, paths, flows, pairs = view.queues, view.buckets, view.paths, view.flows, view.pairs
    names = _rows(queues.node_id, queues.port, queues.queue_id)
    routes = [
        tuple((*names[queue], port) for queue, port in zip(row, ports, strict=True))
        for row, ports in zip(paths.queues, paths.ingress_ports, strict=True)
    ]
    of = [
        (src, dst, *rest)
        for src, dst, rest in zip(flows.src, flows.dst, _rows(flows.protocol, flows.src_port, flows.dst_port, flows.dest_qp), strict=True)
    ]
    measured = ("latency_count", "latency_sum", "latency_max", "depth_count", "depth_sum", "depth_max")
    queue_values = (
        *("packets", "bytes", *measured, "latency_from_times", "latency_contradicted", "all_zero", "truncated"),
        *("utilisation_max", "first_ns", "last_ns"),
    )
    path_values = ("packets", "bytes", "holes", "carried", "ce_packets", "icrc_right", "icrc_wrong", "first_ns", "last_ns")
    flow_values = ("packets", "bytes", "ce_packets", "cnp_packets", "telemetry_packets", "first_ns", "last_ns")
    return {
        "queues": {
            name: (*values, _places(queues.latency_histograms, row), _places(queues.depth_histograms, row))
            for row, (name, values) in enumerate(zip(names, _named(queues, queue_values), strict=True))
        },
        "buckets": {
            (names[queue], start): values
            for (queue, start), values in zip(
                _rows(buckets.queue, buckets.start_ns), _named(buckets, ("packets", "bytes", *measured, "depth_max_ns")), strict=True
            )
        },
        "paths": dict(zip(routes, _named(paths, path_values), strict=True)),
        "flows": dict(zip(of, _named(flows, flow_values), strict=True)),
        "moves": {
            key: (routes[path], changes, at, routes[before] if before >= 0 else None)
            for key, (path, changes, at, before) in zip(
                of, _rows(flows.path, flows.path_changes, flows.path_change_ns, flows.path_before), strict=True
            )
            if path >= 0
        },
        "pairs": {
            (names[queue], of[flow], last // buckets.width_ns): values
            for (queue, flow, last), values in zip(
                _rows(pairs.queue, pairs.flow, pairs.last_ns),
                _named(pairs, ("packets", "bytes", "latency_excess_sum", "depth_sum", "first_ns", "last_ns")),
                strict=True,
            )
        },
    }


def _rows(*columns: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _named(table: Any, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return _rows(*(getattr(table, name) for name in names))


def _places(histograms: Histograms, row: int) -> Counter[int]:
    found: Counter[int] = Counter()
    for block in np.nonzero(histograms.blocks[row])[0].tolist():
        counters = histograms.pool[histograms.blocks[row, block]]
        for sub in np.nonzero(counters)[0].tolist():
            found[int(lowest(np.array(64 * block + sub)))] += int(counters[sub])
    return found
