"""INT-MD, INT-MX and INT v0.5: is it one, and where does reading go on."""

# LAYER     CONDITION                                              STATUS / WARNING                   STATUS_AT
# int       (INT header at `off`, all statuses have status_at = shim, but where said)
#           layouts by first byte: 01, 02 → v1 shim (length counts the shim); high nibble 1, 2, 3 → v2. Else int-shim-type.
#           in a tunnel (GPE, GRE): layout by the protocol number of the tunnel, believed, no NPT, no original_dscp, 0.5 (v1 shim) without
#           a tail; all else is the same. "UDP end" is the tunnel's there; → on is with the next protocol, behind int-version-unknown if a
#           byte is there. Reserved bits are ignored everywhere (but not in MX by structure, below).
#           order of checks: 4 bytes in avail (int-shim-truncated) · type · NPT 3 int-npt-reserved · length < 3 words (destination: v1 < 1)
#           int-length-too-small · beyond declared UDP end int-length-beyond-udp · destination (v1 02, v2 type 2): int-destination → on
#           behind it · header in avail (v1 4+8, v2 4+12; int-shim-truncated)
#           · version (v1: 0, 1; v2: 2) int-version-unknown → on behind it if it is there and, on 4791, a plausible BTH is there
#           · [format bit is set from here on] · NPT 1 with original port = dst port or in int_ports: int-port-loop (not if DSCP/marker)
#           · stack > 0 and bitmap 0: int-bitmap-zero · stack > 0 and HopML 0 (stack ≠ source-only words): int-hop-length-zero
#           · (stack − source only) mod HopML ≠ 0: int-stack-not-whole-hops · HopML against bitmap under no dialect:
#           int-hop-length-mismatch → on, hop rows with present = HOP_OPAQUE only, dialect none. If no header is skipped, stop.
#           domain words count only if DS Instruction ≠ 0 and the domain is in the profile. Source only: both 0 and declared fit →
#           declared. DS Instruction ≠ 0 with domain 0: w int-domain-default.
#           Reserved bits 8-14 (v2 9-14): one word each, or none at all (second try, within each dialect).
#           Dialects in order: see DIALECTS; profile int_dialect: only that one of its layout; ONLY_CONFIGURED not otherwise. Ver 0: then
#           INT 0.5 (InsCnt = popcount, tail, whole hops = TotalHop, Total ≤ Max, L ≥ 4).
#           First that fits; a layout (words by bit) other than the first that fits also: w int-dialect-ambiguous. Dialect other than
#           int-1.0, int-2.x, int-0.5: w int-dialect. Numbers: DIALECT_NUMBERS (result["dialect"] has the name).
#           INT 0.5 (tail inside avail, its protocol that of the carrier: 17 UDP, 6 TCP; InsCnt ≥ 1): tried where a Ver 0 stack fits no
#           dialect (v1.0 view of bitmap, HopML or whole hops fails); dst_port from the tail, on behind it. Fits neither: status of the
#           v1.0 view. Layouts in order: OLD_DIALECTS, int_dialect only if it is one; of SHORT_VERSION: the nibble may be 0 to 3.
#           Items: 0 node, 1 ports, 2 latency, 3 queue, 4, 5 times, 7 utilisation; 6 and 8-15 have no column. Flags C, E (bits 6, 7;
#           SHORT_VERSION 4, 5); remaining_hops = Max − Total; original_dscp = low 6 bits of the tail's last byte, 0 is absent.
#           MX: Ver 2, else int-version-unknown; NPT as for MD; on behind it. By structure also: reserved 27 bits 0, bitmap ≠ 0, bit 15 of
#           bitmap 0. telemetry int-mx, instructions, namespace, telemetry_flags D, telemetry_bytes as for MD, remaining_hops 0, dialect
#           none; hops of an earlier header are gone; original_dscp and w int-domain-default are MD's only.
#           structure (DSCP, TCP, other ports): the same checks under every dialect, whichever is configured; bitmap 0 with HopML ≠ 0 is
#           none. by structure on other ports: all checks pass (int-stack-truncated does), type MD or MX, no domain data, bitmap not 0,
#           reserved bits of word 0 zero
#           NPT: located by port and NPT 0, or by DSCP/marker and NPT ≠ 0: w int-npt (where reading goes on behind INT), and NPT 0
#           counts. NPT 2: protocol byte gives the next header, `protocol` column becomes it, ports those of the inner UDP/TCP.
#           original_dscp: v1 byte 3 >> 2; v2, NPT 0 as written: byte 3 >> 2, if byte 3 is 0 byte 2 >> 2 (laofan). NPT 1, 2: None.
#           stack cut by the capture or a cut report: int-stack-truncated, status_at = first hop that is not whole; whole hops are kept
#           at their true position (the lengths tell how many there were), all with HOP_TRUNCATED_PATH.
#           Source-only data cut: nothing is missing, ok.
#           E: w int-hop-exceeded, M: w int-mtu-exceeded. v1 flags bits 6, 7, 8 = C, E, M; v2 bits 4, 5, 6 = D, E, M (cablelabs-tps
#           6, 7, 8). cablelabs-tps: domain 0x5453 has 2 source-only words unless the profile has it.
#           telemetry_bytes = shim + header + stack (0.5: + tail; Geneve: option header + header + stack), + 8 for a marker, + 8 for NPT 2.
#           telemetry, dialect, instructions, namespace, … are set when the checks pass (opaque included), also with an empty stack.
#           Several telemetry headers: the last one read that passes wins with its hops; formats collects all.
#   items   a whole item of ones is absent (node id too); half a port word of ones (INT, reports) stays 65535.
#           Level-2 ids go to the hop's ports only if bit 1 is not in the bitmap.
#           w metadata-zero: stack hop whose bitmap has one of bits 1, 2, 4, 5 and whose words are all 0 but the node id. noviflow10:
#           the latency has no column but counts here.
#           w node-repeated: INT, MRI, report and IOAM hops, at the end.

