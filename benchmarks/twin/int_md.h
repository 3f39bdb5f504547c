/* INT-MD v1.0 and v2.x: shim, metadata header, hop stack, as formats/int_md.py. */
#pragma once
#include "batch.h"

INLINE uint32_t words_per_hop(uint32_t instructions, uint32_t time_words, uint32_t level2_words) {
    uint32_t times = (instructions >> 11 & 1) + (instructions >> 10 & 1);
    return (uint32_t)__builtin_popcount(instructions) + times * (time_words - 1) + (instructions >> 9 & 1) * (level2_words - 1);
}

/* The dialect whose widths explain the bitmap, 0 if none; `readings`: how many different readings do. Rare, so not inlined. */
static __attribute__((noinline)) uint32_t fitting(uint32_t layout, uint32_t version, uint32_t instructions, uint32_t hop_words, uint32_t *readings) {
    uint32_t found = 0, times = 0, level2 = 0;
    *readings = 0;
    for (uint32_t number = 1; number < N_DIALECTS; number++) {
        if (DIALECT_LAYOUT[number] != layout || DIALECT_VERSION[number] != version)
            continue;
        if (words_per_hop(instructions, DIALECT_TIME_WORDS[number], DIALECT_LEVEL2_WORDS[number]) != hop_words)
            continue;
        uint32_t time_width = instructions & 0x0c00 ? DIALECT_TIME_WORDS[number] : 0;
        uint32_t level2_width = instructions & 0x0200 ? DIALECT_LEVEL2_WORDS[number] : 0;
        if (found == 0) {
            found = number, times = time_width, level2 = level2_width;
            *readings = 1;
        } else if (time_width != times || level2_width != level2)
            ++*readings;
    }
    return found;
}

INLINE int is_version_05(const uint8_t *b, int64_t at, uint32_t word, uint32_t instructions) {
    uint32_t count = word >> 16 & 0x1f;
    return count == (uint32_t)__builtin_popcount(instructions) && (int64_t)u8(b + at + 2) * 4 - 16 == (int64_t)(4 * count * (word & 0xff));
}

/* Whether a shim and a header that explain each other begin here; strict: reserved bits are zero too. */
INLINE int looks_like_int(const uint8_t *b, int64_t at, int64_t limit, int strict) {
    if (limit - at < 12)
        return 0;
    uint32_t first = u8(b + at), word = u32(b + at + 4), instructions = u16(b + at + 8), readings;
    uint32_t version = word >> 28, hop_words = word >> 8 & 0x1f;
    if (instructions == 0)
        return 0;
    if (first == 1) {
        if (version == 0 && is_version_05(b, at, word, instructions))
            return 1;
        if (version > 1 || (strict && (word & 0x007fe000)))
            return 0;
        return fitting(1, version, instructions, hop_words, &readings) != 0;
    }
    if (version != 2 || (first & 3) || (first & 0xc) == 0xc)
        return 0;
    if (first >> 4 == 3)
        return (word & 0x07ffffff) == 0 && u8(b + at + 1) >= 3;
    if (first >> 4 != 1 || (strict && (word & 0x01ffe000)))
        return 0;
    return words_per_hop(instructions, 2, 2) == hop_words || fitting(2, 2, instructions, hop_words, &readings) != 0;
}

