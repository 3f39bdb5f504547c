"""The limits that the tracker declares."""

from __future__ import annotations

WINDOW, REORDER_NS, FAR, OPEN_RUNS, HINT_NS, OUTSTANDING, VERIFIED = 128, 1_000_000, 1 << 16, 16, 10_000_000, 1 << 12, 3
CNP_WINDOW_NS = 10_000_000
