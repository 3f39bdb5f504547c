/* IOAM pre-allocated trace without opaque snapshots, as formats/ioam_trace.py. */
#pragma once
#include "batch.h"

INLINE void decode_node(const uint8_t *at, uint32_t type, const struct hops *hops, int64_t out, int64_t packet, int64_t position,
                        uint32_t present) {
    hops->packet[out] = (uint32_t)packet;
    hops->hop[out] = (uint8_t)position;
    uint32_t seconds = 0xffffffff, ones = 0xffffffff;
    if (type & 0x800000) {
        uint32_t word = u32(at);
        at += 4;
        if (word >> 24 != 0xff) {
            hops->hop_limit[out] = (uint8_t)(word >> 24);
            present |= HAS_HOP_LIMIT;
        }
        if ((word & 0xffffff) != 0xffffff) {
            hops->node_id[out] = word & 0xffffff;
            present |= HAS_NODE;
        }
    }
    if (type & 0x400000) {
        uint32_t ingress = u16(at), egress = u16(at + 2);
        at += 4;
        if (ingress != 0xffff) {
            hops->ingress_port[out] = ingress;
            present |= HAS_INGRESS_PORT;
        }
        if (egress != 0xffff) {
            hops->egress_port[out] = egress;
            present |= HAS_EGRESS_PORT;
        }
    }
    if (type & 0x200000) {
        seconds = u32(at);
        at += 4;
    }
    if (type & 0x100000) {
        uint32_t fraction = u32(at);
        at += 4;
        if (seconds != ones && fraction != ones) {
            hops->ingress_time_raw[out] = (int64_t)((uint64_t)seconds << 32 | fraction);
            present |= HAS_INGRESS_TIME;
        }
    }
    if (type & 0x080000) {
        uint32_t delay = u32(at);
        at += 4;
        if (delay < 0x80000000) {
            hops->hop_latency_raw[out] = delay;
            present |= HAS_LATENCY;
        }
    }
    if (type & 0x040000) {
        hops->namespace_data[out] = u32(at);
        at += 4;
        present |= HAS_DATA;
    }
    if (type & 0x020000) {
        uint32_t depth = u32(at);
        at += 4;
        if (depth != ones) {
            hops->queue_depth_raw[out] = depth;
            present |= HAS_DEPTH;
        }
    }
    at += type & 0x010000 ? 4 : 0;
    if (type & 0x00f000) {
        if (type & 0x008000) {
            uint64_t wide = u56(at + 1);
            if (*at != 0xff) {
                hops->hop_limit[out] = *at;
                present |= HAS_HOP_LIMIT;
            }
            if (wide != 0xffffffffffffff) {
                hops->node_id[out] = (int64_t)wide;
                present |= HAS_NODE;
            }
            at += 8;
        }
        if (type & 0x004000) {
            uint32_t ingress = u32(at), egress = u32(at + 4);
            at += 8;
            if (ingress != ones) {
                hops->ingress_port[out] = ingress;
                present |= HAS_INGRESS_PORT;
            }
            if (egress != ones) {
                hops->egress_port[out] = egress;
                present |= HAS_EGRESS_PORT;
            }
        }
        if (type & 0x002000) {
            hops->namespace_data[out] = (int64_t)u64(at);
            at += 8;
            present |= HAS_DATA;
        }
        if (type & 0x001000) {
            uint32_t occupancy = u32(at);
            if (occupancy != ones) {
                hops->buffer_id[out] = 0;
                hops->buffer_depth_raw[out] = occupancy;
                present |= HAS_BUFFER;
            }
        }
    }
    hops->present[out] = present;
}

/* Option from `option` to `end`; cursor: status, where, warnings. Returns the hops added, -1 if there is no trace to keep. */
INLINE int64_t decode_ioam(const uint8_t *b, int64_t option, int64_t end, struct cursor *c, uint32_t *format, const struct columns *columns,
                           int64_t row, int64_t hop) {
    const struct packets *packets = &columns->packets;
    int64_t limit = c->limit;
    c->at = option;
    c->status = STATUS_IOAM_TRUNCATED;
    *format = 0;
    if (end - option < 4)
        return -1;
    c->status = STATUS_OK;
    if (limit - option < 4)
        return -1;
    if (u8(b + option + 3) != 0) {
        c->status = BEYOND_TWIN;
        return -1;
    }
    if (end - option < 12) {
        *format = FORMAT_IOAM_TRACE;
        c->status = STATUS_IOAM_TRUNCATED;
        return -1;
    }
    if (limit - option < 12)
        return -1;
    *format = FORMAT_IOAM_TRACE;
    uint32_t lengths = u16(b + option + 6), type = u24(b + option + 8);
    uint32_t flags = lengths >> 7 & 0xf, node_words = lengths >> 11, remaining = lengths & 0x7f;
    int64_t space = end - option - 12, node_bytes = 4 * (int64_t)node_words, begin = option + 12 + 4 * (int64_t)remaining;
    uint32_t words = (uint32_t)(__builtin_popcount(type & 0xff1ffc) + 2 * __builtin_popcount(type & 0x00e000));
    if (type & 0x000002) { /* snapshots: nodes of different sizes */
        c->status = BEYOND_TWIN;
        return -1;
    }
    c->status = node_words != words || (node_words == 0 && space > 0) ? STATUS_IOAM_NODE_LENGTH
                : begin > end                                         ? STATUS_IOAM_REMAINING_LENGTH
                : (flags & 4) && type != 0x800000                     ? STATUS_IOAM_LOOPBACK_TYPE
                                                                      : STATUS_OK;
    if (c->status != STATUS_OK)
        return -1;
    int64_t count = 0, whole = 0;
    if (node_words > 0) {
        uint32_t rest = (uint32_t)space % (uint32_t)node_bytes, unfilled = (uint32_t)(end - begin) % (uint32_t)node_bytes;
        if (unfilled != 0 && unfilled != rest) {
            c->status = STATUS_IOAM_NOT_WHOLE_NODES;
            return -1;
        }
        if (rest != 0)
            c->warnings |= WARNING_IOAM_SPACE_REST;
        whole = count = (int64_t)((uint32_t)(end - begin) / (uint32_t)node_bytes);
        if (begin + count * node_bytes > limit) {
            whole = limit > begin ? (limit - begin) / node_bytes : 0;
            c->status = STATUS_IOAM_STACK_TRUNCATED;
            c->at = begin + whole * node_bytes;
        }
    }
    if (flags & 8)
        c->warnings |= WARNING_IOAM_OVERFLOW;
    if (type & 0x000ffc)
        c->warnings |= WARNING_IOAM_UNASSIGNED_BITS;
    packets->dialect[row] = 0;
    packets->telemetry_flags[row] = (uint8_t)flags;
    packets->instructions[row] = type;
    packets->namespace[row] = (uint16_t)u16(b + option + 4);
    packets->remaining_hops[row] = (uint8_t)remaining;
    packets->telemetry_bytes[row] = (uint16_t)(end - option);
    uint32_t present = c->status != STATUS_OK ? HOP_TRUNCATED_PATH : 0;
    for (int64_t wire = 0; wire < whole; wire++)
        decode_node(b + begin + wire * node_bytes, type, &columns->hops, hop + whole - 1 - wire, row, count - 1 - wire, present);
    return whole;
}
