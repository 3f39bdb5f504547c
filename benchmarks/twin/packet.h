/* One record into the columns, as int_analyzer/packet.py: INT or IOAM, and RoCE; tunnels and reports are not followed. */
#pragma once
#include "batch.h"
#include "int_md.h"
#include "ioam.h"
#include "network.h"
#include "roce.h"

struct found {
    uint32_t status, formats, telemetry, roce_row, source_port, destination_port;
    int64_t status_at, hops;
    int first_fragment;
};

/* The first fault stays; what can be read behind it is read. */
INLINE void fault(struct found *found, uint32_t status, int64_t at) {
    if (status != STATUS_OK && found->status == STATUS_OK) {
        found->status = status;
        found->status_at = at;
    }
}

/* Walk the options of an extension header from `at` to `end`, reading IOAM ones; 0 if there is one that the twin cannot read. */
static __attribute__((noinline)) int decode_options(const uint8_t *b, int64_t at, int64_t end, struct cursor *c, struct found *found,
                                                    const struct columns *columns, int64_t row, int64_t first_hop) {
    for (int options = 0; options < MAXIMUM_OPTIONS && at < end && at < c->limit; options++) {
        uint32_t type = u8(b + at), format;
        if (type == 0) {
            at++;
            continue;
        }
        if (at + 2 > end) {
            fault(found, STATUS_IPV6_OPTION_LENGTH, at);
            return 1;
        }
        if (at + 2 > c->limit)
            return 1;
        int64_t option_end = at + 2 + u8(b + at + 1);
        if (option_end > end) {
            fault(found, STATUS_IPV6_OPTION_LENGTH, at);
            return 1;
        }
        if (type == 0x31 || type == 0x11) {
            struct cursor trace = *c;
            int64_t added = decode_ioam(b, at, option_end, &trace, &format, columns, row, first_hop);
            if (trace.status == BEYOND_TWIN)
                return 0;
            c->warnings = trace.warnings;
            if (format != 0)
                found->formats |= 1u << format;
            if (added >= 0) {
                found->hops = added;
                found->telemetry = FORMAT_IOAM_TRACE;
            }
            fault(found, trace.status, trace.at);
            options = -1;
        }
        at = option_end;
    }
    return 1;
}

/* Extension headers from c->at on: the next layer. */
static __attribute__((noinline)) enum next decode_extensions(const uint8_t *b, struct cursor *c, uint32_t protocol, struct found *found,
                                                             const struct columns *columns, int64_t row, int64_t first_hop) {
    for (int extensions = 0; is_extension(protocol); extensions++) {
        int64_t at = c->at, limit = c->limit;
        c->status = STATUS_IPV6_EXTENSION_LIMIT;
        if (extensions == 8)
            return NEXT_END;
        c->status = STATUS_IPV6_EXTENSION_TRUNCATED;
        if (limit - at < (protocol == 44 ? 8 : 2))
            return NEXT_END;
        int64_t end = at + (protocol == 44 ? 8 : ((int64_t)u8(b + at + 1) + 1) * 8);
        if (end > c->declared)
            return NEXT_END;
        if ((protocol == 0 || protocol == 60) && !decode_options(b, at + 2, end, c, found, columns, row, first_hop))
            return NEXT_BEYOND;
        if (end > limit)
            return NEXT_END;
        uint32_t fragment = protocol == 44 ? u16(b + at + 2) : 0;
        protocol = u8(b + at);
        columns->packets.protocol[row] = (uint8_t)protocol;
        c->at = end;
        if (fragment & 0xfff8) {
            c->status = STATUS_FRAGMENT;
            return NEXT_END;
        }
        if (fragment & 1) {
            found->first_fragment = 1;
            c->warnings |= WARNING_FRAGMENT_FIRST;
        }
    }
    enum next next = of_protocol(protocol);
    c->status = next == NEXT_END ? STATUS_NOT_UDP : STATUS_OK;
    return next;
}

