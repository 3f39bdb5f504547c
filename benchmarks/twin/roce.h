/* RoCEv2: BTH and extension headers, as formats/roce.py. */
#pragma once
#include "batch.h"

enum { RDETH = 1 << 8, DETH = 1 << 9, XRCETH = 1 << 10, FETH = 1 << 11, RETH = 1 << 12, ATOMIC = 1 << 13, AETH = 1 << 14 };
enum { ATOMIC_ACK = 1 << 15, IMMEDIATE = 1 << 16, INVALIDATE = 1 << 17, CNP = 1 << 18, KNOWN = 1 << 19 };

INLINE int plausible_bth(const uint8_t *b, int64_t at, int64_t limit) {
    if (limit - at < 12)
        return 1;
    return (u8(b + at + 4) & 0x3f) == 0 && (u8(b + at + 8) & 0x7f) == 0 && OPCODES[u8(b + at)] != 0;
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
    uint32_t present = 0;
    if (declared <= limit && declared - at >= 16) {
        roce->icrc_raw[row] = u32(b + declared - 4);
        present = HAS_ICRC;
    }
    if (carries == 0) {
        roce->present[row] = (uint16_t)present;
        c->status = STATUS_BTH_OPCODE_UNKNOWN;
        return 1;
    }
    int64_t extension = at + 12, size = carries & 0xff;
    int64_t payload = declared - extension - size - (first >> 4 & 3) - 4;
    if (payload >= 0) {
        roce->payload_bytes[row] = (uint32_t)payload;
        present |= HAS_PAYLOAD;
    }
    if (limit - extension < size) {
        roce->present[row] = (uint16_t)present;
        c->status = payload < 0 ? STATUS_BTH_PAYLOAD_NEGATIVE : STATUS_BTH_EXTENSION_TRUNCATED;
        c->at = extension;
        return 1;
    }
    if (carries & (RDETH | DETH | XRCETH | FETH)) {
        extension += carries & RDETH ? 4 : 0;
        if (carries & DETH) {
            roce->queue_key[row] = u32(b + extension);
            roce->source_qp[row] = u24(b + extension + 5);
            present |= HAS_DETH;
            extension += 8;
        }
        extension += carries & XRCETH ? 4 : 0;
        extension += carries & FETH ? 4 : 0;
    }
    if (carries & RETH) {
        roce->virtual_address[row] = (int64_t)u64(b + extension);
        roce->rkey[row] = u32(b + extension + 8);
        roce->dma_bytes[row] = u32(b + extension + 12);
        present |= HAS_RETH | HAS_RKEY;
        extension += 16;
    }
    if (carries & AETH) {
        uint32_t word = u32(b + extension);
        roce->syndrome[row] = (uint8_t)(word >> 24);
        roce->msn[row] = word & 0xffffff;
        present |= HAS_AETH;
        extension += 4;
    }
    if (carries & (ATOMIC | ATOMIC_ACK | IMMEDIATE | INVALIDATE)) {
        if (carries & ATOMIC) {
            roce->virtual_address[row] = (int64_t)u64(b + extension);
            roce->rkey[row] = u32(b + extension + 8);
            roce->swap_add[row] = (int64_t)u64(b + extension + 12);
            roce->compare[row] = (int64_t)u64(b + extension + 20);
            present |= HAS_ATOMIC | HAS_RKEY;
            extension += 28;
        }
        if (carries & ATOMIC_ACK) {
            roce->original_data[row] = (int64_t)u64(b + extension);
            present |= HAS_ATOMIC_ACK;
            extension += 8;
        }
        if (carries & IMMEDIATE) {
            roce->immediate[row] = u32(b + extension);
            present |= HAS_IMMEDIATE;
            extension += 4;
        }
        if (carries & INVALIDATE) {
            roce->rkey[row] = u32(b + extension);
            present |= HAS_RKEY;
            extension += 4;
        }
    }
    roce->present[row] = (uint16_t)present;
    c->status = payload < 0 ? STATUS_BTH_PAYLOAD_NEGATIVE : STATUS_OK;
    c->at = extension;
    return 1;
}
