"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from mode import files_alone

from int_analyzer.cli import main

pytestmark = files_alone

ROOT = Path(__file__).parent.parent


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()


@pytest.mark.parametrize("name", list(GENERATOR.PAGES))
def test_a_generated_page_is_not_stale(name: str) -> None:
    path = ROOT / "docs" / name
    assert path.is_file() and path.read_text(encoding="utf-8") == GENERATOR.PAGES[name](), f"docs/{name} is stale: run make docs"


def test_every_verb_has_examples_and_a_sentence() -> None:
    for path, text in GENERATOR.help_texts():
        if path != "int-analyzer profile":
            assert "Examples:" in text, path
        assert re.search(r"\n\n  [A-Z][^\n]+[.:,\w]\n", text), path


def test_every_option_is_explained() -> None:
    for path, text in GENERATOR.help_texts():
        options = text.split("Options:")[1].split("\n\n")[0]
        for line in options.splitlines():
            if re.match(r"  -", line):
                at = options.index(line) + len(line)
                explained = re.search(r"\S  +\S", line.strip()) or re.match(r"\n {10,}\S", options[at:])
                assert explained, f"{path}: {line}"


def test_the_readme_names_every_verb() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = [path.split()[1] for path, _ in GENERATOR.help_texts() if len(path.split()) == 2]
    assert [verb for verb in verbs if f"int-analyzer {verb}" not in readme] == []


def test_the_readme_shows_what_the_command_says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```text\n\$ int-analyzer analyze (\S+)\n(.*?)```", readme, re.S)
    assert found is not None
    assert main(["analyze", str(ROOT / found[1])]) == 0
    shown, said = found[2].splitlines(), capsys.readouterr().out.splitlines()
    # how sure it is may change with the analysis; what it says may not
    assert shown[0].split(", since")[0] == said[0].split(", since")[0]
    links = [line for line in said if "→" in line and line.startswith((" !", "   "))]
    assert links and [line for line in links if line not in shown] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("pcaps/*.md")]
    broken = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []
