"""Summaries made by hand: what the reports are tested on, apart from any decoding."""

from __future__ import annotations

from int_analyzer.analysis.summary import (
    Capture,
    Finding,
    FlowShare,
    Link,
    PathSummary,
    Port,
    Quality,
    Quantiles,
    QueueSummary,
    Summary,
)

START = 1_795_968_136_965_359_118
SECOND = 1_000_000_000


def quantiles(count: int, p50: float, p99: float, p999: float, top: float, unit: str = "raw") -> Quantiles:
    return Quantiles(count, p50, p99, p999, top, unit)


ABSENT = Quantiles(0, None, None, None, None, "raw", "not in the instruction bitmap")


def port(node: str, number: int | None, queue: int | None = None, name: str | None = None) -> Port:
    node_id = int(node) if node.isdigit() else 11
    return Port(node, name or ("" if number is None else str(number)), queue, node_id, number)


def flow(src: str, dst: str, src_port: int, qp: int, packets: int, share: float) -> FlowShare:
    bracketed = (f"[{src}]", f"[{dst}]") if ":" in src else (src, dst)
    name = f"{bracketed[0]}:{src_port} > {bracketed[1]}:4791 qp {qp:#x}"
    return FlowShare(name, src, dst, src_port, 4791, qp, packets, packets * 356, share)


def quality(**changes: object) -> Quality:
    values: dict[str, object] = {
        "packets": 1154,
        "bytes": 249_264,
        "telemetry_packets": 1154,
        "telemetry_share": 1.0,
        "roce_packets": 1154,
        "roce_with_telemetry_share": 1.0,
        "hops": 3462,
        "reports": 1154,
        "statuses": {"ok": 1154},
        "rejects": {},
        "warnings": {"report-length-zero": 1154, "report-inner-cut": 1154},
        "formats": {"report-2.0": 1154, "int-md-2.x": 1154, "roce": 1154},
        "dialects": {"int-2.x": 1154},
        "losses": [
            {"kind": "report-2.0", "node_id": 4, "stream": 1, "received": 1154, "lost": 0, "reordered": 0, "duplicated": 0, "static": False}
        ],
        "drops": [],
        "damages": [],
        "flows_evicted": 0,
        "pairs_evicted": 0,
        "telemetry_overhead": 0.31,
        "ce_packets": 0,
        "cnp_packets": 0,
        "assumptions": ["INT found by structure: no profile", "units of latency and depth unknown: values are raw"],
        "trust": "fair",
        "trust_reasons": ["every packet decoded, no report lost", "units unknown"],
    }
    return Quality(**(values | changes))  # type: ignore[arg-type]


def capture(files: list[str] | None = None) -> Capture:
    return Capture(files or ["pcaps/bmv2-laofan-int-md-v2.1/s4-coll.pcap"], 267_752, START, START + 5 * SECOND, 5.0, 0.42)


def finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "id": "1",
        "role": "root",
        "cause": "overload",
        "node": "2",
        "port": "2",
        "queue": 0,
        "node_id": 2,
        "port_id": 2,
        "start_ns": START + 1_680_355_065,
        "end_ns": START + 4_110_371_666,
        "confidence": 0.9,
        "impact": 190_000_000.0,
        "impact_unit": "packets × latency (raw)",
        "peak_depth": 79,
        "peak_depth_ns": START + 3_000_000_000,
        "depth_unit": "raw",
        "peak_latency": 409_600,
        "latency_unit": "raw",
        "packets": 487,
        "episodes": 1,
        "root": None,
        "culprits": [flow("10.0.1.2", "10.0.3.3", 49154, 18, 245, 0.503), flow("10.0.1.1", "10.0.3.3", 49153, 17, 242, 0.497)],
        "victims": [flow("10.0.1.1", "10.0.3.3", 49153, 17, 242, 0.5)],
        "victim_ports": [],
        "evidence": [
            "depth p99 79 against its own low water of 0, for 487 of 763 packets",
            "queues downstream of it on the same paths (node 4 port 3) stay below 1",
            "hop latency rises with depth: 395 k against 57",
        ],
    }
    return Finding(**(values | changes))  # type: ignore[arg-type]


def links() -> list[Link]:
    calm = quantiles(391, 54, 310, 700, 800)
    empty = quantiles(391, 0, 1, 1, 1)
    return [
        Link(port("1", 3, 0), "2", 2, "1", 763, 271_000, quantiles(763, 61, 300, 900, 950), quantiles(763, 0, 1, 1, 1)),
        Link(
            port("2", 2, 0), "4", 4, "1", 763, 271_000, quantiles(763, 395_000, 409_000, 409_600, 409_600), quantiles(763, 78, 79, 79, 79)
        ),
        Link(port("1", 4, 0), "3", 3, "1", 391, 139_000, calm, empty),
        Link(port("3", 2, 0), "4", 4, "2", 391, 139_000, calm, empty),
        Link(port("4", 3, 0), None, None, None, 763, 271_000, quantiles(763, 57, 300, 400, 410), quantiles(763, 0, 0, 0, 0)),
        Link(port("4", 5, 0), None, None, None, 391, 139_000, calm, ABSENT),
    ]


