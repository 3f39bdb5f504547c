"""RoCEv2: BTH, the extension headers of every opcode, ICRC (IBTA Vol.1 ch. 9, Annex A17)."""

from __future__ import annotations

from int_analyzer.dissect.field import Field, Form, Header, flag, reserved
from int_analyzer.schema import ICRC_ALTERED, ICRC_BAD, ICRC_FRAGMENT, ICRC_OK, ICRC_OPCODE, ICRC_ZERO

_SPEC = "IBTA Vol.1"

_OPERATIONS = (
    "SEND First",
    "SEND Middle",
    "SEND Last",
    "SEND Last with Immediate",
    "SEND Only",
    "SEND Only with Immediate",
    "RDMA WRITE First",
    "RDMA WRITE Middle",
    "RDMA WRITE Last",
    "RDMA WRITE Last with Immediate",
    "RDMA WRITE Only",
    "RDMA WRITE Only with Immediate",
    "RDMA READ Request",
    "RDMA READ Response First",
    "RDMA READ Response Middle",
    "RDMA READ Response Last",
    "RDMA READ Response Only",
    "Acknowledge",
    "Atomic Acknowledge",
    "CmpSwap",
    "FetchAdd",
    "RESYNC",
    "SEND Last with Invalidate",
    "SEND Only with Invalidate",
)
_TRANSPORTS = {0x00: "RC", 0x20: "UC", 0x40: "RD", 0x60: "UD", 0xA0: "XRC"}
OPCODES = {
    **{prefix | code: f"{transport} {name}" for prefix, transport in _TRANSPORTS.items() for code, name in enumerate(_OPERATIONS)},
    0x1C: "RC FLUSH",
    0x1D: "RC ATOMIC WRITE",
    0x81: "CNP",
}
_NAK = ("PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request")
SYNDROMES = {
    **{code: f"ACK, credit code {code}" for code in range(31)},
    31: "ACK, no credit information",
    **{0x20 | timer: f"RNR NAK, timer code {timer}" for timer in range(32)},
    **{0x60 | code: f"NAK, {name}" for code, name in enumerate(_NAK)},
}

BTH = Header(
    "bth",
    "RoCEv2 base transport header",
    f"{_SPEC} §9.2",
    (
        Field("opcode", 8, form=Form.HEX, names=OPCODES, column="roce.opcode"),
        flag("se", "solicited event", "roce.se"),
        flag("migreq", "migration state", "roce.migreq"),
        Field("pad", 2, "after the data", unit="bytes", column="roce.pad"),
        Field("transport_version", 4, column="roce.transport_version"),
        Field("pkey", 16, "partition", Form.HEX, column="roce.pkey"),
        flag("fecn", "forward congestion", "roce.fecn"),
        flag("becn", "backward congestion", "roce.becn"),
        reserved(6),
        Field("dest_qp", 24, "queue pair", column="roce.dest_qp"),
        flag("ack_req", "acknowledge request", "roce.ack_req"),
        reserved(7),
        Field("psn", 24, "packet sequence number", column="roce.psn"),
    ),
)
_VA = Field("virtual_address", 64, form=Form.HEX, column="roce.virtual_address")
_RKEY = Field("rkey", 32, form=Form.HEX, column="roce.rkey")
RDETH = Header("bth.rdeth", "RDETH", f"{_SPEC} §9.3.1", (reserved(8), Field("ee_context", 24)))
DETH = Header(
    "bth.deth",
    "DETH",
    f"{_SPEC} §9.3.2",
    (Field("queue_key", 32, form=Form.HEX, column="roce.queue_key"), reserved(8), Field("source_qp", 24, column="roce.source_qp")),
)
XRCETH = Header("bth.xrceth", "XRCETH", f"{_SPEC} Annex A14", (reserved(8), Field("srq", 24, "shared receive queue")))
FETH = Header("bth.feth", "FETH", f"{_SPEC} 1.5, memory placement", (Field("flush", 32, "scope and type", Form.HEX),))
RETH = Header("bth.reth", "RETH", f"{_SPEC} §9.3.3", (_VA, _RKEY, Field("dma_bytes", 32, "length", unit="bytes", column="roce.dma_bytes")))
ATOMIC = Header(
    "bth.atomiceth",
    "AtomicETH",
    f"{_SPEC} §9.3.4",
    (
        _VA,
        _RKEY,
        Field("swap_add", 64, form=Form.HEX, column="roce.swap_add"),
        Field("compare", 64, form=Form.HEX, column="roce.compare"),
    ),
)
AETH = Header(
    "bth.aeth",
    "AETH",
    f"{_SPEC} §9.3.5",
    (
        Field("syndrome", 8, form=Form.HEX, names=SYNDROMES, column="roce.syndrome"),
        Field("msn", 24, "message sequence number", column="roce.msn"),
    ),
)
ATOMIC_ACK = Header(
    "bth.atomicacketh",
    "AtomicAckETH",
    f"{_SPEC} §9.3.5.3",
    (Field("original_data", 64, form=Form.HEX, column="roce.original_data"),),
)
IMMEDIATE = Header("bth.immdt", "ImmDt", f"{_SPEC} §9.3.6", (Field("immediate", 32, form=Form.HEX, column="roce.immediate"),))
INVALIDATE = Header("bth.ieth", "IETH", f"{_SPEC} §9.3.7", (_RKEY,))
CNP = Header("bth.cnp", "CNP padding", f"{_SPEC} Annex A17 §17.9", (reserved(128),))
ICRC = Header("bth", "ICRC", f"{_SPEC} §7.8.1, Annex A17 §17.3", (Field("icrc", 32, "as on the wire", Form.HEX, column="roce.icrc_raw"),))

ICRC_REMARKS = {
    ICRC_OK: "right: the packet is what its sender wrote",
    ICRC_BAD: "wrong: the packet was damaged on the way, or its sender or the mirror does not write ICRCs",
    ICRC_FRAGMENT: "not checkable: this is a fragment",
    ICRC_ALTERED: "not checkable: what it covers may have been changed on the way, and cannot be put together again",
    ICRC_OPCODE: "not checkable: the opcode is unknown",
    ICRC_ZERO: "not checkable: none was written",
}
"""Remarks by the column icrc_check; one that was cut off is not shown."""

EXTENSIONS = (RDETH, DETH, XRCETH, FETH, RETH, ATOMIC, AETH, ATOMIC_ACK, IMMEDIATE, INVALIDATE, CNP)
"""In the order of the bits of formats.roce.OPCODES, from bit 8 on, and of the wire."""


def extensions(carries: int) -> list[Header]:
    """Extension headers of an entry of formats.roce.OPCODES, in wire order."""
    return [header for bit, header in enumerate(EXTENSIONS) if carries >> (8 + bit) & 1]
