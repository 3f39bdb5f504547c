"""Whose traffic it is: the flows that filled a queue, the flows that waited in it, and how much of its traffic was seen at all."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from int_analyzer.analysis.congestion import DEPTH, SURELY_SEEN, Congestion, bucket_range
from int_analyzer.analysis.summary import FlowShare
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.analysis.waiting import Passing, pairs_within, passing
from int_analyzer.fold.view import FlowView, View
from int_analyzer.profile import ABSENT, Profile

OF_LARGEST = 0.35
"""A flow with less of the bytes than this part of the largest one's does not fill a queue: it passes by. Many small equals do fill it."""
MOST_FLOWS = 100
ALWAYS_BUSY = 0.1
"""A queue in which packets wait for so much of a time bucket does not run empty within it."""


def culprits(view: View, profile: Profile, congestion: Congestion) -> list[FlowShare]:
    """Flows with at least a fifth of the largest one's bytes while the queue was filled, largest first; `share` is of all bytes then.

    Packets and bytes are those within the episodes, from when the queue was well above its low-water mark.
    """
    present = passing(view, congestion)
    shares = _shares(view, profile, present, present.bytes)
    return [entry for entry in shares if entry.share >= OF_LARGEST * shares[0].share]


def victims(view: View, profile: Profile, congestion: Congestion, excluded: list[FlowShare]) -> list[FlowShare]:
    """Flows that waited, the longest wait first, without the `excluded`; `share` is of all the waiting in this queue's episodes.

    Waiting is latency above the queue's lowest, summed over packets; where no latency is reported, the depth that they met.
    """
    present = passing(view, congestion)
    names = {entry.flow for entry in excluded}
    return [entry for entry in _shares(view, profile, present, present.waiting) if entry.flow not in names and entry.share > 0]


def share_seen(
    view: View, units: QueueUnits, congestion: Congestion, latency_usable: bool, visible: float | None
) -> tuple[float, str] | None:
    """Share of what the port sent while congested that is in the packets seen, and how it was found; None if that is unknown.

    `visible` is the share of all packets that can be seen, because telemetry is sampled or reports are lost: the rest is no other traffic.
    Where it is not known, neither is this.

    By Little's law a queue of this depth and this wait sends depth ÷ wait. Without a wait, IOAM's depth, measured as a packet joins, still
    says it at the moment of filling: it cannot rise by more than what came between two packets.
    """
    queue, rows = congestion.queue, congestion.rows
    unit = units.depth_unit[queue]
    if visible is None or congestion.measure != DEPTH or unit not in ("bytes", "packets"):
        return None
    buckets = view.buckets
    amounts = buckets.bytes if unit == "bytes" else buckets.packets
    waited = float(buckets.latency_sum[rows].sum()) * float(units.latency_factor[queue])
    packets = float(buckets.latency_count[rows].sum())
    # A shorter wait leaves room for moments in which the port has nothing to send.
    if latency_usable and units.latency_unit[queue] == "ns" and waited > ALWAYS_BUSY * buckets.width_ns * packets:
        drained_per_ns = float(buckets.depth_sum[rows].sum()) * float(units.depth_factor[queue]) / waited
        # Only hot buckets with packets: calm moments within an episode would make the port look idle.
        seen_per_ns = _seen_while_filled(view, congestion, unit) or float(amounts[rows].sum()) / _busy_time(view, rows)
        if drained_per_ns > 0:
            return min(1.0, seen_per_ns / drained_per_ns / visible), "depth ÷ wait against what was seen to pass"
    if view.formats.get("ioam-trace", 0) and unit == "bytes":
        return _share_of_rise(view, units, congestion)
    return None


def flow_name(flows: FlowView, profile: Profile, flow: int) -> str:
    """ "10.0.1.1:49153 > 10.0.3.3:4791 qp 0x11", hosts by the profile's names; IPv6 addresses in brackets."""
    sides = []
    for address, port in ((flows.src[flow], int(flows.src_port[flow])), (flows.dst[flow], int(flows.dst_port[flow]))):
        host = profile.host_name(address)
        bracketed = f"[{host}]" if ":" in host and port != ABSENT else host
        sides.append(bracketed if port == ABSENT else f"{bracketed}:{port}")
    queue_pair = int(flows.dest_qp[flow])
    return " > ".join(sides) + (f" qp {queue_pair:#x}" if queue_pair != ABSENT else "")


