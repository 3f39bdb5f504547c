/* The C twin: the same record walk, checks, prefetching and reused columns as int_analyzer/decode.py, to know what is possible.
 *
 *     decode FILE [N]          best of N walks through the mapped file           one line of JSON
 *     pcap FILE [N]            the same decode of what libpcap hands over         one line of JSON
 *     bytesum FILE [N]         every byte read once, eight at a time              one line of JSON
 *     dump FILE DIRECTORY      columns of all chunks as raw little-endian files, and the rows of each chunk
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_PCAP
#include <pcap/pcap.h>
#endif

#include "twin/packet.h"

#define N_COLUMNS (sizeof COLUMNS / sizeof COLUMNS[0])
#define LL (long long)
#define STEP (64 * 1024 * 1024)
#define MAXIMUM_RECORD (256 * 1024 * 1024)

struct mapping {
    const uint8_t *bytes;
    int64_t size;
};

struct totals {
    int64_t packets, hops, roce, chunks;
};

static void fail(const char *what, const char *name) {
    fprintf(stderr, "%s: ", what);
    perror(name);
    exit(2);
}

static struct mapping map_file(const char *name) {
    int file = open(name, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0)
        fail("cannot open", name);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        fail("cannot map", name);
    close(file);
    madvise(bytes, (size_t)status.st_size, MADV_SEQUENTIAL);
    return (struct mapping){bytes, status.st_size};
}

/* Pages behind the reader are let go of, as the Python side does: memory stays bounded. Returns where to do so next. */
static int64_t release(struct mapping file, int64_t at) {
    int64_t whole = at / 4096 * 4096;
    madvise((void *)(uintptr_t)file.bytes, (size_t)whole, MADV_DONTNEED);
    return at + STEP;
}

/* One arena; the columns' base addresses are shifted against each other, else they collide in one set of the L1 cache. */
static void allocate(struct columns *columns) {
    size_t total = 0, used = 0, stagger = 0;
    for (size_t i = 0; i < N_COLUMNS; i++)
        total += COLUMNS[i].capacity * COLUMNS[i].size + 64 * STAGGER;
    total = (total + 0x1fffff) & ~(size_t)0x1fffff;
    uint8_t *arena = aligned_alloc(0x200000, total);
    if (arena == NULL)
        fail("cannot allocate", "columns");
    madvise(arena, total, MADV_HUGEPAGE);
    memset(arena, 0, total);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        stagger = (stagger + 1) % STAGGER_STEPS;
        size_t start = (used + stagger * STAGGER + 63) & ~(size_t)63;
        uint8_t *column = arena + start;
        memcpy((uint8_t *)columns + COLUMNS[i].pointer, &column, sizeof column);
        used = start + COLUMNS[i].capacity * COLUMNS[i].size;
    }
}

/* ------------------------------------------------------------------------------------------------ what becomes of a chunk */

struct dump {
    FILE *column[N_COLUMNS], *chunks;
};

static void open_dump(struct dump *dump, const char *directory) {
    char name[4096];
    for (size_t i = 0; i < N_COLUMNS; i++) {
        snprintf(name, sizeof name, "%s/%s.%s.bin", directory, COLUMNS[i].table, COLUMNS[i].column);
        if ((dump->column[i] = fopen(name, "wb")) == NULL)
            fail("cannot write", name);
    }
    snprintf(name, sizeof name, "%s/chunks.bin", directory);
    if ((dump->chunks = fopen(name, "wb")) == NULL)
        fail("cannot write", name);
}

static void close_dump(struct dump *dump) {
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (fclose(dump->column[i]) != 0)
            fail("cannot write", COLUMNS[i].column);
    if (fclose(dump->chunks) != 0)
        fail("cannot write", "chunks");
}

