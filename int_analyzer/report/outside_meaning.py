"""What the fields of analysis.outside_summary mean, for the JSON document and its pages."""

from __future__ import annotations

_NS = "nanoseconds since 1970"

OUTSIDE_MEANINGS: dict[str, dict[str, str]] = {
    "OutsideSummary": {
        "sources": "files and addresses that counters were read from",
        "series": "series with a known place, by metric (docs/evidence.md)",
        "readings": "readings of these",
        "interval_ns": "time between two readings: what their times are known to; null with fewer than two",
        "strangers": "series that name no known port or host",
        "stranger_names": "the first of them",
        "ignored": "readings that could not be used, by reason",
        "rises": "counters that rose during the capture by far more than is usual for their metric, most first",
        "jobs": "what the iterations of jobs wait for, by the GPUs of their hosts",
        "notes": "what keeps this from being exact",
    },
    "CounterRise": {
        "metric": "what is counted",
        "node": "node by the profile's name, else its id; null for a host",
        "port": "port by the profile's name, else its id",
        "node_id": "node id as on the wire",
        "port_id": "port id as on the wire",
        "host": "host by the profile's name, else its address; null for a port",
        "amount": "by how much, restarts of the counter accounted for",
        "first_ns": f"last reading before it rose, {_NS}",
        "last_ns": "first reading after which it stood still again, or the last one",
    },
    "JobBound": {
        "kind": "ring or all-to-all",
        "members": "hosts of the job",
        "measured": "of these with GPUs that were read",
        "busy": "part of the time in which their GPUs compute, mean",
        "stalled": "part of the time in which they wait",
        "communication_share": "part of an iteration in which not all members compute, by the capture",
        "bound": "compute; network; host: they wait, but not for the network; mixed",
        "reason": "what that rests on",
    },
}
