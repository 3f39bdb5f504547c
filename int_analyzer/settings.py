"""What the decode kernel knows beforehand: a profile turned into flat arrays (profile.py makes it, decode.py reads it)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

# port_roles: uint8[65536]
ROLE_AUTO, ROLE_ROCE, ROLE_INT, ROLE_REPORT, ROLE_VXLAN, ROLE_VXLAN_GPE, ROLE_GENEVE, ROLE_OTHER = 0, 1, 2, 3, 4, 5, 6, 7
ROLE_LUMINA, ROLE_HPCC = 8, 9

# gpe_roles: uint8[256], what a VXLAN-GPE next protocol is
GPE_UNKNOWN, GPE_IPV4, GPE_IPV6, GPE_ETHERNET, GPE_NSH, GPE_INT, GPE_INT_1, GPE_IOAM = range(8)

# numbers: int64[…]
INT_DSCP_VALUE, INT_DSCP_MASK, INT_MARKER, INT_MARKER_SET, INT_DIALECT, DETECT_BY_STRUCTURE = 0, 1, 2, 3, 4, 5
CSIG_TYPE, CSIG_WIDE_TYPE, HPCC_LAYOUT, TCP_INT, ICRC_SAMPLE = 6, 7, 8, 9, 10
N_NUMBERS = 16

IFA_PROTOCOL, CSIG_ETHERTYPE = 131, 0x9900
HPCC_PAPER, HPCC_NS3 = 0, 1
ICRC_ALL = 1 << 32
ICRC_SHARE = 1 / 100
"""To check a packet of 4 kB takes some 2 µs: for one in a hundred, less than it takes to decode them all."""

Settings = namedtuple(
    "Settings",
    ["port_roles", "numbers", "domains", "gre_protocols", "geneve_classes", "geneve_ioam_classes", "ifa_protocols", "gpe_roles"],
)
"""port_roles uint8[65536] by UDP port; gpe_roles uint8[256] by VXLAN-GPE next protocol.

numbers int64[16] (INT_DSCP_MASK 0: no DSCP given; INT_DIALECT −1: choose by structure; CSIG_WIDE_TYPE −1: none; HPCC_LAYOUT: what stands
behind ROLE_HPCC ports; TCP_INT 1: look for that TCP option; ICRC_SAMPLE: of ICRC_ALL RoCEv2 packets, so many have their ICRC checked).
domains int64[n, 3]: domain id, words of source-only data, words of domain data in every hop. Each int64[n]: GRE protocol types and
Geneve option classes that carry INT, Geneve option classes that carry IOAM, IP protocol numbers of IFA."""


def default_settings() -> Any:
    """Settings without a profile: well-known ports, everything else by structure."""
    roles = np.zeros(65536, dtype=np.uint8)
    roles[4791] = ROLE_ROCE
    roles[4789] = ROLE_VXLAN
    roles[8472] = ROLE_VXLAN
    roles[4790] = ROLE_VXLAN_GPE
    roles[6081] = ROLE_GENEVE
    numbers = np.zeros(N_NUMBERS, dtype=np.int64)
    numbers[INT_DIALECT] = -1
    numbers[DETECT_BY_STRUCTURE] = 1
    numbers[ICRC_SAMPLE] = round(ICRC_SHARE * ICRC_ALL)
    numbers[CSIG_TYPE], numbers[CSIG_WIDE_TYPE] = CSIG_ETHERTYPE, -1
    gpe = np.zeros(256, dtype=np.uint8)
    gpe[1], gpe[2], gpe[3], gpe[4] = GPE_IPV4, GPE_IPV6, GPE_ETHERNET, GPE_NSH
    gpe[0x08], gpe[0x80], gpe[0x82], gpe[0x81] = GPE_INT_1, GPE_INT, GPE_INT, GPE_IOAM
    none = np.zeros(0, dtype=np.int64)
    return Settings(roles, numbers, np.zeros((0, 3), dtype=np.int64), none, none, none, np.array([IFA_PROTOCOL], dtype=np.int64), gpe)
