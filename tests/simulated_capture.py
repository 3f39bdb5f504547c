"""Scenarios as captures that are analysed, once for all tests of a process, and what really happened in them.

Plain Python goes without: it takes a minute to simulate and read one, and what it reads elsewhere is smaller.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from mode import TOO_LARGE

from int_analyzer import Result, _jit, analyze
from int_analyzer.fold.view import View
from int_analyzer.profile import Profile, load_profile
from int_analyzer.result import fold_captures
from int_analyzer.synth.emission import EMISSIONS
from int_analyzer.synth.packets import operator_profile, write_capture
from int_analyzer.synth.scenario import Knobs, simulate_scenario


@functools.cache
def captured(name: str, seed: int, seconds: float, sampling: int | None = None) -> tuple[Path, Path, dict[str, Any], Any]:
    """A capture, its profile with a price of hosts, the truth, and the folder in which both live."""
    if _jit.DISABLED:
        pytest.skip(TOO_LARGE)
    trace = simulate_scenario(name, Knobs(seed=seed, seconds=seconds, sampling=sampling))
    emission = EMISSIONS["int-md-2.1"]
    folder = tempfile.TemporaryDirectory()
    capture, profile = Path(folder.name) / "capture.pcap", Path(folder.name) / "profile.toml"
    write_capture(trace, str(capture), emission, snaplen=512)
    profile.write_text(operator_profile(trace, emission) + "\n[cost]\nhost_hour = 36.0\n")
    return capture, profile, trace.truth, folder


@functools.cache
def analysed(name: str, seed: int, seconds: float, sampling: int | None = None) -> Result:
    """The analysis of a scenario, whose rows can still be read."""
    capture, profile, _, _ = captured(name, seed, seconds, sampling)
    result = analyze(str(capture), str(profile))
    result.hops, result.roce, result.packets  # noqa: B018 - read while the capture is there
    return result


def viewed(name: str, seed: int, seconds: float) -> tuple[View, Profile]:
    """What the fold knows of a scenario."""
    capture, profile, _, _ = captured(name, seed, seconds)
    described = load_profile(profile)
    return fold_captures(str(capture), described)[0], described
