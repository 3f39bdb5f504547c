"""Captures: from a name to windows of bytes with their framing (source), and the walk over their records (records)."""

from int_analyzer.capture.damage import Damage
from int_analyzer.capture.listing import expand
from int_analyzer.capture.origin import open_source
from int_analyzer.capture.source import Source, Window

__all__ = ["Damage", "Source", "Window", "expand", "open_source"]
