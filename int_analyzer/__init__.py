"""Names the congested switch port from in-band telemetry (INT, IOAM) and RoCEv2 in mirrored traffic.

    import int_analyzer as ia

    result = ia.analyze("x.pcap")        # one capture, many, a folder or a glob
    result.findings                      # congested ports, the root first
    result.report()                      # what the command prints
    result.hops                          # pandas frame, a row per hop; also packets, roce, reports, mirrors, options, flows, connections
    result.graph                         # networkx graph of the paths

    for batch in ia.read("large.pcap"):  # frames piece by piece, in bounded memory
        batch.hops

Names are imported when first used: `import int_analyzer` alone loads no numpy, numba or pandas.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from int_analyzer.errors import CaptureError, EvidenceError, IntAnalyzerError, ProfileError, SourceError
    from int_analyzer.profile import Profile, load_profile
    from int_analyzer.reading import Batch, read
    from int_analyzer.result import Result, analyze

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CaptureError",
    "EvidenceError",
    "IntAnalyzerError",
    "Profile",
    "ProfileError",
    "Result",
    "SourceError",
    "__version__",
    "analyze",
    "load_profile",
    "read",
]

_MODULES = {"Batch": "reading", "read": "reading", "Result": "result", "analyze": "result", "Profile": "profile", "load_profile": "profile"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"int_analyzer.{_MODULES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
