"""Raw device values → ns and bytes where the unit is known; where it is not, from when a raw value is much, said in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.wording import plain
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile, Thresholds, Units

Array = Any
"""A one-dimensional numpy array, one element per queue."""

RAW = "raw"
"""The unit of a value whose unit nobody said."""

DEPTH_FLOOR_BYTES = 9000.0
"""Below about two full-size RDMA packets nobody waits for long at data-centre speeds."""
QUEUEING_FLOOR_NS = 10_000.0
"""Where the speed of a link is known: a queue that is sent in less is everyday life, and less than switches mark with ECN."""
DEPTH_FLOOR_PACKETS = 8.0
DEPTH_FLOOR_CELLS = 100.0
"""About 9000 bytes of cells of 80 to 96 bytes."""
LATENCY_FLOOR_NS = 5000.0
LATENCY_FLOOR_RAW = 10.0

SHORTEST_FRAME = 60
"""No queue that holds a packet holds fewer bytes than this: smaller values count packets or cells."""
COUNTED_LIMIT = 1000
"""Packet counts stay below this in the switches that report them; larger ones are cells."""


@dataclass(frozen=True)
class QueueUnits:
    """Per queue: unit shown, factor raw → shown, absolute threshold in raw units, whether it rests on a guess.

    `depth_ambiguous`: the values may be bytes as well as packets, so depth alone says little.
    `depth_given`: the profile gives the threshold of depth.
    """

    depth_unit: list[str]
    depth_factor: Array
    depth_floor: Array
    depth_assumed: Array
    depth_ambiguous: Array
    depth_given: bool
    latency_unit: list[str]
    latency_factor: Array
    latency_floor: Array
    assumptions: list[str]


@dataclass(frozen=True)
class _Depth:
    unit: str
    factor: float
    floor: float
    assumed: bool
    ambiguous: bool = False


def queue_units(view: View, profile: Profile) -> QueueUnits:
    """Units and absolute thresholds of every queue, from the profile, else from what the values look like."""
    assumptions: list[str] = []
    node_ids = view.queues.node_id.tolist()
    unknown = {node for node in node_ids if profile.units_of(node).queue_depth == "unknown"}
    guess = _guess_depth(view, profile, sorted(unknown), assumptions)
    depth = {node: guess if node in unknown else _known_depth(profile.units_of(node), profile.thresholds) for node in set(node_ids)}
    latency = [_latency(view, row, profile) for row in range(len(node_ids))]
    _note_latency(view, latency, assumptions)
    return QueueUnits(
        depth_unit=[depth[node].unit for node in node_ids],
        depth_factor=np.array([depth[node].factor for node in node_ids], dtype=np.float64),
        depth_floor=np.array([_floor(view, row, profile, depth[node]) for row, node in enumerate(node_ids)], dtype=np.float64),
        depth_assumed=np.array([depth[node].assumed for node in node_ids], dtype=np.bool_),
        depth_ambiguous=np.array([depth[node].ambiguous for node in node_ids], dtype=np.bool_),
        depth_given=profile.thresholds.depth_bytes is not None or profile.thresholds.depth_raw is not None,
        latency_unit=[unit for unit, _, _ in latency],
        latency_factor=np.array([factor for _, factor, _ in latency], dtype=np.float64),
        latency_floor=np.array([floor for _, _, floor in latency], dtype=np.float64),
        assumptions=assumptions,
    )


def latency_hint(depth_mean: float, arrivals_per_ns: float, latency_mean: float) -> str | None:
    """What Little's law (depth = arrivals × wait) makes one unit of latency, if that is near 1 ns or 1 µs.

    A hint only: it holds when the seen packets are all packets, and when depth counts what `arrivals_per_ns` counts.
    """
    if min(depth_mean, arrivals_per_ns, latency_mean) <= 0:
        return None
    unit_ns = depth_mean / arrivals_per_ns / latency_mean
    for name, size in (("ns", 1.0), ("µs", 1000.0)):
        if size / 1.5 <= unit_ns <= size * 1.5:
            return f"depth ÷ packet rate makes one unit of hop latency about 1 {name}: if so, set units.hop_latency in the profile"
    return None


def _known_depth(units: Units, thresholds: Thresholds) -> _Depth:
    size = {"bytes": 1.0, "packets": units.packet_bytes, "cells": units.cell_bytes}[units.queue_depth]
    given = thresholds.depth_raw if thresholds.depth_bytes is None else None
    if size is not None:
        floor = thresholds.depth_bytes if thresholds.depth_bytes is not None else DEPTH_FLOOR_BYTES
        return _Depth("bytes", size, given if given is not None else floor / size, assumed=False)
    floor = DEPTH_FLOOR_PACKETS if units.queue_depth == "packets" else DEPTH_FLOOR_CELLS
    return _Depth(units.queue_depth, 1.0, _chosen(thresholds, floor), assumed=False)


def _floor(view: View, row: int, profile: Profile, depth: _Depth) -> float:
    """The floor of a queue's depth in raw units; higher on a fast link, unless the profile gives it."""
    speed = profile.port_speed_bps(int(view.queues.node_id[row]), int(view.queues.port[row]))
    given = profile.thresholds.depth_bytes is not None or profile.thresholds.depth_raw is not None
    if speed is None or given or depth.unit != "bytes":
        return depth.floor
    return max(depth.floor, speed / 8e9 * QUEUEING_FLOOR_NS / depth.factor)