def paths() -> list[PathSummary]:
    return [
        PathSummary([port("1", 3, 0), port("2", 2, 0), port("4", 3, 0)], 763, 271_000, 0, START, START + 5 * SECOND, [0.01, 0.98, 0.01]),
        PathSummary([port("1", 4, 0), port("3", 2, 0), port("4", 5, 0)], 391, 139_000, 0, START, START + 5 * SECOND, None),
    ]


def queues() -> list[QueueSummary]:
    return [
        QueueSummary(link.source, link.packets, link.bytes, link.latency, link.depth, 1.04, START, START + 5 * SECOND) for link in links()
    ]


def congested() -> Summary:
    """One overloaded port, as in the demo."""
    return Summary(capture=capture(), quality=quality(), findings=[finding()], links=links(), paths=paths(), queues=queues())


def healthy() -> Summary:
    """The same fabric with nothing found."""
    calm = [link for link in links() if link.source.node != "2"]
    return Summary(capture=capture(), quality=quality(trust="high"), links=calm, paths=paths(), queues=queues())


def without_telemetry() -> Summary:
    """Packets, none with telemetry, some not readable."""
    bad = quality(
        telemetry_packets=0,
        telemetry_share=0.0,
        roce_with_telemetry_share=0.0,
        hops=0,
        reports=0,
        statuses={"ok": 1000, "not-ip": 50, "udp-truncated": 104},
        rejects={"udp-truncated": 104},
        warnings={"captured-short": 104},
        formats={"roce": 1000},
        dialects={},
        losses=[],
        damages=[{"file": "cut.pcap", "offset": 267_000, "reason": "the last record is cut"}],
        trust="none",
        trust_reasons=["no packet carries telemetry that is decoded"],
        telemetry_overhead=None,
    )
    return Summary(capture=capture(["cut.pcap", "whole.pcap"]), quality=bad)


def named_fabric() -> Summary:
    """A profile's names and units, IPv6 flows, a victim, a host finding, losses and drops."""
    root = finding(
        node="spine-1",
        port="Ethernet1/47",
        queue=3,
        depth_unit="bytes",
        peak_depth=1_482_300,
        latency_unit="ns",
        peak_latency=118_400_000,
        impact=5.2e10,
        impact_unit="packets × ns",
        culprits=[
            flow("2001:db8:1::5", "2001:db8:3::6", 49153, 0x1234, 8800, 0.91),
            flow("2001:db8:1::7", "2001:db8:3::6", 50000, 0x88, 700, 0.07),
        ],
        victims=[flow("2001:db8:2::1", "2001:db8:3::5", 49160, 0x999, 100, 0.4)],
        victim_ports=["leaf-1 port Ethernet1/1", "leaf-2 port Ethernet1/1"],
    )
    victim = finding(
        id="2",
        role="victim",
        cause="back-pressure",
        node="leaf-1",
        port="Ethernet1/1",
        root="1",
        confidence=0.75,
        depth_unit="bytes",
        peak_depth=300_000,
        culprits=[],
        evidence=["97 % of its waiting bytes go on to spine-1 port Ethernet1/47"],
    )
    host = finding(
        id="3",
        role="host",
        cause="unknown",
        node="h6",
        port="",
        queue=None,
        port_id=None,
        confidence=0.5,
        peak_depth=None,
        peak_depth_ns=None,
        peak_latency=None,
        culprits=[],
        victims=[],
        evidence=["its flows wait, and no hop on their paths is congested"],
    )
    lossy = quality(
        losses=[
            {
                "kind": "report-2.0",
                "node_id": 4,
                "stream": 1,
                "received": 900,
                "lost": 100,
                "reordered": 3,
                "duplicated": 0,
                "static": False,
            },
            {"kind": "erspan", "node_id": 7, "stream": 0, "received": 900, "lost": 0, "reordered": 0, "duplicated": 0, "static": True},
        ],
        drops=[{"node_id": 4, "reason": 71, "reports": 12}],
        rejects={"int-hop-length-mismatch": 12, "udp-truncated": 3},
        statuses={"ok": 1139, "int-hop-length-mismatch": 12, "udp-truncated": 3},
        ce_packets=410,
        cnp_packets=77,
        flows_evicted=5,
    )
    ns, size = "ns", "bytes"
    fabric = [
        Link(
            port("leaf-1", 1, 3, "Ethernet1/1"),
            "spine-1",
            11,
            "Ethernet1/1",
            123_456_789,
            1,
            quantiles(9, 5_300, 71_000, 99_000, 2e6, ns),
            quantiles(9, 1000, 2e5, 3e5, 3e5, size),
        ),
        Link(
            port("spine-1", 1103, 3, "Ethernet1/47"),
            "leaf-3",
            103,
            "Ethernet1/1",
            9500,
            1,
            quantiles(9, 1.1e8, 1.18e8, 1.18e8, 1.18e8, ns),
            quantiles(9, 1.4e6, 1.48e6, 1.48e6, 1.48e6, size),
        ),
    ]
    return Summary(capture=capture(), quality=lossy, findings=[root, victim, host], links=fabric, paths=[], queues=[])
