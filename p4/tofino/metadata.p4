/* What a packet carries through the pipelines, and what it takes along from one to the other. */

#ifndef METADATA_P4
#define METADATA_P4

const bit<32> LOCAL_PREFIXES = 8;
#ifdef WITHOUT_IOAM
const bool IOAM = false;
#else
const bool IOAM = true;
#endif

// Every packet enters the egress behind one of these; the first byte says which.
const bit<8> BRIDGED = 1;
const bit<8> MIRRORED_IN_INGRESS = 2;
const bit<8> MIRRORED_IN_EGRESS = 3;
#if __TARGET_TOFINO__ == 1
const bit<3> COUNTER_MASK = 7;
#else
const bit<8> COUNTER_MASK = 255;
#endif
const MirrorType_t MIRROR = 1; // of both deparsers
const MirrorId_t MIRROR_SESSION = (MirrorId_t)REPORT_SESSION;

// Times of 48 bits stand in two parts: the lower is what is subtracted.

// From ingress to egress with the packet
header bridge_t {
    bit<8> kind;
    bit<16> ingress_time_high;
    bit<32> ingress_time;
    bit<16> ingress_port;
    bit<16> flow; // a hash of addresses and ports
    bit<16> instructions;
    bit<8> hops;
    bit<4> mode;
    bit<2> npt;
    bit<1> at_edge;
    bit<1> to_host;
}

// Flags of a copy: bits where a report has them (report v2.0 §3.3), and in one field, since Tofino writes a byte as one
const bit<8> FLAG_DROPPED = 0x80;
const bit<8> FLAG_QUEUE = 0x40;
const bit<8> FLAG_FLOW = 0x20;
const bit<8> FLAG_INTERMEDIATE = 0x10;

// From either pipeline to the egress with the copy for the monitor
header mirror_t {
    bit<8> kind;
    bit<16> ingress_time_high;
    bit<32> ingress_time;
    bit<16> egress_time_high;
    bit<32> egress_time;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<32> latency;
    bit<32> depth;
    bit<16> instructions;
    bit<8> queue_id;
    bit<8> drop_reason;
    bit<8> flags;
}

// Tofino's egress parser reads 160 bytes at most: no room for as many nodes as IOAM_TRACE_WORDS has.
const bit<7> TRACE_WORDS = 12;
const bit<8> TRACE_HEADER_WORDS = 16; // the hop-by-hop header around that

// The oldest node last (RFC 9197 §4.4.2)
struct trace_t {
    ioam_node_t node2;
    ioam_node_t node1;
    ioam_node_t node0;
}

struct headers_t {
    bridge_t bridge;
    ethernet_t outer_ethernet;
    ipv4_t outer_ipv4;
    udp_t outer_udp;
    gre_t gre;
    erspan_t erspan;
    report_group_t report_group;
    report_t report;
    report_main_t report_main;
    int_ports_t report_ports;
    int_latency_t report_latency;
    int_queue_t report_queue;
    int_time_t report_ingress_time;
    int_time_t report_egress_time;
    report_drop_t report_drop;
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv6_t ipv6;
    hop_by_hop_t hop_by_hop;
    ioam_t ioam;
    trace_t trace;
    udp_t udp;
    int_shim_t int_shim;
    int_header_t int_header;
    int_node_t int_node;
    int_ports_t int_ports;
    int_latency_t int_latency;
    int_queue_t int_queue;
    int_time_t int_ingress_time;
    int_time_t int_egress_time;
    int_level2_t int_level2;
    int_utilisation_t int_utilisation;
    int_buffer_t int_buffer;
    bth_t bth;
}

struct ingress_metadata_t {
    bit<16> udp_port; // destination port as the sender wrote it; 0: that of the packet
    bit<8> passed_by; // why the packet is not looked into
    bit<16> ecmp_group;
    bit<16> ecmp_index;
    bit<16> lot;
    bit<1> local; // goes to a host behind this switch
    bit<1> watched;
    bit<1> dropped;
    mirror_t mirror;
    MirrorId_t session;
}

struct egress_metadata_t {
    bit<32> node_id;
    bit<5> hop_words; // that a hop adds for these instructions, in the widths that they are used in
    bit<8> words;
    bit<16> bytes;
    bit<16> limit; // the longest IP packet of the link, and one
    bit<16> length;
    bit<16> around; // what stands outside that length in a frame
    bit<16> room;
    bit<8> above;
    bit<1> crossed;
    bit<1> wanted;
    bit<1> changed;
    bit<1> quiet;
    bit<32> latency_mask;
    bit<32> quantum;
    bit<1> monitored; // somebody wants copies
    bit<16> snap;
    bit<16> total_len;
    bit<16> udp_length;
    bit<32> number;
    mirror_t mirror;
    MirrorId_t session;
}

#endif
