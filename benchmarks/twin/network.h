/* Ethernet with tags, IPv4, and the fixed header of IPv6, as wire/ethernet.py and wire/ip.py. */
#pragma once
#include "batch.h"

enum next { NEXT_END, NEXT_IPV4, NEXT_IPV6, NEXT_UDP, NEXT_TCP, NEXT_BEYOND };

INLINE enum next of_protocol(uint32_t protocol) {
    if (protocol == 17)
        return NEXT_UDP;
    if (protocol == 6)
        return NEXT_TCP;
    return protocol == 47 || protocol == 4 || protocol == 41 || protocol == 131 ? NEXT_BEYOND : NEXT_END;
}

INLINE enum next decode_ethernet(const uint8_t *b, struct cursor *c, uint32_t *vlan, int64_t *csig) {
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
            if (type == 0x8847 || type == 0x8848 || type == 0x6558 || type == 0x894f || type == 0xbf04 || type == 0xbf05)
                return NEXT_BEYOND;
            c->status = STATUS_NOT_IP;
            return NEXT_END;
        }
        c->at = at;
        if (c->limit - at < 4)
            return NEXT_END;
        if (is_vlan)
            *vlan = u16(b + at) & 0xfff;
        else if (*csig == -1)
            *csig = u16(b + at);
        type = u16(b + at + 2);
        at += 4;
    }
    c->status = STATUS_VLAN_LIMIT;
    c->at = at;
    return NEXT_END;
}

/* The next layer; cursor: bounds, status and where. */
INLINE enum next decode_ipv4(const uint8_t *b, struct cursor *c, int *first_fragment, const struct packets *packets, int64_t row) {
    int64_t at = c->at, declared = c->declared;
    c->status = STATUS_IPV4_TRUNCATED;
    if (c->limit - at < 20)
        return NEXT_END;
    uint32_t first = u8(b + at), header = (first & 0xf) * 4, total = u16(b + at + 2);
    c->status = STATUS_IPV4_HEADER_LENGTH;
    if (first >> 4 != 4 || header < 20)
        return NEXT_END;
    c->status = STATUS_IPV4_TRUNCATED;
    if (c->limit - at < header)
        return NEXT_END;
    int64_t end = at + total;
    if (total == 0) {
        c->warnings |= WARNING_IPV4_TOTAL_LENGTH_ZERO;
        end = declared;
    } else if (total < header) {
        c->status = STATUS_IPV4_TOTAL_LENGTH;
        return NEXT_END;
    } else if (end > declared)
        c->warnings |= WARNING_IP_LENGTH_BEYOND_PACKET;
    else if (end < declared)
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
    c->at = at + header;
    if (header > 20) /* options: MRI may stand there */
        return NEXT_BEYOND;
    c->status = STATUS_FRAGMENT;
    if (fragment & 0x1fff)
        return NEXT_END;
    if (fragment & 0x2000) {
        c->warnings |= WARNING_FRAGMENT_FIRST;
        *first_fragment = 1;
    }
    enum next next = of_protocol(protocol);
    c->status = next == NEXT_END ? STATUS_NOT_UDP : STATUS_OK;
    return next;
}

INLINE int is_extension(uint32_t protocol) { return protocol == 0 || protocol == 60 || protocol == 43 || protocol == 44; }

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
    if (payload == 0)
        end = declared;
    else if (end > declared)
        c->warnings |= WARNING_IP_LENGTH_BEYOND_PACKET;
    else if (end < declared)
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
