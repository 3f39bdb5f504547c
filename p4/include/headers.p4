/* Headers, outermost first. What several carriers share is declared once. */

#ifndef HEADERS_P4
#define HEADERS_P4

#include "defines.p4"

header ethernet_t {
    bit<48> dst_mac;
    bit<48> src_mac;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_len;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> src;
    bit<128> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

// IBTA Vol. 1 §9.2
header bth_t {
    bit<8> opcode;
    bit<8> flags;
    bit<16> pkey;
    bit<8> congestion;
    bit<24> dest_qp;
    bit<8> ack_request;
    bit<24> psn;
}

// INT v2.1 §5.7.2. Behind NPT 0 `next` has the original DSCP in bits 8 to 13, behind NPT 1 it is the original UDP port.
header int_shim_t {
    bit<4> type;
    bit<2> npt;
    bit<2> reserved;
    bit<8> length;
    bit<16> next;
}

// INT v2.1 §5.8; INT-MX (§5.9) has the same words, with all between D and the bitmap reserved.
header int_header_t {
    bit<4> version;
    bit<1> discard;
    bit<1> exceeded;
    bit<1> mtu;
    bit<12> reserved;
    bit<5> hop_words;
    bit<8> remaining;
    bit<16> instructions;
    bit<16> domain;
    bit<16> domain_instructions;
    bit<16> domain_flags;
}

// What one hop adds, each if its bit is in the bitmap (INT v2.1 §5.8)
header int_node_t {
    bit<32> id;
}

header int_ports_t {
    bit<16> ingress;
    bit<16> egress;
}

header int_latency_t {
    bit<32> value;
}

header int_queue_t {
    bit<8> id;
    bit<24> depth;
}

header int_time_t {
    bit<64> value;
}

header int_level2_t {
    bit<64> ports;
}

header int_utilisation_t {
    bit<32> value;
}

header int_buffer_t {
    bit<32> value;
}

// RFC 8200 §4.3, with a PadN of two bytes that puts the option on a multiple of four (RFC 9486 §3)
header hop_by_hop_t {
    bit<8> next_header;
    bit<8> length;
    bit<16> padding;
}

// RFC 9486 §3 and RFC 9197 §4.4.1
header ioam_t {
    bit<8> option;
    bit<8> length;
    bit<8> reserved;
    bit<8> type;
    bit<16> namespace;
    bit<5> node_words;
    bit<1> overflow;
    bit<3> flags;
    bit<7> remaining;
    bit<24> trace_type;
    bit<8> reserved2;
}

// One node of IOAM_TRACE_TYPE (RFC 9197 §4.4.2)
header ioam_node_t {
    bit<8> hop_limit;
    bit<24> id;
    bit<16> ingress;
    bit<16> egress;
    bit<32> delay;
    bit<32> depth;
}

// Telemetry report v2.0 §3.2: once in a datagram
header report_group_t {
    bit<4> version;
    bit<6> hardware;
    bit<22> sequence;
    bit<32> node;
}

// Telemetry report v2.0 §3.3
header report_t {
    bit<4> type;
    bit<4> inner;
    bit<8> length;
    bit<8> metadata_words;
    bit<1> dropped;
    bit<1> queue;
    bit<1> flow;
    bit<1> intermediate;
    bit<4> reserved;
}

// Telemetry report v2.0 §3.3.1
header report_main_t {
    bit<16> bits;
    bit<16> domain;
    bit<16> domain_bits;
    bit<16> domain_status;
}

header report_drop_t {
    bit<8> queue;
    bit<8> reason;
    bit<16> padding;
}

// RFC 2890, with a sequence number
header gre_t {
    bit<16> flags;
    bit<16> protocol;
    bit<32> sequence;
}

// draft-foschiano-erspan-03 §4.2
header erspan_t {
    bit<4> version;
    bit<12> vlan;
    bit<3> cos;
    bit<2> encapsulation;
    bit<1> truncated;
    bit<10> session;
    bit<12> reserved;
    bit<20> index;
}

#endif
