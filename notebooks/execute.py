"""Runs the notebooks beside this file, from this folder; with --write their outputs are kept.

python notebooks/execute.py [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path) -> Any:
    """The notebook with fresh outputs. Raises CellExecutionError where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in notebook.cells:
        # when a cell ran is noise in a repository
        cell.metadata.pop("execution", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def main() -> None:
    for path in NOTEBOOKS:
        notebook = execute(path)
        print(f"{path.name}: {len(notebook.cells)} cells ran")
        if "--write" in sys.argv[1:]:
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
