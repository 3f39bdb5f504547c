"""One scenario on one data plane, from nothing to a verdict: build, send, record, write the truth, analyse, score."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """What came out of one stream of it, "" where there is only one."""

    scenario: str
    seed: int
    stream: str
    result: Result
    score: Score
    sentence: str


def run_trials(fabric: Fabric, scenario: str, seed: int, folder: Path) -> list[Trial]:
    """Run a scenario and score the analysis of its captures, stream by stream; captures, truth and profile are left in the folder, or in
    one below it for each stream."""
    streams = list(dict.fromkeys(point.stream for point in fabric.points()))
    plan = make_plan(scenario, fabric.topology, fabric.packets_per_second, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what is written by an interrupted run never looks like a result
        with tempfile.TemporaryDirectory(dir=folder, prefix=".lab-") as part:
            with fabric:
                fabric.build(plan)
                run = fabric.run(plan, Path(part), seed)
                documents = {stream: document_of(fabric, plan, run, seed, stream) for stream in streams}
                for stream, document in documents.items():
                    (Path(part) / stream / TRUTH_FILE).write_text(json.dumps(document, indent=1) + "\n")
                    (Path(part) / stream / PROFILE_FILE).write_text(profile_of(fabric))
            for file in [file for file in Path(part).rglob("*") if file.is_file()]:
                there = folder / file.relative_to(part)
                there.parent.mkdir(exist_ok=True)
                file.replace(there)
    except OSError as error:
        raise LabError(f"{error.filename or folder}: {error.strerror or error}") from error
    lost = sum(capture["dropped"] for document in documents.values() for capture in document["captures"])
    if lost:
        raise LabError(f"{lost} packets were not recorded: this machine is too slow for the lab, or too busy")
    return [_judge(scenario, seed, stream, document, folder / stream) for stream, document in documents.items()]


def _judge(scenario: str, seed: int, stream: str, document: dict[str, Any], folder: Path) -> Trial:
    captures = [str(folder / capture["file"]) for capture in document["captures"]]
    result, truth = analyze(captures, load_profile(folder / PROFILE_FILE)), truth_of(document)
    reached = score(result.summary, truth)
    return Trial(scenario, seed, stream, result, reached, sentence_of(result.summary, truth, reached))
