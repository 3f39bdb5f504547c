"""The JSON document of an analysis, and its schema, both from the dataclasses of analysis.summary.

A field's name and type stand there, once; what it means stands here. docs/json.md and docs/schema/analyze.schema.json are made
from this (docs/generate.py), and a test holds documents against the schema.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import Any

from int_analyzer.analysis import summary as parts
from int_analyzer.report.delay_meaning import DELAY_MEANINGS
from int_analyzer.report.json_text import text_of
from int_analyzer.report.outside_meaning import OUTSIDE_MEANINGS
from int_analyzer.report.roce_meaning import ROCE_MEANINGS
from int_analyzer.report.work_meaning import WORK_MEANINGS
from int_analyzer.schema import SCHEMA_VERSION

_NS = "nanoseconds since 1970, capture clock"

MEANINGS: dict[str, dict[str, str]] = {
    "Summary": {
        "schema_version": "version of this document: minor for additions, major for changed meaning",
        "capture": "what was analysed",
        "quality": "what was read and how well, and whether the findings can be trusted",
        "findings": "congested ports and what else was found, by impact; empty if nothing was",
        "events": "what happened on the way besides congestion, by time",
        "links": "edges of the path graph",
        "paths": "distinct paths, by packets",
        "queues": "all queues seen",
        "clocks": "the clock of every node",
        "roce": "RoCEv2 connections; null without any",
        "storage": "storage I/O over RDMA; null without any",
        "jobs": "collectives of training jobs",
        "messages": "RoCEv2 messages: the slow ones, and where their time went; null without any",
        "hosts": "a label for every host that sends or receives RoCEv2, for schedulers: those that are not healthy first",
        "outside": "counters from outside the capture; null if none were given",
    },
    "Capture": {
        "files": "the captures, in the order in which they were read: by the time of their first packet",
        "bytes": "their size together",
        "first_ns": f"time of the first packet, {_NS}; without those whose time is astray, an hour or more off all others",
        "last_ns": "time of the last packet, in the same way",
        "seconds": "from the first packet to the last",
        "elapsed_seconds": "time that the analysis took",
        "strays": "hops (without telemetry: first and last packets of messages) whose time is astray",
    },
    "Quality": {
        "packets": "packets read",
        "bytes": "bytes that they had on the wire",
        "telemetry_packets": "packets with decoded telemetry",
        "telemetry_share": "telemetry_packets ÷ packets",
        "roce_packets": "packets with a RoCEv2 transport header",
        "roce_with_telemetry_share": "share of these that carry telemetry",
        "hops": "hop records, each once",
        "reports": "telemetry report records",
        "statuses": "packets by status (docs/statuses.md)",
        "rejects": "the statuses of these that mean a packet was not fully readable",
        "warnings": "packets by warning",
        "formats": "packets by format found",
        "dialects": "packets by INT dialect",
        "losses": "loss of report and mirror streams by sequence number",
        "drops": "drop reports by node and reason",
        "damages": "where a capture file is damaged: file, offset, reason; what was whole is used",
        "flows_evicted": "flows forgotten because there were too many at once",
        "pairs_evicted": "flow-queue pairs forgotten for the same reason",
        "telemetry_overhead": "bytes of telemetry ÷ all bytes",
        "ce_packets": "packets marked CE (ECN)",
        "cnp_packets": "RoCEv2 congestion notification packets",
        "assumptions": "what was assumed for want of a profile",
        "trust": "whether the findings can be trusted",
        "trust_reasons": "why",
        "postcards": "reports of one node about one packet, joined to paths; null if there are none",
        "clock_faults": "windows of links in which packets came, by the clocks of both ends and beyond their error, before they were sent",
        "icrc": "ICRCs computed anew, of a sample of the RoCEv2 packets (--icrc); null if there is none",
        "copies": "packets with telemetry seen before at another mirror point: their hops count once in queues, flows and paths",
        "statuses_by_format": "packets by format, and of these by status; one with several counts in each, one without as none",
    },
    "Postcards": {
        "total": "reports of one node about one packet",
        "joined": "of these, joined with those of other nodes to the packet's path, by flow and packet identity",
        "joined_share": "joined ÷ total",
        "by_arrival": "of those joined: in the order in which the reports came, as the TTL does not fall along the path",
        "not_joined": "the others by reason: alone (no other node reported the packet), unordered (equal TTLs, and no order of arrival "
        "that most packets share), duplicated (the node told of the packet before), unidentified (nothing tells the packet from others)",
    },
    "Finding": {
        "id": "id of the finding within this document",
        "role": "root: congestion starts here; victim: held up by a root; host: the trouble is in a host, not in the network",
        "cause": "why",
        "node": "node by the profile's name, else its id",
        "port": "egress port by the profile's name, else its id",
        "queue": "queue of the port",
        "node_id": "node id as on the wire",
        "port_id": "egress port id as on the wire",
        "start_ns": f"when it began, {_NS}",
        "end_ns": "when it ended",
        "confidence": "0 to 1",
        "impact": "packets × excess latency or depth: findings are ordered by it",
        "impact_unit": "unit of impact",
        "peak_depth": "largest queue depth",
        "peak_depth_ns": "when it was that deep",
        "depth_unit": 'unit of peak_depth; "raw" if the device\'s unit is not known',
        "peak_latency": "largest hop latency",
        "latency_unit": 'unit of peak_latency; "raw" if not known',
        "packets": "at least so many packets were above the threshold; of a host, so many times it was late",
        "episodes": "how often the queue was congested between start and end",
        "root": "id of the root finding, for a victim",
        "culprits": "flows that filled the queue, by share",
        "victims": "flows that waited, by share",
        "victim_ports": "ports that this one holds up",
        "evidence": "what speaks for it, in words",
        "delays": "messages that lost time in this queue; null for a host, or if none lost 20 µs or more",
    },
    "Event": {
        "kind": "path-change: flows moved; spraying: flows are spread over paths; loop: a node passed twice; "
        "unseen-node: a node without telemetry stands behind this port; configuration-difference: a node spreads flows over equal-cost "
        "ways otherwise than its peers",
        "node": "node where it happened, by the profile's name, else its id",
        "port": "egress port that flows left, or that a loop or an unseen node begins at",
        "node_id": "node id as on the wire",
        "port_id": "egress port id as on the wire",
        "start_ns": f"when it began, {_NS}",
        "end_ns": "when it ended, or was last seen",
        "flows": "flows concerned, null if not counted",
        "packets": "packets concerned, null if not counted",
        "evidence": "what speaks for it, in words",
    },
    "FlowShare": {
        "flow": "the flow by name",
        "src": "source address",
        "dst": "destination address",
        "src_port": "source port",
        "dst_port": "destination port",
        "dest_qp": "RoCEv2 destination queue pair",
        "packets": "packets of the flow in this queue while it was congested",
        "bytes": "bytes of these",
        "share": "part of the queue's bytes (culprits) or of its waiting (victims), 0 to 1",
    },
    "Port": {
        "node": "node by the profile's name, else its id",
        "port": "port by the profile's name, else its id",
        "queue": "queue",
        "node_id": "node id as on the wire",
        "port_id": "port id as on the wire",
    },
    "Quantiles": {
        "count": "values behind it",
        "p50": "median",
        "p99": "99th percentile",
        "p999": "99.9th percentile",
        "max": "largest",
        "unit": '"ns", "bytes", …, or "raw" where the device\'s unit is not known',
        "why_absent": "why there are no values",
    },
    "Link": {
        "source": "egress port at which the link begins",
        "to_node": "node that it leads to; null where the telemetry ends",
        "to_node_id": "its id as on the wire",
        "to_port": "its ingress port",
        "packets": "packets over the link",
        "bytes": "bytes of these",
        "latency": "hop latency of the source port",
        "depth": "queue depth of the source port",
        "link_latency": "time between the two nodes; null where their clocks are not known",
    },
    "LinkLatency": {
        "lowest": "least time from the egress of the one node to the ingress of the next, freed of their clocks' offset",
        "mean": "mean of the same; null where a clock was set during the capture",
        "error": "by how much both may be off, as the clocks are not known better",
        "unit": '"ns", or "raw" where the nodes\' unit of time is not known',
        "packets": "packets that have both times",
    },
    "Clock": {
        "node": "node by the profile's name, else its id",
        "node_id": "node id as on the wire",
        "how": "both directions: offset and drift from packets both ways; one direction: drift only; reference: what the others are "
        "compared with; unknown: why stands in reason",
        "reference": "the node whose clock is the reference",
        "offset": "by how much the clock is ahead of the reference's; of 32-bit times up to whole turns of them",
        "error": "by how much the offset may be off: half of the shortest round trip, summed from the reference on",
        "unit": '"ns", or "raw" where the node\'s unit of time is not known',
        "drift_ppm": "by how much faster it runs than the reference, parts per million",
        "drift_error_ppm": "by how much the drift may be off",
        "at_ns": f"when the offset is that, {_NS}",
        "step": "by how much the clock was set during the capture; offset and drift are those after that",
        "step_ns": "when it was set",
        "reason": "why something is not known",
    },
    "PathSummary": {
        "hops": "egress ports from the source on",
        "packets": "packets on this path",
        "bytes": "bytes of these",
        "holes": "packets of these in which a hop is missing",
        "first_ns": f"first packet, {_NS}",
        "last_ns": "last packet",
        "share_of_latency": "part of the path's hop latency that each hop has",
        "ce_ratio": "share of packets marked CE, of those that carried the path themselves; null if only reports told of it",
        "icrc_ok": "of these, packets of the sample with a right ICRC",
        "icrc_bad": "and with a wrong one",
    },
    "QueueSummary": {
        "at": "the queue",
        "packets": "packets through it",
        "bytes": "bytes of these",
        "latency": "hop latency",
        "depth": "queue depth",
        "tail_latency_ratio": "p99 ÷ p50 of the latency",
        "first_ns": f"first packet, {_NS}",
        "last_ns": "last packet",
    },
    **ROCE_MEANINGS,
    **WORK_MEANINGS,
    **DELAY_MEANINGS,
    **OUTSIDE_MEANINGS,
}

ALLOWED: dict[tuple[str, str], list[str]] = {
    ("Finding", "role"): ["root", "victim", "host"],
    ("Clock", "how"): ["reference", "both directions", "one direction", "unknown"],
    ("Quality", "trust"): ["high", "fair", "low", "none"],
    ("StoragePlace", "verdict"): ["healthy", "compute", "network", "storage"],
    ("JobSummary", "kind"): ["ring", "all-to-all"],
    ("JobMember", "label"): ["healthy", "slow", "suspect"],
    ("JobBound", "bound"): ["compute", "network", "host", "mixed"],
    ("HostSummary", "label"): ["healthy", "slow", "suspect"],
    ("HostSummary", "stall_of"): ["ring", "messages", "unknown"],
    ("DelayPart", "where"): ["queue", "resent", "host-paused", "elsewhere", "not-seen", "usual"],
    ("MessageDelay", "how"): ["packets", "flow", "unknown"],
    ("MessageDelay", "usual_of"): ["pair", "fabric"],
    ("MessageDelay", "blame"): ["queue", "resent", "host-paused", "elsewhere", "not-seen", "unknown"],
}

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null", object: None}


def document(part: parts.Summary | parts.Finding | parts.Quality) -> dict[str, Any]:
    """A summary, or a part of one, as plain dicts and lists; a value that is not a number is null."""
    result: dict[str, Any] = _plain(part)
    return result


def text(summary: parts.Summary) -> str:
    """The document as JSON."""
    return text_of(summary)


def work_text(summary: parts.Summary) -> str:
    """Only what tells of hosts (storage I/O, jobs, slow messages, labels), as it stands in the whole document."""
    return text_of({name: getattr(summary, name) for name in ("schema_version", "storage", "jobs", "messages", "hosts")})


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "int-analyzer analyze --json",
        "version": SCHEMA_VERSION,
        "$ref": "#/$defs/Summary",
        "$defs": {name: _class_schema(name) for name in MEANINGS},
    }


def fields(name: str) -> list[tuple[str, Any, str]]:
    """(name, type, meaning) of the fields of one class of the document."""
    kind = getattr(parts, name)
    hints = typing.get_type_hints(kind)
    return [(field.name, hints[field.name], MEANINGS[name][field.name]) for field in dataclasses.fields(kind)]


def type_words(hint: Any) -> str:
    """A type as the documentation writes it: "number or null", "list of Finding"."""
    if typing.get_origin(hint) is list:
        return f"list of {type_words(typing.get_args(hint)[0])}"
    if typing.get_origin(hint) is dict:
        values = typing.get_args(hint)[1]
        return "object" if values is object else f"object of {type_words(values)}"
    if isinstance(hint, types.UnionType):
        return " or ".join(type_words(member) for member in typing.get_args(hint))
    if dataclasses.is_dataclass(hint):
        return str(getattr(hint, "__name__", hint))
    return _SIMPLE[hint] or "any"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # numpy numbers are not JSON numbers
    return value.item() if hasattr(value, "item") else value


def _class_schema(name: str) -> dict[str, Any]:
    properties = {}
    for field, hint, meaning in fields(name):
        properties[field] = {**_type_schema(hint), "description": meaning}
        if (name, field) in ALLOWED:
            properties[field]["enum"] = ALLOWED[name, field]
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _type_schema(hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) is list:
        return {"type": "array", "items": _type_schema(typing.get_args(hint)[0])}
    if typing.get_origin(hint) is dict:
        values = _type_schema(typing.get_args(hint)[1])
        return {"type": "object", "additionalProperties": values or True}
    if isinstance(hint, types.UnionType):
        return {"anyOf": [_type_schema(member) for member in typing.get_args(hint)]}
    if dataclasses.is_dataclass(hint):
        return {"$ref": f"#/$defs/{getattr(hint, '__name__', '')}"}
    kind = _SIMPLE[hint]
    return {"type": kind} if kind else {}
