"""What a profile may say of how telemetry is found: ports and DSCP, active only where reading again decides the same."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace

from int_analyzer.draft.sighting import REPORTS, Sighting, add_decisions
from int_analyzer.draft.udp_port import FoundPorts
from int_analyzer.profile import Detect, Profile
from int_analyzer.reading import Captures, Reading
from int_analyzer.report.figure import count, things
from int_analyzer.settings import ROLE_AUTO, default_settings
from int_analyzer.wire.layer import INT, REPORT

_DSCP_MASK = 0x3F
_EXAMPLE = '"0x17/0x3f"'
_MANY = 16
"""Ports of applications that INT stands behind, not ports of INT."""


@dataclass(frozen=True)
class Setting:
    """A line of [detect]: key, value as TOML, what it rests on, whether it is written active."""

    key: str
    value: str
    reason: str
    active: bool


def suggest(captures: Captures, sighting: Sighting, found: FoundPorts, accept: bool) -> list[Setting]:
    """Lines for report ports, INT ports and DSCP. A DSCP is a guess: active with `accept` only."""
    check = _Check(captures, sighting.digest)
    return [
        *_reports(sighting, found[REPORT], check),
        *_int_ports(sighting, found[INT], check),
        *_dscp(sighting, check, accept),
    ]


class _Check:
    """Reads the captures again with what is to be active: safe is what changes no decision about any packet."""

    def __init__(self, captures: Captures, digest: str) -> None:
        self._captures, self._digest = captures, digest
        self._detect = Detect()

    def is_safe(self, **detect: object) -> bool:
        """Whether all packets are read the same with these keys too; if so they stay."""
        wanted = replace(self._detect, **detect)  # type: ignore[arg-type]
        digest = hashlib.blake2b()
        for batch in Reading(self._captures, Profile(detect=wanted)):
            add_decisions(digest, batch.columns)
        safe = digest.hexdigest() == self._digest
        if safe:
            self._detect = wanted
        return safe


def _reports(sighting: Sighting, ports: Counter[int], check: _Check) -> list[Setting]:
    if not ports:
        return [Setting("report_ports", "[]", "no telemetry report was seen", False)]
    numbers = tuple(sorted(ports))
    seen = sum(sample.seen for (_, formats), sample in sighting.samples.items() if formats & REPORTS)
    looked = sum(ports.values())
    reason = f"{things(seen, 'packet')} with telemetry reports" + (f", {count(looked)} of them looked at" if looked < seen else "")
    safe = check.is_safe(report_ports=numbers)
    reason += "; nothing else came to " + _these(numbers) if safe else f"; other packets came to {_these(numbers)} too"
    return [Setting("report_ports", _listed(numbers), reason, safe)]


def _int_ports(sighting: Sighting, ports: Counter[int], check: _Check) -> list[Setting]:
    roles = default_settings().port_roles
    numbers = tuple(sorted(port for port in ports if roles[port] == ROLE_AUTO))
    if not ports:
        seen = "INT was seen in tunnels only, not on UDP ports of its own" if sighting.marked else "no INT was seen"
        return [Setting("int_ports", "[]", seen, False)]
    if not numbers:
        reason = f"INT stands behind UDP port {', '.join(map(str, sorted(ports)))}, which is for other traffic too: found by structure"
        return [Setting("int_ports", "[]", reason, False)]
    if len(numbers) > _MANY:
        return [Setting("int_ports", "[]", f"INT stands behind {len(numbers)} UDP ports: they are those of applications", False)]
    safe = check.is_safe(int_ports=numbers)
    reason = "nothing but INT came to " if safe else "INT came to these, but with this line packets would be read differently; it came to "
    return [Setting("int_ports", _listed(numbers), reason + _these(numbers), safe)]


def _dscp(sighting: Sighting, check: _Check, accept: bool) -> list[Setting]:
    if not sighting.marked:
        return [Setting("int_dscp", _EXAMPLE, "no INT was seen: an example", False)]
    value = mask = _DSCP_MASK
    for dscp in sighting.marked:
        value &= dscp
    for dscp in sighting.marked:
        mask &= ~(dscp ^ value)
    shown = f'"0x{value:02x}/0x{mask:02x}"'
    total = sum(sighting.marked.values())
    if len(sighting.marked) > 1 and value == 0:
        reason = f"INT has {len(sighting.marked)} DSCP values with no bit in common: an example"
        return [Setting("int_dscp", _EXAMPLE, reason, False)]
    others = sum(packets for dscp, packets in sighting.unmarked.items() if dscp & mask == value)
    who = f"{count(total)} of {count(total)} packets with INT"
    if others:
        return [Setting("int_dscp", shown, f"{who} have it, but {things(others, 'packet')} without INT too", False)]
    reason = f"guess: it marks INT: {who} have it, and none without"
    return [Setting("int_dscp", shown, reason, accept and check.is_safe(int_dscp=(value, mask)))]


def _listed(numbers: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _these(numbers: tuple[int, ...]) -> str:
    return "this port" if len(numbers) == 1 else "these ports"
