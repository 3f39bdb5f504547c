"""One scenario on one data plane, from nothing to a verdict: build, send, record, write the truth, analyse, score."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from int_analyzer.errors import LabError
from int_analyzer.lab.fabric import Fabric
from int_analyzer.lab.scenario import make_plan
from int_analyzer.lab.truth import document_of, profile_of
from int_analyzer.lab.verdict import sentence_of
from int_analyzer.profile import load_profile
from int_analyzer.result import Result, analyze
from int_analyzer.scoring.run import PROFILE_FILE
from int_analyzer.scoring.score import Score, score
from int_analyzer.scoring.truth import TRUTH_FILE, truth_of


@dataclass(frozen=True)
class Trial:
    """What came out of it."""

    scenario: str
    seed: int
    result: Result
    score: Score
    sentence: str


def run_trial(fabric: Fabric, scenario: str, seed: int, folder: Path) -> Trial:
    """Run a scenario and score the analysis of its captures; captures, truth and profile are left in the folder."""
    plan = make_plan(scenario, fabric.topology, fabric.packets_per_second, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what is written by an interrupted run never looks like a result
        with tempfile.TemporaryDirectory(dir=folder, prefix=".lab-") as part:
            with fabric:
                fabric.build(plan)
                run = fabric.run(plan, Path(part), seed)
                document = document_of(fabric, plan, run, seed)
                (Path(part) / TRUTH_FILE).write_text(json.dumps(document, indent=1) + "\n")
                (Path(part) / PROFILE_FILE).write_text(profile_of(fabric))
            for file in Path(part).iterdir():
                file.replace(folder / file.name)
    except OSError as error:
        raise LabError(f"{error.filename or folder}: {error.strerror or error}") from error
    lost = sum(capture["dropped"] for capture in document["captures"])
    if lost:
        raise LabError(f"{lost} packets were not recorded: this machine is too slow for the lab, or too busy")
    captures = [str(folder / capture["file"]) for capture in document["captures"]]
    result, truth = analyze(captures, load_profile(folder / PROFILE_FILE)), truth_of(document)
    reached = score(result.summary, truth)
    return Trial(scenario, seed, result, reached, sentence_of(result.summary, truth, reached))