/* Rows of the `whole` newest of `count` hops in path order; returns warnings. */
INLINE uint32_t fill_hops(const uint8_t *b, int64_t begin, int64_t count, int64_t whole, int64_t hop_bytes, uint32_t instructions,
                          uint32_t time_words, uint32_t level2_words, int layout, const struct hops *hops, int64_t first, int64_t packet) {
    uint32_t warnings = 0;
    uint64_t seen = 0;
    uint32_t cut = whole < count ? HOP_TRUNCATED_PATH : 0;
    for (int64_t i = 0; i < whole; i++) {
        int64_t wire = whole - 1 - i, out = first + i;
        const uint8_t *at = b + begin + wire * hop_bytes;
        uint32_t present = cut;
        uint64_t busy = 0;
        hops->packet[out] = (uint32_t)packet;
        hops->hop[out] = (uint8_t)(count - 1 - wire);
        if (instructions & 0x8000) {
            uint32_t node = u32(at);
            at += 4;
            if (node != 0xffffffff) {
                hops->node_id[out] = node;
                present |= HAS_NODE;
                if (seen >> (node & 63) & 1)
                    for (int64_t earlier = first; earlier < out; earlier++)
                        if (hops->node_id[earlier] == node && (hops->present[earlier] & HAS_NODE))
                            warnings |= WARNING_NODE_REPEATED;
                seen |= UINT64_C(1) << (node & 63);
            }
        }
        if (instructions & 0x4000) {
            uint32_t ports = u32(at);
            at += 4;
            if (ports != 0xffffffff) {
                hops->ingress_port[out] = ports >> 16;
                hops->egress_port[out] = ports & 0xffff;
                present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT;
            }
        }
        if (instructions & 0x2000) {
            uint32_t latency = u32(at);
            at += 4;
            busy |= latency;
            if (latency != 0xffffffff) {
                hops->hop_latency_raw[out] = latency;
                present |= HAS_LATENCY;
            }
        }
        if (instructions & 0x1000) {
            uint32_t queue = u32(at);
            at += 4;
            busy |= queue;
            if (queue != 0xffffffff) {
                hops->queue_id[out] = (uint8_t)(queue >> 24);
                hops->queue_depth_raw[out] = queue & 0xffffff;
                present |= HAS_QUEUE | HAS_DEPTH;
            }
        }
        if (instructions & 0x0800) {
            uint64_t time = time_words == 2 ? u64(at) : u32(at);
            at += 4 * time_words;
            busy |= time;
            if (time != (time_words == 2 ? UINT64_MAX : 0xffffffff)) {
                hops->ingress_time_raw[out] = (int64_t)time;
                present |= HAS_INGRESS_TIME;
            }
        }
        if (instructions & 0x0400) {
            uint64_t time = time_words == 2 ? u64(at) : u32(at);
            at += 4 * time_words;
            busy |= time;
            if (time != (time_words == 2 ? UINT64_MAX : 0xffffffff)) {
                hops->egress_time_raw[out] = (int64_t)time;
                present |= HAS_EGRESS_TIME;
            }
        }
        if (instructions & 0x03ff) {
            if (instructions & 0x0200) {
                uint32_t ingress = level2_words == 2 ? u32(at) : u16(at), egress = level2_words == 2 ? u32(at + 4) : u16(at + 2);
                uint32_t ones = level2_words == 2 ? 0xffffffff : 0xffff;
                at += 4 * level2_words;
                if (!(ingress == ones && egress == ones) && !(instructions & 0x4000)) {
                    hops->ingress_port[out] = ingress;
                    hops->egress_port[out] = egress;
                    present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT;
                }
            }
            if (instructions & 0x0100) {
                uint32_t utilisation = u32(at);
                at += 4;
                if (utilisation != 0xffffffff) {
                    hops->tx_utilisation_raw[out] = utilisation;
                    present |= HAS_UTILISATION;
                }
            }
            if (layout == 2 && (instructions & 0x0080)) {
                uint32_t buffer = u32(at);
                if (buffer != 0xffffffff) {
                    hops->buffer_id[out] = (uint8_t)(buffer >> 24);
                    hops->buffer_depth_raw[out] = buffer & 0xffffff;
                    present |= HAS_BUFFER;
                }
            }
        }
        if (busy == 0 && (instructions & 0x3c00))
            warnings |= WARNING_METADATA_ZERO;
        hops->present[out] = (uint16_t)present;
    }
    return warnings;
}

/* Metadata header and stack; cursor: status, where, warnings. Returns the hops added. */
INLINE int64_t decode_stack(const uint8_t *b, int64_t header, int64_t begin, int64_t size, int layout, int64_t limit, struct cursor *c,
                            const struct columns *columns, int64_t row, int64_t hop) {
    const struct packets *packets = &columns->packets;
    const struct hops *hops = &columns->hops;
    uint32_t word = u32(b + header), instructions = u16(b + header + 4), hop_words = word >> 8 & 0x1f, domain = 0, flags;
    if (layout == 2) {
        domain = u16(b + header + 6);
        if (u16(b + header + 8) != 0 && domain == 0)
            c->warnings |= WARNING_INT_DOMAIN_DEFAULT;
        flags = (word >> 27 & 1) | (word >> 25 & 2) | (word >> 23 & 4);
    } else
        flags = (word >> 23 & 2) | (word >> 21 & 4) | (word >> 22 & 8);
    packets->telemetry_flags[row] = (uint8_t)flags;
    packets->instructions[row] = instructions;
    packets->namespace[row] = (uint16_t)domain;
    packets->remaining_hops[row] = (uint8_t)word;
    if (flags & 2)
        c->warnings |= WARNING_INT_HOP_EXCEEDED;
    if (flags & 4)
        c->warnings |= WARNING_INT_MTU_EXCEEDED;
    c->status = STATUS_OK;
    c->at = header;
    if (size == 0)
        return 0;
    if (instructions == 0) {
        c->status = STATUS_INT_BITMAP_ZERO;
        return 0;
    }
    int64_t hop_bytes = 4 * hop_words;
    if (hop_bytes == 0) {
        c->status = STATUS_INT_HOP_LENGTH_ZERO;
        return 0;
    }
    uint32_t stack_words = (uint32_t)size / 4, hop_count = stack_words / hop_words;
    if (hop_count * hop_words != stack_words) {
        c->status = STATUS_INT_STACK_NOT_WHOLE_HOPS;
        c->at = begin;
        return 0;
    }
    int64_t count = hop_count, whole = count;
    uint32_t dialect = layout == 2 ? 1 : 2, version = word >> 28, readings = 0;
    if (words_per_hop(instructions, layout == 1 ? 1 : 2, 2) != hop_words || (instructions & 0x0200) || version != (uint32_t)layout) {
        dialect = fitting((uint32_t)layout, version, instructions, hop_words, &readings);
        if (readings > 1)
            c->warnings |= WARNING_INT_DIALECT_AMBIGUOUS;
    }
    packets->dialect[row] = (uint8_t)dialect;
    if (dialect == 0) {
        for (int64_t i = 0; i < count; i++) {
            hops->packet[hop + i] = (uint32_t)row;
            hops->hop[hop + i] = (uint8_t)i;
            hops->present[hop + i] = HOP_OPAQUE;
        }
        c->status = STATUS_INT_HOP_LENGTH_MISMATCH;
        return count;
    }
    if (dialect > 2)
        c->warnings |= WARNING_INT_DIALECT;
    if (begin + size > limit)
        whole = limit > begin ? (limit - begin) / hop_bytes : 0;
    c->warnings |= fill_hops(b, begin, count, whole, hop_bytes, instructions, DIALECT_TIME_WORDS[dialect], DIALECT_LEVEL2_WORDS[dialect],
                             layout, hops, hop, row);
    if (begin + size > limit) {
        c->status = STATUS_INT_STACK_TRUNCATED;
        c->at = begin;
    }
    return whole;
}

