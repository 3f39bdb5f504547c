"""Ports and protocol numbers that the packets of the tests use."""

from __future__ import annotations

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
TUNNELLED_INT = {"gre_int_protocols": (GRE_INT,), "geneve_int_classes": (GENEVE_INT,)}
"""Profile under which the GRE and Geneve numbers above are INT's."""
