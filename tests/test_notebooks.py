"""The notebooks run, and say what they said when they were committed."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mode import other_programs

pytestmark = other_programs

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parent.parent


def load_runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("execute", ROOT / "notebooks/execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = load_runner()


def printed(notebook: Any) -> str:
    texts = [
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]
    return "\n".join(texts)


@pytest.mark.parametrize("path", RUNNER.NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = RUNNER.execute(path)
    assert not [output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    if path.name == "first-look.ipynb":
        assert "node 2 port 2: root, overload" in printed(notebook)


@pytest.mark.parametrize("path", RUNNER.NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_committed_with_outputs_and_without_paths_of_a_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.outputs or cell.source.endswith(("=", ")")) for cell in notebook.cells if cell.cell_type == "code")
    assert str(ROOT) not in path.read_text(encoding="utf-8")
