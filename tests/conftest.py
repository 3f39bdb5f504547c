"""What tests share: modes that leave out what they make no difference to (mode.py); the switch of those that need one; hypothesis tries
the same examples every time in CI, on a developer's machine always new ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from mode import LEFT_OUT, NoMachineCode

from int_analyzer import _jit

if TYPE_CHECKING:
    from bmv2_bench import Bench

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name in LEFT_OUT:
            if marker := item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"{name}: {marker.args[0]}"))
    # those that wait for other programs are the longest: begun first, so that no worker is left alone with one at the end
    items.sort(key=lambda item: item.get_closest_marker("once") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ()))
    for reason, tests in reasons.most_common():
        terminalreporter.write_line(f"{tests:5} skipped: {reason}")


@pytest.fixture(autouse=True)
def no_machine_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test marked as unchecked asks for no machine code."""
    if request.node.get_closest_marker("unchecked"):
        monkeypatch.setattr(_jit, "_entries", NoMachineCode())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A BMv2 switch on a bench, for a file of tests: while it is there, this process is in a network of its own."""
    from bmv2_bench import Bench

    made = Bench(tmp_path_factory.mktemp("bench"))
    yield made
    made.close()
