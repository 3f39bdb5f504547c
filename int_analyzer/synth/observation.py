"""What a mirror saw of a simulation, as it stands on the wire: records of the kernel become the tables of trace.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.synth.clock import EPOCH_NS, Clocks
from int_analyzer.synth.fabric import CELL_BYTES, Fabric
from int_analyzer.synth.state import (
    DEPENDENTS,
    FLOW_WORDS,
    H_CAME,
    H_CLASS,
    H_DEPTH,
    H_EGRESS,
    H_INGRESS,
    H_SENT,
    H_UTILISATION,
    H_WENT,
    HOP_WORDS,
    LINK_WORDS,
    LINKS,
    M_BYTES,
    M_FIRST,
    MESSAGE_WORDS,
    MESSAGES,
    MTU,
    NONE,
    PICOSECONDS,
    SEEN,
    SEEN_HOPS,
    SEEN_WORDS,
    SITE_WORDS,
    SITES,
    Z_ACK_REQ,
    Z_DROPPED,
    Z_ECN,
    Z_EXCEEDED,
    Z_FIRST_HOP,
    Z_FLOW,
    Z_HOPS,
    Z_INDEX,
    Z_IP_ID,
    Z_MESSAGE,
    Z_MIRRORED,
    Z_MSN,
    Z_OPCODE,
    Z_PAYLOAD,
    Z_REPORTED,
    Z_SITE,
    Z_SYNDROME,
    Z_TELEMETRY,
    Z_TIME,
    Z_TTL,
    World,
)
from int_analyzer.synth.trace import ACKNOWLEDGE, CNP, DSCP_CNP, DSCP_DATA, RESPONSE_FIRST, Flows, Hops, Packets

PSN_MASK = 0xFFFFFF
QUEUE_IDS = np.array([3, 6], dtype=np.uint8)
"""Queue of class DATA and of class CONTROL: the priorities that RoCE networks use for RDMA and for CNPs."""
_REGION_BYTES = 1 << 30
"""Memory that a flow's messages are written into, one behind the other, and around again."""


def read_packets(world: World, fabric: Fabric, flows: Flows) -> Packets:
    """The packets that the mirror saw."""
    state = world.state
    rows = world.seen[: int(state[SEEN]) * SEEN_WORDS].reshape(-1, SEEN_WORDS)
    flow = _number(rows[:, Z_FLOW], _first_flow(state, fabric), FLOW_WORDS)
    opcode, index = rows[:, Z_OPCODE], rows[:, Z_INDEX]
    answers = (opcode >= RESPONSE_FIRST) & (opcode <= ACKNOWLEDGE)
    counted_on = np.where(answers, flow ^ 1, flow)
    psn = np.where(opcode == CNP, 0, (flows.first_psn[counted_on] + index) & PSN_MASK)
    address, rkey, dma = _remote_memory(state, rows, counted_on)
    site = _number(rows[:, Z_SITE], int(state[SITES]), SITE_WORDS)
    return Packets(
        time_ns=EPOCH_NS + rows[:, Z_TIME] // PICOSECONDS,
        flow=flow.astype(np.int32),
        opcode=opcode.astype(np.uint8),
        psn=psn.astype(np.uint32),
        ack_req=rows[:, Z_ACK_REQ].astype(np.uint8),
        payload_bytes=rows[:, Z_PAYLOAD].astype(np.int32),
        ecn=rows[:, Z_ECN].astype(np.uint8),
        dscp=np.where(opcode == CNP, DSCP_CNP, DSCP_DATA).astype(np.uint8),
        ttl=rows[:, Z_TTL].astype(np.uint8),
        ip_id=rows[:, Z_IP_ID].astype(np.uint16),
        syndrome=rows[:, Z_SYNDROME].astype(np.uint8),
        msn=rows[:, Z_MSN].astype(np.uint32),
        virtual_address=address,
        rkey=rkey.astype(np.uint32),
        dma_bytes=dma.astype(np.uint32),
        first_hop=rows[:, Z_FIRST_HOP].copy(),
        hop_count=rows[:, Z_HOPS].astype(np.uint8),
        telemetry=rows[:, Z_TELEMETRY].astype(np.uint8),
        hop_exceeded=rows[:, Z_EXCEEDED].astype(np.uint8),
        dropped=rows[:, Z_DROPPED].astype(np.uint8),
        mirror_node=_node_ids(fabric)[site],
        mirror_sequence=rows[:, Z_MIRRORED].copy(),
        report_sequence=rows[:, Z_REPORTED].copy(),
    )


def read_hops(world: World, fabric: Fabric, clocks: Clocks) -> Hops:
    """The hops of these packets, timed by the clocks of their nodes."""
    state = world.state
    rows = world.seen_hops[: int(state[SEEN_HOPS]) * HOP_WORDS].reshape(-1, HOP_WORDS)
    egress = _number(rows[:, H_EGRESS], int(state[LINKS]), LINK_WORDS)
    ingress = _number(rows[:, H_INGRESS], int(state[LINKS]), LINK_WORDS)
    site = fabric.links.source[egress]
    came, went = (clocks.read(site, rows[:, column] // PICOSECONDS) for column in (H_CAME, H_WENT))
    depth = rows[:, H_DEPTH].copy()
    return Hops(
        node_id=_node_ids(fabric)[site],
        ingress_port=fabric.links.target_port[ingress].astype(np.uint16),
        egress_port=fabric.links.source_port[egress].astype(np.uint16),
        queue_id=QUEUE_IDS[rows[:, H_CLASS]],
        ingress_time_ns=came,
        egress_time_ns=went,
        latency_ns=went - came,
        queue_depth_bytes=depth,
        queue_depth_cells=-(-depth // CELL_BYTES),
        tx_utilisation=rows[:, H_UTILISATION].astype(np.uint16),
        sent_bytes=rows[:, H_SENT].copy(),
    )


def _remote_memory(state: Any, rows: Any, flow: Any) -> tuple[Any, Any, Any]:
    """Virtual address, R_Key and DMA length of packets: where their message goes, and how much of it is still to come."""
    messages = state[int(state[MESSAGES]) : int(state[DEPENDENTS])].reshape(-1, MESSAGE_WORDS)
    if len(messages) == 0:
        nothing = np.zeros(len(rows), dtype=np.int64)
        return nothing, nothing, nothing
    message = np.where(rows[:, Z_MESSAGE] == NONE, 0, _number(rows[:, Z_MESSAGE], int(state[MESSAGES]), MESSAGE_WORDS))
    done = (rows[:, Z_INDEX] - messages[message, M_FIRST]) * state[MTU]
    at = (messages[message, M_FIRST] * state[MTU]) % _REGION_BYTES
    address = (0x7F00 << 32) + flow * _REGION_BYTES + at + done
    return address, 0x10000 + 0x101 * flow, messages[message, M_BYTES] - done


def _node_ids(fabric: Fabric) -> Any:
    return np.array([fabric.node_id(site) for site in range(fabric.sites)], dtype=np.int32)


def _first_flow(state: Any, fabric: Fabric) -> int:
    return int(state[SITES]) + fabric.sites * SITE_WORDS


def _number(places: Any, first: int, words: int) -> Any:
    """Numbers of records from the places where they begin."""
    return (places - first) // words
