"""When messages were complete: at the acknowledgement that covers them, a READ at its last response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from int_analyzer.analysis.hosts.message import Messages, unwrap
from int_analyzer.fold.direction import PSN_MASK
from int_analyzer.fold.transport import READ
from int_analyzer.fold.view import ConnectionView, JournalView

_SHIFT, _HALF = 40, 1 << 32
"""A direction and an unwrapped PSN, which may fall below 0, as one sortable number."""


@dataclass(frozen=True)
class Completions:
    """Of every message: when it was answered, or its last packet if that was not seen; row of the answer's mark, −1 if none: int64[n] each.

    response: of a READ the row among the messages of its response, −1 otherwise.
    """

    end_ns: Any
    answer: Any
    response: Any

    @property
    def answered(self) -> Any:
        """bool[n]"""
        return (self.answer >= 0) | (self.response >= 0)


def complete(seen: ConnectionView, messages: Messages, answers: JournalView) -> Completions:
    """The answers of all messages; responses are none of their own."""
    answer = _find_answers(messages, answers)
    response = _find_responses(seen, messages)
    end_ns = messages.end_ns.copy()
    end_ns[answer >= 0] = answers.time_ns[answer[answer >= 0]]
    end_ns[response >= 0] = messages.end_ns[response[response >= 0]]
    return Completions(end_ns, answer, response)


def _find_answers(messages: Messages, answers: JournalView) -> Any:
    """The first answer that covers the last PSN of a request and does not come before it: row of `answers`, −1 without one."""
    found = np.full(len(messages.psn), -1, dtype=np.int64)
    rows = np.flatnonzero(~messages.response & (messages.kind != READ))
    asked = messages.of(rows)
    direction = np.concatenate([asked.direction, answers.direction])
    last = np.concatenate([(asked.psn + asked.packets - 1) & PSN_MASK, answers.psn])
    # One count of PSNs for both, in order of time.
    order = np.lexsort((np.concatenate([asked.end_ns, answers.time_ns]), direction))
    psn = np.empty(len(order), dtype=np.int64)
    psn[order] = unwrap(last[order], direction[order])
    keys, offered = np.split((direction << _SHIFT) + psn + _HALF, [len(rows)])
    rank = np.argsort(offered, kind="stable")
    at: Any = np.searchsorted(offered[rank], keys)
    inside = np.flatnonzero(at < len(rank))
    answer = rank[at[inside]]
    fits = (answers.direction[answer] == asked.direction[inside]) & (answers.time_ns[answer] >= asked.end_ns[inside])
    fits &= ~answers.begins[answer] | (keys[inside] == offered[answer])
    found[rows[inside[fits]]] = answer[fits]
    return found


def _find_responses(seen: ConnectionView, messages: Messages) -> Any:
    """The response to every READ: it has the PSN of the request, and goes the other way."""
    found = np.full(len(messages.psn), -1, dtype=np.int64)
    requests = np.flatnonzero(messages.reads & (seen.peer[messages.direction] >= 0))
    responses = np.flatnonzero(messages.response & (messages.kind == READ))
    if not len(requests) or not len(responses):
        return found
    wanted = (seen.peer[messages.direction[requests]] << _SHIFT) | (messages.psn[requests] & PSN_MASK)
    offered = (messages.direction[responses] << _SHIFT) | (messages.psn[responses] & PSN_MASK)
    # PSNs come again after a wrap: of several responses the first that is not before the request. Requests stand before equal ones.
    ask = np.concatenate([np.zeros(len(responses), dtype=bool), np.ones(len(requests), dtype=bool)])
    key = np.concatenate([offered, wanted])
    rows = np.concatenate([responses, requests])
    order = np.lexsort((~ask, messages.begin_ns[rows], key))
    ask, key, rows = ask[order], key[order], rows[order]
    # Of each place the next response at or behind it.
    places = np.where(ask, len(order), np.arange(len(order)))
    following = np.minimum.accumulate(places[::-1])[::-1]
    asking = np.flatnonzero(ask & (following < len(order)))
    asking = asking[key[following[asking]] == key[asking]]
    found[rows[asking]] = rows[following[asking]]
    return found
