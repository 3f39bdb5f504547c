/* Ethernet to BTH in the ingress; in the egress the same behind what the ingress or a mirror put in front. A stack of hops is never taken
 * up: Tofino has no headers of varying length. At a sink the parser walks over it, which takes it out of the packet. */

parser IntIngressParser(packet_in packet, out headers_t hdr, out ingress_metadata_t meta,
                        out ingress_intrinsic_metadata_t intrinsic) {
    ParserCounter() counter;
    value_set<bit<32>>(LOCAL_PREFIXES) local4; // where the hosts behind this switch are
    // One prefix: a Tofino compares four bytes at once, and what agrees with several prefixes piece by piece may be in none of them.
    value_set<bit<32>>(1) local6_0;
    value_set<bit<32>>(1) local6_1;
    value_set<bit<32>>(1) local6_2;
    value_set<bit<32>>(1) local6_3;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (IPV4_WORDS, 0 &&& IPV4_MORE, 0, PROTOCOL_UDP): check_local;
            (IPV4_WORDS, 0 &&& IPV4_MORE, 0, _): accept;
            (IPV4_WORDS, _, _, _): pass_fragment;
            default: pass_options;
        }
    }

    // The UDP header is behind words that have no place here: not looked for, nor anything put in front of it.
    @dontmerge("ingress")
    state pass_options {
        meta.passed_by = PASSED_OPTIONS;
        transition accept;
    }

    // Also the first: what it grew by, the others would lack.
    @dontmerge("ingress")
    state pass_fragment {
        meta.passed_by = PASSED_FRAGMENT;
        transition accept;
    }

    state check_local {
        transition select(hdr.ipv4.dst) {
            local4: parse_local_udp;
            default: parse_udp;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP: check_local_0;
            PROTOCOL_HOP_BY_HOP: pass_extension;
            PROTOCOL_ROUTING: pass_extension;
            PROTOCOL_FRAGMENT: pass_extension;
            PROTOCOL_DESTINATION: pass_extension;
            default: accept;
        }
    }

    @dontmerge("ingress")
    state pass_extension {
        meta.passed_by = PASSED_EXTENSION;
        transition accept;
    }

    state check_local_0 {
        transition select(hdr.ipv6.dst[127:96]) {
            local6_0: check_local_1;
            default: parse_udp6;
        }
    }

    state check_local_1 {
        transition select(hdr.ipv6.dst[95:64]) {
            local6_1: check_local_2;
            default: parse_udp6;
        }
    }

    state check_local_2 {
        transition select(hdr.ipv6.dst[63:32]) {
            local6_2: check_local_3;
            default: parse_udp6;
        }
    }

    state check_local_3 {
        transition select(hdr.ipv6.dst[31:0]) {
            local6_3: parse_local_udp6;
            default: parse_udp6;
        }
    }

    state parse_udp6 {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            INT_PORT: parse_shim;
            ROCE_PORT: parse_bth;
            default: accept;
        }
    }

    state parse_local_udp6 {
        packet.extract(hdr.udp);
        meta.local = 1;
        transition select(hdr.udp.dst_port) {
            INT_PORT: parse_local_shim;
            ROCE_PORT: parse_bth;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port, hdr.ipv4.dscp) {
            (INT_PORT, _): parse_shim;
            (_, INT_DSCP): parse_shim;
            (ROCE_PORT, _): parse_bth;
            default: accept;
        }
    }

    // Looked at before it is taken up: what the compiler keeps back for a later state it may take up in the wrong place.
    state parse_shim {
        transition select(packet.lookahead<bit<6>>(), packet.lookahead<bit<36>>()[3:0]) {
            (INT_TYPE_MD ++ INT_NPT_PORT, INT_VERSION): parse_original_port;
            (INT_TYPE_MX ++ INT_NPT_PORT, INT_VERSION): parse_original_port;
            (INT_TYPE_MD ++ INT_NPT_DSCP, INT_VERSION): parse_original_dscp;
            (INT_TYPE_MX ++ INT_NPT_DSCP, INT_VERSION): parse_original_dscp;
            default: accept;
        }
    }

    // else the compiler joins it to the one before, and its name, which complete.py looks for, is lost
    @dontmerge("ingress")
    state parse_original_port {
        packet.extract(hdr.int_shim);
        meta.udp_port = hdr.int_shim.next;
        transition parse_int;
    }

    @dontmerge("ingress")
    state parse_original_dscp {
        packet.extract(hdr.int_shim);
        transition parse_int;
    }

    state parse_int {
        packet.extract(hdr.int_header);
        transition accept;
    }

    state parse_bth {
        packet.extract(hdr.bth);
        transition accept;
    }

    // The same at a sink, and then over the stack: what is not taken up is not sent on.
    state parse_local_udp {
        packet.extract(hdr.udp);
        meta.local = 1;
        transition select(hdr.udp.dst_port, hdr.ipv4.dscp) {
            (INT_PORT, _): parse_local_shim;
            (_, INT_DSCP): parse_local_shim;
            (ROCE_PORT, _): parse_bth;
            default: accept;
        }
    }

    state parse_local_shim {
        transition select(packet.lookahead<bit<6>>(), packet.lookahead<bit<36>>()[3:0]) {
            (INT_TYPE_MD ++ INT_NPT_PORT, INT_VERSION): parse_local_original_port;
            (INT_TYPE_MX ++ INT_NPT_PORT, INT_VERSION): parse_local_original_port;
            (INT_TYPE_MD ++ INT_NPT_DSCP, INT_VERSION): parse_local_original_dscp;
            (INT_TYPE_MX ++ INT_NPT_DSCP, INT_VERSION): parse_local_original_dscp;
            default: accept;
        }
    }

    state parse_local_original_port {
        packet.extract(hdr.int_shim);
        counter.set(hdr.int_shim.length, 8w255, 8w0, COUNTER_MASK, 8w0xFD); // less INT_HEADER_WORDS
        meta.udp_port = hdr.int_shim.next;
        transition parse_local_int;
    }

    state parse_local_original_dscp {
        packet.extract(hdr.int_shim);
        counter.set(hdr.int_shim.length, 8w255, 8w0, COUNTER_MASK, 8w0xFD);
        transition parse_local_int;
    }

    state parse_local_int {
        packet.extract(hdr.int_header);
        transition select(counter.is_zero()) {
            true: accept;
            false: walk_a_word;
        }
    }

    state walk_a_word {
        packet.advance(32);
        counter.decrement(8w1);
        transition select(counter.is_zero()) {
            true: accept;
            false: walk_a_word;
        }
    }
}

