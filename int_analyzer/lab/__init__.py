"""Real data planes on one machine: a fabric of network namespaces, traffic with a known answer, captures and their truth.

Two fabrics share all but their switches: `kernel` forwards with Linux and its IOAM, `bmv2` with simple_switch_grpc and the programs
of p4/. Nothing here touches the network of the host (`network`), and all of it ends with the process.
"""

from __future__ import annotations
