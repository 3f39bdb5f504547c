"""Layouts of the INT dialects, and the numbers of all dialects in the columns."""

from __future__ import annotations

# version of the metadata header → (dialect, words of a timestamp, words of the level-2 ids), the specification first
DIALECTS = {
    1: (("int-1.0", 1, 2), ("geant10", 2, 1), ("int-1.0-time64", 2, 2), ("int-1.0-level2-16", 1, 1), ("noviflow10", 1, 2)),
    2: (("int-2.x", 2, 2), ("int-2.x-time32", 1, 2), ("int-2.x-level2-16", 2, 1), ("cablelabs-tps", 2, 2)),
    0: (("onos-basic", 1, 2),),
}
ONLY_CONFIGURED = ("noviflow10", "cablelabs-tps")
"""As good a reading as the specification's: taken only where the profile names them."""
OLD_DIALECTS = (("int-0.5", 1), ("onos-fabric", 1), ("geant04", 2))
"""Of INT v0.5: (dialect, words of a timestamp)."""
SHORT_VERSION = ("onos-fabric", "geant04")
"""Their version field has 2 bits, so the flags stand 2 bits earlier."""
SPECIFIED = ("int-1.0", "int-2.x", "int-0.5", None)
CABLELABS_DOMAIN, CABLELABS_SOURCE_WORDS = 0x5453, 2
DIALECT_NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            None,
            "int-2.x",
            "int-1.0",
            "geant10",
            "onos-basic",
            "int-2.x-time32",
            "int-2.x-level2-16",
            "int-1.0-time64",
            "int-1.0-level2-16",
            "int-0.5",
            "onos-fabric",
            "geant04",
            "cablelabs-tps",
            "noviflow10",
            "ifa-32",
            "hpcc-paper",
            "hpcc-ns3",
        )
    )
}


def tried(version: int, configured: str | None) -> list[tuple[str, int, int]]:
    """The dialects that may explain a header of this version: a configured one is the only one of its layout (v1.0, which ONOS' version 0
    has too, or v2.x)."""
    layout = (2,) if version == 2 else (0, 1)
    if configured in {name for other in layout for name, _, _ in DIALECTS[other]}:
        return [entry for entry in DIALECTS[version] if entry[0] == configured]
    return [entry for entry in DIALECTS[version] if entry[0] not in ONLY_CONFIGURED]


def old_tried(configured: str | None) -> list[tuple[str, int]]:
    """The dialects that may explain a header of v0.5."""
    return [entry for entry in OLD_DIALECTS if entry[0] == configured] or list(OLD_DIALECTS)
