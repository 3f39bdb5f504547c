"""Derived columns of hops: nanoseconds and bytes from raw values, where the profile says what a node's raw values mean.

Nothing is guessed: a node whose unit is unknown has NA here, and its raw value beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer import schema
from int_analyzer.profile import Profile, Units

_FACTOR_NS = {"ns": 1.0, "us": 1000.0, "unknown": np.nan}
_SECOND_NS = 1_000_000_000
_NTP_EPOCH = 2_208_988_800
"""Seconds from 1900 to 1970."""
_WORD = 0xFFFFFFFF


class Derived:
    """Values and absence of the derived columns of one batch's hops: int64 arrays and boolean masks, by column name."""

    def __init__(self, hops: dict[str, Any], telemetry: Any, profile: Profile | None) -> None:
        """`hops`: kernel columns by name; `telemetry`: format id of each hop's stack."""
        present = hops["present"]
        nodes, position = np.unique(np.where(present & schema.HAS_NODE != 0, hops["node_id"], -1), return_inverse=True)
        known = profile or Profile()
        # the kernel keeps 64-bit ids as the bits of an int64
        units = [known.units_of(int(node) & 0xFFFFFFFFFFFFFFFF) for node in nodes]
        self.values: dict[str, Any] = {}
        self.absent: dict[str, Any] = {}

        depth = _of_hops([_depth_factor(entry) for entry in units], position)
        self._set("queue_depth_bytes", hops["queue_depth_raw"] * depth, present & schema.HAS_DEPTH == 0)

        from_ioam = (telemetry == schema.FORMAT_IOAM_TRACE) | (telemetry == schema.FORMAT_IOAM_INCREMENTAL)
        time = _of_hops([_FACTOR_NS[entry.time] for entry in units], position)
        ioam_time = [units[index].ioam_time for index in position] if from_ioam.any() else []
        for name, bit in (("ingress_time", schema.HAS_INGRESS_TIME), ("egress_time", schema.HAS_EGRESS_TIME)):
            raw = hops[f"{name}_raw"]
            absent = (present & bit == 0) | np.isnan(time) | from_ioam | ((raw < 0) | (raw > 2**53))
            self._set_exact(f"{name}_ns", raw, np.where(absent, 0, time).astype(np.int64), absent)
            if ioam_time:
                self._set_ioam_time(f"{name}_ns", raw, from_ioam & (present & bit != 0), np.array(ioam_time))

        latency = _of_hops([_FACTOR_NS[entry.hop_latency] for entry in units], position)
        reported = present & schema.HAS_LATENCY != 0
        difference, no_difference = self._time_difference(hops, from_ioam, time)
        values = np.where(reported, hops["hop_latency_raw"] * latency, difference)
        self._set("hop_latency_ns", values, np.where(reported, np.isnan(latency), no_difference))

    def _set(self, name: str, values: Any, absent: Any) -> None:
        absent = absent | np.isnan(values)
        self.values[name] = np.rint(np.where(absent, 0.0, values)).astype(np.int64)
        self.absent[name] = absent

    def _set_exact(self, name: str, raw: Any, factor: Any, absent: Any) -> None:
        """As _set, in integers: a time has more digits than a float."""
        self.values[name] = np.where(absent, 0, raw) * factor
        self.absent[name] = absent

    def _set_ioam_time(self, name: str, raw: Any, there: Any, kinds: Any) -> None:
        # the upper half is sign-extended by the kernel's int64
        seconds, fraction = (raw >> 32) & _WORD, raw & _WORD
        for kind, nanoseconds in (
            ("posix", seconds * _SECOND_NS + fraction * 1000),
            ("ptp", seconds * _SECOND_NS + fraction),
            ("ntp", (seconds - _NTP_EPOCH) * _SECOND_NS + ((fraction * _SECOND_NS) >> 32)),
        ):
            rows = there & (kinds == kind)
            self.values[name][rows] = nanoseconds[rows]
            self.absent[name][rows] = False

    def _time_difference(self, hops: dict[str, Any], from_ioam: Any, time: Any) -> tuple[Any, Any]:
        """Egress − ingress time in ns, modulo 2^32 where both are 32-bit values, and where there is none."""
        begin, end = hops["ingress_time_raw"], hops["egress_time_raw"]
        both = schema.HAS_INGRESS_TIME | schema.HAS_EGRESS_TIME
        narrow = (begin | end) >> 32 == 0
        raw = np.where(narrow, (end - begin) & _WORD, end - begin)
        absent = (hops["present"] & both != both) | from_ioam | np.isnan(time) | (raw < 0) | ((begin < 0) != (end < 0))
        return np.where(absent, 0, raw) * np.where(absent, 0.0, time), absent


def _of_hops(factors: list[float], position: Any) -> Any:
    return np.array(factors, dtype=np.float64)[position] if factors else np.empty(0)


def _depth_factor(units: Units) -> float:
    factor = {"bytes": 1.0, "packets": units.packet_bytes, "cells": units.cell_bytes}.get(units.queue_depth)
    return np.nan if factor is None else factor
