"""Findings as Alertmanager's webhook has them (version 4): for receivers that know its notifications."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from int_analyzer.analysis.wording import percent
from int_analyzer.sidecar.outbox import Outbox, checked_url
from int_analyzer.sidecar.track import END, Event

NAMES = {"root": "CongestedPort", "victim": "HeldUpPort", "host": "SlowHost"}
_NEVER = "0001-01-01T00:00:00Z"


class Webhook(Outbox):
    """Posts each start, update and end as a group of one alert."""

    def __init__(self, url: str, first_wait_s: float = 1.0) -> None:
        self._url = checked_url(url)
        super().__init__(first_wait_s)

    def take(self, events: Sequence[Event]) -> None:
        """Post the events, in their order."""
        for event in events:
            self.put(self._url, json.dumps(notification(event, self._url)).encode())


def notification(event: Event, url: str) -> dict[str, Any]:
    """The body of one notification."""
    finding, ended = event.finding, event.event == END
    labels = {
        "alertname": NAMES.get(finding["role"], "Finding"),
        "node": finding["node"],
        "port": finding["port"],
        "queue": "" if finding["queue"] is None else str(finding["queue"]),
        "role": finding["role"],
        "cause": finding["cause"],
        "severity": "warning" if finding["role"] == "root" else "info",
    }
    annotations = {
        "summary": f"node {finding['node']} port {finding['port']}: {finding['cause']}",
        "description": "; ".join(finding["evidence"]),
        "culprits": "; ".join(f"{percent(flow['share'])} {flow['flow']}" for flow in finding["culprits"]),
        "confidence": f"{finding['confidence']:.2f}",
    }
    status = "resolved" if ended else "firing"
    alert = {
        "status": status,
        "labels": labels,
        "annotations": annotations,
        "startsAt": _time(finding["start_ns"]),
        "endsAt": _time(finding["end_ns"]) if ended else _NEVER,
        "generatorURL": "",
        "fingerprint": finding["id"],
    }
    return {
        "version": "4",
        "groupKey": finding["id"],
        "truncatedAlerts": 0,
        "status": status,
        "receiver": "int-analyzer",
        "groupLabels": {"alertname": labels["alertname"]},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": url,
        "alerts": [alert],
    }


def _time(nanoseconds: int) -> str:
    """RFC 3339, in nanoseconds."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
