"""Options that name where counters of switches and hosts are read from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from int_analyzer.evidence.source import CounterSource
    from int_analyzer.profile import Profile

CountersOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--counters",
        metavar="FILE",
        help="Counters of switches and hosts as CSV, a reading a row: time,node,port,host,metric,value. May be given several times.",
        show_default=False,
    ),
]
PrometheusOption = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="Ask this Prometheus for the same counters, by the queries of the profile ([counters.symbol_errors] …).",
        show_default=False,
    ),
]
PrometheusTokenOption = Annotated[
    Path | None,
    typer.Option("--prometheus-token", metavar="FILE", help="A bearer token for it, in a file.", show_default=False),
]


def evidence_from(
    profile: Profile | None, counters: list[Path] | None, prometheus: str | None, token_file: Path | None
) -> list[CounterSource]:
    """The sources that the options name. Raises EvidenceError for one that is none."""
    if not counters and prometheus is None:
        if token_file is not None:
            raise typer.BadParameter("--prometheus-token: there is no --prometheus")
        return []
    from int_analyzer.evidence.csv_file import CsvFile
    from int_analyzer.evidence.prometheus import Prometheus
    from int_analyzer.profile import Profile

    known = profile if profile is not None else Profile()
    sources: list[CounterSource] = [CsvFile(path, known) for path in counters or ()]
    if prometheus is not None:
        sources.append(Prometheus(prometheus, known, token_file))
    return sources
