"""What an INT header that passed leaves in the rows."""

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, blank
from .dialect import SHORT_VERSION, SPECIFIED

ITEMS = {
    **dict.fromkeys(range(16), ""),
    **dict(enumerate(("node", "ports", "latency", "queue", "ingress_time", "egress_time", "ports2", "utilisation", "buffer"))),
}
"""Metadata item by bit of an instruction bitmap (v2)."""
ITEMS_1 = {**ITEMS, 8: ""}
ITEMS_05 = {**ITEMS, 6: "", 8: ""}
"""Bit 8 is reserved before v2; bit 6 of v0.5 is queue id and congestion status, which have no columns."""


class IntStack(Base):
    """Columns and hops of INT."""

    def int_apply(self, result: dict[str, Any], at: int, end: int, limit: int, level: int, port: int, located: str) -> None:
        """Write what was measured over UDP, and read on behind the INT header."""
        npt = self.int_over_ports(result, located)
        behind = result["next"]
        self.behind_int = True
        if behind is None:
            return
        if npt == 2:
            protocol = self.data[at + 3]
            self.packet["protocol"] = protocol
            self.packet.update(src_port=0, dst_port=0)
            self.transport(protocol, behind, end, min(limit, end), level, after_int=True)
            return
        self.packet["dst_port"] = result["original"]
        if result["status"] == "int-version-unknown":
            # Only if the skip lands on something: a header of an unknown version may have another idea of its length.
            if behind >= limit or (result["original"] == 4791 and not self.plausible_bth(behind, limit)):
                return
        self.payload_by_port(result["original"], behind, end, limit, level)

    def int_over_ports(self, result: dict[str, Any], located: str) -> int:
        """INT over UDP or TCP, where the shim has an NPT; gives the NPT that counts."""
        npt = result["npt"]
        if result["next"] is not None:
            if located in ("dscp", "marker"):
                if npt:
                    self.warnings.add("int-npt")
                    result["original"] = self.packet["dst_port"]
                npt = 0
            elif located == "port" and not npt and not result["v1"]:
                self.warnings.add("int-npt")
        if self.int_take(result, (8 if located == "marker" else 0) + (8 if npt == 2 else 0)) and result["kind"] != "mx":
            self.packet["original_dscp"] = result["dscp"]
        return npt

    def int_in_tunnel(self, at: int, end: int, limit: int, v1: bool) -> int | None:
        """INT behind a VXLAN-GPE or GRE header (§10.1): believed; gives where reading goes on, None if nowhere."""
        result = self.measurement(at)
        if at + 4 > limit:
            result["status"] = "int-shim-truncated"
        else:
            kind = self.data[at] if v1 else self.data[at] >> 4
            if kind in ((1, 2) if v1 else (1, 2, 3)):
                self.int_shim(result, at, end, limit, v1, kind)
            else:
                result["status"] = "int-shim-type"
            if v1 and kind == 1:
                self.int_05_instead(result, at, limit, None)
        self.int_take(result)
        behind: int | None = result["next"]
        if result["status"] == "int-version-unknown" and behind is not None and behind >= limit:
            return None
        return behind

    def int_option(self, at: int, size: int, limit: int, kind: int) -> None:
        """INT in a Geneve option of `size` bytes (§7, §11): believed, and never the end of reading."""
        result = self.measurement(at)
        if size < 4 + 12:
            result["status"] = "int-length-too-small"
        else:
            self.int_header(result, at + 4, at + size, limit, v1=False, kind=kind)
        self.int_take(result)

    def int_take(self, result: dict[str, Any], around: int = 0) -> bool:
        """Write what was measured: format, status, and if they count, columns and hops. `around`: bytes that belong to INT beside it."""
        status = result["status"]
        if result["format"]:
            self.found(result["format"])
        if status:
            self.fail(status, result["at"])
        if not result["kind"] or status not in (None, "int-stack-truncated", "int-hop-length-mismatch"):
            return False
        word = result["word"]
        size = result["next"] - result["start"] + around
        if result["kind"] == "mx":
            flags = word >> 27 & 1
            self.telemetry(
                result["format"], [], telemetry_flags=flags, instructions=result["bitmap"], namespace=result["domain"], telemetry_bytes=size
            )
            return True
        remaining = word & 255
        if result["kind"] == "05":
            early = 2 if result["dialect"] in SHORT_VERSION else 0
            flags = (word >> 25 + early & 1) << 3 | (word >> 24 + early & 1) << 1
            remaining = (word >> 8 & 255) - remaining
        elif result["v1"]:
            flags = (word >> 25 & 1) << 3 | (word >> 24 & 1) << 1 | (word >> 23 & 1) << 2
        else:
            late = 2 if result["dialect"] == "cablelabs-tps" else 0
            flags = word >> 27 - late & 1 | (word >> 26 - late & 1) << 1 | (word >> 25 - late & 1) << 2
        if flags & 2:
            self.warnings.add("int-hop-exceeded")
        if flags & 4:
            self.warnings.add("int-mtu-exceeded")
        if result["ambiguous"]:
            self.warnings.add("int-dialect-ambiguous")
        if result["dialect"] not in SPECIFIED:
            self.warnings.add("int-dialect")
        if result["ds_instruction"] and result["domain"] == 0:
            self.warnings.add("int-domain-default")
        self.telemetry(
            result["format"],
            self.int_hops(result),
            result["hops"] - result["whole"],
            result["dialect"],
            telemetry_flags=flags,
            instructions=result["bitmap"],
            namespace=result["domain"],
            remaining_hops=remaining,
            telemetry_bytes=size,
        )
        if status and "cut" in result:
            self.fail("int-stack-truncated", result["cut"])
        return True

    def int_hops(self, result: dict[str, Any]) -> list[dict[str, Any]]:
        """Hop rows: the wire has the newest first, the rows have the oldest first (§10.3)."""
        hops = []
        names = ITEMS_05 if result["kind"] == "05" else ITEMS_1 if result["v1"] else ITEMS
        if result["dialect"] == "noviflow10":
            names = {**names, 2: ""}
        for number in range(result["whole"]):
            if result["layout"] is None:
                hop = blank(schema.HOPS)
                hop["present"] = schema.HOP_OPAQUE
            else:
                hop = self.int_hop(result["header_end"] + number * result["hop_bytes"], result["layout"], result["bitmap"], names)
            if result["whole"] < result["hops"]:
                hop["present"] |= schema.HOP_TRUNCATED_PATH
            hops.append(hop)
        return hops[::-1]

    def int_hop(self, at: int, layout: list[tuple[int, int]], bitmap: int, names: dict[int, str]) -> dict[str, Any]:
        """One hop block by its layout (words by bit)."""
        hop = blank(schema.HOPS)
        metadata_zero = bool(bitmap & 0x6C00)
        for bit, words in layout:
            value = self.u(at, 4 * words) if words else 0
            at += 4 * words
            if bit and value:
                metadata_zero = False
            if words and value != (1 << 32 * words) - 1:
                self.item(hop, names[bit], value, words, level2=not bitmap & 0x4000)
        if metadata_zero:
            self.warnings.add("metadata-zero")
        return hop

    @staticmethod
    def item(hop: dict[str, Any], name: str, value: int, words: int, level2: bool) -> None:
        """One metadata item that is there (§7.1)."""
        if name == "node":
            hop["node_id"] = value
            hop["present"] |= schema.HAS_NODE
        elif name == "ports" or (name == "ports2" and level2):
            half = 16 * words
            hop.update(ingress_port=value >> half, egress_port=value & (1 << half) - 1)
            hop["present"] |= schema.HAS_INGRESS_PORT | schema.HAS_EGRESS_PORT
        elif name == "latency":
            hop["hop_latency_raw"] = value
            hop["present"] |= schema.HAS_LATENCY
        elif name == "queue":
            hop.update(queue_id=value >> 24, queue_depth_raw=value & 0xFFFFFF)
            hop["present"] |= schema.HAS_QUEUE | schema.HAS_DEPTH
        elif name == "ingress_time":
            hop["ingress_time_raw"] = value
            hop["present"] |= schema.HAS_INGRESS_TIME
        elif name == "egress_time":
            hop["egress_time_raw"] = value
            hop["present"] |= schema.HAS_EGRESS_TIME
        elif name == "utilisation":
            hop["tx_utilisation_raw"] = value
            hop["present"] |= schema.HAS_UTILISATION
        elif name == "buffer":
            hop.update(buffer_id=value >> 24, buffer_depth_raw=value & 0xFFFFFF)
            hop["present"] |= schema.HAS_BUFFER
