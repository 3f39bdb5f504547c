"""The memory of a simulation: six flat int64 arrays, which grow when full, and what stands where in their records.

A record is named by the place where it begins: `state[link + L_DELAY]`, `pool[packet + P_FLOW]`. References between records are such
places; NONE is no record. Times are picoseconds since the start, so that a byte on a link takes a whole number of them.

    state  numbers · links · messages · dependents · actions · sites · flows · contexts (two a flow)
    pool   packets that are somewhere in the fabric, with the hops that they have made
    heap   events to come            seen, seen_hops   what the mirror saw            ground   what really was, by link and time
"""

from __future__ import annotations

from typing import Any, NamedTuple

NONE = -1
NEVER = 1 << 62
PICOSECONDS = 1000
"""Of a nanosecond."""


class World(NamedTuple):
    """All arrays of a simulation (int64, one dimension)."""

    state: Any
    pool: Any
    heap: Any
    seen: Any
    seen_hops: Any
    ground: Any


# Numbers, at the start of `state`: where things are, what is set, what is counted.
(
    LINKS,  # first link, message, dependent, action, site
    MESSAGES,
    DEPENDENTS,
    ACTIONS,
    SITES,
    HOSTS,
    LEAVES,
    SPINES,
    PER_LEAF,
    TIMED,  # messages posted by time are the first of all, in order of time
    ACTION_COUNT,
    SEED,
    END,
    PFC,  # 1: links of switches are lossless
    XOFF,  # bytes held for an ingress port from when it pauses its neighbour, and below which it lets it go on
    XON,
    HEADROOM,
    QUEUE_LIMIT,  # bytes of a queue without PFC
    ECN,  # 1: queues mark
    ECN_LOW,
    ECN_HIGH,
    ECN_MOST,  # probability at ECN_HIGH, of 65536
    MTU,
    WINDOW,
    ACK_EVERY,
    TIMEOUT,
    TELEMETRY_EVERY,
    TELEMETRY_BYTES,
    HOP_BYTES,
    MIRROR_ALL,
    MIRROR_POINTS,  # on a packet's way: 1 its last switch, 2 its first too, 3 all
    REPORT_LOSS,  # of 65536
    POLARISED_LEAF,
    POLARISED_SPINE,
    POLARISED_SHARE,  # of 256
    LOOP_SPINE,
    LOOP_HOST,
    LOOP_LEAF,
    GROUND_WIDTH,
    GROUND_BUCKETS,
    NOW,
    EVENTS,
    POOL_USED,  # places of pool ever used, head of the list of free ones, packets alive
    POOL_FREE,
    POOL_LIVE,
    SEEN,
    SEEN_HOPS,
    DRAWS,
    TIMED_NEXT,
    ACTION_NEXT,
    SENT,
    DELIVERED,
    DROPPED_FULL,
    DROPPED_TTL,
    DROPPED_CABLE,
    DROPPED_DOWN,
    RETRANSMITTED,
    SEQUENCE_NAKS,
    TIMEOUTS,
    MARKED,
    NOTIFIED,
    PAUSES,
    CROSSED,  # packets that left a queue: packet-hops
    REPORTS_LOST,
    NUMBERS,
) = range(65)

DATA, CONTROL = 0, 1
"""Traffic classes: paused by PFC, and served first and never paused."""

# A directed link, with the queues of the port that sends on it, and what its target holds for it.
(
    L_SOURCE,  # sites
    L_TARGET,
    L_NUMBER,
    L_REVERSE,
    L_BYTE_TIME,  # now, and as sold
    L_NOMINAL_BYTE_TIME,
    L_DELAY,
    L_UP,
    L_LOSS,  # of 2^24
    L_BUSY_UNTIL,
    L_WAKING,  # 1: an event FREE is on its way
    L_HEAD,  # two classes each
    L_HEAD_CONTROL,
    L_TAIL,
    L_TAIL_CONTROL,
    L_BYTES,
    L_BYTES_CONTROL,
    L_COUNT,  # packets of class DATA
    L_PAUSED,
    L_PAUSED_SINCE,
    L_HELD,  # bytes that came over the link and are still in its target
    L_PAUSING,
    L_DRAIN_TIME,  # of a byte in a slow host behind the link; 0: as fast as it comes
    L_LEVEL,
    L_LEVEL_AT,
    L_WINDOW_AT,  # utilisation: window of now, bytes in it and in the one before
    L_WINDOW_BYTES,
    L_WINDOW_BEFORE,
    L_SENT,  # bytes, of all time
    L_WAITING,  # contexts that wait for a host's port
    L_WAITING_LAST,
    L_IP_ID,
    LINK_WORDS,
) = range(33)

