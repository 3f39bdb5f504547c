/* INT-MD v1.0 and v2.x: shim, metadata header, hop stack, as formats/int_md.py. */
#pragma once
#include "batch.h"

static const uint8_t ROLES[65536] = {PORT_ROLES};

INLINE uint32_t words_per_hop(uint32_t instructions, uint32_t time_words, uint32_t level2_words) {
    uint32_t times = (instructions >> 11 & 1) + (instructions >> 10 & 1);
    return (uint32_t)__builtin_popcount(instructions) + times * (time_words - 1) + (instructions >> 9 & 1) * (level2_words - 1);
}

struct fit {
    uint32_t dialect, reserved_words, readings;
};

/* The dialect whose widths explain the bitmap (0: none), words per reserved bit, how many readings do. Rare, so not inlined. */
static __attribute__((noinline)) struct fit fitting(uint32_t layout, uint32_t version, uint32_t instructions, uint32_t hop_words) {
    uint32_t reserved = instructions & (layout == 1 ? RESERVED_1 : RESERVED_2), times = 0, level2 = 0;
    struct fit fit = {0, 1, 0};
    for (uint32_t number = 1; number < N_DIALECTS; number++) {
        if (DIALECT_LAYOUT[number] != layout || DIALECT_VERSION[number] != version)
            continue;
        uint32_t words = words_per_hop(instructions, DIALECT_TIME_WORDS[number], DIALECT_LEVEL2_WORDS[number]), reserved_words = 1;
        if (words != hop_words) {
            if (reserved == 0 || words - (uint32_t)__builtin_popcount(reserved) != hop_words)
                continue;
            reserved_words = 0;
        }
        uint32_t time_width = instructions & 0x0c00 ? DIALECT_TIME_WORDS[number] : 0;
        uint32_t level2_width = instructions & 0x0200 ? DIALECT_LEVEL2_WORDS[number] : 0;
        if (fit.dialect == 0) {
            fit = (struct fit){number, reserved_words, 1};
            times = time_width;
            level2 = level2_width;
        } else if (time_width != times || level2_width != level2 || (reserved && reserved_words != fit.reserved_words))
            fit.readings++;
    }
    return fit;
}

/* v0.5: instruction count, total hops and the length with its tail agree (12 bytes are there). */
static __attribute__((noinline)) int is_version_05(const uint8_t *b, int64_t at, int64_t limit) {
    uint32_t word = u32(b + at + 4), instructions = u16(b + at + 8);
    int64_t count = word >> 16 & 0x1f, most = word >> 8 & 0xff, total = word & 0xff;
    int64_t behind = at + 4 * (int64_t)u8(b + at + 2), size = behind - at - 16;
    if (behind > limit || u8(b + at) != 1 || size < 0 || count < 1 || total > most)
        return 0;
    return count == __builtin_popcount(instructions) && size == 4 * count * total && u8(b + behind - 4) == 17;
}

/* Whether a shim and a header that explain each other begin here; all: lengths hold and reserved bits are zero, too. */
INLINE int looks_like_int(const uint8_t *b, int64_t at, int64_t limit, int64_t declared, int all) {
    if (limit - at < 12)
        return 0;
    uint32_t first = u8(b + at), word = u32(b + at + 4), instructions = u16(b + at + 8);
    uint32_t version = word >> 28, hop_words = word >> 8 & 0x1f;
    int64_t length, behind;
    if (instructions == 0)
        return 0;
    if (first == 1) {
        length = u8(b + at + 2);
        behind = at + 4 * length;
        if (version > 1)
            return 0;
        if ((all && (word & 0x007fe000)) || fitting(1, version, instructions, hop_words).dialect == 0)
            return version == 0 && is_version_05(b, at, limit);
    } else {
        length = u8(b + at + 1);
        behind = at + 4 + 4 * length;
        if (version != 2 || (first & 0xc) == 0xc)
            return 0;
        if (first >> 4 == 3) {
            if ((word & 0x07ffffff) || (instructions & 1))
                return 0;
            return !all || (length >= 3 && behind <= declared && limit - at >= 16);
        }
        if (first >> 4 != 1 || (all && (word & 0x01ffe000)))
            return 0;
        if (words_per_hop(instructions, 2, 2) != hop_words && fitting(2, 2, instructions, hop_words).dialect == 0)
            return 0;
        if (all && limit - at < 16)
            return 0;
    }
    return !all || (length >= 3 && behind <= declared && (4 * length - 12) % (4 * (int64_t)hop_words) == 0);
}