parser IntEgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t meta,
                       out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition select(packet.lookahead<bit<8>>()) {
            BRIDGED: parse_bridge;
            default: parse_mirror;
        }
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: check_options;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    // With options the header is not taken up, and so not summed up by the deparser: Forward has seen to the checksum.
    @dontmerge("egress")
    state check_options {
        transition select(packet.lookahead<bit<8>>()) {
            4w4 ++ IPV4_WORDS: parse_ipv4;
            default: accept;
        }
    }

    // a copy is not looked into further than its length
    state parse_mirror {
        packet.extract(meta.mirror);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_copied_ipv4;
            ETHERTYPE_IPV6: parse_copied_ipv6;
            default: accept;
        }
    }

    @dontmerge("egress")
    state parse_copied_ipv4 {
        meta.length = packet.lookahead<bit<32>>()[15:0];
        meta.around = 14;
        transition accept;
    }

    @dontmerge("egress")
    state parse_copied_ipv6 {
        meta.length = packet.lookahead<bit<48>>()[15:0];
        meta.around = 54;
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (0 &&& IPV4_MORE, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP: parse_udp6;
#ifndef WITHOUT_IOAM
            PROTOCOL_HOP_BY_HOP: check_hop_by_hop;
#endif
            default: accept;
        }
    }

    state parse_udp6 {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            INT_PORT: parse_shim;
            ROCE_PORT: parse_bth;
            default: accept;
        }
    }