struct shim {
    int64_t payload; /* 0: not to be followed */
    uint32_t npt, format;
};

/* Shim, header and stack; cursor: status, where, warnings. Returns the hops added. */
INLINE int64_t decode_int(const uint8_t *b, struct cursor *c, struct shim *shim, const struct columns *columns, int64_t row, int64_t hop) {
    const struct packets *packets = &columns->packets;
    int64_t at = c->at, limit = c->limit;
    *shim = (struct shim){0};
    if (limit - at < 4) {
        c->status = STATUS_INT_SHIM_TRUNCATED;
        return 0;
    }
    uint32_t first = u8(b + at), kind, length;
    int layout = first < 16 ? 1 : 2;
    int64_t payload, header_end = at + (layout == 1 ? 12 : 16);
    if (layout == 1) {
        kind = first;
        length = u8(b + at + 2);
        payload = at + 4 * (int64_t)length;
    } else {
        kind = first >> 4;
        shim->npt = first >> 2 & 3;
        length = u8(b + at + 1);
        payload = at + 4 + 4 * (int64_t)length;
    }
    c->status = kind < 1 || kind > 3 || (layout == 1 && kind == 3) ? STATUS_INT_SHIM_TYPE
                : shim->npt == 3                                   ? STATUS_INT_NPT_RESERVED
                : length < 3                                       ? STATUS_INT_LENGTH_TOO_SMALL
                : payload > c->declared                            ? STATUS_INT_LENGTH_BEYOND_UDP
                                                                   : STATUS_OK;
    if (c->status != STATUS_OK)
        return 0;
    if (kind == 2) {
        c->status = STATUS_INT_DESTINATION;
        shim->payload = payload;
        return 0;
    }
    if (header_end > limit) {
        c->status = STATUS_INT_SHIM_TRUNCATED;
        return 0;
    }
    if (shim->npt == 0 && u8(b + at + 3) >> 2 != 0)
        packets->original_dscp[row] = (uint8_t)(u8(b + at + 3) >> 2);
    uint32_t word = u32(b + at + 4), instructions = u16(b + at + 8), version = word >> 28;
    packets->telemetry_bytes[row] = (uint16_t)(payload - at);
    shim->payload = payload;
    if (kind == 3) {
        if (version != 2) {
            c->status = STATUS_INT_VERSION_UNKNOWN;
            c->at = at + 4;
            return 0;
        }
        packets->instructions[row] = instructions;
        packets->namespace[row] = (uint16_t)u16(b + at + 10);
        shim->format = FORMAT_INT_MX;
        return 0;
    }
    if (layout == 1 && version == 0 && is_version_05(b, at, word, instructions)) {
        shim->format = FORMAT_INT_05;
        return 0;
    }
    if ((layout == 2 && version != 2) || (layout == 1 && version > 1)) {
        c->status = STATUS_INT_VERSION_UNKNOWN;
        c->at = at + 4;
        return 0;
    }
    shim->format = layout == 1 ? FORMAT_INT_MD_1 : FORMAT_INT_MD_2;
    int64_t added = decode_stack(b, at + 4, header_end, payload - header_end, layout, limit, c, columns, row, hop);
    if (c->status != STATUS_OK && c->status != STATUS_INT_HOP_LENGTH_MISMATCH)
        shim->payload = 0;
    return added;
}
