"""IOAM options."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# carriers  IPv6 option 0x31 or 0x11 in HBH or DSTOPT; Geneve option of profile geneve_ioam_classes; header behind VXLAN-GPE (its length
#           does not count its first word) or NSH (it does). A 4-byte head, then the option to its end. telemetry_bytes = head and all.
# shim      behind GPE and NSH: 4 bytes not in avail             ioam-shim-truncated                that header
#           beyond the declared end; NSH length 0                  ioam-shim-length                   that header
#           then the option; its rejects → on with the next protocol at its end; own header not in avail: ioam-shim-truncated → on
# ioam      all rejects → on; status_at = option, no hops, no row.
#           IPv6: length < 2: ioam-truncated, no format. Head not in avail: nothing. Type > 4: ioam-option-type, no format.
#           declared data < 8 (trace, DEX), < 4 (POT, E2E): ioam-truncated. So much not in avail: nothing (shim: see there), no format.
#   trace   order: NodeLen ≠ type (or 0 words without bit 22 while there is space) ioam-node-length · pre-allocated: RemainingLen > space
#           ioam-remaining-length · L with type ≠ 0x800000 ioam-loopback-type · whole nodes / snapshots (ioam-snapshot-overrun)
#           whole: r = space mod node, filled mod node must be 0 or r, else ioam-not-whole-nodes. r ≠ 0: w ioam-space-rest. Nodes are read
#           from RemainingLen on. Incremental: from the first byte on, any r. (bit 22: no such check)
#           O: w ioam-overflow. bits 12-21: w ioam-unassigned-bits.
#           cut: ioam-stack-truncated, status_at = first node not whole (like INT). Trace header itself cut: nothing, as above.
#           parts of ones (8, 16, 24, 32, 56, 64 bit, each alone) are absent; wide wins, short is the fallback. Transit delay with the
#           overflow bit is absent. buffer_id is 0 for IOAM. A snapshot of length 0 and schema 0xFFFFFF is absent. remaining_hops =
#           RemainingLen.
#   pot     type ≠ 0 ioam-pot-type · data < 20 ioam-truncated · in avail
#   e2e     both sequence numbers ioam-e2e-sequence · data shorter than its fields ioam-truncated (longer: ignored) · in avail. Ones count.
#   dex     data ≠ 8 + 4 a flag ioam-dex-length · in avail
#           These three give a row in options, no telemetry. 65th row of a packet: ioam-option-limit, format bit set, no row.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, Stop, bits, blank

OPTIONS = {
    0: (schema.FORMAT_IOAM_TRACE, 8),
    1: (schema.FORMAT_IOAM_INCREMENTAL, 8),
    2: (schema.FORMAT_IOAM_POT, 4),
    3: (schema.FORMAT_IOAM_E2E, 4),
    4: (schema.FORMAT_IOAM_DEX, 8),
}
"""By IOAM option type (§14.1): format, and the bytes that any such option has behind its head."""


class Ioam(Base):
    """IOAM."""

    def ioam_shim(self, at: int, end: int, limit: int, counted: int) -> int:
        """An IOAM header behind VXLAN-GPE or NSH, whose length counts `counted` words of its head (§14.2); gives its end."""
        self.need(at, 4, limit, "ioam-shim-truncated")
        words = self.data[at + 1]
        behind = at + 4 * (words + 1 - counted)
        if behind > end or words < counted:
            raise Stop("ioam-shim-length", at)
        self.ioam(self.data[at], at, behind, limit, "ioam-shim-truncated")
        return behind

    def ioam(self, kind: int, option: int, end: int, limit: int, cut: str | None = None) -> None:
        """One IOAM option, whose 4-byte head is there; `cut` is the status if its own header is not."""
        if kind not in OPTIONS:
            self.fail("ioam-option-type", option)
            return
        format_id, least = OPTIONS[kind]
        if end - option - 4 < least:
            self.found(format_id)
            self.fail("ioam-truncated", option)
        elif self.ioam_reaches(option, least, limit, cut):
            self.found(format_id)
            if kind in (0, 1):
                self.ioam_trace(option, end, limit, incremental=kind == 1)
            else:
                read = {2: self.ioam_pot, 3: self.ioam_e2e, 4: self.ioam_dex}[kind]
                read(option, end - option - 4, limit, cut)

    def ioam_reaches(self, option: int, size: int, limit: int, cut: str | None) -> bool:
        """So many bytes behind the head of an option were captured."""
        if option + 4 + size > limit and cut:
            self.fail(cut, option)
        return option + 4 + size <= limit

    def ioam_row(self, option: int, format_id: int, present: int, **columns: int) -> None:
        """An option without node data is a row of its own."""
        row = blank(schema.OPTIONS)
        row.update(packet=0, format=format_id, namespace=self.u(option + 4, 2), present=schema.HAS_OPTION_NAMESPACE | present, **columns)
        self.keep_option(row, option)

    def ioam_pot(self, option: int, size: int, limit: int, cut: str | None) -> None:
        """Proof of transit (§14.5)."""
        if self.data[option + 6] != 0:
            self.fail("ioam-pot-type", option)
        elif size < 20:
            self.fail("ioam-truncated", option)
        elif self.ioam_reaches(option, 20, limit, cut):
            self.ioam_row(
                option,
                schema.FORMAT_IOAM_POT,
                schema.HAS_OPTION_FLAGS | schema.HAS_OPTION_PROOF,
                flags=self.data[option + 7],
                proof_packet_id=self.u(option + 8, 8),
                proof_cumulative=self.u(option + 16, 8),
            )

    def ioam_e2e(self, option: int, size: int, limit: int, cut: str | None) -> None:
        """Edge to edge (§14.5): fields in the order of the bits."""
        kind = self.u(option + 6, 2)
        if kind & 0xC000 == 0xC000:
            self.fail("ioam-e2e-sequence", option)
            return
        fields = [(bit, width) for bit, width in ((0x8000, 8), (0x4000, 4), (0x2000, 4), (0x1000, 4)) if kind & bit]
        needed = 4 + sum(width for _, width in fields)
        if size < needed:
            self.fail("ioam-truncated", option)
        elif self.ioam_reaches(option, needed, limit, cut):
            columns: dict[str, int] = {}
            present, at = 0, option + 8
            for bit, width in fields:
                value = self.u(at, width)
                at += width
                if bit >= 0x4000:
                    columns.update(sequence=value, sequence_bits=8 * width)
                    present |= schema.HAS_OPTION_SEQUENCE
                elif bit == 0x2000:
                    columns["time_seconds"] = value
                    present |= schema.HAS_OPTION_SECONDS
                else:
                    columns["time_fraction_raw"] = value
                    present |= schema.HAS_OPTION_FRACTION
            self.ioam_row(option, schema.FORMAT_IOAM_E2E, present, **columns)

    def ioam_dex(self, option: int, size: int, limit: int, cut: str | None) -> None:
        """Direct export (§14.5): a word for every extension flag, known or not."""
        extensions = self.data[option + 7]
        if size != 8 + 4 * bits(extensions):
            self.fail("ioam-dex-length", option)
        elif self.ioam_reaches(option, size, limit, cut):
            columns = {"flags": self.data[option + 6], "extension_flags": extensions, "trace_type": self.u(option + 8, 3)}
            present, at = schema.HAS_OPTION_FLAGS | schema.HAS_OPTION_EXPORT, option + 12
            if extensions & 0x80:
                columns["flow_id"] = self.u(at, 4)
                present |= schema.HAS_OPTION_FLOW
                at += 4
            if extensions & 0x40:
                columns.update(sequence=self.u(at, 4), sequence_bits=32)
                present |= schema.HAS_OPTION_SEQUENCE
            self.ioam_row(option, schema.FORMAT_IOAM_DEX, present, **columns)

    def ioam_trace(self, at: int, behind: int, limit: int, incremental: bool) -> None:
        """A trace (§14.3), whose 8-byte header is there."""
        namespace, word, trace_type = self.u(at + 4, 2), self.u(at + 6, 2), self.u(at + 8, 3)
        node_bytes, flags, remaining = 4 * (word >> 11), word >> 7 & 15, word & 127
        start = at + 12
        space = behind - start
        expected = 4 * bits(trace_type & 0xFF0FFC) + 4 * bits(trace_type & 0x001000) + 8 * bits(trace_type & 0x00E000)
        snapshot = bool(trace_type & 2)
        if node_bytes != expected or (node_bytes == 0 and not snapshot and space > 0):
            self.fail("ioam-node-length", at)
            return
        if not incremental and 4 * remaining > space:
            self.fail("ioam-remaining-length", at)
            return
        if flags & 4 and trace_type != 0x800000:
            self.fail("ioam-loopback-type", at)
            return
        # The free words of an incremental trace are not in the packet.
        first, end = start + (0 if incremental else 4 * remaining), behind
        nodes: list[int] = []
        cut = None
        if snapshot:
            position = first
            while position < end:
                if position + node_bytes + 4 > end:
                    self.fail("ioam-snapshot-overrun", at)
                    return
                if position + node_bytes + 4 > limit:
                    cut = position
                    break
                following = position + node_bytes + 4 + 4 * self.data[position + node_bytes]
                if following > end:
                    self.fail("ioam-snapshot-overrun", at)
                    return
                if following > limit:
                    cut = position
                    break
                nodes.append(position)
                position = following
        elif node_bytes:
            rest = space % node_bytes
            if not incremental and (end - first) % node_bytes not in (0, rest):
                self.fail("ioam-not-whole-nodes", at)
                return
            if rest:
                self.warnings.add("ioam-space-rest")
            for number in range((end - first) // node_bytes):
                position = first + number * node_bytes
                if position + node_bytes > limit:
                    cut = position
                    break
                nodes.append(position)
        if flags & 8:
            self.warnings.add("ioam-overflow")
        if trace_type & 0x000FFC:
            self.warnings.add("ioam-unassigned-bits")
        hops = [self.ioam_node(position, trace_type) for position in nodes]
        if cut is not None:
            self.fail("ioam-stack-truncated", cut)
            for hop in hops:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
        self.telemetry(
            schema.FORMAT_IOAM_INCREMENTAL if incremental else schema.FORMAT_IOAM_TRACE,
            hops[::-1],
            0 if snapshot or not node_bytes else (end - first) // node_bytes - len(nodes),
            telemetry_flags=flags,
            instructions=trace_type,
            namespace=namespace,
            remaining_hops=remaining,
            telemetry_bytes=behind - at,
        )

    def ioam_node(self, at: int, trace_type: int) -> dict[str, Any]:
        """One node's data, in bit order (§14.3)."""
        hop = blank(schema.HOPS)
        seconds = fraction = None

        def keep(name: str, value: int, width: int, bit: int) -> None:
            if value != (1 << width) - 1:
                hop[name] = value
                hop["present"] |= bit

        for bit in range(22):
            if not trace_type & 0x800000 >> bit:
                continue
            size = 8 if bit in (8, 9, 10) else 4
            value = self.u(at, size)
            at += size
            if bit in (0, 8):
                width = 8 * size - 8
                keep("hop_limit", value >> width, 8, schema.HAS_HOP_LIMIT)
                keep("node_id", value & (1 << width) - 1, width, schema.HAS_NODE)
            elif bit in (1, 9):
                width = 4 * size
                keep("ingress_port", value >> width, width, schema.HAS_INGRESS_PORT)
                keep("egress_port", value & (1 << width) - 1, width, schema.HAS_EGRESS_PORT)
            elif bit == 2:
                seconds = value
            elif bit == 3:
                fraction = value
            elif bit == 4 and not value >> 31:
                hop["hop_latency_raw"] = value
                hop["present"] |= schema.HAS_LATENCY
            elif bit in (5, 10):
                keep("namespace_data", value, 8 * size, schema.HAS_DATA)
            elif bit == 6:
                keep("queue_depth_raw", value, 32, schema.HAS_DEPTH)
            elif bit == 11 and value != 0xFFFFFFFF:
                hop.update(buffer_id=0, buffer_depth_raw=value)
                hop["present"] |= schema.HAS_BUFFER
        if trace_type & 2 and self.u(at, 4) != 0x00FFFFFF:
            hop.update(snapshot_bytes=4 * self.data[at], snapshot_schema=self.u(at + 1, 3))
            hop["present"] |= schema.HAS_SNAPSHOT
        if seconds is not None and fraction is not None and 0xFFFFFFFF not in (seconds, fraction):
            hop["ingress_time_raw"] = seconds << 32 | fraction
            hop["present"] |= schema.HAS_INGRESS_TIME
        return hop