static void end_chunk(struct batch *batch, struct totals *totals, struct dump *dump) {
    totals->packets += batch->packets;
    totals->hops += batch->hops;
    totals->roce += batch->roce;
    totals->chunks++;
    if (dump != NULL) {
        int64_t rows[3] = {batch->packets, batch->hops, batch->roce};
        for (size_t i = 0; i < N_COLUMNS; i++) {
            int table = COLUMNS[i].table[0] == 'p' ? 0 : COLUMNS[i].table[0] == 'h' ? 1 : 2;
            void *column;
            memcpy(&column, (uint8_t *)&batch->columns + COLUMNS[i].pointer, sizeof column);
            fwrite(column, COLUMNS[i].size, (size_t)rows[table], dump->column[i]);
        }
        fwrite(rows, sizeof rows, 1, dump->chunks);
    }
    batch->packets = batch->hops = batch->roce = 0;
}

/* ----------------------------------------------------------------------------------------------------------- classic pcap */

static inline uint32_t word(const uint8_t *at, int little) {
    uint32_t value;
    memcpy(&value, at, 4);
    return little ? value : __builtin_bswap32(value);
}

static inline __attribute__((always_inline)) void walk(struct mapping file, struct batch *batch, struct totals *totals, struct dump *dump,
                                                       int little, int nanoseconds) {
    const uint8_t *bytes = file.bytes;
    int64_t at = 24, stop = file.size, step_end = STEP;
    uint32_t snaplen = word(bytes + 16, little), link = word(bytes + 20, little) & 0xffff;
    while (stop - at >= 16) {
        uint32_t seconds = word(bytes + at, little), fraction = word(bytes + at + 4, little);
        uint32_t captured = word(bytes + at + 8, little), original = word(bytes + at + 12, little);
        int64_t next = at + 16 + captured;
        if (captured > MAXIMUM_RECORD || next > stop)
            break;
        int64_t ahead = next + 4 * ((int64_t)captured + 16);
        for (int line = 0; line < 4; line++)
            __builtin_prefetch(bytes + ahead + 64 * line);
        __builtin_prefetch(bytes + ahead + captured + 12);
        uint32_t warnings = fraction >= (nanoseconds ? 1000000000u : 1000000u) ? WARNING_TIMESTAMP_FRACTION : 0;
        if (captured > original)
            warnings |= WARNING_CAPTURED_BEYOND_ORIGINAL;
        else if (captured < original)
            warnings |= WARNING_CAPTURED_SHORT;
        if (snaplen > 0 && captured > snaplen)
            warnings |= WARNING_SNAPLEN_EXCEEDED;
        int64_t time = (int64_t)seconds * 1000000000 + (nanoseconds ? fraction : (int64_t)fraction * 1000);
        struct record record = {bytes + at + 16, captured, original, link, warnings, time};
        if (!decode_packet(&record, batch)) {
            end_chunk(batch, totals, dump);
            if (at >= step_end)
                step_end = release(file, at);
            continue;
        }
        at = next;
    }
    if (batch->packets > 0)
        end_chunk(batch, totals, dump);
}

static struct totals walk_file(struct mapping file, struct batch *batch, struct dump *dump) {
    struct totals totals = {0};
    uint32_t magic = file.size < 24 ? 0 : word(file.bytes, 1);
    if (magic == 0xa1b23c4d)
        walk(file, batch, &totals, dump, 1, 1);
    else if (magic == 0xa1b2c3d4)
        walk(file, batch, &totals, dump, 1, 0);
    else if (magic == 0x4d3cb2a1)
        walk(file, batch, &totals, dump, 0, 1);
    else if (magic == 0xd4c3b2a1)
        walk(file, batch, &totals, dump, 0, 0);
    else {
        fprintf(stderr, "not a classic pcap\n");
        exit(2);
    }
    return totals;
}

