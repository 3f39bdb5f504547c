"""What the fields of the JSON document mean that tell of slow messages and of hosts."""

from __future__ import annotations

_NS = "nanoseconds since 1970, capture clock"

DELAY_MEANINGS: dict[str, dict[str, str]] = {
    "MessagesSummary": {
        "messages": "whole messages seen",
        "judged": "of these, with enough calm ones of the same kind and size to say what is usual",
        "slow": "of these, that took twice as long as usual and 20 µs longer",
        "delay_ns": "what the slow ones took longer than usual, together",
        "in_queues_ns": "of it, lost in queues",
        "resent_ns": "lost until packets were sent again",
        "host_paused_ns": "lost at ports of hosts that the node next to them had paused",
        "elsewhere_ns": "lost elsewhere: at hosts, on wires, in nodes that tell nothing",
        "not_seen_ns": "lost while no packet with telemetry told where",
        "unknown": "slow messages of which it is not known where their time went",
        "worst": "those that were delayed most",
        "notes": "what these figures leave out",
    },
    "MessageDelay": {
        "name": "hosts by the profile's names, and the destination queue pair",
        "src": "address of the sender of the request",
        "dst": "address that it goes to",
        "dest_qp": "destination queue pair",
        "kind": "send, write, read or atomic",
        "bytes": "payload",
        "begin_ns": f"its first packet, {_NS}",
        "end_ns": "the answer that covers it (of a READ, the last response); without one, its last packet",
        "answered": "an answer was seen",
        "time_ns": "what it took: fct_ns, and what its first packet had waited in queues before it was seen",
        "fct_ns": "FCT: first packet to answer, at the mirror point",
        "usual_ns": "median time of calm messages of the same kind and size (within a power of two)",
        "usual_of": "pair: between the same hosts; fabric: of all, as those between the same hosts are too few",
        "delay_ns": "time_ns − usual_ns",
        "job": "the job that it belongs to; null if none is known",
        "how": "how its parts are known. packets: its own packets tell where they waited; flow: from the mean wait of its flow in the same "
        "time; unknown: not at all",
        "reason": "why they are not known",
        "blame": "where most of its delay comes from",
        "blamed": "the queue, if that is one; of a paused host the one that held it up",
        "parts": "its whole time, the longest part first, what is usual last; null if it is not known",
    },
    "DelayPart": {
        "where": "queue: its packets waited there; resent: until packets of it were sent again; host-paused: at the port of a host, which "
        "the node next to it had told to wait; elsewhere: at a host, on a wire, in a node that tells nothing; not-seen: no packet with "
        "telemetry told; usual: what such a message takes anyway",
        "at": "the queue; of resent the link that loses packets of the connection, if one does; of host-paused the queue next to the host "
        "that was held up, of elsewhere one that was congested there and may have paused the host; else null",
        "finding": "id of the finding about this queue",
        "host": "the host that was paused, or may have been, if `at` is next to it",
        "ns": "nanoseconds",
        "share": "part of time_ns, 0 to 1",
        "evidence": "what a retransmission or the pause of a host is concluded from, and why time elsewhere is not told of one",
    },
    "DirectionDelay": {
        "judged_messages": "whole messages with enough calm ones of the same kind and size to say what is usual; null if nothing is told",
        "slow_messages": "of these, that took twice as long as usual and 20 µs longer",
        "delay_ns": "what they took longer than usual, together",
        "network_share": "part of the delay that is the network's: lost in queues, or at hosts that were paused; 0 to 1, of the slow "
        "messages that are told",
        "resent_share": "part lost until packets were sent again that the network had lost, or the receiver refused",
        "elsewhere_share": "part lost elsewhere: at hosts, on wires, in nodes that tell nothing",
        "not_seen_share": "part lost while no packet with telemetry told where",
        "worst_hop": "the queue in which its slow messages lost most, on their way or that of their answers; null if in none",
        "worst_hop_share": "part of the delay that was lost there",
        "delay_reason": "why this is not known, or not of all slow messages",
    },
    "QueueDelays": {
        "messages": "messages that lost 20 µs or more here",
        "connections": "directions of connections that they belong to",
        "jobs": "jobs that they belong to, by name",
        "sum_ns": "what they lost here, together",
        "worst_ns": "the most that one lost",
    },
    "HostSummary": {
        "host": "address",
        "name": "name by the profile",
        "label": "slow: the host itself is late, or gets too much; suspect: late, but the network or its link may be why; "
        "healthy: nothing that was seen speaks against it",
        "since_ns": f"since when, {_NS}; null if healthy, or not known",
        "evidence": "what the label rests on",
        "jobs": "jobs that it is a member of, by name",
        "slow_messages": "slow messages that it waited for: those to it, and READs that it asked for",
        "stall_ns": "time in which it waited; null if nothing tells",
        "stall_of": "ring: for its predecessor, longer than usual; messages: while a message that it waited for was late; unknown",
        "cost": "stall_ns as hours × cost.host_hour of the profile; null without that",
        "currency": "of the cost",
    },
}
