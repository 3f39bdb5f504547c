"""One scenario on one data plane, from nothing to a verdict: build, send, record, write the truth, analyse, compare."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from int_analyzer.errors import LabError
from int_analyzer.lab.fabric import Fabric
from int_analyzer.lab.scenario import make_plan
from int_analyzer.lab.truth import profile_of, truth_of
from int_analyzer.lab.verdict import Verdict, judge
from int_analyzer.profile import load_profile
from int_analyzer.result import Result, analyze

TRUTH, PROFILE = "truth.json", "profile.toml"


@dataclass(frozen=True)
class Trial:
    """What came out of it."""

    scenario: str
    seed: int
    result: Result
    verdict: Verdict


def run_trial(fabric: Fabric, scenario: str, seed: int, folder: Path) -> Trial:
    """Run a scenario and judge the analysis of its captures; captures, truth and profile are left in the folder."""
    plan = make_plan(scenario, fabric.topology, fabric.packets_per_second, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what is written by an interrupted run never looks like a result
        with tempfile.TemporaryDirectory(dir=folder, prefix=".lab-") as part:
            with fabric:
                fabric.build(plan)
                run = fabric.run(plan, Path(part), seed)
                truth = truth_of(fabric, plan, run, seed)
                (Path(part) / TRUTH).write_text(json.dumps(truth, indent=1) + "\n")
                (Path(part) / PROFILE).write_text(profile_of(fabric))
            for file in Path(part).iterdir():
                file.replace(folder / file.name)
    except OSError as error:
        raise LabError(f"{error.filename or folder}: {error.strerror or error}") from error
    lost = sum(capture["dropped"] for capture in truth["captures"])
    if lost:
        raise LabError(f"{lost} packets were not recorded: this machine is too slow for the lab, or too busy")
    captures = [str(folder / capture["file"]) for capture in truth["captures"]]
    result = analyze(captures, load_profile(folder / PROFILE))
    return Trial(scenario, seed, result, judge(result.findings, truth))
