/* Reading bytes: one unaligned load and a byte swap. Callers prove the bounds. */
#pragma once
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t u8(const uint8_t *at) { return *at; }

INLINE uint32_t u16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, 2);
    return __builtin_bswap16(value);
}

INLINE uint32_t u32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return __builtin_bswap32(value);
}

INLINE uint64_t u64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return __builtin_bswap64(value);
}

INLINE uint32_t u24(const uint8_t *at) { return u8(at) << 16 | u16(at + 1); }
INLINE uint64_t u56(const uint8_t *at) { return (uint64_t)u24(at) << 32 | u32(at + 3); }
