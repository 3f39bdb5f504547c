"""anonymize: a capture that can be shown to others."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from int_analyzer.cli.argument import ProfileOption, profile_from

EXAMPLES = """Examples:

\b
  int-analyzer anonymize mirror.pcap for-others.pcap
  int-analyzer anonymize mirror.pcapng.zst for-others.pcapng.zst --key secret.key     same key, same addresses
  int-analyzer anonymize mirror.pcap test.pcap --seed 7 --shift-time -86400
"""


def anonymize(
    capture: Annotated[str, typer.Argument(metavar="IN", help="The capture, or - for standard input.", show_default=False)],
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="The file to write, or -. It is compressed if it ends in .gz or .zst.", show_default=False)
    ],
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="A file with any secret in it. With the same key an address becomes the same one in every capture. "
            "Without key and seed a new key is made and forgotten.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="A number as key, for tests: who knows it can undo it.", show_default=False),
    ] = None,
    keep_payload: Annotated[
        bool,
        typer.Option("--keep-payload", help="Keep the data of UDP, TCP and RoCEv2 as it is, with a valid ICRC where it was valid."),
    ] = False,
    shift_time: Annotated[
        int, typer.Option("--shift-time", metavar="SECONDS", help="Seconds to add to the time of every packet; may be negative.")
    ] = 0,
    profile: ProfileOption = None,
) -> None:
    """Copy a capture without its addresses and payload, such that it analyses as before.

    IP addresses of all layers, in tunnels, mirrors and telemetry reports too, are replaced by others; two that share a prefix share
    one of the same length afterwards. MAC addresses likewise: vendors are not to be recognised.

    Kept are all headers that are read and all telemetry, bit for bit, with its node ids and times; ports, VLANs, queue pairs, R_Keys
    and virtual addresses. Cut off or zeroed is everything else: payload with the ICRC, ARP, LLDP, bodies of ICMP, TCP options, unknown
    options. Lengths on the wire stay. Checksums that were right are right again, wrong ones stay wrong. Comments and names of
    machines in a pcapng are left out. A node id that is an address stays one: look at the telemetry before you share it.

    Reads some thousand packets a second.
    """
    from int_analyzer import anonymize as package
    from int_analyzer.analysis.wording import plain, things
    from int_analyzer.cli.progress import progress_bar

    if key is not None and seed is not None:
        raise typer.BadParameter("--key and --seed exclude each other")
    if key is not None:
        secret = package.read_key(key)
    else:
        secret = package.seeded_key(seed) if seed is not None else secrets.token_bytes(package.KEY_BYTES)
    rewriter = package.Rewriter(secret, profile_from(profile), with_payload=keep_payload)
    with progress_bar() as progress:
        outcome = package.copy(capture, output, rewriter, shift_s=shift_time, progress=progress)
    for damage in outcome.damages:
        print(f"int-analyzer: {capture}: {damage}", file=sys.stderr)
    print(f"{things(outcome.packets, 'packet')}, {plain(outcome.bytes_after)} of {plain(outcome.bytes_before)} bytes kept", file=sys.stderr)
