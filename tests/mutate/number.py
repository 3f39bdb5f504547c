"""Ports and protocol numbers that the packets of the tests use."""

from __future__ import annotations

from typing import Any

INT_PORT = 54321
ROCE_PORT = 4791
REPORT_PORT = 32766
GRE_INT = 0x88B6
GENEVE_INT = 0x00AB
GENEVE_IOAM = 0x00AC
IFA = 131
HPCC_PORT = 5100
LUMINA_PORT = 4792
MARKER = 0x1122334455667788
CSIG = 0x1234
GPE_INT = 5
GPE_IOAM = 0x06
WIDE_CSIG = 0x9A00
TUNNELLED_INT = {"gre_int_protocols": (GRE_INT,), "geneve_int_classes": (GENEVE_INT,)}
"""Profile under which the GRE and Geneve numbers above are INT's."""
EVERYTHING: dict[str, Any] = {
    **TUNNELLED_INT,
    "int_dscp": (23, 63),
    "marker": MARKER,
    "int_ports": (555,),
    "report_ports": (REPORT_PORT, 6000),
    "domains": {0x5453: (2, 0), 7: (1, 1)},
    "geneve_ioam_classes": (GENEVE_IOAM,),
    "gpe_int_protocols": (GPE_INT,),
    "gpe_ioam_protocols": (GPE_IOAM,),
    "ifa_protocols": (IFA, 253),
    "lumina_ports": (LUMINA_PORT,),
    "hpcc_ports": (HPCC_PORT,),
    "csig_wide_type": WIDE_CSIG,
    "tcp_int": True,
}
"""Profile under which every number above means something."""
