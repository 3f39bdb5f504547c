"""HPCC's INT header, as in the paper and as in its simulator; there every 8 bytes are one little-endian number."""

from __future__ import annotations

from int_analyzer.dissect.field import DEPTH, DEVICE, TIME, Field, Header

_PAPER, _SIMULATOR = "HPCC, SIGCOMM 2019", "HPCC ns-3, int-header.h"
_DEPTH = "hops.queue_depth_raw"
_BYTES = Field("tx_bytes", 20, "sent by the egress port", unit=DEVICE, column="hops.tx_bytes_raw")
_TIME = Field("time", 24, unit=TIME, column="hops.egress_time_raw")

PAPER = Header("hpcc", "HPCC", _PAPER, (Field("hops", 4), Field("path", 12, column="packets.namespace")))
PAPER_HOP = Header(
    "hpcc.hop", "hop", _PAPER, (Field("rate", 4, "code, not published"), _TIME, _BYTES, Field("depth", 16, unit=DEPTH, column=_DEPTH))
)
RATES = {code: f"{25 << code} Gbit/s" for code in range(5)}
SIMULATOR_HOP = Header(
    "hpcc.hop", "hop", _SIMULATOR, (Field("depth", 17, unit=DEPTH, column=_DEPTH), _BYTES, _TIME, Field("rate", 3, names=RATES))
)
SIMULATOR_HOPS = Header("hpcc", "number of hops", _SIMULATOR, (Field("hops", 16),))