from __future__ import annotations

from typing import Any

from int_analyzer import schema

from .base import Base, bits
from .dialect import CABLELABS_DOMAIN, CABLELABS_SOURCE_WORDS, SHORT_VERSION, old_tried, tried


class IntHeader(Base):
    """INT headers, measured before anything is written."""

    @staticmethod
    def measurement(at: int, port: int = 0) -> dict[str, Any]:
        """Nothing known yet of an INT header. `status` None: every check passes; `holds`: believed by structure."""
        return {"status": None, "at": at, "start": at, "kind": "", "next": None, "holds": False, "npt": 0, "format": 0, "original": port,
                "v1": False, "loop": False, "dscp": None, "seen": False}  # fmt: skip

    def int_measure(self, at: int, end: int, limit: int, port: int, located: str, protocol: int = 17) -> dict[str, Any]:
        """Check an INT header over UDP or TCP (§12), write nothing."""
        result = self.measurement(at, port)
        if at + 4 > limit:
            result["status"] = "int-shim-truncated"
            return result
        first = self.data[at]
        v1 = first in (1, 2)
        if not v1 and first >> 4 not in (1, 2, 3):
            result["status"] = "int-shim-type"
            return result
        npt = 0 if v1 else first >> 2 & 3
        if npt == 3:
            result["status"] = "int-npt-reserved"
            return result
        original = self.u(at + 2, 2) if npt == 1 else port
        loop = npt == 1 and located in ("port", "structure") and (original == port or original in self.profile["int_ports"])
        result.update(npt=npt, original=original, loop=loop)
        if v1:
            result["dscp"] = self.data[at + 3] >> 2
        elif not npt:
            # One switch program stores it in the first of the two bytes (capture bmv2-laofan-int-md-v2.1).
            result["dscp"] = (self.data[at + 3] or self.data[at + 2]) >> 2
        self.int_shim(result, at, end, limit, v1, first if v1 else first >> 4)
        if first == 1:
            self.int_05_instead(result, at, limit, protocol)
        return result

    def int_05_instead(self, result: dict[str, Any], at: int, limit: int, protocol: int | None) -> None:
        """What is no v1.0 may be v0.5 (§8), with a tail behind its stack if `protocol` is that of the transport."""
        if not result["seen"] or result["status"] in (None, "int-stack-truncated"):
            return
        found = self.int_05(at, at + 4 * self.data[at + 2], limit, protocol)
        if found is None:
            return
        dialect, layout = found
        word, bitmap, behind = self.u(at + 4, 4), self.u(at + 8, 2), at + 4 * self.data[at + 2]
        result.update(status=None, at=at, kind="05", next=behind, format=schema.FORMAT_INT_05, holds=True, dialect=dialect, word=word)
        result.update(hops=word & 255, whole=word & 255, layout=layout, hop_bytes=4 * sum(size for _, size in layout), ambiguous=False)
        result.update(header_end=at + 12, bitmap=bitmap, domain=0, ds_instruction=0, version=0)
        if protocol is not None:
            result.update(original=self.u(behind - 3, 2), dscp=(self.data[behind - 1] & 63) or None)

    def int_shim(self, result: dict[str, Any], at: int, end: int, limit: int, v1: bool, kind: int) -> None:
        """The length of a shim whose 4 bytes are there (v1 counts the shim in it), then the header behind it."""
        words = self.data[at + 2] if v1 else self.data[at + 1]
        behind = at + 4 * words + (0 if v1 else 4)
        if words < (1 if v1 and kind == 2 else 0 if kind == 2 else 3):
            result["status"] = "int-length-too-small"
        elif behind > end:
            result["status"] = "int-length-beyond-udp"
        elif kind == 2:
            result.update(status="int-destination", next=behind, v1=v1)
        else:
            self.int_header(result, at + 4, behind, limit, v1, kind)

    def int_header(self, result: dict[str, Any], at: int, behind: int, limit: int, v1: bool, kind: int) -> None:
        """The metadata header (MD or MX) at `at`, whose stack ends at `behind`."""
        size = 8 if v1 else 12
        if at + size > limit:
            result["status"] = "int-shim-truncated"
            return
        word, bitmap = self.u(at, 4), self.u(at + 4, 2)
        version = word >> 28
        result.update(next=behind, v1=v1, seen=True)
        if version not in ((0, 1) if v1 else (2,)):
            result["status"] = "int-version-unknown"
            return
        result["format"] = schema.FORMAT_INT_MD_1 if v1 else schema.FORMAT_INT_MX if kind == 3 else schema.FORMAT_INT_MD_2
        result["kind"] = "mx" if kind == 3 else "md"
        if result["loop"]:
            result.update(status="int-port-loop", next=None)
            return
        result.update(word=word, bitmap=bitmap, header_end=at + size, version=version, domain=0 if v1 else self.u(at + 6, 2))
        if kind == 3:
            result["holds"] = not word & 0x07FFFFFF and bitmap != 0 and not bitmap & 1
            return
        result["ds_instruction"] = 0 if v1 else self.u(at + 8, 2)
        self.int_stack(result, behind, limit)

    def int_head(self, at: int, limit: int) -> bool:
        """On the RoCEv2 port, what is no BTH is INT if shim and metadata header explain each other; lengths are judged by name then."""
        if at + 12 > limit:
            return False
        first, word, bitmap = self.data[at], self.u(at + 4, 4), self.u(at + 8, 2)
        version, hop_words = word >> 28, word >> 8 & 31
        if first == 1:
            if self.int_05(at, at + 4 * self.data[at + 2], limit, 17):
                return True
            empty = self.data[at + 2] == 3
            expected = version in (0, 1)
        else:
            if first >> 4 == 3 and first >> 2 & 3 != 3:
                return version == 2 and not word & 0x07FFFFFF and bitmap != 0 and not bitmap & 1
            empty = self.data[at + 1] == 3
            expected = version == 2 and first >> 4 == 1 and first >> 2 & 3 != 3
        if bitmap == 0:
            return expected and empty and hop_words == 0
        return expected and any(sum(size for _, size in layout) == hop_words for _, layout in self.layouts(version, bitmap, None))

    def int_surely(self, measured: dict[str, Any], at: int) -> bool:
        """On any other port all lengths must hold, no domain may be needed, and reserved bits must be zero."""
        if not measured["holds"]:
            return False
        if measured["kind"] != "md":
            return True
        reserved = 0x007FE000 if measured["v1"] else 0x01FFE000
        return not measured["word"] & reserved and measured["bitmap"] != 0 and not measured["source_bytes"] and not measured["extra_words"]

    @staticmethod
    def layouts(version: int, bitmap: int, configured: str | None) -> list[tuple[str, list[tuple[int, int]]]]:
        """Words by bit under every dialect of a version, reserved bits with a word each or with none."""
        found = []
        for dialect, time_words, level2_words in tried(version, configured):
            for reserved_words in (1, 0):
                layout = []
                for bit in range(16):
                    if bitmap & 0x8000 >> bit:
                        reserved = (9 if version == 2 else 8) <= bit <= 14
                        size = time_words if bit in (4, 5) else level2_words if bit == 6 else reserved_words if reserved else 1
                        layout.append((bit, size))
                found.append((dialect, layout))
        return found

    def int_05(self, at: int, behind: int, limit: int, protocol: int | None) -> tuple[str, list[tuple[int, int]]] | None:
        """INT v0.5 whose lengths all agree (§8): its dialect and words by bit. The tail names the protocol that carries it."""
        tail = 0 if protocol is None else 4
        if behind > limit or self.data[at] != 1 or behind < at + 12 + tail:
            return None
        word, bitmap = self.u(at + 4, 4), self.u(at + 8, 2)
        version, count, most, total = word >> 28, word >> 16 & 31, word >> 8 & 255, word & 255
        short = self.profile["int_dialect"] in SHORT_VERSION
        if version > (3 if short else 0) or count < 1 or count != bits(bitmap) or total > most:
            return None
        if tail and self.data[behind - 4] != protocol:
            return None
        for dialect, time_words in old_tried(self.profile["int_dialect"]):
            layout = [(bit, time_words if bit in (4, 5) else 1) for bit in range(16) if bitmap & 0x8000 >> bit]
            if behind - at - 12 - tail == 4 * total * sum(size for _, size in layout):
                return dialect, layout
        return None

    def int_stack(self, result: dict[str, Any], behind: int, limit: int) -> None:
        """The checks of the stack: whole hops, and words per hop against the bitmap under every dialect (§10.2, §12)."""
        word, bitmap, start, version = result["word"], result["bitmap"], result["header_end"], result["version"]
        hop_words = word >> 8 & 31
        stack = behind - start
        source_words = extra_words = 0
        if result["ds_instruction"]:
            known = dict(self.profile["domains"])
            if self.profile["int_dialect"] == "cablelabs-tps":
                known.setdefault(CABLELABS_DOMAIN, (CABLELABS_SOURCE_WORDS, 0))
            source_words, extra_words = known.get(result["domain"], (0, 0))
        result.update(layout=None, dialect=None, hops=0, extra_words=extra_words, hop_bytes=4 * hop_words, ambiguous=False, source_bytes=0)
        if stack > 0 and bitmap == 0:
            result.update(status="int-bitmap-zero", next=None)
            return
        if hop_words == 0 and stack not in (0, 4 * source_words):
            result.update(status="int-hop-length-zero", next=None)
            return
        if hop_words:
            for source in (4 * source_words, 0):
                if stack >= source and (stack - source) % (4 * hop_words) == 0:
                    result.update(hops=(stack - source) // (4 * hop_words), source_bytes=source)
                    break
            else:
                result.update(status="int-stack-not-whole-hops", next=None)
                return
        fitting = []
        for dialect, layout in self.layouts(version, bitmap, self.profile["int_dialect"]):
            if sum(size for _, size in layout) + extra_words == hop_words:
                fitting.append((dialect, layout))
        if not fitting:
            result["status"] = "int-hop-length-mismatch"
        else:
            result["dialect"], result["layout"] = fitting[0]
            result["ambiguous"] = any(layout != fitting[0][1] for _, layout in fitting)
        # Whether it is INT is not the question which dialect it must be.
        explained = any(sum(size for _, size in layout) + extra_words == hop_words for _, layout in self.layouts(version, bitmap, None))
        result["holds"] = explained and (bitmap != 0 or hop_words == 0)
        whole = 0
        while whole < result["hops"] and start + (whole + 1) * 4 * hop_words <= limit:
            whole += 1
        result["whole"] = whole
        if whole < result["hops"]:
            result["cut"] = start + whole * 4 * hop_words
            if result["status"] is None:
                result.update(status="int-stack-truncated", at=result["cut"])
