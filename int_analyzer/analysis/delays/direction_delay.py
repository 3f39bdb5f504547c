"""Delays of messages → what is said of one direction of a connection: how many were slow, and where their time went."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.analysis.delays.delay_summary import DirectionDelay
from int_analyzer.analysis.delays.slow_message import SlowMessages
from int_analyzer.analysis.paths import port_of


def untold(reason: str) -> DirectionDelay:
    """Of what has no messages, or has them told elsewhere."""
    return DirectionDelay(delay_reason=reason)


class DirectionDelays:
    """The delays of all directions of a view, summed up by direction (a row of ConnectionView)."""

    def __init__(self, slow: SlowMessages) -> None:
        self._slow = slow
        delays, told, count = slow.delays, slow.delays.told, len(slow.view.connections.src)
        excess = delays.time - delays.usual

        def by_direction(rows: Any, of: Any = None) -> Any:
            return np.bincount(slow.direction[rows], of[rows] if of is not None else None, count)

        self._seen = by_direction(np.arange(len(delays.rows)))
        self._judged = by_direction(np.flatnonzero(~np.isnan(delays.usual)))
        self._number, self._delay = by_direction(delays.slow), by_direction(delays.slow, excess)
        self._told, self._told_delay = by_direction(told), by_direction(told, excess)
        self._resent, self._elsewhere, self._unseen = (by_direction(told, ns) for ns in (delays.resent, delays.elsewhere, delays.unseen))
        self._worst = self._find_worst(told)

    def of(self, direction: int) -> DirectionDelay:
        """One direction."""
        if not self._judged[direction]:
            return untold(self._why_unjudged(direction))
        number, delay = int(self._number[direction]), float(self._told_delay[direction])
        counts = int(self._judged[direction]), number, int(self._delay[direction])
        if delay == 0:
            reason = self._slow.why_unknown(direction) if number else "none of its messages was slow"
            return DirectionDelay(*counts, delay_reason=reason)
        resent, elsewhere, unseen = (float(ns[direction]) / delay for ns in (self._resent, self._elsewhere, self._unseen))
        queue, ns = self._worst.get(direction, (None, 0))
        silent = number - int(self._told[direction])
        return DirectionDelay(
            *counts,
            network_share=max(1 - resent - elsewhere - unseen, 0.0),
            resent_share=resent,
            elsewhere_share=elsewhere,
            not_seen_share=unseen,
            worst_hop=port_of(self._slow.view, self._slow.profile, queue) if queue is not None else None,
            worst_hop_share=ns / delay if queue is not None else None,
            delay_reason=f"{silent} of its {number} slow messages are not told: {self._slow.why_unknown(direction)}" if silent else "",
        )

    def _find_worst(self, told: Any) -> dict[int, tuple[int, int]]:
        """Of each direction the queue in which its slow messages lost most, and how much: ns."""
        parts, queues = self._slow.delays.parts, len(self._slow.view.queues.node_id)
        kept = np.isin(parts.message, told)
        keys, of = np.unique(self._slow.direction[parts.message[kept]] * max(queues, 1) + parts.queue[kept], return_inverse=True)
        ns = np.bincount(of, parts.ns[kept], len(keys))
        order = np.argsort(ns, kind="stable")
        places = zip((keys[order] // max(queues, 1)).tolist(), (keys[order] % max(queues, 1)).tolist(), ns[order].tolist(), strict=True)
        # the longest comes last
        return {direction: (queue, int(most)) for direction, queue, most in places}

    def _why_unjudged(self, direction: int) -> str:
        if self._seen[direction]:
            return "its messages have no like to be compared with"
        seen = self._slow.view.connections
        if self._slow.view.journal.forgotten and seen.completed[direction] + seen.one_sided[direction]:
            return "marks of its messages were forgotten: only the latest are told"
        return "no whole message of it was seen"