/* Rows of the `whole` newest of `count` hops in path order; returns warnings. */
INLINE uint32_t fill_hops(const uint8_t *b, int64_t begin, int64_t count, int64_t whole, int64_t hop_bytes, uint32_t instructions,
                          uint32_t time_words, uint32_t level2_words, int layout, uint32_t spare_words, const struct hops *hops,
                          int64_t first, int64_t packet) {
    uint32_t warnings = 0;
    uint32_t cut = whole < count ? HOP_TRUNCATED_PATH : 0;
    uint64_t seen = 0;
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
                /* Two nodes that share a hash: packet.h looks again. */
                uint64_t bit = UINT64_C(1) << ((node ^ (node >> 6) ^ (node >> 13)) & 63);
                if (seen & bit)
                    warnings |= WARNING_NODE_REPEATED;
                seen |= bit;
            }
        }
        if (instructions & 0x4000) {
            uint32_t ports = u32(at);
            at += 4;
            busy |= ports;
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
                busy |= ingress | egress;
                if (!(ingress == ones && egress == ones) && !(instructions & 0x4000)) {
                    hops->ingress_port[out] = ingress;
                    hops->egress_port[out] = egress;
                    present |= HAS_INGRESS_PORT | HAS_EGRESS_PORT;
                }
            }
            if (instructions & 0x0100) {
                uint32_t utilisation = u32(at);
                at += 4;
                busy |= utilisation;
                if (utilisation != 0xffffffff) {
                    hops->tx_utilisation_raw[out] = utilisation;
                    present |= HAS_UTILISATION;
                }
            }
            if (layout == 2 && (instructions & 0x0080)) {
                uint32_t buffer = u32(at);
                at += 4;
                busy |= buffer;
                if (buffer != 0xffffffff) {
                    hops->buffer_id[out] = (uint8_t)(buffer >> 24);
                    hops->buffer_depth_raw[out] = buffer & 0xffffff;
                    present |= HAS_BUFFER;
                }
            }
            for (uint32_t word = 0; word < spare_words; word++)
                busy |= u32(at + 4 * word);
        }
        if (busy == 0 && (instructions & 0x6c00))
            warnings |= WARNING_METADATA_ZERO;
        hops->present[out] = present;
    }
    return warnings;
}

/* Metadata header behind the shim at c->at, and stack; cursor: status, where, warnings. Returns the hops added, -1 if it is rejected. */
INLINE int64_t decode_stack(const uint8_t *b, int64_t begin, int64_t payload, int layout, struct cursor *c, const struct columns *columns,
                            int64_t row, int64_t hop) {
    const struct packets *packets = &columns->packets;
    const struct hops *hops = &columns->hops;
    int64_t at = c->at, limit = c->limit, size = payload - begin;
    uint32_t word = u32(b + at + 4), instructions = u16(b + at + 8), hop_words = word >> 8 & 0x1f, domain = 0, flags, warnings = 0;
    if (layout == 2) {
        domain = u16(b + at + 10);
        if (u16(b + at + 12) != 0 && domain == 0)
            warnings |= WARNING_INT_DOMAIN_DEFAULT;
        flags = (word >> 27 & 1) | (word >> 25 & 2) | (word >> 23 & 4);
    } else
        flags = (word >> 23 & 2) | (word >> 21 & 4) | (word >> 22 & 8);
    uint32_t stack_words = (uint32_t)size / 4, hop_count = hop_words == 0 ? 0 : stack_words / hop_words;
    c->status = size > 0 && instructions == 0              ? STATUS_INT_BITMAP_ZERO
                : hop_words == 0 && size != 0              ? STATUS_INT_HOP_LENGTH_ZERO
                : hop_count * hop_words != stack_words     ? STATUS_INT_STACK_NOT_WHOLE_HOPS
                                                           : STATUS_OK;
    if (c->status != STATUS_OK)
        return -1;
    int64_t hop_bytes = 4 * hop_words, count = hop_count, whole = count;
    uint32_t version = word >> 28;
    struct fit fit = {layout == 2 ? 1 : 2, 1, 1};
    if (words_per_hop(instructions, layout == 1 ? 1 : 2, 2) != hop_words || (instructions & 0x02fe) || version != (uint32_t)layout) {
        fit = fitting((uint32_t)layout, version, instructions, hop_words);
        if (fit.readings > 1)
            warnings |= WARNING_INT_DIALECT_AMBIGUOUS;
    }
    if (begin + count * hop_bytes > limit)
        whole = limit > begin ? (limit - begin) / hop_bytes : 0;
    packets->telemetry_flags[row] = (uint8_t)flags;
    packets->instructions[row] = instructions;
    packets->namespace[row] = (uint16_t)domain;
    packets->remaining_hops[row] = (uint8_t)word;
    packets->dialect[row] = (uint8_t)fit.dialect;
    if (flags & 2)
        warnings |= WARNING_INT_HOP_EXCEEDED;
    if (flags & 4)
        warnings |= WARNING_INT_MTU_EXCEEDED;
    if (fit.dialect == 0) {
        uint32_t cut = whole < count ? HOP_TRUNCATED_PATH : 0;
        for (int64_t i = 0; i < whole; i++) {
            hops->packet[hop + i] = (uint32_t)row;
            hops->hop[hop + i] = (uint8_t)(count - whole + i);
            hops->present[hop + i] = (uint16_t)(HOP_OPAQUE | cut);
        }
        c->warnings |= warnings;
        c->status = STATUS_INT_HOP_LENGTH_MISMATCH;
        return whole;
    }
    if (fit.dialect > 2)
        warnings |= WARNING_INT_DIALECT;
    uint32_t spare = instructions & (layout == 1 ? RESERVED_1 : RESERVED_2);
    uint32_t spare_words = (uint32_t)__builtin_popcount(spare) * fit.reserved_words + (instructions & 1);
    uint32_t time_words = DIALECT_TIME_WORDS[fit.dialect], level2_words = DIALECT_LEVEL2_WORDS[fit.dialect];
    warnings |= fill_hops(b, begin, count, whole, hop_bytes, instructions, time_words, level2_words, layout, spare_words, hops, hop, row);
    c->warnings |= warnings;
    if (whole < count) {
        c->status = STATUS_INT_STACK_TRUNCATED;
        c->at = begin + whole * hop_bytes;
    }
    return whole;
}

