"""From captures to the draft of a profile."""

from __future__ import annotations

from int_analyzer.draft.detection import suggest
from int_analyzer.draft.document import draft_text
from int_analyzer.draft.sighting import see
from int_analyzer.draft.udp_port import find_ports
from int_analyzer.errors import SourceError
from int_analyzer.reading import Captures, Progress, Reading


def draft_profile(captures: Captures, accept_guesses: bool = False, *, progress: Progress | None = None) -> str:
    """A commented TOML profile for these captures: the same text for the same captures.

    What is active changes no reading; guesses stay behind "# " unless accepted. Captures are read several times.
    Raises SourceError (also for standard input) and CaptureError.
    """
    reading = Reading(captures, progress=progress)
    if "-" in reading.files:
        raise SourceError("-", "standard input cannot be read again to check what was found: give profile init a file")
    sighting = see(reading)
    found = find_ports(sighting.samples, reading.compiled)
    return draft_text(reading.files, sighting, suggest(captures, sighting, found, accept_guesses), accept_guesses)
