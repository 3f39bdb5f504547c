"""IOAM options."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# ioam      option 0x31 or 0x11 in HBH or DSTOPT. All rejects → on; status_at = option, no hops.
#           length < 2, or type 0 with length < 10: ioam-truncated. IOAM type ≠ 0: format ioam-other only.
#           order: NodeLen ≠ type (or 0 words without bit 22 while there is space) ioam-node-length · RemainingLen > space
#           ioam-remaining-length · L with type ≠ 0x800000 ioam-loopback-type · whole nodes / snapshots (ioam-snapshot-overrun)
#           whole: r = space mod node, filled mod node must be 0 or r, else ioam-not-whole-nodes. r ≠ 0: w ioam-space-rest. Nodes are read
#           from RemainingLen on. (bit 22: no such check)
#           O: w ioam-overflow. bits 12-21: w ioam-unassigned-bits.
#           cut: ioam-stack-truncated, status_at = first node not whole (like INT). Trace header itself cut: only ipv6-extension-truncated.
#           parts of ones (8, 16, 24, 32, 56, 64 bit, each alone) are absent; wide wins, short is the fallback. Transit delay with the
#           overflow bit is absent. buffer_id is 0 for IOAM. telemetry_bytes = 2 + option length. remaining_hops = RemainingLen.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, bits, blank


class Ioam(Base):
    """IOAM."""

    def ioam(self, at: int, size: int, limit: int) -> None:
        """An IOAM option (§14.2): `size` bytes behind its 2-byte head, which lie inside the extension header."""
        if size < 2:
            self.fail("ioam-truncated", at)
            return
        if at + 4 > limit:
            return
        if self.data[at + 3] != 0:
            self.found(schema.FORMAT_IOAM_OTHER)
            return
        if size < 10:
            self.found(schema.FORMAT_IOAM_TRACE)
            self.fail("ioam-truncated", at)
            return
        if at + 12 > limit:
            return
        self.found(schema.FORMAT_IOAM_TRACE)
        namespace, word, trace_type = self.u(at + 4, 2), self.u(at + 6, 2), self.u(at + 8, 3)
        node_bytes, flags, remaining = 4 * (word >> 11), word >> 7 & 15, word & 127
        space = size - 10
        start = at + 12
        expected = 4 * bits(trace_type & 0xFF0FFC) + 4 * bits(trace_type & 0x001000) + 8 * bits(trace_type & 0x00E000)
        snapshot = bool(trace_type & 2)
        if node_bytes != expected or (node_bytes == 0 and not snapshot and space > 0):
            self.fail("ioam-node-length", at)
            return
        if 4 * remaining > space:
            self.fail("ioam-remaining-length", at)
            return
        if flags & 4 and trace_type != 0x800000:
            self.fail("ioam-loopback-type", at)
            return
        first, end = start + 4 * remaining, start + space
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
                behind = position + node_bytes + 4 + 4 * self.data[position + node_bytes]
                if behind > end:
                    self.fail("ioam-snapshot-overrun", at)
                    return
                if behind > limit:
                    cut = position
                    break
                nodes.append(position)
                position = behind
        elif node_bytes:
            rest = space % node_bytes
            if (end - first) % node_bytes not in (0, rest):
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
        self.dialect = None
        self.packet.update(
            telemetry=schema.FORMAT_IOAM_TRACE,
            dialect=0,
            telemetry_flags=flags,
            instructions=trace_type,
            namespace=namespace,
            remaining_hops=remaining,
            telemetry_bytes=2 + size,
        )
        hops = [self.ioam_node(position, trace_type) for position in nodes]
        self.missing = 0 if snapshot or not node_bytes else (end - first) // node_bytes - len(nodes)
        if cut is not None:
            self.fail("ioam-stack-truncated", cut)
            for hop in hops:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
        self.stack = hops[::-1]

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
        if seconds is not None and fraction is not None and 0xFFFFFFFF not in (seconds, fraction):
            hop["ingress_time_raw"] = seconds << 32 | fraction
            hop["present"] |= schema.HAS_INGRESS_TIME
        return hop