/* What follows the UDP header: INT (1), BTH (2), nothing known (0), beyond this program (-1). */
INLINE int payload_kind(const uint8_t *b, const struct cursor *c, uint32_t port, int behind_int) {
    uint32_t role = ROLES[port];
    if (behind_int)
        return role == ROLE_ROCE ? 2 : role == ROLE_AUTO ? 0 : -1;
    if (role == ROLE_ROCE)
        return !plausible_bth(b, c->at, c->limit) && looks_like_int(b, c->at, c->limit, c->declared, 0) ? 1 : 2;
    return role == ROLE_AUTO && looks_like_int(b, c->at, c->limit, c->declared, 1) ? 1 : -1;
}

/* INT and RoCE behind a UDP header. */
INLINE void decode_udp(const uint8_t *b, struct cursor *c, struct found *found, struct batch *batch, int64_t row) {
    const struct columns *columns = &batch->columns;
    for (int behind_int = 0;; behind_int = 1) {
        int64_t at = c->at;
        if (c->limit - at < 8) {
            fault(found, STATUS_UDP_TRUNCATED, at);
            return;
        }
        uint32_t length = u16(b + at + 4);
        found->source_port = u16(b + at);
        found->destination_port = u16(b + at + 2);
        if (length < 8) {
            fault(found, STATUS_UDP_LENGTH, at);
            return;
        }
        int64_t end = at + length;
        if (end > c->declared && !found->first_fragment) {
            c->warnings |= WARNING_UDP_LENGTH_BEYOND_IP;
            end = c->declared;
        } else if (end < c->declared)
            c->warnings |= WARNING_UDP_LENGTH_SHORT;
        c->declared = end;
        c->limit = end < c->limit ? end : c->limit;
        c->at = at + 8;
        int kind = payload_kind(b, c, found->destination_port, behind_int);
        if (kind == 1) {
            int64_t begin = c->at;
            struct shim shim;
            int64_t added = decode_int(b, c, &shim, found->destination_port, columns, row, batch->hops);
            uint32_t bad = c->status;
            fault(found, bad, c->at);
            if (shim.format == FORMAT_INT_MX || shim.format == FORMAT_INT_05) {
                found->status = BEYOND_TWIN;
                return;
            }
            if (shim.format != 0)
                found->formats |= 1u << shim.format;
            if (added >= 0) {
                found->hops = added;
                found->telemetry = shim.format;
            }
            found->destination_port = shim.original_port;
            if (shim.payload == 0)
                return;
            c->at = shim.payload;
            if (shim.npt == 2) {
                uint32_t protocol = u8(b + begin + 3);
                columns->packets.protocol[row] = (uint8_t)protocol;
                found->source_port = found->destination_port = 0;
                enum next next = of_protocol(protocol);
                if (next == NEXT_UDP)
                    continue;
                if (next == NEXT_END)
                    fault(found, STATUS_NOT_UDP, c->at);
                else
                    found->status = BEYOND_TWIN;
                return;
            }
            kind = ROLES[found->destination_port] == ROLE_ROCE ? 2 : ROLES[found->destination_port] == ROLE_AUTO ? 0 : -1;
            if (bad == STATUS_INT_VERSION_UNKNOWN && (c->at >= c->limit || (kind == 2 && !plausible_bth(b, c->at, c->limit))))
                return;
        }
        if (kind < 0)
            found->status = BEYOND_TWIN;
        if (kind != 2)
            return;
        if (decode_bth(b, c, &columns->roce, batch->roce, row)) {
            found->formats |= 1u << FORMAT_ROCE;
            found->roce_row = (uint32_t)batch->roce++;
        }
        fault(found, c->status, c->at);
        return;
    }
}

static __attribute__((noinline)) int node_repeated(const struct hops *hops, int64_t first, int64_t row, int64_t node) {
    for (int64_t earlier = first; earlier < row; earlier++)
        if (hops->node_id[earlier] == node && (hops->present[earlier] & HAS_NODE))
            return 1;
    return 0;
}

/* Whether a node id stands twice among the hops of a packet. */
INLINE int has_loop(const struct hops *hops, int64_t first, int64_t end) {
    uint64_t seen = 0;
    for (int64_t row = first; row < end; row++) {
        if (!(hops->present[row] & HAS_NODE))
            continue;
        int64_t node = hops->node_id[row];
        if ((seen >> (node & 63) & 1) && node_repeated(hops, first, row, node))
            return 1;
        seen |= UINT64_C(1) << (node & 63);
    }
    return 0;
}

