/* One record into the columns: Ethernet with tags, IPv4 or IPv6, UDP, INT or IOAM, RoCE, as decode.py; tunnels and reports are not followed. */
#pragma once
#include "batch.h"
#include "int_md.h"
#include "ioam.h"
#include "roce.h"

enum next { NEXT_END, NEXT_IPV4, NEXT_IPV6, NEXT_UDP, NEXT_TCP, NEXT_BEYOND };

static const uint8_t ROLES[65536] = {PORT_ROLES};

INLINE enum next of_protocol(uint32_t protocol) {
    if (protocol == 17)
        return NEXT_UDP;
    if (protocol == 6)
        return NEXT_TCP;
    return protocol == 47 || protocol == 4 || protocol == 41 || protocol == 137 || protocol == 143 ? NEXT_BEYOND : NEXT_END;
}

INLINE enum next decode_ethernet(const uint8_t *b, struct cursor *c, uint32_t *vlan) {
    int64_t at = c->at + 14;
    c->status = STATUS_LINK_TRUNCATED;
    if (c->limit < at)
        return NEXT_END;
    uint32_t type = u16(b + 12);
    for (int tags = 0; tags < 9; tags++) {
        int is_vlan = type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200;
        if (!is_vlan && type != 0x9900) {
            c->status = STATUS_OK;
            c->at = at;
            if (type == 0x0800)
                return NEXT_IPV4;
            if (type == 0x86dd)
                return NEXT_IPV6;
            if (type == 0x8847 || type == 0x8848 || type == 0x6558)
                return NEXT_BEYOND;
            c->status = STATUS_NOT_IP;
            c->at = 0;
            return NEXT_END;
        }
        if (c->limit - at < 4)
            return NEXT_END;
        if (is_vlan)
            *vlan = u16(b + at) & 0xfff;
        type = u16(b + at + 2);
        at += 4;
    }
    c->status = STATUS_VLAN_LIMIT;
    return NEXT_END;
}

INLINE enum next decode_ipv4(const uint8_t *b, struct cursor *c, const struct packets *packets, int64_t row) {
    int64_t at = c->at, declared = c->declared;
    c->status = STATUS_IPV4_TRUNCATED;
    if (c->limit - at < 20)
        return NEXT_END;
    uint32_t first = u8(b + at), header = (first & 0xf) * 4, total = u16(b + at + 2);
    c->status = STATUS_IPV4_HEADER_LENGTH;
    if (first >> 4 != 4 || header < 20)
        return NEXT_END;
    int64_t end = at + total;
    if (total == 0) {
        c->warnings |= WARNING_IPV4_TOTAL_LENGTH_ZERO;
        end = declared < FAR ? declared : c->limit;
    } else if (total < header) {
        c->status = STATUS_IPV4_TOTAL_LENGTH;
        return NEXT_END;
    } else if (end > declared)
        c->warnings |= WARNING_IP_LENGTH_BEYOND_PACKET;
    else if (end < declared && declared < FAR)
        c->warnings |= WARNING_IP_LENGTH_SHORT;
    uint32_t service = u8(b + at + 1), fragment = u16(b + at + 6), protocol = u8(b + at + 9);
    packets->ip_version[row] = 4;
    packets->src_hi[row] = 0;
    packets->src_lo[row] = u32(b + at + 12);
    packets->dst_hi[row] = 0;
    packets->dst_lo[row] = u32(b + at + 16);
    packets->protocol[row] = (uint8_t)protocol;
    packets->dscp[row] = (uint8_t)(service >> 2);
    packets->ecn[row] = service & 3;
    packets->ttl[row] = (uint8_t)u8(b + at + 8);
    packets->ip_id[row] = (uint16_t)u16(b + at + 4);
    packets->ip_bytes[row] = total;
    c->limit = end < c->limit ? end : c->limit;
    c->declared = end;
    c->status = STATUS_IPV4_TRUNCATED;
    if (at + header > c->limit)
        return NEXT_END;
    if (header > 20) /* options: MRI may stand there */
        return NEXT_BEYOND;
    c->status = STATUS_FRAGMENT;
    if (fragment & 0x1fff)
        return NEXT_END;
    if (fragment & 0x2000)
        c->warnings |= WARNING_FRAGMENT_FIRST;
    enum next next = of_protocol(protocol);
    c->status = next == NEXT_END ? STATUS_NOT_UDP : STATUS_OK;
    if (next != NEXT_END)
        c->at = at + header;
    return next;
}

