"""What a view knows, in the form of what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.fold.transport import KINDS
from int_analyzer.fold.view import View


def known(view: View) -> dict[tuple[str, str, int], dict[str, Any]]:
    """What a view says of each direction."""
    seen = view.connections
    keys = list(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    names = {"nak": "naks", "rnr": "rnr_naks", "other": "other_naks", "ce": "ce_packets"}
    plain = (
        *("data", "retransmitted", "out_of_order", "duplicates", "unfilled", "rewinds", "restarts"),
        *("packets", "bytes", "timeouts", "nak", "rnr", "other", "acks", "ce", "partial"),
        *("immediates", "invalidates", "completed_bytes", "unanswered"),
    )

    def at(row: int, *columns: Any) -> tuple[int, ...]:
        return tuple(int(column[row]) for column in columns)

    return {
        key: {
            "peer": keys[int(seen.peer[row])] if seen.peer[row] >= 0 else None,
            "verified": bool(seen.verified[row]),
            **{what: int(getattr(seen, names.get(what, what))[row]) for what in plain},
            **{kind: int(counts[row]) for kind, counts in seen.messages.items()},
            "gaps": at(row, seen.first_gap_ns, seen.last_gap_ns, seen.longest_gap_ns),
            "rewound": at(row, seen.first_rewind_ns, seen.last_rewind_ns),
            "cnp": at(row, seen.cnp_packets, seen.cnp_peak),
            "cnp_delays": at(row, seen.cnp_delay_count, seen.cnp_delay_sum, seen.cnp_delay_min, seen.cnp_delay_max),
            "icrc": at(row, seen.icrc_right, seen.icrc_wrong, seen.icrc_unchecked),
            "resent": at(row, seen.resent_messages, np.round(1e6 * seen.resent_share_max)),
            "fct": at(row, seen.completed, seen.fct_sum, seen.fct_max),
            "one_sided": at(row, seen.one_sided, seen.one_sided_sum, seen.one_sided_max),
            "rtt": at(row, seen.rtt_count, seen.rtt_sum, seen.rtt_min, seen.rtt_max),
        }
        for row, key in enumerate(keys)
    }


def known_marks(view: View) -> list[tuple[Any, ...]]:
    """What it holds, in the same form."""
    seen, journal = view.connections, view.journal
    keys = list(zip(seen.src, seen.dst, seen.dest_qp.tolist(), strict=True))
    kinds = ["response" if response else KINDS[kind] for kind, response in zip(journal.kind, journal.response, strict=True)]
    columns = (journal.begins, journal.ends, journal.psn, journal.bytes)
    rows = zip(journal.time_ns.tolist(), journal.direction.tolist(), kinds, *(column.tolist() for column in columns), strict=True)
    return sorted((time, keys[direction], *rest) for time, direction, *rest in rows)