def flow_share(flows: FlowView, profile: Profile, flow: int, packets: int, size: int, share: float) -> FlowShare:
    """A flow (its row) with the packets, bytes and share that are said of it."""
    return FlowShare(
        flow=flow_name(flows, profile, flow),
        src=flows.src[flow],
        dst=flows.dst[flow],
        src_port=_present(flows.src_port[flow]),
        dst_port=_present(flows.dst_port[flow]),
        dest_qp=_present(flows.dest_qp[flow]),
        packets=packets,
        bytes=size,
        share=share,
    )


def _seen_while_filled(view: View, congestion: Congestion, unit: str) -> float | None:
    """What was seen to pass per ns from the first to the last packet that found the queue filled, bucket by bucket: a burst is shorter.

    None where too few packets are seen to tell these times, or some of the flows are forgotten.
    """
    pairs, (rows, _) = view.pairs, pairs_within(view, congestion)
    bucket, place = np.unique(pairs.first_ns[rows] // view.buckets.width_ns, return_inverse=True)
    packets = np.bincount(place, pairs.packets[rows])
    if pairs.evicted or len(bucket) == 0 or packets.mean() < SURELY_SEEN:
        return None
    begin, end = np.full(len(bucket), np.iinfo(np.int64).max), np.zeros(len(bucket), dtype=np.int64)
    np.minimum.at(begin, place, pairs.first_ns[rows])
    np.maximum.at(end, place, pairs.last_ns[rows])
    # Between n packets are n − 1 intervals.
    filled_ns = float((end - begin).sum()) * packets.sum() / (packets.sum() - len(bucket))
    return float((pairs.bytes if unit == "bytes" else pairs.packets)[rows].sum()) / filled_ns if filled_ns > 0 else None


def _busy_time(view: View, rows: Any) -> float:
    """ns from the first to the last of these buckets, without the gaps of more than four empty ones."""
    starts = view.buckets.start_ns[rows]
    gaps = np.diff(starts)
    return float(gaps[gaps <= 5 * max(view.buckets.width_ns, float(np.median(gaps)) if len(gaps) else 0)].sum()) + view.buckets.width_ns


def _share_of_rise(view: View, units: QueueUnits, congestion: Congestion) -> tuple[float, str] | None:
    """What was seen to come while the queue filled ÷ what must have come: at least the rise of its depth."""
    buckets = view.buckets
    episode = congestion.peak
    first, last = bucket_range(buckets, congestion.queue)
    starts, depths = buckets.start_ns[first:last], buckets.depth_max[first:last]
    start = int(np.searchsorted(starts, episode.start_ns))
    full = start + int(np.argmax(depths[start:] >= 0.9 * episode.peak))
    before = int(depths[start - 1]) if start else 0
    rise = (int(depths[full]) - before) * float(units.depth_factor[congestion.queue])
    # The bucket before is not counted: its last packet set the depth that the rise starts from.
    came = float(buckets.bytes[first + start : first + full + 1].sum())
    if rise <= 0 or start == 0:
        return None
    return min(1.0, came / rise), "rise of the depth against what was seen to come meanwhile"


def _shares(view: View, profile: Profile, present: Passing, weights: Any) -> list[FlowShare]:
    """The flows by their weights, the heaviest first."""
    total = float(weights.sum())
    if total <= 0:
        return []
    flows = view.flows
    weight_of: dict[int, float] = defaultdict(float)
    packets_of: dict[int, float] = defaultdict(float)
    bytes_of: dict[int, float] = defaultdict(float)
    same = _same_flow(flows, present.flow.tolist())
    columns = (present.flow.tolist(), weights.tolist(), present.packets.tolist(), present.bytes.tolist())
    for known, weight, packets, size in zip(*columns, strict=True):
        flow = same[known]
        weight_of[flow] += weight
        packets_of[flow] += packets
        bytes_of[flow] += size
    heaviest = sorted(weight_of, key=lambda flow: -weight_of[flow])[:MOST_FLOWS]
    return [flow_share(flows, profile, flow, round(packets_of[flow]), round(bytes_of[flow]), weight_of[flow] / total) for flow in heaviest]


def _same_flow(flows: FlowView, rows: list[int]) -> dict[int, int]:
    """For each of these flows the one to count it under: a report cut before the queue pair shows a flow that is known with it."""
    groups: dict[tuple[str, str, int, int], list[int]] = defaultdict(list)
    for flow in rows:
        groups[flows.src[flow], flows.dst[flow], int(flows.src_port[flow]), int(flows.dst_port[flow])].append(flow)
    same = {}
    for group in groups.values():
        known = [flow for flow in group if int(flows.dest_qp[flow]) != ABSENT]
        for flow in group:
            same[flow] = known[0] if len(known) == 1 and flow not in known else flow
    return same


def _present(value: Any) -> int | None:
    return None if int(value) == ABSENT else int(value)
