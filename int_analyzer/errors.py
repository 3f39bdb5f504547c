"""What can go wrong around packets. A packet itself never raises: it gets a status (status.STATUSES).

IntAnalyzerError
├── CaptureError    the bytes are not a capture, or stop being one
├── SourceError     the capture cannot be reached: missing, empty folder, no permission
├── ProfileError    the profile says something that cannot be
├── EvidenceError   counters cannot be read: a file that is none, a Prometheus that does not answer
├── ScenarioError   a scenario cannot be simulated as asked
├── TruthError      a truth file cannot be understood
├── TopologyError   the topology file of a lab says something that cannot be
└── LabError        a lab cannot be built or run here: what is missing, or what the system refused
"""

from __future__ import annotations


class IntAnalyzerError(Exception):
    """Base of all errors that the command line prints as one line and exit code 2."""


class SourceError(IntAnalyzerError):
    """A source cannot be opened or read: path and reason."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = str(path)
        self.reason = reason


class CaptureError(IntAnalyzerError):
    """A file is not a capture, or its framing cannot be understood: path, byte offset and reason."""

    def __init__(self, path: object, offset: int, reason: str) -> None:
        super().__init__(f"{path}: at byte {offset}: {reason}")
        self.path = str(path)
        self.offset = offset
        self.reason = reason


class ProfileError(IntAnalyzerError):
    """A profile is not valid: path, key (dotted) and reason."""

    def __init__(self, path: object, key: str, reason: str) -> None:
        super().__init__(f"{path}: {key}: {reason}" if key else f"{path}: {reason}")
        self.path = str(path)
        self.key = key
        self.reason = reason


class EvidenceError(IntAnalyzerError):
    """Counters cannot be read: file or address, and reason."""

    def __init__(self, source: object, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = str(source)
        self.reason = reason


class TruthError(IntAnalyzerError):
    """A file is not what a truth file has to be: path and reason."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = str(path)
        self.reason = reason


class ScenarioError(IntAnalyzerError):
    """A scenario is not known, or does not arise with the settings given."""


class TopologyError(IntAnalyzerError):
    """A topology file is not valid: path, key (dotted) and reason."""

    def __init__(self, path: object, key: str, reason: str) -> None:
        super().__init__(f"{path}: {key}: {reason}" if key else f"{path}: {reason}")
        self.path = str(path)
        self.key = key
        self.reason = reason


class LabError(IntAnalyzerError):
    """A lab cannot be built or run here."""
