"""Layouts of the INT dialects, and their numbers in the columns."""

from __future__ import annotations

# version of the metadata header → (dialect, words of a timestamp, words of the level-2 ids), the specification first
DIALECTS = {
    1: (("int-1.0", 1, 2), ("geant10", 2, 1), ("int-1.0-time64", 2, 2), ("int-1.0-level2-16", 1, 1)),
    2: (("int-2.x", 2, 2), ("int-2.x-time32", 1, 2), ("int-2.x-level2-16", 2, 1)),
    0: (("onos-basic", 1, 2),),
}
SPECIFIED = ("int-1.0", "int-2.x", "int-0.5", None)
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
        )
    )
}
