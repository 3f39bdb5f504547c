"""What tests share: modes that leave out what they make no difference to (mode.py); the switch of those that need one; hypothesis tries
the same examples every time in CI, on a developer's machine always new ones.

A whole run with checked indices in which no test asked for some kernel fails."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from mode import LEFT_OUT, WITHOUT_MACHINE_CODE, Asked, NoMachineCode, called_kernels

from int_analyzer import _jit

if TYPE_CHECKING:
    from bmv2_bench import Bench

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


_asked = Asked()
"""In a worker what its tests asked for, else what all did."""


def pytest_configure(config: pytest.Config) -> None:
    if _jit.BOUNDSCHECK and not _jit.DISABLED:
        _jit._entries = _asked


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _asked.names.update(getattr(node, "workeroutput", {}).get("asked", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a whole run fail that left kernels unchecked."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["asked"] = sorted(_asked.names)
        return
    options = config.option
    whole = config.args_source == config.ArgsSource.TESTPATHS and not (options.keyword or options.markexpr or options.collectonly)
    if whole and _jit._entries is _asked:
        config.stash[_LEFT] = sorted(called_kernels() - _asked.names)
        if config.stash[_LEFT] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


_LEFT = pytest.StashKey[list[str]]()


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
    if left := terminalreporter.config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"FAILED: no test asked for {', '.join(left)}: too much was left out, or skipped", red=True)


@pytest.fixture(autouse=True)
def no_machine_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test marked as one without machine code asks for none."""
    if any(mark.args[0] in WITHOUT_MACHINE_CODE for name in ("once", "unchecked") for mark in request.node.iter_markers(name)):
        monkeypatch.setattr(_jit, "_entries", NoMachineCode())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A BMv2 switch on a bench, for a file of tests: while it is there, this process is in a network of its own."""
    from bmv2_bench import Bench

    made = Bench(tmp_path_factory.mktemp("bench"))
    yield made
    made.close()
