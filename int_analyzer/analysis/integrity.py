"""What the ICRCs of the sample say: how many packets arrived at the mirror as their sender wrote them."""

from __future__ import annotations

from int_analyzer.analysis.summary import IcrcCheck
from int_analyzer.fold.view import View
from int_analyzer.schema import ICRC_BAD, ICRC_OK, ICRC_STATES

MOSTLY = 0.5
"""Links damage few packets: where more ICRCs than this are wrong, they were not written, or what they cover was rewritten for all."""


def sum_up_icrc(view: View) -> IcrcCheck | None:
    """The three states; None if no packet is in the sample."""
    states = dict(view.icrc)
    if not states:
        return None
    right, wrong = (states.pop(ICRC_STATES[state], 0) for state in (ICRC_OK, ICRC_BAD))
    return IcrcCheck(ok=right, bad=wrong, not_checkable=sum(states.values()), reasons=states)


def doubt(view: View) -> tuple[bool, str] | None:
    """Whether wrong ICRCs are damage (else they say nothing), and what they mean in words; None if there are none."""
    found = sum_up_icrc(view)
    if found is None or found.bad == 0:
        return None
    checked = found.ok + found.bad
    seen = f"{found.bad} of {checked} checked ICRCs are wrong"
    if found.bad > MOSTLY * checked:
        return False, f"{seen}: the senders do not write them, or the mirror rewrites packets, so that damage on links cannot be seen"
    return True, f"{seen}: these packets were damaged on the way or by the mirror"
