"""Cases are simulated, written as captures, analysed as any capture is, and scored, several at a time."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from int_analyzer.errors import ScenarioError
from int_analyzer.scoring.case import CONDITIONS, SIZES, Case
from int_analyzer.scoring.score import Score, score
from int_analyzer.scoring.truth import TRUTH_FILE, read_truth, truth_of

PROFILE_FILE = "profile.toml"
SNAPLEN = 512
"""Bytes kept of a packet: headers and telemetry of any path, as a mirror that cuts frames keeps them."""


def run_case(case: Case, format: str) -> Score | None:
    """The score of one case; None if the situation does not arise with this seed on this fabric, or in this format (of EMISSIONS)."""
    from int_analyzer.result import analyze
    from int_analyzer.synth.emission import EMISSIONS
    from int_analyzer.synth.packets import operator_profile, told_truth, write_capture
    from int_analyzer.synth.scenario import Knobs, simulate_scenario

    knobs = Knobs(seed=case.seed, **SIZES[case.size]._asdict(), **CONDITIONS[case.condition]._asdict())
    if knobs.mirror_points > 1 and not EMISSIONS[format].mirrored:
        return None
    try:
        trace = simulate_scenario(case.scenario, knobs)
    except ScenarioError:
        return None
    with tempfile.TemporaryDirectory(prefix="int-analyzer-score-") as folder:
        # Only capture and profile: the analysis must not meet the truth.
        capture, profile = Path(folder) / "capture.pcap", Path(folder) / "profile.toml"
        write_capture(trace, str(capture), EMISSIONS[format], snaplen=SNAPLEN)
        profile.write_text(operator_profile(trace, EMISSIONS[format]))
        summary = analyze(str(capture), str(profile)).summary
    return score(summary, truth_of(told_truth(trace.truth, EMISSIONS[format])))


def run_cases(cases: Sequence[Case], format: str, jobs: int) -> Iterator[tuple[Case, Score | None]]:
    """Scores as they come, in the order of the cases; `jobs` processes."""
    if jobs == 1:
        for case in cases:
            yield case, run_case(case, format)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from zip(cases, pool.map(run_case, cases, [format] * len(cases)), strict=True)


def score_captures(folders: Iterable[Path]) -> Iterator[tuple[str, Score]]:
    """Scores of captures that lie in folders beside their truth files, as the laboratories write them. Raises TruthError."""
    from int_analyzer.capture import expand
    from int_analyzer.result import analyze

    for folder in folders:
        truth, profile = read_truth(folder / TRUTH_FILE), folder / PROFILE_FILE
        result = analyze(expand([str(folder)]), str(profile) if profile.exists() else None)
        yield folder.name, score(result.summary, truth)
