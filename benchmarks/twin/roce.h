/* RoCEv2: BTH and extension headers, as formats/roce.py. */
#pragma once
#include "batch.h"

enum { RDETH = 1 << 8, DETH = 1 << 9, XRCETH = 1 << 10, FETH = 1 << 11, RETH = 1 << 12, ATOMIC = 1 << 13, AETH = 1 << 14 };
enum { ATOMIC_ACK = 1 << 15, IMMEDIATE = 1 << 16, INVALIDATE = 1 << 17, CNP = 1 << 18, KNOWN = 1 << 19 };

INLINE int plausible_bth(const uint8_t *b, int64_t at, int64_t limit) {
    if (limit - at < 12)
        return 0;
    return (u8(b + at + 4) & 0x3f) == 0 && (u8(b + at + 8) & 0x7f) == 0 && OPCODES[u8(b + at)] != 0;
}

/* Extension headers in wire order, each only if it is whole; where the first that is not begins, -1 if all are. */
INLINE int64_t decode_extension_headers(const uint8_t *b, int64_t at, int64_t limit, uint32_t carries, uint32_t *present,
                                        const struct roce *roce, int64_t row) {
    if (carries & (RDETH | DETH | XRCETH | FETH)) {
        if (carries & RDETH) {
            if (limit - at < 4)
                return at;
            at += 4;
        }
        if (carries & DETH) {
            if (limit - at < 8)
                return at;
            roce->queue_key[row] = u32(b + at);
            roce->source_qp[row] = u24(b + at + 5);
            *present |= HAS_DETH;
            at += 8;
        }
        if (carries & (XRCETH | FETH)) {
            if (limit - at < 4)
                return at;
            at += 4;
        }
    }
    if (carries & RETH) {
        if (limit - at < 16)
            return at;
        roce->virtual_address[row] = (int64_t)u64(b + at);
        roce->rkey[row] = u32(b + at + 8);
        roce->dma_bytes[row] = u32(b + at + 12);
        *present |= HAS_RETH | HAS_RKEY;
        at += 16;
    }
    if (carries & AETH) {
        if (limit - at < 4)
            return at;
        uint32_t word = u32(b + at);
        roce->syndrome[row] = (uint8_t)(word >> 24);
        roce->msn[row] = word & 0xffffff;
        *present |= HAS_AETH;
        at += 4;
    }
    if (carries & (ATOMIC | ATOMIC_ACK | IMMEDIATE | INVALIDATE | CNP)) {
        if (carries & ATOMIC) {
            if (limit - at < 28)
                return at;
            roce->virtual_address[row] = (int64_t)u64(b + at);
            roce->rkey[row] = u32(b + at + 8);
            roce->swap_add[row] = (int64_t)u64(b + at + 12);
            roce->compare[row] = (int64_t)u64(b + at + 20);
            *present |= HAS_ATOMIC | HAS_RKEY;
            at += 28;
        }
        if (carries & ATOMIC_ACK) {
            if (limit - at < 8)
                return at;
            roce->original_data[row] = (int64_t)u64(b + at);
            *present |= HAS_ATOMIC_ACK;
            at += 8;
        }
        if (carries & (IMMEDIATE | INVALIDATE)) {
            if (limit - at < 4)
                return at;
            if (carries & IMMEDIATE) {
                roce->immediate[row] = u32(b + at);
                *present |= HAS_IMMEDIATE;
            } else {
                roce->rkey[row] = u32(b + at);
                *present |= HAS_RKEY;
            }
            at += 4;
        }
        if ((carries & CNP) && limit - at < 16)
            return at;
    }
    return -1;
}

/* Returns whether the row is used; cursor: status and where. */
INLINE int decode_bth(const uint8_t *b, struct cursor *c, const struct roce *roce, int64_t row, int64_t packet) {
    int64_t at = c->at, limit = c->limit, declared = c->declared;
    if (limit - at < 12) {
        c->status = STATUS_BTH_TRUNCATED;
        return 0;
    }
    uint32_t first = u16(b + at), flags = u32(b + at + 4), last = u32(b + at + 8), carries = OPCODES[first >> 8];
    if ((first & 0xf) != 0)
        c->warnings |= WARNING_BTH_VERSION;
    roce->packet[row] = (uint32_t)packet;
    roce->opcode[row] = (uint8_t)(first >> 8);
    roce->se[row] = first >> 7 & 1;
    roce->migreq[row] = first >> 6 & 1;
    roce->pad[row] = first >> 4 & 3;
    roce->transport_version[row] = first & 0xf;
    roce->pkey[row] = (uint16_t)u16(b + at + 2);
    roce->fecn[row] = (uint8_t)(flags >> 31);
    roce->becn[row] = flags >> 30 & 1;
    roce->dest_qp[row] = flags & 0xffffff;
    roce->ack_req[row] = (uint8_t)(last >> 31);
    roce->psn[row] = last & 0xffffff;
    int64_t extension = at + 12;
    int64_t payload = declared - extension - (carries & 0xff) - (first >> 4 & 3) - 4;
    uint32_t present = 0;
    if (declared <= limit && (payload >= 0 || (carries == 0 && declared - extension >= 4))) {
        roce->icrc_raw[row] = u32(b + declared - 4);
        present = HAS_ICRC;
    }
    if (carries == 0) {
        roce->present[row] = (uint16_t)present;
        c->status = STATUS_BTH_OPCODE_UNKNOWN;
        return 1;
    }
    if (payload >= 0) {
        roce->payload_bytes[row] = (uint32_t)payload;
        present |= HAS_PAYLOAD;
    }
    int64_t ended = decode_extension_headers(b, extension, limit, carries, &present, roce, row);
    roce->present[row] = (uint16_t)present;
    c->status = STATUS_OK;
    if (payload < 0)
        c->status = STATUS_BTH_PAYLOAD_NEGATIVE;
    else if (ended >= 0) {
        c->status = STATUS_BTH_EXTENSION_TRUNCATED;
        c->at = ended;
    }
    return 1;
}