struct option {
    int64_t at, end;
};

/* Extension headers from c->at on; the IOAM option found on the way. */
static __attribute__((noinline)) enum next decode_extensions(const uint8_t *b, struct cursor *c, uint32_t *protocol, struct option *ioam) {
    int64_t at = c->at, limit = c->limit;
    uint32_t kind = *protocol;
    for (int extensions = 0; extensions < 8; extensions++) {
        int has_options = kind == 0 || kind == 60;
        *protocol = kind;
        if (!has_options && kind != 43 && kind != 44 && kind != 51) {
            enum next next = of_protocol(kind);
            c->status = next == NEXT_END ? STATUS_NOT_UDP : STATUS_OK;
            if (next != NEXT_END)
                c->at = at;
            return next;
        }
        c->at = at;
        c->status = STATUS_IPV6_EXTENSION_TRUNCATED;
        if (limit - at < 8)
            return NEXT_END;
        int64_t length = ((int64_t)u8(b + at + 1) + 1) * 8;
        if (kind == 44) {
            length = 8;
            uint32_t fragment = u16(b + at + 2);
            if (fragment >> 3) {
                *protocol = u8(b + at);
                c->status = STATUS_FRAGMENT;
                return NEXT_END;
            }
            if (fragment & 1)
                c->warnings |= WARNING_FRAGMENT_FIRST;
        } else if (kind == 51)
            length = ((int64_t)u8(b + at + 1) + 2) * 4;
        if (has_options) {
            int64_t end = at + length, option = at + 2;
            for (int options = 0; options < 64 && option < end && option < limit; options++) {
                uint32_t type = u8(b + option);
                if (type == 0) {
                    option++;
                    continue;
                }
                if (limit - option < 2)
                    break;
                int64_t option_end = option + 2 + u8(b + option + 1);
                if (option_end > end) {
                    c->at = option;
                    c->status = STATUS_IPV6_OPTION_LENGTH;
                    return NEXT_END;
                }
                if ((type == 0x31 || type == 0x11) && (ioam->at == 0 || (limit - option >= 4 && u8(b + option + 3) == 0)))
                    *ioam = (struct option){option, option_end};
                option = option_end;
            }
        }
        if (at + length > limit)
            return NEXT_END;
        kind = u8(b + at);
        at += length;
    }
    c->at = at;
    *protocol = kind;
    c->status = STATUS_IPV6_EXTENSION_LIMIT;
    return NEXT_END;
}

INLINE int decode_ipv6(const uint8_t *b, struct cursor *c, const struct packets *packets, int64_t row) {
    int64_t at = c->at, declared = c->declared;
    c->status = STATUS_IPV6_TRUNCATED;
    if (c->limit - at < 40)
        return -1;
    uint32_t word = u32(b + at), payload = u16(b + at + 4), next = u8(b + at + 6);
    c->status = STATUS_IPV6_VERSION;
    if (word >> 28 != 6)
        return -1;
    int64_t end = at + 40 + payload;
    if (payload == 0 && next == 0)
        end = declared < FAR ? declared : c->limit;
    else if (end > declared)
        c->warnings |= WARNING_IP_LENGTH_BEYOND_PACKET;
    else if (end < declared && declared < FAR)
        c->warnings |= WARNING_IP_LENGTH_SHORT;
    packets->ip_version[row] = 6;
    packets->src_hi[row] = (int64_t)u64(b + at + 8);
    packets->src_lo[row] = (int64_t)u64(b + at + 16);
    packets->dst_hi[row] = (int64_t)u64(b + at + 24);
    packets->dst_lo[row] = (int64_t)u64(b + at + 32);
    packets->protocol[row] = (uint8_t)next;
    packets->dscp[row] = (uint8_t)(word >> 22 & 0x3f);
    packets->ecn[row] = word >> 20 & 3;
    packets->ttl[row] = (uint8_t)u8(b + at + 7);
    packets->ip_id[row] = 0;
    packets->ip_bytes[row] = 40 + payload;
    c->limit = end < c->limit ? end : c->limit;
    c->declared = end;
    c->status = STATUS_OK;
    c->at = at + 40;
    return (int)next;
}

