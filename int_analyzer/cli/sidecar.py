"""sidecar: beside a mirror port for months."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from int_analyzer.cli.argument import ConnectionsOption, ProfileOption, SpeedOption, check_sources, polling_from
from int_analyzer.cli.evidence import CountersOption, PrometheusOption, PrometheusTokenOption, evidence_from
from int_analyzer.live.privilege import forgo_library_threads

if TYPE_CHECKING:
    from int_analyzer.evidence.source import CounterSource
    from int_analyzer.profile import Profile

EXAMPLES = """Examples:

\b
  int-analyzer sidecar --interface eth1                     a mirror port, until SIGTERM
  int-analyzer sidecar --interface eth1 --reports udp://0.0.0.0:32766 --profile fabric.toml --state /var/lib/int-analyzer
  int-analyzer sidecar -i eth1 --listen 127.0.0.1:9464      and a page, /metrics and a JSON API there
  int-analyzer sidecar -i eth1 --connections polling        a part of the RoCEv2 connections at a time: bounded cost
  int-analyzer sidecar -i eth1 --profile fabric.toml --prometheus http://prometheus:9090
  int-analyzer sidecar --replay mirror.pcap --speed 1       findings as they would have come, one JSON object a line
  int-analyzer sidecar --replay day.pcap.zst --speed inf --output findings.jsonl
"""


def sidecar(
    interface: Annotated[
        list[str] | None,
        typer.Option("--interface", "-i", metavar="NAME", help="Capture there; may be given several times. Needs CAP_NET_RAW."),
    ] = None,
    reports: Annotated[
        list[str] | None,
        typer.Option("--reports", metavar="udp://ADDR:PORT", help="Take telemetry reports on a UDP socket; may be given several times."),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Rings of each interface, which share its flows.")] = 1,
    ring_mb: Annotated[int, typer.Option("--ring-mb", min=4, metavar="MB", help="Size of each ring.")] = 64,
    timestamps: Annotated[
        str,
        typer.Option(
            "--timestamps",
            metavar="auto|hardware|kernel",
            help="Whose times: the interface's where it has a clock that is set, else the kernel's; or one of both, or nothing.",
        ),
    ] = "auto",
    filter: Annotated[
        str | None, typer.Option("--filter", metavar="EXPR", help="Let only these packets in: pcap-filter(7).", show_default=False)
    ] = None,
    replay: Annotated[
        str | None, typer.Option("--replay", metavar="FILE", help="Read a capture as if it came in now.", show_default=False)
    ] = None,
    speed: SpeedOption = 1.0,
    connections: ConnectionsOption = "auto",
    profile: ProfileOption = None,
    counters: CountersOption = None,
    prometheus: PrometheusOption = None,
    prometheus_token: PrometheusTokenOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Append findings there instead of printing them.", show_default=False),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="Keep totals and findings there, to go on from after a restart.", show_default=False),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Answer over HTTP there: page, /metrics, /healthz, /api.", show_default=False),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="Who asks has to know its first line; needed where others can reach --listen."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate (PEM) for --listen.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key.")] = None,
    webhook: Annotated[
        str | None,
        typer.Option("--webhook", metavar="URL", help="Post findings there, in the format of Alertmanager's webhook.", show_default=False),
    ] = None,
    otlp: Annotated[
        str | None,
        typer.Option("--otlp", metavar="URL", help="Send metrics, findings and sampled paths to a collector (OTLP/HTTP, JSON)."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="DIR", help="Write the packets around each finding's start there, as pcapng.", show_default=False),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="Write every queue, second by second, there.", show_default=False)
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Answer over HTTP when a replay is over, too.")] = False,
) -> None:
    """Watch packets as they come, and say when a finding starts, changes and ends.

    Every second the last ten are judged. SIGTERM stops it, SIGHUP reads the profile again. docs/sidecar.md says what it writes.
    """
    check_sources(interface, reports, replay, speed)
    forgo_library_threads()
    from int_analyzer.live import timestamp
    from int_analyzer.sidecar import assembly
    from int_analyzer.sidecar.server import Listening

    def evidence(known: Profile) -> list[CounterSource]:
        return evidence_from(known, counters, prometheus, prometheus_token)

    if timestamps not in timestamp.CHOICES:
        raise typer.BadParameter(f"--timestamps is one of {', '.join(timestamp.CHOICES)}")
    assembly.run(
        assembly.Options(
            interfaces=interface or [],
            threads=threads,
            ring_mb=ring_mb,
            timestamps=timestamps,
            expression=filter or "",
            reports=reports or [],
            replay=replay,
            speed=speed,
            connections=polling_from(connections),
            profile=profile,
            output=output,
            state=state,
            listening=Listening(listen, token_file, tls_cert, tls_key) if listen is not None else None,
            stay=stay,
            webhook=webhook,
            otlp=otlp,
            recordings=record,
            parquet=parquet,
            evidence=evidence if counters or prometheus or prometheus_token else None,
        )
    )