#ifdef WITH_PCAP
static struct totals walk_libpcap(const char *name, struct batch *batch) {
    char error[PCAP_ERRBUF_SIZE];
    struct totals totals = {0};
    pcap_t *file = pcap_open_offline_with_tstamp_precision(name, PCAP_TSTAMP_PRECISION_NANO, error);
    if (file == NULL) {
        fprintf(stderr, "%s\n", error);
        exit(2);
    }
    uint32_t link = (uint32_t)pcap_datalink(file);
    struct pcap_pkthdr *header;
    const u_char *data;
    while (pcap_next_ex(file, &header, &data) == 1) {
        uint32_t warnings = header->caplen < header->len ? WARNING_CAPTURED_SHORT : 0;
        int64_t time = (int64_t)header->ts.tv_sec * 1000000000 + header->ts.tv_usec;
        struct record record = {data, header->caplen, header->len, link, warnings, time};
        while (!decode_packet(&record, batch))
            end_chunk(batch, &totals, NULL);
    }
    if (batch->packets > 0)
        end_chunk(batch, &totals, NULL);
    pcap_close(file);
    return totals;
}
#endif

/* ------------------------------------------------------------------------------------------------------------------- modes */

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t wall_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Eight independent sums, so that loads and not additions are what is measured. */
static uint64_t sum_bytes(struct mapping file) {
    uint64_t sums[8] = {0}, words[8], total = 0;
    int64_t at = 0, step_end = STEP;
    for (; at + 64 <= file.size; at += 64) {
        if (at >= step_end)
            step_end = release(file, at);
        memcpy(words, file.bytes + at, 64);
        for (int i = 0; i < 8; i++)
            sums[i] += words[i];
    }
    for (; at < file.size; at++)
        total += file.bytes[at];
    for (int i = 0; i < 8; i++)
        total += sums[i];
    return total;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s decode|pcap|bytesum FILE [repeats] | dump FILE DIRECTORY\n", argv[0]);
        return 2;
    }
    const char *mode = argv[1], *name = argv[2];
    int repeats = argc > 3 && strcmp(mode, "dump") != 0 ? atoi(argv[3]) : 1;
    struct batch batch = {0};
    struct totals totals = {0};
    allocate(&batch.columns);
    struct mapping file = {0};
    if (strcmp(mode, "dump") == 0 && argc > 3) {
        struct dump dump;
        open_dump(&dump, argv[3]);
        totals = walk_file(map_file(name), &batch, &dump);
        close_dump(&dump);
        printf("{\"packets\": %lld, \"hops\": %lld, \"roce\": %lld}\n", LL totals.packets, LL totals.hops, LL totals.roce);
        return 0;
    }
    int64_t best_cpu = INT64_MAX, best_wall = INT64_MAX;
    uint64_t sum = 0;
    for (int i = 0; i < repeats; i++) {
        int64_t cpu = cpu_ns(), wall = wall_ns();
        if (strcmp(mode, "decode") == 0 || strcmp(mode, "bytesum") == 0) {
            file = map_file(name);
            if (strcmp(mode, "decode") == 0)
                totals = walk_file(file, &batch, NULL);
            else
                sum += sum_bytes(file);
            munmap((void *)(uintptr_t)file.bytes, (size_t)file.size);
        }
#ifdef WITH_PCAP
        else if (strcmp(mode, "pcap") == 0)
            totals = walk_libpcap(name, &batch);
#endif
        else {
            fprintf(stderr, "unknown or unavailable mode %s\n", mode);
            return 2;
        }
        cpu = cpu_ns() - cpu;
        wall = wall_ns() - wall;
        best_cpu = cpu < best_cpu ? cpu : best_cpu;
        best_wall = wall < best_wall ? wall : best_wall;
    }
    printf("{\"packets\": %lld, \"hops\": %lld, \"roce\": %lld, \"chunks\": %lld, ", LL totals.packets, LL totals.hops, LL totals.roce,
           LL totals.chunks);
    printf("\"cpu_ns\": %lld, \"wall_ns\": %lld, \"sum\": %llu}\n", LL best_cpu, LL best_wall, (unsigned long long)sum);
    return 0;
}
