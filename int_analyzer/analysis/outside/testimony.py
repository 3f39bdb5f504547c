"""What a counter of some ports says of a time: that it rose there and then, or that it did not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from int_analyzer.analysis.losses.recovery import moment
from int_analyzer.analysis.wording import plain
from int_analyzer.counter import METRICS
from int_analyzer.evidence.place import Place
from int_analyzer.evidence.series import Counters, Rise, Series, add_up
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
        rises = self._rises(metric, start_ns, end_ns)
        known = [(series, rise) for series, rise in rises if series[0].at in ports]
        if not known:
            return Testimony(None, "")
        others = [rise.amount for series, rise in rises if series[0].at not in ports]
        usual = float(np.median(others)) if others else 0.0
        most, rise = max(known, key=lambda pair: pair[1].amount)
        seen = f"read every {plain(most[0].interval_ns / 1e9)} s"
        elsewhere = f"; at {len(others)} other ports {plain(usual)} in the median" if others else ""
        if rise.amount < max(FEWEST, CLEARER * usual):
            where = " and ".join(self._name(series[0]) for series, _ in known)
            return Testimony(False, f"{_amount(rise, what)} at {where} in this time ({seen}){elsewhere}")
        when = f"from {moment(self._view, rise.first_ns, 3)} to {moment(self._view, rise.last_ns, 3)} ({seen}){_around(most, rise)}"
        return Testimony(True, f"{_amount(rise, what)} at {self._name(most[0])} {when}{elsewhere}")

    def ask_hosts(self, metric: str, hosts: Collection[str], start_ns: int, end_ns: int) -> list[str]:
        """What counters of some hosts did meanwhile, and those of others, in a sentence; nothing where nobody read them."""
        amounts = {series[0].host: rise.amount for series, rise in self._rises(metric, start_ns, end_ns)}
        own = [amount for host, amount in amounts.items() if host in hosts]
        others = [amount for host, amount in amounts.items() if host not in hosts]
        if not own:
            return []
        told = f"network cards of {len(own)} hosts that send over it count {plain(sum(own), 12)} {METRICS[metric].unit} meanwhile"
        more = f", {plain(float(np.median(own)))} in the median" if len(own) > 1 else ""
        return [told + more + (f"; those of {len(others)} others {plain(float(np.median(others)))}" if others else "")]

    def risen(self, metric: str, start_ns: int, end_ns: int) -> list[tuple[Series, Rise]]:
        """The places where a metric clearly rose in a time, most first: the first series of each, and the rise of all."""
        found = [(series[0], rise) for series, rise in self._rises(metric, start_ns, end_ns)]
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

    def _rises(self, metric: str, start_ns: int, end_ns: int) -> list[tuple[list[Series], Rise]]:
        """By place, where it was read: its series (one a priority, or a card), and what they rose by together."""
        places: dict[Place, list[tuple[Series, Rise]]] = defaultdict(list)
        for one in self._counters.of_metric(metric):
            rise = one.rise(start_ns, end_ns + one.interval_ns) or one.rise(start_ns, end_ns)
            if rise is not None:
                places[one.node_id, one.port_id, one.host].append((one, rise))
        return [([one for one, _ in read], add_up([rise for _, rise in read])) for read in places.values()]


def _around(series: list[Series], rise: Rise) -> str:
    """What the counters did before and after, behind a comma: since when, and whether it is over; "" if nobody read them then."""
    before = [one.rise(int(one.time_ns[0]), rise.first_ns) for one in series if rise.first_ns > one.time_ns[0]]
    after = [one.rise(rise.last_ns, int(one.time_ns[-1])) for one in series if rise.last_ns < one.time_ns[-1]]
    told = []
    for parts, word in ((before, "before"), (after, "since")):
        known = [part.amount for part in parts if part is not None]
        told += [f"{plain(sum(known), 12)} {word}"] if known else []
    return f", {' and '.join(told)}" if told else ""


def _amount(rise: Rise, what: str) -> str:
    return f"{plain(rise.amount, 12) if rise.amount else 'no'} {what}"