/* A record into row batch->packets and into hops and roce; 0 if its rows might not fit: the batch is to be emptied first. */
INLINE int decode_packet(const struct record *record, struct batch *batch) {
    const struct columns *columns = &batch->columns;
    const struct packets *packets = &columns->packets;
    const uint8_t *b = record->data;
    int64_t row = batch->packets, first_hop = batch->hops;
    if (row == PACKETS_CAPACITY || first_hop > HOPS_CAPACITY - ROWS_PER_PACKET)
        return 0;
    uint32_t longest = record->captured > record->original ? record->captured : record->original;
    struct cursor c = {0, record->captured, longest, STATUS_OK, record->warnings};
    struct found found = {.roce_row = 0xffffffff};
    uint32_t vlan = 0xffff;
    int64_t csig = -1;
    packets->part[row] = 0;
    packets->time_ns[row] = record->time;
    packets->captured_bytes[row] = record->captured;
    packets->original_bytes[row] = record->original;
    packets->interface[row] = 0;
    packets->original_dscp[row] = 0xff;
    packets->ip_version[row] = 0;

    enum next next = record->link == 1 ? decode_ethernet(b, &c, &vlan, &csig) : NEXT_BEYOND;
    if (next == NEXT_IPV4)
        next = decode_ipv4(b, &c, &found.first_fragment, packets, row);
    else if (next == NEXT_IPV6) {
        int following = decode_ipv6(b, &c, packets, row);
        next = following == 17 ? NEXT_UDP : NEXT_END;
        if (following >= 0 && following != 17)
            next = decode_extensions(b, &c, (uint32_t)following, &found, columns, row, first_hop);
    }
    fault(&found, c.status, c.at);
    if (next == NEXT_UDP)
        decode_udp(b, &c, &found, batch, row);
    else if (next == NEXT_TCP) {
        if (c.limit - c.at >= 4) {
            found.source_port = u16(b + c.at);
            found.destination_port = u16(b + c.at + 2);
        }
        fault(&found, STATUS_NOT_UDP, c.at);
    } else if (next == NEXT_BEYOND)
        found.status = BEYOND_TWIN;
    if (found.telemetry == 0) {
        packets->dialect[row] = packets->telemetry_flags[row] = packets->remaining_hops[row] = 0;
        packets->instructions[row] = 0;
        packets->namespace[row] = packets->telemetry_bytes[row] = 0;
    }
    /* An INT stack has looked for nodes of equal hash already. */
    int64_t end = first_hop + found.hops;
    int by_stack = found.telemetry == FORMAT_INT_MD_1 || found.telemetry == FORMAT_INT_MD_2;
    if (found.hops > 1 && (!by_stack || (c.warnings & WARNING_NODE_REPEATED))) {
        c.warnings &= ~WARNING_NODE_REPEATED;
        if (has_loop(&columns->hops, first_hop, end))
            c.warnings |= WARNING_NODE_REPEATED;
    }
    if (packets->ip_version[row] == 0) {
        packets->src_hi[row] = packets->src_lo[row] = packets->dst_hi[row] = packets->dst_lo[row] = 0;
        packets->protocol[row] = packets->dscp[row] = packets->ecn[row] = packets->ttl[row] = 0;
        packets->ip_id[row] = 0;
        packets->ip_bytes[row] = 0;
    }
    packets->tunnels[row] = 0;
    packets->vlan_id[row] = (uint16_t)vlan;
    packets->csig[row] = csig;
    packets->src_port[row] = (uint16_t)found.source_port;
    packets->dst_port[row] = (uint16_t)found.destination_port;
    packets->formats[row] = found.formats;
    packets->telemetry[row] = (uint8_t)found.telemetry;
    packets->hop_count[row] = (uint16_t)found.hops;
    packets->first_hop[row] = (uint32_t)first_hop;
    packets->roce_row[row] = found.roce_row;
    packets->report_count[row] = 0;
    packets->status[row] = (uint8_t)found.status;
    packets->status_at[row] = (uint16_t)(found.status == STATUS_OK ? 0 : found.status_at < 65535 ? found.status_at : 65535);
    packets->warnings[row] = c.warnings;
    batch->hops = end;
    batch->packets = row + 1;
    return 1;
}
