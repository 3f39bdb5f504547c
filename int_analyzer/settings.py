"""What the decode kernel knows beforehand: a profile turned into flat arrays (profile.py makes it, decode.py reads it)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

# port_roles: uint8[65536]
ROLE_AUTO, ROLE_ROCE, ROLE_INT, ROLE_REPORT, ROLE_VXLAN, ROLE_VXLAN_GPE, ROLE_GENEVE, ROLE_OTHER = 0, 1, 2, 3, 4, 5, 6, 7

# numbers: int64[…]
INT_DSCP_VALUE, INT_DSCP_MASK, INT_MARKER, INT_MARKER_SET, INT_DIALECT, DETECT_BY_STRUCTURE = 0, 1, 2, 3, 4, 5
N_NUMBERS = 16

Settings = namedtuple("Settings", ["port_roles", "numbers", "domains", "gre_protocols", "geneve_classes"])
"""port_roles uint8[65536]; numbers int64[16] (INT_DSCP_MASK 0: no DSCP given; INT_DIALECT −1: choose by structure);
domains int64[n, 3]: domain id, words of source-only data, words of domain data in every hop; gre_protocols and geneve_classes
int64[n]: further GRE protocol types and Geneve option classes that carry INT."""


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
    return Settings(roles, numbers, np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
