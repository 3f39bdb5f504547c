/* What a packet carries through the pipeline. The fields of list REPORT_FIELDS go with the copy that becomes a report. */

#ifndef METADATA_P4
#define METADATA_P4

#define REPORT_FIELDS 1

// Of varying length: Tofino has no such headers, so these are BMv2's own
header int_stack_t {
    varbit<8064> hops; // 255 words of shim length, less the header
}

header ioam_words_t {
    varbit<4064> words; // 127 words, the most that a trace declares
}

header ioam_free_t {
    bit<640> zeros; // room of the nodes after the source: IOAM_TRACE_WORDS - IOAM_NODE_WORDS
}

struct headers_t {
    // around a report or a mirrored packet
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
    int_utilisation_t report_utilisation;
    report_drop_t report_drop;
    // the packet
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv6_t ipv6;
    hop_by_hop_t hop_by_hop;
    ioam_t ioam;
    ioam_free_t ioam_room;
    ioam_words_t ioam_free;
    ioam_node_t ioam_node;
    ioam_words_t ioam_nodes;
    udp_t udp;
    int_shim_t int_shim;
    int_header_t int_header;
    // this hop
    int_node_t int_node;
    int_ports_t int_ports;
    int_latency_t int_latency;
    int_queue_t int_queue;
    int_time_t int_ingress_time;
    int_time_t int_egress_time;
    int_level2_t int_level2;
    int_utilisation_t int_utilisation;
    int_buffer_t int_buffer;
    // the hops before it
    int_stack_t int_stack;
    bth_t bth;
    // what the sink took out: never emitted, but there in the copy, which is made before the deparser
    int_shim_t kept_shim;
    int_header_t kept_header;
    int_stack_t kept_stack;
    hop_by_hop_t kept_hop_by_hop;
    ioam_t kept_ioam;
    ioam_free_t kept_room;
    ioam_words_t kept_free;
    ioam_node_t kept_node;
    ioam_words_t kept_nodes;
}

struct metadata_t {
    // both address families as 128 bits, IPv4 mapped (RFC 4291 §2.5.5.2): one table serves both
    bit<128> src;
    bit<128> dst;
    bit<6> dscp;
    bit<16> length;     // of the IP packet, as it goes on
    bit<16> udp_port;   // destination port as the sender wrote it
    bit<8> passed_by;   // why the packet is not looked into
    bit<16> ecmp_group;
    bit<16> ecmp_index;
    bit<1> at_edge;     // the packet comes from a host
    bit<1> to_host;     // and this one goes to a host
    bit<16> mtu;

    // this node
    @field_list(REPORT_FIELDS)
    bit<32> node_id;

    // what the watchlist says of the packet
    bit<8> mode;
    bit<2> npt;
    bit<8> hops;
    bit<5> words;       // that a hop adds for these instructions

    // thresholds
    bit<24> queue_threshold;
    bit<8> latency_shift;
    bit<1> quiet;
    bit<1> monitored;   // somebody wants copies

    @field_list(REPORT_FIELDS)
    bit<16> instructions;
    @field_list(REPORT_FIELDS)
    bit<1> dropped;
    @field_list(REPORT_FIELDS)
    bit<1> queue;
    @field_list(REPORT_FIELDS)
    bit<1> flow;
    @field_list(REPORT_FIELDS)
    bit<1> intermediate;
    @field_list(REPORT_FIELDS)
    bit<8> drop_reason;
    @field_list(REPORT_FIELDS)
    bit<16> ingress_port;
    @field_list(REPORT_FIELDS)
    bit<16> egress_port;
    @field_list(REPORT_FIELDS)
    bit<32> latency;
    @field_list(REPORT_FIELDS)
    bit<24> depth;
    @field_list(REPORT_FIELDS)
    bit<64> ingress_time;
    @field_list(REPORT_FIELDS)
    bit<64> egress_time;
    @field_list(REPORT_FIELDS)
    bit<32> utilisation;
}

#endif
