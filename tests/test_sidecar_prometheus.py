"""The alert rules and the dashboard of deploy/, against a real Prometheus that scrapes a sidecar."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mode import other_programs

pytestmark = other_programs

pytest.importorskip("starlette", reason="needs the extra sidecar")

from http_client import Client, answering
from test_sidecar import replayed
from traffic import CONGESTED, HEALTHY, ROOT, in_turn

from int_analyzer.sidecar import metric

RULES = ROOT / "deploy/prometheus/int-analyzer.rules.yml"
DASHBOARD = json.loads((ROOT / "deploy/grafana/int-analyzer.json").read_text(encoding="utf-8"))

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None, reason="needs prometheus (Debian package prometheus)"
)


def queries() -> list[tuple[str, str]]:
    """Title and query of every panel, with Grafana's variables replaced as Grafana does it."""
    found = []
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$instance", ".*").replace("$__rate_interval", "10s")
            found.append((panel["title"], query))
    return found


def test_rules_and_dashboard_name_only_metrics_that_there_are() -> None:
    known = set(metric.exposed_names())
    for text in (RULES.read_text(encoding="utf-8"), *(query for _, query in queries())):
        for name in re.findall(r"int_analyzer_[a-z_]+(?![a-z_(])", text):
            assert name in known or name == "int_analyzer_", name


@needs_prometheus
def test_promtool_takes_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", str(RULES)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0 and "SUCCESS: 10 rules found" in done.stdout, done.stdout + done.stderr


@needs_prometheus
def test_the_congestion_alert_fires_for_the_root_and_not_for_its_victims(tmp_path: Path) -> None:
    series = "int_analyzer_finding{{instance='s',node='{0}',port='2',queue='0',role='{1}',cause='{2}'}}"
    confidence = "int_analyzer_finding_confidence_ratio{{instance='s',node='{0}',port='2',queue='0'}}"
    inputs = []
    for node, role, cause, sure in (("2", "root", "overload", 0.8), ("1", "victim", "back-pressure", 0.8), ("9", "root", "unknown", 0.2)):
        inputs.append({"series": series.format(node, role, cause), "values": "1x6"})
        inputs.append({"series": confidence.format(node), "values": f"{sure}x6"})
    alert = {
        "exp_labels": {"severity": "warning", "instance": "s", "node": "2", "port": "2", "queue": "0", "role": "root", "cause": "overload"},
        "exp_annotations": {
            "summary": "Node 2 port 2 is congested (overload)",
            "description": "Ports that it holds up have no alert of their own. Evidence and culprits: /api/findings of s.",
        },
    }
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "5s",
        "tests": [
            {
                "interval": "5s",
                "input_series": inputs,
                "alert_rule_test": [
                    {"eval_time": "5s", "alertname": "CongestedPort", "exp_alerts": []},
                    {"eval_time": "15s", "alertname": "CongestedPort", "exp_alerts": [alert]},
                ],
            }
        ],
    }
    # JSON is YAML
    (tmp_path / "test.yml").write_text(json.dumps(test))
    done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A Prometheus that has scraped a sidecar, while a finding lasted, for some seconds."""
    if shutil.which("prometheus") is None:
        pytest.skip("needs prometheus (Debian package prometheus)")
    folder = tmp_path_factory.mktemp("prometheus")
    # with frames left out, reports are missing, and the finding is not sure enough for an alert
    sidecar, _ = replayed(in_turn(HEALTHY, CONGESTED, every=1))
    sidecar.workers[0].lane.lost = 5
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with answering(sidecar) as client:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "int-analyzer", "static_configs": [{"targets": [f"127.0.0.1:{client.port}"]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}"]
        with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=folder, stderr=log, stdout=log) as process:
            try:
                asked = Client(port)
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline:
                    try:
                        if len(ask(asked, "int_analyzer_packets_total[1m]")[0]["values"]) >= 3:
                            break
                    except (OSError, IndexError, KeyError, ValueError):
                        assert process.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)
                yield asked
            finally:
                process.terminate()


def ask(client: Client, query: str) -> list[dict[str, Any]]:
    """What Prometheus answers to an instant query."""
    answer = client.get("/api/v1/query?" + urllib.parse.urlencode({"query": query})).json()
    assert answer["status"] == "success", (query, answer)
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


ABSENT_HERE = {"Queue depth, p99 (bytes)", "Hop latency, p99", "Packets by status, without ok"}
"""The capture's units are unknown, and all of its packets are read."""


@needs_prometheus
@pytest.mark.parametrize(("title", "query"), queries(), ids=[title for title, _ in queries()])
def test_every_panel_of_the_dashboard_has_an_answer(title: str, query: str, prometheus: Client) -> None:
    found = ask(prometheus, query)
    assert bool(found) == (title not in ABSENT_HERE), query


@needs_prometheus
def test_prometheus_sees_the_finding_and_its_alert(prometheus: Client) -> None:
    finding = ask(prometheus, "int_analyzer_finding")[0]["metric"]
    assert (finding["node"], finding["port"], finding["role"]) == ("2", "2", "root")
    deadline = time.monotonic() + 10
    states: set[str] = set()
    while time.monotonic() < deadline and "CongestedPort" not in states:
        states = {alert["labels"]["alertname"] for alert in prometheus.get("/api/v1/alerts").json()["data"]["alerts"]}
        time.sleep(0.2)
    assert "CongestedPort" in states and "SidecarDown" not in states
