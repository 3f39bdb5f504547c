"""What the ratios should be and must never be worse than, and the table that says so."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A ratio by its name in bench.json: what it is, what it should be, the bound, and whether less is better."""

    key: str
    title: str
    target: float
    bound: float
    less_is_better: bool = True


TARGETS: tuple[Target, ...] = (
    Target("decode_over_c", "decode ÷ C with the same columns", 1.1, 1.3),
    Target("decode_over_libpcap_c", "decode ÷ libpcap + C", 0.6, 1.0),
    Target("decode_over_bytesum", "decode ÷ reading every byte", 3, 5),
    Target("tcpdump_over_decode", "tcpdump -nn ÷ decode", 20, 12, False),
    Target("dpkt_over_decode", "dpkt layers ÷ decode", 150, 60, False),
    Target("tshark_over_decode", "tshark with INT in Lua ÷ decode", 800, 250, False),
    Target("scapy_over_decode", "scapy with INT layers ÷ decode", 5000, 1000, False),
    Target("analyze_over_decode", "analyze, whole process ÷ decode", 5, 9),
    Target("two_thread_scaling", "two threads ÷ two spinning threads", 0.85, 0.7, False),
    Target("private_memory_growth", "private memory, 10 × larger capture", 1.1, 1.3),
    Target("help_over_python", "--help ÷ python -c pass", 8, 12),
    Target("warm_small_over_import_numba", "analyze of a small file ÷ import numba", 2, 3),
    Target("polars_groupby_over_ours", "statistics by queue: polars ÷ ours", 4, 2.5, False),
    Target("pandas_groupby_over_ours", "statistics by queue: pandas ÷ ours", 6, 4, False),
    Target("scale_steady_time", "fold: large fabric ÷ small, steady", 1.5, 3),
    Target("scale_whole_time", "fold: large ÷ small, from the first packet", 1.5, 5),
    Target("scale_state_per_queue", "state per queue: large ÷ small", 1.5, 1.5),
    Target("scale_state_per_flow", "state per flow: large ÷ small", 1.5, 1.5),
)

MEMORY_BOUND_MB = 300
"""Private memory of an analysis, however large the capture."""


def verdict(target: Target, ratio: float | None) -> str:
    """ "met", "within bound", "WORSE THAN BOUND", or "not measured"."""
    if ratio is None:
        return "not measured"
    if ratio <= target.target if target.less_is_better else ratio >= target.target:
        return "met"
    if ratio <= target.bound if target.less_is_better else ratio >= target.bound:
        return "within bound"
    return "WORSE THAN BOUND"


def table(ratios: dict[str, float | None], reasons: dict[str, str]) -> str:
    """The ratios beside their targets, a line each."""
    lines = [f"{'ratio':<42}{'measured':>10}{'target':>10}{'bound':>10}   verdict"]
    for target in TARGETS:
        ratio = ratios.get(target.key)
        sign = "≤" if target.less_is_better else "≥"
        shown = "–" if ratio is None else f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
        said = verdict(target, ratio) + (f": {reasons[target.key]}" if ratio is None and target.key in reasons else "")
        lines.append(f"{target.title:<42}{shown:>10}{f'{sign} {target.target:g}':>10}{f'{sign} {target.bound:g}':>10}   {said}")
    return "\n".join(lines)
