"""What survives a restart: a folder with the last minute's states, totals and findings, at most five seconds old.

    stretch-N.npz   a state of ten seconds; one that has ended is written once more and then left alone
    calm.npz        what was usual
    sidecar.npz     totals, findings that last, the clock; written last: what it does not name is removed

Each file is a numpy archive (arrays by dotted attribute name, and the JSON text of everything else as bytes), and appears only when it is
whole. Nothing is executed when one is read, and one of another version, or a broken one, is left out.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from int_analyzer import __version__
from int_analyzer.errors import SourceError
from int_analyzer.fold.state import State
from int_analyzer.fold.table import Table
from int_analyzer.output import replacing

_TEXT = "json"
_MAIN = "sidecar.npz"
_CALM = "calm.npz"


class Unusable(Exception):
    """A file of a checkpoint that cannot be taken: the reason."""


def save(path: Path, kept: object, rest: dict[str, Any]) -> None:
    """Write the arrays and numbers of an object, and `rest`, to one file."""
    arrays: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    _take_apart(kept, "", arrays, numbers)
    text = json.dumps({"version": __version__, "numbers": numbers, "rest": rest}).encode()
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **{_TEXT: np.frombuffer(text, dtype=np.uint8)})


def load(path: Path, into: object) -> dict[str, Any]:
    """Put what `save` wrote into an object of the same kind, and give back its `rest`. Raises Unusable."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        document = json.loads(arrays.pop(_TEXT).tobytes())
        if document["version"] != __version__:
            raise Unusable(f"written by version {document['version']}")
        _put_together(into, "", arrays, document["numbers"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise Unusable(str(error) or type(error).__name__) from error
    if arrays:
        raise Unusable(f"{len(arrays)} unknown arrays")
    rest: dict[str, Any] = document["rest"]
    return rest


def _take_apart(kept: object, prefix: str, arrays: dict[str, Any], numbers: dict[str, Any]) -> None:
    """Attributes by dotted name; those that begin with _ are made of the others. A dict is one of counters by name."""
    for name, value in vars(kept).items():
        if name.startswith("_"):
            continue
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = value
        elif isinstance(value, Table):
            arrays[prefix + name] = value.data
        elif isinstance(value, (int, float, str, tuple, dict)) or value is None:
            numbers[prefix + name] = value
        elif hasattr(value, "__dict__"):
            _take_apart(value, f"{prefix}{name}.", arrays, numbers)
        else:
            raise TypeError(f"{prefix}{name}: a {type(value).__name__} cannot be kept")


def _put_together(into: object, prefix: str, arrays: dict[str, Any], numbers: dict[str, Any]) -> None:
    for name, value in list(vars(into).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, (np.ndarray, Table)):
            array = arrays.pop(prefix + name)
            like = value.rows if isinstance(value, Table) else value
            if array.dtype != like.dtype or array.shape[1:] != like.shape[1:]:
                raise Unusable(f"{prefix}{name} has {array.dtype}{array.shape[1:]}, not {like.dtype}{like.shape[1:]}")
            if isinstance(value, Table):
                value.replace(array)
            else:
                setattr(into, name, array)
        elif isinstance(value, tuple):
            if list(value) != numbers[prefix + name]:
                raise Unusable(f"{prefix}{name} is {numbers[prefix + name]}, not {list(value)}")
        elif isinstance(value, (int, float, str, dict)) or value is None:
            setattr(into, name, numbers[prefix + name])
        elif hasattr(value, "__dict__"):
            _put_together(value, f"{prefix}{name}.", arrays, numbers)


class Checkpoint:
    """A folder that one sidecar writes. `faults`: writes that failed so far, and `fault`, why the last one did."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults = 0
        self.fault = ""
        self.saved_ns = 0
        self._written: dict[int, int] = {}
        self._calm: State | None = None

    def write(self, now_ns: int, stretches: Mapping[int, State], calm: State | None, totals: object, rest: dict[str, Any]) -> None:
        """Write what has changed. A disk that is full or gone is no reason to stop: it is counted, and tried again next time."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for number, state in stretches.items():
                packets = int(state.quality.counters[0])
                if self._written.get(number) != packets:
                    save(self._stretch(number), state, {})
                    self._written[number] = packets
            if calm is not None and calm is not self._calm:
                save(self.folder / _CALM, calm, {})
                self._calm = calm
            save(self.folder / _MAIN, totals, {**rest, "stretches": sorted(stretches)})
            named = {self._stretch(number) for number in stretches}
            for path in set(self.folder.glob("stretch-*.npz")) - named:
                path.unlink(missing_ok=True)
            self._written = {number: packets for number, packets in self._written.items() if number in stretches}
        except (OSError, SourceError) as error:
            self.faults += 1
            self.fault = str(error)
            return
        self.fault = ""
        self.saved_ns = now_ns

    def exists(self) -> bool:
        """Whether anything was kept."""
        return (self.folder / _MAIN).exists()

    def read(self, totals: object, like: State) -> tuple[dict[str, Any], dict[int, State], State | None]:
        """What `write` left: `rest`, stretches and what was usual. Raises Unusable if there is nothing that can be taken."""
        rest = load(self.folder / _MAIN, totals)
        stretches = {}
        for number in rest["stretches"]:
            state = like.empty()
            try:
                load(self._stretch(number), state)
            except Unusable:
                # ten seconds less to look back on
                continue
            stretches[number] = state
        calm: State | None = like.empty()
        try:
            load(self.folder / _CALM, calm)
        except Unusable:
            calm = None
        return rest, stretches, calm

    def _stretch(self, number: int) -> Path:
        return self.folder / f"stretch-{number}.npz"
