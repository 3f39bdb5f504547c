"""What a counter of some ports says of a time: that it rose there and then, or that it did not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from int_analyzer.analysis.losses.recovery import moment
from int_analyzer.analysis.wording import plain
from int_analyzer.counter import METRICS
from int_analyzer.evidence.series import Counters, Rise, Series
from int_analyzer.fold.view import View
from int_analyzer.profile import ABSENT, Profile

FEWEST = 3.0
"""A counter that rose by less did not rise: healthy ports have an error now and then."""
CLEARER = 5.0
"""It has to rise so many times as much as is usual at other ports in the same time."""
SUPPORTED, REFUTED = 0.25, 0.7
"""What is left of the doubt when a counter speaks for a finding, and of the confidence when it speaks against it."""
_NAMED = 3

At = tuple[int, int]
"""(node id, port id)."""


@dataclass(frozen=True)
class Testimony:
    """speaks: True for what was asked, False against it, None: the counter of these ports was not read then. In words."""

    speaks: bool | None
    sentence: str


class Witness:
    """Counters beside what a capture saw."""

    def __init__(self, view: View, profile: Profile, counters: Counters) -> None:
        self._view, self._profile, self._counters = view, profile, counters

    def ask(self, metric: str, ports: Collection[At], start_ns: int, end_ns: int) -> Testimony:
        """Whether a counter of any of these ports rose in a time. What a reading says may have come up to an interval earlier."""
        what = METRICS[metric].unit
        rises = [(one, self._rise(one, start_ns, end_ns)) for one in self._counters.of_ports(metric, ports)]
        known = [(one, rise) for one, rise in rises if rise is not None]
        if not known:
            return Testimony(None, "")
        usual, others = self._usual(metric, ports, start_ns, end_ns)
        most, rise = max(known, key=lambda pair: pair[1].amount)
        seen = f"read every {plain(most.interval_ns / 1e9)} s"
        elsewhere = f"; at {others} other ports {plain(usual)} in the median" if others else ""
        if rise.amount < max(FEWEST, CLEARER * usual):
            where = " and ".join(self._name(one) for one, _ in known)
            return Testimony(False, f"{_amount(rise, what)} at {where} in this time ({seen}){elsewhere}")
        when = f"from {moment(self._view, rise.first_ns, 3)} to {moment(self._view, rise.last_ns, 3)} ({seen}){_around(most, rise)}"
        return Testimony(True, f"{_amount(rise, what)} at {self._name(most)} {when}{elsewhere}")

    def ask_hosts(self, metric: str, hosts: Collection[str], start_ns: int, end_ns: int) -> list[str]:
        """What counters of some hosts did meanwhile, and those of others, in a sentence; nothing where nobody read them."""
        amounts: dict[str, float] = {}
        for one in self._counters.of_metric(metric):
            rise = self._rise(one, start_ns, end_ns)
            if rise is not None and one.host is not None:
                amounts[one.host] = amounts.get(one.host, 0.0) + rise.amount
        own = [amount for host, amount in amounts.items() if host in hosts]
        others = [amount for host, amount in amounts.items() if host not in hosts]
        if not own:
            return []
        told = f"network cards of {len(own)} hosts that send over it count {plain(sum(own), 12)} {METRICS[metric].unit} meanwhile"
        more = f", {plain(float(np.median(own)))} in the median" if len(own) > 1 else ""
        return [told + more + (f"; those of {len(others)} others {plain(float(np.median(others)))}" if others else "")]

    def risen(self, metric: str, start_ns: int, end_ns: int) -> list[tuple[Series, Rise]]:
        """All series of a metric that clearly rose in a time, most first."""
        found = [(one, rise) for one in self._counters.of_metric(metric) if (rise := self._rise(one, start_ns, end_ns)) is not None]
        found.sort(key=lambda pair: -pair[1].amount)
        # The median of the others, of two the lower (both ends of a cable may have errors): for those above it one place further down.
        middle = (len(found) - 1) // 2
        usual = [found[middle + (place <= middle)][1].amount if len(found) > 1 else 0.0 for place in range(len(found))]
        return [pair for pair, others in zip(found, usual, strict=True) if pair[1].amount >= max(FEWEST, CLEARER * others)]

    def elsewhere(self, metric: str, ports: Collection[At], start_ns: int, end_ns: int) -> str:
        """Where else the counter rose, in words; "" if nowhere."""
        others = [(one, rise) for one, rise in self.risen(metric, start_ns, end_ns) if one.at not in ports]
        what = METRICS[metric].unit
        named = ", ".join(f"{_amount(rise, what)} at {self._name(one)}" for one, rise in others[:_NAMED])
        return named + (f" and at {len(others) - _NAMED} more ports" if len(others) > _NAMED else "")

    def _name(self, series: Series) -> str:
        """ "node spine1 port to-leaf2"."""
        node = ABSENT if series.node_id is None else series.node_id
        return f"node {self._profile.node_name(node)} port {self._profile.port_name(node, series.port_id)}"

    def _rise(self, series: Series, start_ns: int, end_ns: int) -> Rise | None:
        return series.rise(start_ns, end_ns + series.interval_ns) or series.rise(start_ns, end_ns)

    def _usual(self, metric: str, ports: Collection[At], start_ns: int, end_ns: int) -> tuple[float, int]:
        """Median rise at other ports, and how many these are."""
        others = [one for one in self._counters.of_metric(metric) if one.at not in ports]
        rises = [rise.amount for one in others if (rise := self._rise(one, start_ns, end_ns)) is not None]
        return (float(np.median(rises)) if rises else 0.0), len(rises)


def _around(series: Series, rise: Rise) -> str:
    """What the counter did before and after, behind a comma: since when, and whether it is over; "" if nobody read it then."""
    before = series.rise(int(series.time_ns[0]), rise.first_ns) if rise.first_ns > series.time_ns[0] else None
    after = series.rise(rise.last_ns, int(series.time_ns[-1])) if rise.last_ns < series.time_ns[-1] else None
    told = [f"{plain(part.amount, 12)} {word}" for part, word in ((before, "before"), (after, "since")) if part is not None]
    return f", {' and '.join(told)}" if told else ""


def _amount(rise: Rise, what: str) -> str:
    return f"{plain(rise.amount, 12) if rise.amount else 'no'} {what}"
