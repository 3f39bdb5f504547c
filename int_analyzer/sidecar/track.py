"""Findings in time: each is said once when it starts, now and then while it lasts, and once when it has ended.

A judgement is made every second, of the last ten. One that comes and goes with single judgements would cry wolf: a finding starts when
two judgements in a row have it, changes its role when three in a row say so, and ends when it has not been seen for some time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from int_analyzer.analysis.finding import HOST
from int_analyzer.analysis.summary import Finding
from int_analyzer.report.json_document import document

START, UPDATE, END = "start", "update", "end"

CONFIRMED = 2
"""Judgements in a row that begin a finding."""
ROLE_CONFIRMED = 3
"""Judgements in a row that change its role or cause."""
HOLD_NS = 5_000_000_000
"""A finding that no judgement has had for so long has ended; each judgement looks back ten seconds itself."""
UPDATE_NS = 10_000_000_000
"""A finding that lasts is said again so often."""
GROWN = 2.0
"""… or when its peak has become so many times what was said last."""

CALM_AGAIN, UNJUDGED = "calm again", "not judged any more: only a part of the connections is followed"
"""Why a finding ends."""

_OF_JUDGEMENT = ("role", "cause")


@dataclass
class Track:
    """One finding while it lasts. `document` is what is said of it: docs/json.md, with the id and the times of the whole."""

    id: str
    document: dict[str, Any]
    first_ns: int
    seen_ns: int
    seen: int = 1
    said_ns: int | None = None
    said_peak: float = 0.0
    candidate: list[str] = field(default_factory=list)
    candidates: int = 0

    @property
    def peak(self) -> float:
        """Largest depth so far, or latency where no depth is known."""
        depth, latency = self.document["peak_depth"], self.document["peak_latency"]
        return float(depth if depth is not None else latency or 0.0)


@dataclass(frozen=True)
class Event:
    """What became of a finding, and when (capture clock)."""

    event: str
    at_ns: int
    finding: dict[str, Any]
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """As one JSON object."""
        return {"event": self.event, "at_ns": self.at_ns, "reason": self.reason, **self.finding}


class Tracks:
    """All findings that last, by place. started: how many began, by role."""

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self._tracks: dict[str, Track] = {}

    @property
    def lasting(self) -> list[dict[str, Any]]:
        """Findings that were said to have started, in the order of the last judgement's ranks: roots first, then by impact."""
        said = [track.document for track in self._tracks.values() if track.said_ns is not None]
        return sorted(said, key=lambda found: (found["role"] != "root", -found["impact"]))

    @property
    def places(self) -> list[tuple[int | None, int | None, int | None]]:
        """Node id, egress port and queue id of everything that was found, said or not."""
        documents = [track.document for track in self._tracks.values()]
        return [(found["node_id"], found["port_id"], found["queue"]) for found in documents]

    @property
    def unsaid(self) -> bool:
        """Whether there is something that only one judgement has seen."""
        return any(track.said_ns is None for track in self._tracks.values())

    def update(self, now_ns: int, findings: Sequence[Finding], from_ns: int = 0, polled: bool = False) -> list[Event]:
        """Take a judgement in: what has to be said.

        from_ns: where the times in the evidence begin to count; polled: it saw a part of the connections, which tells nothing of hosts.
        """
        ids = self._take(now_ns, findings)
        events = []
        for place, track in list(self._tracks.items()):
            if track.seen_ns < now_ns and track.said_ns is None:
                # seen once and no more: nobody has heard of it
                del self._tracks[place]
            elif now_ns - track.seen_ns > HOLD_NS:
                unjudged = polled and track.document["role"] == HOST
                events.append(self._end(place, now_ns, UNJUDGED if unjudged else CALM_AGAIN))
            elif track.seen_ns == now_ns and (event := self._say(track, now_ns)):
                events.append(event)
        for track in self._tracks.values():
            # another judgement's id of the root means nothing any more
            if track.seen_ns == now_ns:
                track.document["root"] = ids.get(track.document["root"] or "")
                track.document["evidence_from_ns"] = from_ns
        return events

    def end_all(self, now_ns: int, reason: str) -> list[Event]:
        """End everything that was said to have started."""
        return [self._end(place, now_ns, reason) for place, track in list(self._tracks.items()) if track.said_ns is not None]

    def shift(self, now_ns: int) -> None:
        """The clock was set: what lasts goes on from now."""
        for track in self._tracks.values():
            track.seen_ns = now_ns
            track.said_ns = None if track.said_ns is None else now_ns

    def kept(self) -> dict[str, Any]:
        """Everything as plain values, for a checkpoint."""
        return {"started": self.started, "tracks": {place: asdict(track) for place, track in self._tracks.items()}}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take back what `kept` gave."""
        self.started = dict(kept["started"])
        self._tracks = {place: Track(**track) for place, track in kept["tracks"].items()}

    def _take(self, now_ns: int, findings: Sequence[Finding]) -> dict[str, str]:
        """Bring tracks up to date: the lasting id of every id of this judgement."""
        ids = {}
        for finding in findings:
            place = _place(finding)
            track = self._tracks.get(place)
            if track is None:
                name = f"{place}@{finding.start_ns / 1e9:.3f}"
                track = self._tracks[place] = Track(name, document(finding), now_ns, now_ns)
            else:
                self._absorb(track, document(finding))
                track.seen_ns = now_ns
                track.seen += 1
            track.document["id"] = track.id
            ids[finding.id] = track.id
        return ids

    def _absorb(self, track: Track, new: dict[str, Any]) -> None:
        old = track.document
        new["start_ns"] = min(old["start_ns"], new["start_ns"])
        new["end_ns"] = max(old["end_ns"], new["end_ns"])
        if (old["peak_depth"] or 0) > (new["peak_depth"] or 0):
            new["peak_depth"], new["peak_depth_ns"] = old["peak_depth"], old["peak_depth_ns"]
        if (old["peak_latency"] or 0) > (new["peak_latency"] or 0):
            new["peak_latency"] = old["peak_latency"]
        found = [new[name] for name in _OF_JUDGEMENT]
        if found == [old[name] for name in _OF_JUDGEMENT]:
            track.candidates = 0
        else:
            track.candidates = track.candidates + 1 if found == track.candidate else 1
            track.candidate = found
            if track.candidates < ROLE_CONFIRMED:
                new.update({name: old[name] for name in _OF_JUDGEMENT})
        track.document = new

    def _say(self, track: Track, now_ns: int) -> Event | None:
        if track.said_ns is None:
            if track.seen < CONFIRMED:
                return None
            kind, reason = START, ""
            self.started[track.document["role"]] = self.started.get(track.document["role"], 0) + 1
        elif track.candidates == ROLE_CONFIRMED:
            kind, reason = UPDATE, f"now {track.document['role']}, {track.document['cause']}"
        elif track.peak >= GROWN * track.said_peak > 0:
            kind, reason = UPDATE, "grown"
        elif now_ns - track.said_ns >= UPDATE_NS:
            kind, reason = UPDATE, "lasts"
        else:
            return None
        track.said_ns, track.said_peak = now_ns, track.peak
        return Event(kind, now_ns, track.document, reason)

    def _end(self, place: str, now_ns: int, reason: str) -> Event:
        return Event(END, now_ns, self._tracks.pop(place).document, reason)


def _place(finding: Finding) -> str:
    """A queue by the numbers on the wire: names may change with the profile."""
    parts = (finding.node_id, finding.port_id, finding.queue)
    named = (finding.node, finding.port, "")
    return "-".join(str(name if number is None else number) for number, name in zip(parts, named, strict=True)).rstrip("-")
