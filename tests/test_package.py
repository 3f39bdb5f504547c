"""The package as a whole: what is public, what an import costs, that packaging and code agree."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mode import files_alone

import int_analyzer

pytestmark = files_alone

ROOT = Path(__file__).parent.parent
HEAVY = ("numpy", "numba", "pandas", "pyarrow", "networkx", "scapy", "pyshark", "rich", "pydantic")


def loaded_after(code: str) -> set[str]:
    """Modules of HEAVY that are loaded after running `code` in a fresh interpreter."""
    report = f"import sys\n{code}\nprint('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.rsplit("loaded:", 1)[1].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import int_analyzer") == set()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["analyze", "--help"], ["decode", "--help"], ["profile", "check", "--help"], ["--version"]]
)
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"from int_analyzer.cli import main\nassert main({arguments!r}) == 0"
    # typer checks its declarations with pydantic on some paths; that is quick, numpy and its friends are not
    assert loaded_after(code) - {"pydantic"} == set()


def test_a_small_capture_is_analysed_without_numba() -> None:
    capture = ROOT / "pcaps/bmv2-laofan-int-md-v2.1/s4-coll.pcap"
    assert "numba" not in loaded_after(f"import int_analyzer\nint_analyzer.analyze({str(capture)!r})")


def test_every_public_name_can_be_imported() -> None:
    for name in int_analyzer.__all__:
        assert getattr(int_analyzer, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = int_analyzer.nonsense


def test_dir_lists_the_public_names() -> None:
    assert dir(int_analyzer) == sorted(int_analyzer.__all__)


def test_no_file_is_long() -> None:
    folders = ("int_analyzer", "tests", "benchmarks", "docs")
    files = {path.relative_to(ROOT): path.read_text().count("\n") for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert len(files) > 300
    assert {str(path): lines for path, lines in files.items() if lines > 450} == {}


def test_the_public_module_is_short() -> None:
    assert len((ROOT / "int_analyzer/__init__.py").read_text().splitlines()) <= 60


def test_the_version_has_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "int_analyzer/__init__.py"
    assert f"## {int_analyzer.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_is_pinned_in_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(entry for extra in project["optional-dependencies"].values() for entry in extra)]
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {entry.split(">")[0].split("=")[0].split("<")[0].strip().lower().replace("_", "-") for entry in wanted}
    assert names <= pinned


def test_every_package_folder_is_a_package() -> None:
    folders = {path.parent for path in ROOT.glob("int_analyzer/**/*.py")}
    assert [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").is_file()] == []
