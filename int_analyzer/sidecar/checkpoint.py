"""What survives a restart: a folder with the last minute's states, totals and findings, at most five seconds old.

    stretch-N.npz   a state of ten seconds; one that has ended is written once more and then left alone
    calm.npz        what was usual
    sidecar.npz     totals, findings that last, the clock; written last: what it does not name is removed

Each file is a numpy archive (arrays by dotted attribute name, and the JSON text of everything else as bytes), and appears only when all of
it is on the disk: after a power cut, too, there is what was written before, or what was written last. Nothing is executed when one is read,
and one of another version, or a broken one, is left out, and told.
"""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
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
SLOW_S = 5.0
"""A disk that takes longer is said to be at fault."""
FINISH_S = 10.0
"""At the end it is waited for so long."""

_BROKEN = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error)
"""What numpy and zipfile raise for archives with bytes that are others than were written."""


class Unusable(Exception):
    """A file of a checkpoint that cannot be taken: the reason."""


def save(path: Path, kept: object, rest: dict[str, Any]) -> None:
    """Write the arrays and numbers of an object, and `rest`, to one file."""
    _store(path, _packed(kept, rest))


def _packed(kept: object, rest: dict[str, Any]) -> memoryview:
    arrays: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    _take_apart(kept, "", arrays, numbers)
    text = json.dumps({"version": __version__, "numbers": numbers, "rest": rest}).encode()
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, **arrays, **{_TEXT: np.frombuffer(text, dtype=np.uint8)})
    return archive.getbuffer()


def _store(path: Path, data: memoryview) -> None:
    """Write a file that takes its name when it is on the disk; that it has it is there after `_sync`."""
    with replacing(path) as part, part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have the names of a folder on the disk, where its file system can say so."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def load(path: Path, into: object) -> dict[str, Any]:
    """Put what `save` wrote into an object of the same kind, and give back its `rest`. Raises Unusable, which names the file."""
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        document = json.loads(arrays.pop(_TEXT).tobytes())
        if document["version"] != __version__:
            raise ValueError(f"written by version {document['version']}")
        _put_together(into, "", arrays, document["numbers"])
        if arrays:
            raise ValueError(f"{len(arrays)} unknown arrays")
    except _BROKEN as error:
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise Unusable(f"{path.name}: {told or type(error).__name__}") from error
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
                raise ValueError(f"{prefix}{name} has {array.dtype}{array.shape[1:]}, not {like.dtype}{like.shape[1:]}")
            if isinstance(value, Table):
                value.replace(array)
            else:
                setattr(into, name, array)
        elif isinstance(value, tuple):
            if list(value) != numbers[prefix + name]:
                raise ValueError(f"{prefix}{name} is {numbers[prefix + name]}, not {list(value)}")
        elif isinstance(value, (int, float, str, dict)) or value is None:
            setattr(into, name, numbers[prefix + name])
        elif hasattr(value, "__dict__"):
            _put_together(value, f"{prefix}{name}.", arrays, numbers)


class Checkpoint:
    """A folder that one sidecar writes, in a thread of its own: a disk that is slow keeps nobody waiting.

    faults: writes that failed so far, or did not come to their end before the next; fault: why the last one did. saved_ns: of what is
    written; wait_s, waits: how long the disk took, and how often. unusable: files that could not be read, and why.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults = 0
        self.fault = ""
        self.saved_ns = 0
        self.wait_s = 0.0
        self.waits = 0
        self.unusable: list[str] = []
        self._written: dict[int, int] = {}
        self._calm: State | None = None
        self._writer: threading.Thread | None = None
        self._began = 0.0

    def write(self, now_ns: int, stretches: Mapping[int, State], calm: State | None, totals: object, rest: dict[str, Any]) -> None:
        """Take what has changed as it is now, to be written; nothing while what was taken before is still being written.

        A disk that is full or gone is no reason to stop: it is counted, and tried again.
        """
        if self._writer is not None and self._writer.is_alive():
            took = time.monotonic() - self._began
            if took > SLOW_S:
                self._fail(f"{self.folder}: nothing is written for {took:.0f} s")
            return
        packets = {number: int(state.quality.counters[0]) for number, state in stretches.items()}
        changed = [number for number in stretches if self._written.get(number) != packets[number]]
        parts = [(self._stretch(number), _packed(stretches[number], {})) for number in changed]
        if calm is not None and calm is not self._calm:
            parts.append((self.folder / _CALM, _packed(calm, {})))
        main = _packed(totals, {**rest, "stretches": sorted(stretches)})

        def written() -> None:
            self._written, self._calm, self.saved_ns, self.fault = packets, calm, now_ns, ""

        self._began = time.monotonic()
        self._writer = threading.Thread(target=self._work, args=(parts, main, written), name="checkpoint", daemon=True)
        try:
            self._writer.start()
        except RuntimeError as error:
            self._writer = None
            self._fail(str(error))

    def finish(self, seconds: float = FINISH_S) -> bool:
        """Wait until it has written, or not any longer: whether it has."""
        if self._writer is None:
            return True
        self._writer.join(max(seconds, 0.0))
        return not self._writer.is_alive()

    def _work(self, parts: Sequence[tuple[Path, memoryview]], main: memoryview, written: Callable[[], None]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path, data in parts:
                _store(path, data)
            # what the last file names must be there when it is
            _sync(self.folder)
            _store(self.folder / _MAIN, main)
            _sync(self.folder)
            written()
            self._remove_others()
        except Exception as error:  # noqa: BLE001 - whatever a disk or a lack of memory raises, the next one is tried
            self._fail(str(error) if isinstance(error, OSError | SourceError) else f"{self.folder}: {type(error).__name__} {error}")
        self.wait_s += time.monotonic() - self._began
        self.waits += 1

    def _remove_others(self) -> None:
        """Remove what is no longer named, and what a process that was killed was about to write."""
        try:
            named = {self._stretch(number) for number in self._written}
            for path in {*self.folder.glob("stretch-*.npz"), *self.folder.glob(".*.npz.*.part")} - named:
                path.unlink(missing_ok=True)
        except OSError as error:
            # what was to be written is written
            self.fault = f"an old file stays: {error}"

    def _fail(self, fault: str) -> None:
        self.faults += 1
        self.fault = fault

    def exists(self) -> bool:
        """Whether anything was kept."""
        return (self.folder / _MAIN).exists()

    def read(self, totals: object, like: State) -> tuple[dict[str, Any], dict[int, State], State | None]:
        """What `write` left: `rest`, stretches and what was usual. Raises Unusable if there is nothing that can be taken."""
        try:
            rest = load(self.folder / _MAIN, totals)
        except Unusable as error:
            self.unusable.append(str(error))
            raise
        self.saved_ns = rest["now_ns"]
        # a stretch that is left out is ten seconds less to look back on
        read = {number: self._state(self._stretch(number), like) for number in rest["stretches"]}
        stretches = {number: state for number, state in read.items() if state is not None}
        calm = self.folder / _CALM
        return rest, stretches, self._state(calm, like) if calm.exists() else None

    def _state(self, path: Path, like: State) -> State | None:
        state = like.empty()
        try:
            load(path, state)
        except Unusable as error:
            self.unusable.append(str(error))
            return None
        return state

    def _stretch(self, number: int) -> Path:
        return self.folder / f"stretch-{number}.npz"
