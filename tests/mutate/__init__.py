"""Packets for tests that must not trust their input: cut, damaged, random, wrapped in tunnels, and telemetry of any length.

Everything is deterministic: the same arguments, and the same seed, give the same bytes. Frames are Ethernet unless a link type is said.
"""

from __future__ import annotations

from .carrier import ANY, PLAIN, csig_tagged, fragments, links, nested, tunnels
from .corner import corner_cases, csig_corners, mri_corners
from .corner_int import int_05_corners, int_mx_corners, tcp_corners, tunnel_corners
from .damage import byte_changes, cuts, junk, scrambled
from .frame import (
    WORKED_FRAME,
    WORKED_PACKETS,
    Corners,
    edited,
    ipv4_frame,
    is_plain,
    opcode_frame,
    roce_payload,
    tcp_frame,
    udp_frame,
    worked_packets,
)
from .int_header import (
    geneve_int,
    geneve_option,
    gpe_int,
    gre_int,
    instructions_of,
    int_05,
    int_md,
    int_md_packet,
    int_mx,
    int_tunnels,
    mri_frame,
    mri_option,
    random_hops,
    shim,
    shim_1,
)
from .mixture import carried
from .number import CSIG, GENEVE_INT, GRE_INT, INT_PORT, MARKER, REPORT_PORT, ROCE_PORT, TUNNELLED_INT
from .report import report_1, report_1_frame, report_2, single_report

__all__ = [
    "ANY",
    "CSIG",
    "GENEVE_INT",
    "GRE_INT",
    "INT_PORT",
    "MARKER",
    "PLAIN",
    "REPORT_PORT",
    "ROCE_PORT",
    "TUNNELLED_INT",
    "WORKED_FRAME",
    "WORKED_PACKETS",
    "Corners",
    "byte_changes",
    "carried",
    "corner_cases",
    "csig_corners",
    "csig_tagged",
    "cuts",
    "edited",
    "fragments",
    "geneve_int",
    "geneve_option",
    "gpe_int",
    "gre_int",
    "instructions_of",
    "int_05",
    "int_05_corners",
    "int_md",
    "int_md_packet",
    "int_mx",
    "int_mx_corners",
    "int_tunnels",
    "ipv4_frame",
    "is_plain",
    "junk",
    "links",
    "mri_corners",
    "mri_frame",
    "mri_option",
    "nested",
    "opcode_frame",
    "random_hops",
    "report_1",
    "report_1_frame",
    "report_2",
    "roce_payload",
    "scrambled",
    "shim",
    "shim_1",
    "single_report",
    "tcp_corners",
    "tcp_frame",
    "tunnel_corners",
    "tunnels",
    "udp_frame",
    "worked_packets",
]
