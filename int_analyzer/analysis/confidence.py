"""How sure a finding is: every doubt takes a part of the confidence, and is said."""

from __future__ import annotations

from dataclasses import dataclass

from int_analyzer.analysis.congestion import LATENCY, RISEN, Congestion
from int_analyzer.analysis.root import VICTIM, Place
from int_analyzer.analysis.units import QueueUnits
from int_analyzer.analysis.wording import percent
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT

CLEAR_RISE = 50.0
"""A few frames do not make packets so many times slower."""
PAUSED_WHOLE = 0.8
"""Pauses are not seen themselves."""
UNORDERED = 0.4
"""At most so much is lost where clocks of several captures differ: what is in one time bucket may not have been at one time."""
BEST = 0.94
"""Nothing seen through a mirror is certain."""


@dataclass(frozen=True)
class Confidence:
    """0…1, and the reasons for what is missing, the strongest first."""

    value: float
    doubts: list[str]


def weigh(view: View, units: QueueUnits, congestion: Congestion, place: Place, crossed: list[tuple[int, int]], loss: float) -> Confidence:
    """Confidence in place and role of a finding. `loss` is the share of lost reports and mirrored packets."""
    queues, queue = view.queues, congestion.queue
    packets = max(1, int(queues.packets[queue]))
    on_paths = sum(int(view.paths.packets[path]) for path, _ in crossed)
    holes = sum(int(view.paths.holes[path]) for path, _ in crossed) / on_paths if on_paths else 0.0
    cut = int(queues.truncated[queue]) / packets
    backwards = view.counts.get("time_backwards", 0) / max(1, view.counts.get("packets", 0))
    above = congestion.above
    excess = congestion.peak.peak / congestion.threshold if congestion.threshold else float("inf")
    factors: list[tuple[float, str]] = [
        (1 - 1 / (above + 2), f"only {above} packets above the threshold") if above < 30 else (1.0, ""),
        (0.85, f"the peak is only {excess:.2g} × the threshold") if excess < 2 else (1.0, ""),
        (0.9, "the unit of the depth is a guess") if congestion.measure != LATENCY and units.depth_assumed[queue] else (1.0, ""),
        (0.5, "latency does not rise") if congestion.rise is not None and congestion.rise < RISEN else (1.0, ""),
        (0.6, "the unit of the depth is ambiguous, and no latency confirms that packets wait")
        if congestion.measure != LATENCY and units.depth_ambiguous[queue] and congestion.rise is None
        else (1.0, ""),
        (0.7, "the unit of the depth is ambiguous: bytes would be only a few frames")
        if congestion.measure != LATENCY and units.depth_ambiguous[queue] and congestion.rise is not None and congestion.rise < CLEAR_RISE
        else (1.0, ""),
        (0.6, "it has no calm time, and nothing to compare it with") if _incomparable(congestion) else (1.0, ""),
        (0.5, "node id missing: several nodes may be taken for one") if int(queues.node_id[queue]) == ABSENT else (1.0, ""),
        (0.7, "hop latency is the only evidence") if congestion.measure == LATENCY else (1.0, ""),
        (1 - min(UNORDERED, backwards), f"time goes backwards at {percent(backwards)} of the packets") if backwards >= 0.01 else (1.0, ""),
        (1 - min(0.5, loss), f"{percent(loss)} of the reports or mirrored packets are lost") if loss >= 0.01 else (1.0, ""),
        (1 - 0.5 * holes, f"{percent(holes)} of the packets have holes in their path") if holes >= 0.01 else (1.0, ""),
        (1 - 0.5 * cut, f"{percent(cut)} of the packets have a cut stack") if cut >= 0.01 else (1.0, ""),
        (0.9, "the telemetry names no port") if int(queues.port[queue]) == ABSENT else (1.0, ""),
    ]
    if place.role == VICTIM and place.paused is not None:
        factors.append((PAUSED_WHOLE, "that it is held up as a whole is concluded"))
    elif place.role == VICTIM:
        share = place.waiting_share
        factors.append((0.5 + 0.5 * share, f"only {percent(share)} of the waiting is for a congested queue") if share < 0.9 else (1.0, ""))
    else:
        share = place.waiting_share
        doubtful = share >= 0.1 and place.alone is None
        factors.append((1 - 0.5 * share, f"{percent(share)} of the waiting is for a congested queue") if doubtful else (1.0, ""))
        if place.nothing_after:
            factors.append((0.95, "no further hop is seen: what comes after it cannot be ruled out"))
    if place.circle:
        factors.append((0.5, "congested queues wait for each other in a circle"))
    value = BEST
    for factor, _ in factors:
        value *= factor
    doubts = [reason for factor, reason in sorted(factors) if reason]
    return Confidence(max(0.05, round(value, 3)), doubts)


def _incomparable(congestion: Congestion) -> bool:
    return not congestion.calm and congestion.rise is None and not congestion.compared