# A directed flow, and the state of its receiver.
(
    F_NUMBER,
    F_REVERSE,
    F_SOURCE,
    F_TARGET,
    F_HASH,
    F_REQUESTS,  # contexts
    F_RESPONSES,
    F_EXPECTED,
    F_REFUSED,  # 1: a NAK was sent and not answered yet
    F_MSN,
    F_NOTIFIED_AT,
    FLOW_WORDS,
) = range(12)

IDLE, SCHEDULED, WAITING = 0, 1, 2
"""States of a context: nothing to send or not allowed · an event READY is on its way · waits for its host's port."""

# Something that sends on a flow: its own requests, or responses to what its reverse flow asks to read.
(
    C_FLOW,
    C_PORT,
    C_RESPONDS,
    C_STATE,
    C_NEXT_WAITING,
    C_TIME,  # not before
    C_LINE_BPS,
    C_CAP_BPS,
    C_RATE_BPS,
    C_TARGET_BPS,
    C_ALPHA,
    C_STEPS,
    C_SINCE,
    C_MESSAGE,
    C_INDEX,
    C_LAST,
    C_END,
    C_UNACKED,
    C_UNACKED_MESSAGE,
    C_HIGHEST,  # all before it was sent at least once, and all before it must be acknowledged in time
    C_ASKED,
    C_ARMED,
    C_PROGRESS,
    CONTEXT_WORDS,
) = range(24)

SEND, WRITE, READ = 0, 1, 2

# A message. Packets are counted per flow from 0 (index); the PSN is the index plus the flow's first PSN.
(
    M_FLOW,
    M_KIND,
    M_BYTES,
    M_PACKETS,
    M_POST_AT,
    M_MISSING,  # messages that must be complete before this is posted, and the time from then to posting
    M_DELAY,
    M_FOLLOWERS,
    M_FOLLOWER_COUNT,
    M_THINK_TIME,  # of who is asked to read, before the first response
    M_FIRST,
    M_NEXT,
    M_NEXT_READ,
    M_RECEIVED,
    M_POSTED,
    M_DONE,
    MESSAGE_WORDS,
) = range(17)

SET_BYTE_TIME, SET_UP, SET_LOSS, SET_DRAIN, SET_LOOP = range(5)

# What is done to the fabric at a time.
A_TIME, A_KIND, A_LINK, A_VALUE, ACTION_WORDS = range(5)

# A host, leaf or spine: its number among hosts or switches, the time from a packet's end to its queue, whether it tells of its hops.
S_NUMBER, S_IS_SWITCH, S_PIPELINE, S_TELLS, S_MIRRORED, S_REPORTED, S_DROPPED, SITE_WORDS = range(8)

ECN_CAPABLE, INITIAL_TTL = 2, 64
MAXIMUM_HOPS = 12
# A hop as it is made: links of egress and ingress, class, times, depth before the packet, utilisation, bytes sent before.
H_EGRESS, H_INGRESS, H_CLASS, H_CAME, H_WENT, H_DEPTH, H_UTILISATION, H_SENT, HOP_WORDS = range(9)

(
    P_NEXT,
    P_FLOW,
    P_MESSAGE,
    P_INDEX,
    P_OPCODE,
    P_BYTES,
    P_HELD,  # bytes that it occupies in the switch where it is
    P_PAYLOAD,
    P_ACK_REQ,
    P_ECN,
    P_TTL,
    P_IP_ID,
    P_SYNDROME,
    P_MSN,
    P_OVER,  # link over which it came
    P_STARTED,
    P_CAME,
    P_DEPTH,
    P_TELEMETRY,
    P_HOPS,
    P_EXCEEDED,
    P_FIRST_HOP,
) = range(22)
PACKET_WORDS = P_FIRST_HOP + MAXIMUM_HOPS * HOP_WORDS

# A packet as the mirror saw it; sites and messages by place.
(
    Z_TIME,
    Z_FLOW,
    Z_MESSAGE,
    Z_INDEX,
    Z_OPCODE,
    Z_PAYLOAD,
    Z_ACK_REQ,
    Z_ECN,
    Z_TTL,
    Z_IP_ID,
    Z_SYNDROME,
    Z_MSN,
    Z_FIRST_HOP,
    Z_HOPS,
    Z_TELEMETRY,
    Z_EXCEEDED,
    Z_DROPPED,
    Z_SITE,
    Z_MIRRORED,
    Z_REPORTED,
    SEEN_WORDS,
) = range(21)

G_DEPTH, G_BYTES, G_PAUSED, G_DROPS, GROUND_WORDS = range(5)
"""Ground truth of a link in a stretch of time: deepest its queue was, bytes sent, picoseconds paused, packets lost."""
