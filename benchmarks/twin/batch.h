/* The columns of one batch and how many rows are in use; a record as the capture gives it. */
#pragma once
#include "byte.h"
#include "columns.h"

struct batch {
    struct columns columns;
    int64_t packets, hops, roce;
};

struct record {
    const uint8_t *data;
    uint32_t captured, original, link, warnings;
    int64_t time;
};

/* What a layer hands on: where the next one begins, the end of the bytes that are there, where the packet is declared to end. */
struct cursor {
    int64_t at, limit, declared;
    uint32_t status, warnings;
};

/* Status of a packet that leaves the main path (tunnels, reports): beyond this program, never compared. */
#define BEYOND_TWIN 255
