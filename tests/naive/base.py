"""What every layer of the twin needs: bytes, declared ends, faults, rows."""

# Decisions that hold for all layers
# Extents. Every layer has `end` (how far its parent says it goes, on the wire: starts as max(original, captured) bytes, then IP
#   length, UDP length, report end, …) and the reader has `avail` = the smallest of captured and all ends so far. A header must lie
#   inside `avail`; lengths are compared with the `end` of their parent.
# First non-ok status wins and stays, also over not-udp, not-ip, fragment. Some statuses do not stop the reading; marked → on.
# status_at = offset in the captured bytes of the header that could not be read (beyond them if a length leads there); 0 if ok.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .dialect import DIALECT_NUMBERS

_LAYERS = ("link", "mpls", "nsh", "ipv4", "ipv6", "ipv6-extension", "udp", "tcp", "gre", "erspan", "vxlan", "geneve", "bth")
INSIDE_REPORT = {name + "-truncated" for name in (*_LAYERS, "bth-extension")}


class Stop(Exception):
    """Reading ends here: status name and offset."""

    def __init__(self, status: str, at: int) -> None:
        super().__init__(status)
        self.status = status
        self.at = at


def bits(value: int) -> int:
    """Number of bits set."""
    return bin(value).count("1")


def blank(table: tuple[schema.Column, ...]) -> dict[str, Any]:
    """A row with every kernel column not there (None), `present` 0."""
    row: dict[str, Any] = dict.fromkeys(schema.kernel_columns(table))
    if "present" in row:
        row["present"] = 0
    return row


class Base:
    """Reads one packet. `end` arguments are declared ends, `limit` arguments are what may be touched (never beyond `end`)."""

    def __init__(self, data: bytes, original: int, time_ns: int, profile: dict[str, Any], part: int) -> None:
        self.data = data
        self.profile = profile
        # Which report of a coalesced datagram is read, and whether there is another one behind it.
        self.part = part
        self.more = False
        self.warnings: set[str] = set()
        self.status = "ok"
        self.status_at = 0
        self.formats = 0
        self.in_report = False
        self.link_type = 0
        self.udp_checksum = 0
        # What the ICRC needs of the layers around the BTH.
        self.ip_at = self.udp_at = 0
        self.is_fragment = self.behind_int = False
        # Hops of a cut stack that were not captured: those nearest the source.
        self.missing = 0
        self.dialect: str | None = None
        self.stack: list[dict[str, Any]] = []
        self.report_hop: dict[str, Any] | None = None
        self.report_format = 0
        self.roce: dict[str, Any] | None = None
        self.reports: list[dict[str, Any]] = []
        self.mirrors: list[dict[str, Any]] = []
        self.options: list[dict[str, Any]] = []
        self.packet = {column.name: None if column.absent is not None else 0 for column in schema.PACKETS if column.source == "kernel"}
        self.packet.update(part=part, time_ns=time_ns, captured_bytes=len(data), original_bytes=original)

    def u(self, at: int, size: int) -> int:
        """Big-endian unsigned number; whoever asks has checked that it is there."""
        piece = self.data[at : at + size]
        assert len(piece) == size, "a reading beyond the captured bytes"
        return int.from_bytes(piece, "big")

    def fail(self, status: str, at: int) -> None:
        """Note a status; the first one stays."""
        if self.status == "ok":
            if self.in_report and status in INSIDE_REPORT:
                status = "report-inner-truncated"
            self.status, self.status_at = status, at

    def need(self, at: int, size: int, limit: int, status: str, header: int | None = None) -> None:
        """Stop unless the bytes are there."""
        if at + size > limit:
            raise Stop(status, at if header is None else header)

    def found(self, format_id: int) -> None:
        """Count a format."""
        self.formats |= 1 << format_id

    def telemetry(self, format_id: int, hops: list[dict[str, Any]], missing: int = 0, dialect: str | None = None, **columns: int) -> None:
        """A telemetry header that passes: its columns and hops (in path order) replace those of the one before."""
        self.packet.update(telemetry_flags=0, instructions=0, namespace=0, remaining_hops=0)
        self.packet.update(telemetry=format_id, dialect=DIALECT_NUMBERS[dialect], **columns)
        self.dialect, self.stack, self.missing = dialect, hops, missing

    def keep_option(self, row: dict[str, Any], at: int) -> None:
        """An option without node data; a packet has 64 at most."""
        if len(self.options) < 64:
            self.options.append(row)
        else:
            self.fail("ioam-option-limit", at)

    def descend(self, level: int, at: int) -> int:
        """One tunnel level further in."""
        if level >= 4:
            raise Stop("tunnel-limit", at)
        return level + 1