def _guess_depth(view: View, profile: Profile, unknown: list[int], assumptions: list[str]) -> _Depth:
    """Unit and threshold for the nodes of which the profile says nothing; adds to `assumptions` if there was anything to assume."""
    thresholds = profile.thresholds
    largest, smallest = _extent(view, unknown)
    if largest == 0:
        return _Depth(RAW, 1.0, _chosen(thresholds, DEPTH_FLOOR_PACKETS), assumed=False)
    if smallest >= SHORTEST_FRAME and _only_ioam(view):
        given = thresholds.depth_raw if thresholds.depth_bytes is None else None
        floor = given if given is not None else thresholds.depth_bytes if thresholds.depth_bytes is not None else DEPTH_FLOOR_BYTES
        assumptions.append(f"queue depth in IOAM traces taken as bytes, as the Linux kernel writes it; threshold {plain(floor)} bytes")
        return _Depth("bytes", 1.0, floor, assumed=True)
    # Packets that jump from none to 60 look like bytes too: only more than a few frames of them are surely no packets.
    ambiguous = smallest >= SHORTEST_FRAME and largest < DEPTH_FLOOR_BYTES
    if smallest >= SHORTEST_FRAME and not ambiguous:
        looks, floor = "bytes", thresholds.depth_bytes if thresholds.depth_bytes is not None else DEPTH_FLOOR_BYTES
    elif largest <= COUNTED_LIMIT:
        looks, floor = "packets", DEPTH_FLOOR_PACKETS
    else:
        looks, floor = "cells", DEPTH_FLOOR_CELLS
    floor = _chosen(thresholds, floor)
    which = "" if len(unknown) == len(set(view.queues.node_id.tolist())) else f" at nodes {_listed(unknown, profile)}"
    looks = f"look like {looks}" if not ambiguous else f"may be {looks} or bytes (ambiguous): judged as {looks}, if hop latency agrees"
    assumptions.append(f"queue depth unit unknown{which}; values up to {plain(largest, 12)} {looks}; threshold {plain(floor)}")
    return _Depth(RAW, 1.0, floor, assumed=True, ambiguous=ambiguous)


def _chosen(thresholds: Thresholds, floor: float) -> float:
    return thresholds.depth_raw if thresholds.depth_raw is not None else floor


def _extent(view: View, nodes: list[int]) -> tuple[int, int]:
    """Largest and smallest depth above 0 at these nodes, the smallest but for a hundredth, so that a damaged value does not decide."""
    rows = np.flatnonzero(np.isin(view.queues.node_id, nodes) & (view.queues.depth_max > 0))
    if len(rows) == 0:
        return 0, 0
    # A queue that is nearly always empty has its values above 0 beyond all of these shares: its buckets show them.
    sampled = view.queues.depth_histograms.quantiles(np.linspace(0.02, 0.98, 25).tolist(), rows=rows).ravel()
    peaks = view.buckets.depth_max[np.isin(view.buckets.queue, rows)]
    smallest = min(float(np.quantile(values[values > 0], 0.01, method="lower")) for values in (sampled, peaks) if (values > 0).any())
    return int(view.queues.depth_max[rows].max()), int(smallest)


def _only_ioam(view: View) -> bool:
    telemetry = [name for name, packets in view.formats.items() if packets and name.startswith(("int-", "report-", "ioam-", "mri"))]
    return bool(telemetry) and all(name.startswith("ioam-") for name in telemetry)


def _latency(view: View, row: int, profile: Profile) -> tuple[str, float, float]:
    """(unit, factor, floor in raw units) of a queue's hop latency."""
    queues = view.queues
    units = profile.units_of(int(queues.node_id[row]))
    from_times = 2 * int(queues.latency_from_times[row]) > int(queues.latency_count[row])
    unit = units.time if from_times else units.hop_latency
    if unit == "unknown":
        return RAW, 1.0, LATENCY_FLOOR_RAW
    factor = 1.0 if unit == "ns" else 1000.0
    floor = profile.thresholds.latency_ns if profile.thresholds.latency_ns is not None else LATENCY_FLOOR_NS
    return "ns", factor, floor / factor


def _note_latency(view: View, latency: list[tuple[str, float, float]], assumptions: list[str]) -> None:
    reported = [unit for row, (unit, _, _) in enumerate(latency) if view.queues.latency_count[row] > 0]
    raw = reported.count(RAW)
    if raw:
        which = "" if raw == len(reported) else f" of {raw} of {len(reported)} queues"
        assumptions.append(f"hop latency unit unknown{which}: shown raw")


def _listed(nodes: list[int], profile: Profile) -> str:
    names = [profile.node_name(node) for node in nodes[:5]]
    return ", ".join(names) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