#ifndef WITHOUT_IOAM
    // nothing but our trace, of the size that our sources give it
    state check_hop_by_hop {
        transition select(packet.lookahead<bit<16>>()) {
            PROTOCOL_UDP ++ ((TRACE_HEADER_WORDS >> 1) - 1): check_option;
            default: accept;
        }
    }

    // a state each: Tofino compares four bytes at once
    state check_option {
        transition select(packet.lookahead<bit<64>>()[31:0]) {
            IOAM_OPTION ++ (10 + ((bit<8>)TRACE_WORDS << 2)) ++ 16w0: check_namespace;
            default: accept;
        }
    }

    state check_namespace {
        transition select(packet.lookahead<bit<80>>()[15:0]) {
            IOAM_NAMESPACE: parse_ioam;
            default: accept;
        }
    }

    state parse_ioam {
        packet.extract(hdr.hop_by_hop);
        packet.extract(hdr.ioam);
        transition select(hdr.ioam.trace_type) {
            IOAM_TRACE_TYPE: parse_trace;
            default: accept;
        }
    }

    state parse_trace {
        packet.extract(hdr.trace.node2);
        packet.extract(hdr.trace.node1);
        packet.extract(hdr.trace.node0);
        transition accept;
    }
#endif

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port, hdr.ipv4.dscp) {
            (INT_PORT, _): parse_shim;
            (_, INT_DSCP): parse_shim;
            (ROCE_PORT, _): parse_bth;
            default: accept;
        }
    }

    state parse_shim {
        packet.extract(hdr.int_shim);
        transition select(hdr.int_shim.type, packet.lookahead<bit<4>>()) {
            (INT_TYPE_MD, INT_VERSION): parse_int;
            (INT_TYPE_MX, INT_VERSION): parse_int;
            default: accept;
        }
    }

    state parse_int {
        packet.extract(hdr.int_header);
        transition accept;
    }

    state parse_bth {
        packet.extract(hdr.bth);
        transition accept;
    }
}

control IntIngressDeparser(packet_out packet, inout headers_t hdr, in ingress_metadata_t meta,
                           in ingress_intrinsic_metadata_for_deparser_t intrinsic) {
    Mirror() mirror;

    apply {
        if (intrinsic.mirror_type == MIRROR) {
            mirror.emit<mirror_t>(meta.session, meta.mirror);
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.udp);
        packet.emit(hdr.int_shim);
        packet.emit(hdr.int_header);
        packet.emit(hdr.bth);
    }
}

control IntEgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t meta,
                          in egress_intrinsic_metadata_for_deparser_t intrinsic) {
    Mirror() mirror;
    Checksum() ipv4_checksum;
    Checksum() outer_checksum;

    apply {
        if (intrinsic.mirror_type == MIRROR) {
            mirror.emit<mirror_t>(meta.session, meta.mirror);
        }
        hdr.ipv4.checksum = ipv4_checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
            hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst
        });
        hdr.outer_ipv4.checksum = outer_checksum.update({
            hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.total_len,
            hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl,
            hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst
        });
        packet.emit(hdr.outer_ethernet);
        packet.emit(hdr.outer_ipv4);
        packet.emit(hdr.outer_udp);
        packet.emit(hdr.gre);
        packet.emit(hdr.erspan);
        packet.emit(hdr.report_group);
        packet.emit(hdr.report);
        packet.emit(hdr.report_main);
        packet.emit(hdr.report_ports);
        packet.emit(hdr.report_latency);
        packet.emit(hdr.report_queue);
        packet.emit(hdr.report_ingress_time);
        packet.emit(hdr.report_egress_time);
        packet.emit(hdr.report_drop);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
#ifndef WITHOUT_IOAM
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.ioam);
        packet.emit(hdr.trace.node2);
        packet.emit(hdr.trace.node1);
        packet.emit(hdr.trace.node0);
#endif
        packet.emit(hdr.udp);
        packet.emit(hdr.int_shim);
        packet.emit(hdr.int_header);
        packet.emit(hdr.int_node);
        packet.emit(hdr.int_ports);
        packet.emit(hdr.int_latency);
        packet.emit(hdr.int_queue);
        packet.emit(hdr.int_ingress_time);
        packet.emit(hdr.int_egress_time);
        packet.emit(hdr.int_level2);
        packet.emit(hdr.int_utilisation);
        packet.emit(hdr.int_buffer);
        packet.emit(hdr.bth);
    }
}