/* What follows the UDP header: INT (1), BTH (2), nothing known (0), beyond this program (-1). */
INLINE int payload_kind(const uint8_t *b, const struct cursor *c, uint32_t port) {
    if (ROLES[port] == ROLE_ROCE)
        return !plausible_bth(b, c->at, c->limit) && looks_like_int(b, c->at, c->limit, 0) ? 1 : 2;
    if (ROLES[port] == ROLE_AUTO && looks_like_int(b, c->at, c->limit, 1))
        return 1;
    return -1;
}

struct found {
    uint32_t status, formats, telemetry, roce_row, source_port, destination_port;
    int64_t status_at, hop;
};

/* INT and RoCE behind a UDP header. */
INLINE void decode_udp(const uint8_t *b, struct cursor *c, struct found *found, struct batch *batch, int64_t row) {
    const struct columns *columns = &batch->columns;
    for (int level = 0; level < 8; level++) {
        int64_t at = c->at;
        if (c->limit - at < 8) {
            found->status = STATUS_UDP_TRUNCATED;
            found->status_at = at;
            return;
        }
        uint32_t length = u16(b + at + 4);
        found->source_port = u16(b + at);
        found->destination_port = u16(b + at + 2);
        if (length < 8) {
            found->status = STATUS_UDP_LENGTH;
            found->status_at = at;
            return;
        }
        int64_t end = at + length;
        if (end > c->declared) {
            c->warnings |= WARNING_UDP_LENGTH_BEYOND_IP;
            end = c->declared;
        } else if (end < c->declared)
            c->warnings |= WARNING_UDP_LENGTH_SHORT;
        c->declared = end;
        c->limit = end < c->limit ? end : c->limit;
        c->at = at + 8;
        int kind = payload_kind(b, c, found->destination_port);
        if (kind < 0) {
            found->status = BEYOND_TWIN;
            return;
        }
        if (kind == 1) {
            int64_t begin = c->at;
            struct shim shim;
            found->hop += decode_int(b, c, &shim, columns, row, found->hop);
            if (shim.format != 0) {
                found->formats |= 1u << shim.format;
                found->telemetry = shim.format;
            }
            uint32_t bad = c->status;
            if (bad != STATUS_OK) {
                found->status = bad;
                found->status_at = c->at;
            }
            if (shim.payload == 0)
                return;
            c->at = shim.payload;
            if (shim.npt == 2) {
                columns->packets.protocol[row] = (uint8_t)u8(b + begin + 3);
                enum next next = of_protocol(u8(b + begin + 3));
                if (next == NEXT_UDP)
                    continue;
                if (next != NEXT_END)
                    found->status = BEYOND_TWIN;
                return;
            }
            if (shim.npt == 1)
                found->destination_port = u16(b + begin + 2);
            if (ROLES[found->destination_port] != ROLE_ROCE)
                return;
            if (bad == STATUS_INT_VERSION_UNKNOWN && !plausible_bth(b, c->at, c->limit))
                return;
        }
        found->formats |= 1u << FORMAT_ROCE;
        if (decode_bth(b, c, &columns->roce, batch->roce, row))
            found->roce_row = (uint32_t)batch->roce++;
        if (c->status != STATUS_OK && found->status <= STATUS_FRAGMENT) {
            found->status = c->status;
            found->status_at = c->at;
        }
        return;
    }
    found->status = BEYOND_TWIN;
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
    struct found found = {.roce_row = 0xffffffff, .hop = first_hop};
    uint32_t vlan = 0xffff;
    packets->time_ns[row] = record->time;
    packets->captured_bytes[row] = record->captured;
    packets->original_bytes[row] = record->original;
    packets->interface[row] = 0;
    packets->original_dscp[row] = 0xff;
    packets->dialect[row] = 0;
    packets->telemetry_flags[row] = 0;
    packets->instructions[row] = 0;
    packets->namespace[row] = 0;
    packets->remaining_hops[row] = 0;
    packets->telemetry_bytes[row] = 0;
    packets->ip_version[row] = 0;

    enum next next = record->link == 1 ? decode_ethernet(b, &c, &vlan) : NEXT_BEYOND;
    if (next == NEXT_IPV4)
        next = decode_ipv4(b, &c, packets, row);
    else if (next == NEXT_IPV6) {
        int following = decode_ipv6(b, &c, packets, row);
        next = following == 17 ? NEXT_UDP : NEXT_END;
        if (following >= 0 && following != 17) {
            struct option ioam = {0, 0};
            uint32_t protocol = (uint32_t)following, format;
            int64_t first = c.at;
            next = decode_extensions(b, &c, &protocol, &ioam);
            packets->protocol[row] = (uint8_t)protocol;
            if (c.status == STATUS_NOT_UDP)
                c.at = first;
            if (ioam.at != 0) {
                struct cursor trace = c;
                found.hop += decode_ioam(b, ioam.at, ioam.end, &trace, &format, columns, row, found.hop);
                c.warnings = trace.warnings;
                found.formats |= 1u << format;
                found.telemetry = format == FORMAT_IOAM_TRACE ? format : 0;
                if (trace.status != STATUS_OK) {
                    found.status = trace.status;
                    found.status_at = trace.at;
                }
            }
        }
    }
    if (found.status == STATUS_OK) {
        found.status = next == NEXT_BEYOND ? BEYOND_TWIN : c.status;
        found.status_at = c.at;
    }
    if (next == NEXT_UDP)
        decode_udp(b, &c, &found, batch, row);
    else if (next == NEXT_TCP) {
        if (c.limit - c.at >= 4) {
            found.source_port = u16(b + c.at);
            found.destination_port = u16(b + c.at + 2);
        }
        if (found.status == STATUS_OK) {
            found.status = STATUS_NOT_UDP;
            found.status_at = c.at;
        }
    }
    if (packets->ip_version[row] == 0) {
        packets->src_hi[row] = packets->src_lo[row] = packets->dst_hi[row] = packets->dst_lo[row] = 0;
        packets->protocol[row] = packets->dscp[row] = packets->ecn[row] = packets->ttl[row] = 0;
        packets->ip_id[row] = 0;
        packets->ip_bytes[row] = 0;
    }
    packets->tunnels[row] = 0;
    packets->vlan_id[row] = (uint16_t)vlan;
    packets->src_port[row] = (uint16_t)found.source_port;
    packets->dst_port[row] = (uint16_t)found.destination_port;
    packets->formats[row] = found.formats;
    packets->telemetry[row] = (uint8_t)found.telemetry;
    packets->hop_count[row] = (uint16_t)(found.hop - first_hop);
    packets->first_hop[row] = (uint32_t)first_hop;
    packets->roce_row[row] = found.roce_row;
    packets->report_count[row] = 0;
    packets->status[row] = (uint8_t)found.status;
    packets->status_at[row] = (uint16_t)(found.status == STATUS_OK ? 0 : found.status_at < 65535 ? found.status_at : 65535);
    packets->warnings[row] = c.warnings;
    batch->hops = found.hop;
    batch->packets = row + 1;
    return 1;
}
