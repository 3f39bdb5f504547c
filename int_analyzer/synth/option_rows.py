"""What a trace tells without a stack of hops: rows of options, and CSIG tags."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.synth.emission import Emission
from int_analyzer.synth.record import Records
from int_analyzer.synth.stack import IOAM_FIELDS
from int_analyzer.synth.trace import UTILISATION_FULL, Packets, Trace
from int_analyzer.wire.ethernet import ABSENT_CSIG

_SECOND_NS = 1_000_000_000
_WORD = 0xFFFFFFFF
_SIGNAL_TYPE, _LEVELS = 1, 31
"""CSIG's available bandwidth ÷ capacity, in steps as an operator would set them: draft-ravi-ippm-csig-01 leaves the values to tables."""


def number_packets(packets: Packets) -> Any:
    """Number of each packet among those with telemetry of its flow, as its first switch counts those that come out of the network."""
    order = np.lexsort((np.arange(len(packets.flow)), packets.flow))
    chosen = packets.telemetry[order] != 0
    counted = np.cumsum(chosen)
    begins = np.flatnonzero(np.diff(packets.flow[order], prepend=-1))
    before = np.repeat((counted - chosen)[begins], np.diff(begins, append=len(order)))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = counted - before - 1
    return numbers


def option_rows(trace: Trace, emission: Emission, records: Records, carrying: Any, numbers: Any) -> dict[str, Any]:
    """Columns of options of the records `carrying` (rows of the batch); `numbers` as from `number_packets`."""
    packet = records.packet[carrying]
    values = {
        "packet": carrying,
        "format": emission.telemetry,
        "namespace": 0,
        "flags": 0,
        "extension_flags": 0,
        "trace_type": 0,
        "flow_id": trace.packets.flow[packet],
        "sequence": numbers[packet] & _WORD,
        "sequence_bits": 32,
        "time_seconds": 0,
        "time_fraction_raw": 0,
    }
    if emission.telemetry == schema.FORMAT_IOAM_DEX:
        asked = schema.HAS_OPTION_EXPORT | schema.HAS_OPTION_FLAGS | schema.HAS_OPTION_FLOW
        return values | {
            "extension_flags": 0xC0,
            "trace_type": IOAM_FIELDS,
            "present": schema.HAS_OPTION_NAMESPACE | schema.HAS_OPTION_SEQUENCE | asked,
        }
    # A packet of which no switch tells has no time.
    timed = trace.packets.hop_count[packet] > 0
    first = np.where(timed, trace.packets.first_hop[packet], 0)
    time = trace.hops.ingress_time_ns[first] if len(trace.hops.node_id) else np.zeros(len(packet), dtype=np.int64)
    times = schema.HAS_OPTION_SECONDS | schema.HAS_OPTION_FRACTION
    return values | {
        "time_seconds": time // _SECOND_NS & _WORD,
        "time_fraction_raw": time % _SECOND_NS,
        "present": schema.HAS_OPTION_NAMESPACE | schema.HAS_OPTION_SEQUENCE | np.where(timed, times, 0),
    }


def bottleneck_tags(trace: Trace, rows: Any) -> Any:
    """CSIG tags of packets: how much of its speed the fullest port on the way has left, and the place of this on the way, from 1 on."""
    packets, used = trace.packets, trace.hops.tx_utilisation.astype(np.int64)
    tags = np.full(len(rows), ABSENT_CSIG, dtype=np.int64)
    for at, (first, count) in enumerate(zip(packets.first_hop[rows].tolist(), packets.hop_count[rows].tolist(), strict=True)):
        if count:
            fullest = int(np.argmax(used[first : first + count]))
            left = (UTILISATION_FULL - min(int(used[first + fullest]), UTILISATION_FULL)) * _LEVELS // UTILISATION_FULL
            tags[at] = _SIGNAL_TYPE << 13 | left << 7 | fullest + 1
    return tags
