/* What a packet carries through the pipelines, and what it takes along from one to the other. */

#ifndef METADATA_P4
#define METADATA_P4

// Every packet enters the egress behind one of these; the first byte says which.
const bit<8> BRIDGED = 1;
const bit<8> MIRRORED_IN_INGRESS = 2;
const bit<8> MIRRORED_IN_EGRESS = 3;
const bit<3> MIRROR = 1; // mirror type of both deparsers
const bit<10> MIRROR_SESSION = (bit<10>)REPORT_SESSION;

// From ingress to egress with the packet
header bridge_t {
    bit<8> kind;
    bit<48> ingress_time;
    bit<16> ingress_port;
    bit<16> instructions;
    bit<8> mode;
    bit<8> hops;
    bit<2> npt;
    bit<1> at_edge;
    bit<1> to_host;
    bit<4> pad;
}

// From either pipeline to the egress with the copy for the monitor
header mirror_t {
    bit<8> kind;
    bit<48> ingress_time;
    bit<48> egress_time;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<32> latency;
    bit<32> depth;
    bit<16> instructions;
    bit<8> queue_id;
    bit<8> drop_reason;
    bit<1> dropped;
    bit<1> queue;
    bit<1> flow;
    bit<1> intermediate;
    bit<4> pad;
}

// The trace as it is sized by IOAM_TRACE_WORDS: the oldest node last (RFC 9197 §4.4.2)
struct trace_t {
    ioam_node_t node5;
    ioam_node_t node4;
    ioam_node_t node3;
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
    bit<6> dscp;
    bit<16> udp_port; // destination port as the sender wrote it
    bit<16> ecmp_group;
    bit<16> ecmp_hash;
    bit<16> ecmp_index;
    bit<16> lot;
    bit<1> watched;
    bit<1> dropped;
    mirror_t mirror;
    MirrorId_t session;
}

struct egress_metadata_t {
    bit<32> node_id;
    bit<5> words; // that a hop adds for these instructions
    bit<16> bytes;
    bit<16> limit; // the longest IP packet of the link, and one
    bit<16> length;
    bit<16> room;
    bit<1> above;
    bit<1> before;
    bit<1> wanted;
    bit<1> changed;
    bit<1> quiet;
    bit<32> latency_mask;
    bit<32> quantum;
    bit<16> flow;
    bit<8> format;
    bit<16> snap;
    bit<16> total_len;
    bit<32> number;
    mirror_t mirror;
    MirrorId_t session;
}

#endif