struct shim {
    int64_t payload; /* 0: not to be followed */
    uint32_t npt, format, original_port;
};

/* Shim, header and stack, found by structure; cursor: status, where, warnings. Returns the hops added, -1 if there is no stack to keep. */
INLINE int64_t decode_int(const uint8_t *b, struct cursor *c, struct shim *shim, uint32_t port, const struct columns *columns, int64_t row,
                          int64_t hop) {
    const struct packets *packets = &columns->packets;
    int64_t at = c->at, limit = c->limit;
    *shim = (struct shim){.original_port = port};
    if (limit - at < 4) {
        c->status = STATUS_INT_SHIM_TRUNCATED;
        return -1;
    }
    uint32_t first = u8(b + at), kind = first >> 4, npt = first >> 2 & 3, length = u8(b + at + 1), original = port;
    int64_t payload = at + 4 + 4 * (int64_t)length, begin = at + 16;
    int layout = 2;
    if (first == 1 || first == 2) {
        layout = 1;
        kind = first;
        npt = 0;
        length = u8(b + at + 2);
        payload = at + 4 * (int64_t)length;
        begin = at + 12;
    }
    uint32_t least = kind != 2 ? 3 : layout == 1 ? 1 : 0;
    c->status = kind < 1 || kind > 3    ? STATUS_INT_SHIM_TYPE
                : npt == 3              ? STATUS_INT_NPT_RESERVED
                : length < least        ? STATUS_INT_LENGTH_TOO_SMALL
                : payload > c->declared ? STATUS_INT_LENGTH_BEYOND_UDP
                                        : STATUS_OK;
    if (c->status != STATUS_OK)
        return -1;
    if (npt == 1)
        original = u16(b + at + 2);
    struct shim followed = {payload, npt, 0, original};
    if (kind == 2) {
        *shim = followed;
        c->status = STATUS_INT_DESTINATION;
        return -1;
    }
    if (begin > limit) {
        c->status = STATUS_INT_SHIM_TRUNCATED;
        return -1;
    }
    uint32_t version = u32(b + at + 4) >> 28;
    if ((layout == 2 && version != 2) || (layout == 1 && version > 1)) {
        *shim = followed;
        c->status = STATUS_INT_VERSION_UNKNOWN;
        return -1;
    }
    shim->format = layout == 1 ? FORMAT_INT_MD_1 : kind == 3 ? FORMAT_INT_MX : FORMAT_INT_MD_2;
    if (npt == 1 && (original == port || ROLES[original] == ROLE_INT)) {
        c->status = STATUS_INT_PORT_LOOP;
        return -1;
    }
    followed.format = shim->format;
    if (kind == 3) {
        *shim = followed;
        return -1;
    }
    uint32_t warnings = c->warnings;
    int64_t added = decode_stack(b, begin, payload, layout, c, columns, row, hop);
    if (c->status != STATUS_OK && c->status != STATUS_INT_STACK_TRUNCATED) {
        if (layout == 1 && version == 0 && is_version_05(b, at, limit)) {
            c->status = STATUS_OK;
            c->warnings = warnings;
            *shim = (struct shim){payload, 0, FORMAT_INT_05, u16(b + payload - 3)};
            return -1;
        }
        if (added < 0)
            return added;
    }
    uint32_t stored = u8(b + at + 3) >> 2;
    if (layout == 2 && u8(b + at + 3) == 0)
        stored = u8(b + at + 2) >> 2;
    packets->original_dscp[row] = (uint8_t)(npt != 0 || stored == 0 ? 0xff : stored);
    packets->telemetry_bytes[row] = (uint16_t)(payload - at + (npt == 2 ? 8 : 0));
    *shim = followed;
    return added;
}
