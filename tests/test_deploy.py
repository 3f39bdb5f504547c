"""What lies in deploy/ fits the command that it starts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from mode import files_alone
from traffic import ROOT

from int_analyzer.cli import main

pytestmark = files_alone

UNIT = ROOT / "deploy/systemd/int-analyzer-sidecar@.service"
FILES = [UNIT, ROOT / "deploy/Containerfile", ROOT / "deploy/kubernetes/daemonset.yaml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_option_that_is_given_is_one_of_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sidecar", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    started = [line for line in lines if re.search(r"ExecStart=|ENTRYPOINT|^CMD|^ +- --", line)]
    given = [option for line in started for option in re.findall(r"--[a-z][a-z-]+", line.replace("env --ignore-signal", ""))]
    assert given and set(given) <= known


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit_and_little_exposed(tmp_path: Path) -> None:
    unit = tmp_path / "int-analyzer-sidecar@eth1.service"
    shutil.copy(UNIT, unit)
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout.splitlines()[-1]


def test_kubernetes_knows_every_field_of_the_daemonset() -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate, which brings the schemas")
    yaml = pytest.importorskip("yaml")
    documents = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/daemonset.yaml").read_text(encoding="utf-8")))
    assert [document["kind"] for document in documents] == ["ConfigMap", "DaemonSet"]
    for document in documents:
        schemas.validate(document, schemas.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("logrotate") is None, reason="needs logrotate")
def test_logrotate_reads_its_file(tmp_path: Path) -> None:
    command = ["logrotate", "--debug", "--state", tmp_path / "state", ROOT / "deploy/logrotate/int-analyzer"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr


def test_the_documentation_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sidecar", "--help"]) == 0
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out.split("Options:")[1])) - {"--help", "--stay"}
    document = (ROOT / "docs/sidecar.md").read_text(encoding="utf-8")
    assert [option for option in sorted(options) if option not in document and option != "--profile"] == []
