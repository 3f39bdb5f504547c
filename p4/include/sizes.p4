/* How much there is of everything. */

#ifndef SIZES_P4
#define SIZES_P4

const bit<32> ROUTES = 4096;
const bit<32> ECMP_MEMBERS = 1024;
const bit<32> PORTS = 512;
const bit<32> WATCHES = 256;
const bit<32> FORMATS = 3; // numbers of replicas begin with 1
const bit<32> PASSED_REASONS = 6;
const bit<32> TRACKED_FLOWS = 16384; // whose last latency is remembered, by hash

const bit<8> UTILISATION_SHIFT = 14; // bytes are counted in windows of 2^14 µs

#endif
