/* Ethernet to BTH, with INT where DSCP or port announces it and IOAM where an option does. What is another protocol's is left unparsed.
 * What is cut, or contradicts itself, ends in a parser error. Both are forwarded as they are. */

parser PacketParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.src = 80w0 ++ 16w0xFFFF ++ hdr.ipv4.src;
        meta.dst = 80w0 ++ 16w0xFFFF ++ hdr.ipv4.dst;
        meta.dscp = hdr.ipv4.dscp;
        meta.length = hdr.ipv4.total_len;
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (IPV4_WORDS, 0 &&& IPV4_MORE, 0, PROTOCOL_UDP): parse_udp;
            (IPV4_WORDS, 0 &&& IPV4_MORE, 0, _): accept;
            (IPV4_WORDS, _, _, _): pass_fragment;
            default: pass_options;
        }
    }

    // The UDP header is behind words that have no place here: not looked for, nor anything put in front of it.
    state pass_options {
        meta.passed_by = PASSED_OPTIONS;
        transition accept;
    }

    // Also the first: what it grew by, the others would lack.
    state pass_fragment {
        meta.passed_by = PASSED_FRAGMENT;
        transition accept;
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.src = hdr.ipv6.src;
        meta.dst = hdr.ipv6.dst;
        meta.dscp = hdr.ipv6.dscp;
        meta.length = 40 + hdr.ipv6.payload_len; // RFC 8200 §3
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_UDP: parse_udp;
            PROTOCOL_HOP_BY_HOP: check_hop_by_hop;
            PROTOCOL_ROUTING: pass_extension;
            PROTOCOL_FRAGMENT: pass_extension;
            PROTOCOL_DESTINATION: pass_extension;
            default: accept;
        }
    }

    state pass_extension {
        meta.passed_by = PASSED_EXTENSION;
        transition accept;
    }

    // Only a header that holds nothing but our trace is taken apart: next header, option, type, namespace, trace type; and what the option
    // leaves of the header, which is six bytes: next header and length, PadN, type and length of the option itself.
    state check_hop_by_hop {
        bit<152> ahead = packet.lookahead<bit<152>>();
        bit<16> beside = ((bit<16>)ahead[143:136] + 1 << 3) - (bit<16>)ahead[111:104];
        transition select(ahead[151:144], ahead[119:112], ahead[95:88], ahead[87:72], ahead[55:32], beside) {
            (PROTOCOL_UDP, IOAM_OPTION, IOAM_TYPE_PRE_ALLOCATED, IOAM_NAMESPACE, IOAM_TRACE_TYPE, 6): parse_ioam;
            default: pass_extension;
        }
    }

    state parse_ioam {
        packet.extract(hdr.hop_by_hop);
        packet.extract(hdr.ioam);
        verify(hdr.ioam.node_words == IOAM_NODE_WORDS, error.ParserInvalidArgument);
        verify((bit<16>)hdr.ioam.length >= 10 + ((bit<16>)hdr.ioam.remaining << 2), error.ParserInvalidArgument);
        verify(hdr.ipv6.payload_len >= (bit<16>)hdr.hop_by_hop.length + 1 << 3, error.ParserInvalidArgument);
        transition select(hdr.ioam.remaining) {
            0 .. 3: parse_ioam_full;
            default: parse_ioam_room;
        }
    }

    // RFC 9197 §4.4.2: a node writes right before those that were before it
    state parse_ioam_room {
        packet.extract(hdr.ioam_free, (bit<32>)(hdr.ioam.remaining - (bit<7>)IOAM_NODE_WORDS) << 5);
        packet.extract(hdr.ioam_node);
        transition parse_ioam_nodes;
    }

    state parse_ioam_full {
        packet.extract(hdr.ioam_free, (bit<32>)hdr.ioam.remaining << 5);
        transition parse_ioam_nodes;
    }

    state parse_ioam_nodes {
        // option length less reserved, type and trace header, less what is free
        packet.extract(hdr.ioam_nodes, ((bit<32>)hdr.ioam.length - 10 << 3) - ((bit<32>)hdr.ioam.remaining << 5));
        transition parse_udp;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.udp_port = hdr.udp.dst_port;
        transition select(hdr.udp.dst_port, meta.dscp) {
            (INT_PORT, _): parse_shim;
            (_, INT_DSCP): parse_shim;
            (ROCE_PORT, _): parse_bth;
            default: accept;
        }
    }

    state parse_shim {
        packet.extract(hdr.int_shim);
        transition select(hdr.int_shim.type, hdr.int_shim.npt, packet.lookahead<bit<4>>()) {
            (INT_TYPE_MD, INT_NPT_PORT, INT_VERSION): parse_original_port;
            (INT_TYPE_MX, INT_NPT_PORT, INT_VERSION): parse_original_port;
            (INT_TYPE_MD, INT_NPT_DSCP, INT_VERSION): parse_int;
            (INT_TYPE_MX, INT_NPT_DSCP, INT_VERSION): parse_int;
            default: accept;
        }
    }

    state parse_original_port {
        meta.udp_port = hdr.int_shim.next;
        transition parse_int;
    }

    state parse_int {
        packet.extract(hdr.int_header);
        verify(hdr.int_shim.length >= INT_HEADER_WORDS, error.ParserInvalidArgument);
        verify(hdr.udp.length >= 8 + ((bit<16>)hdr.int_shim.length + 1 << 2), error.ParserInvalidArgument);
        packet.extract(hdr.int_stack, (bit<32>)(hdr.int_shim.length - INT_HEADER_WORDS) << 5);
        transition select(meta.udp_port) {
            ROCE_PORT: parse_bth;
            default: accept;
        }
    }

    state parse_bth {
        packet.extract(hdr.bth);
        transition accept;
    }
}

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
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
        packet.emit(hdr.report_utilisation);
        packet.emit(hdr.report_drop);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.hop_by_hop);
        packet.emit(hdr.ioam);
        packet.emit(hdr.ioam_room);
        packet.emit(hdr.ioam_free);
        packet.emit(hdr.ioam_node);
        packet.emit(hdr.ioam_nodes);
        packet.emit(hdr.udp);
        packet.emit(hdr.int_shim);
        packet.emit(hdr.int_header);
        // INT v2.1 §5.8: the newest hop first, its items in the order of their bits
        packet.emit(hdr.int_node);
        packet.emit(hdr.int_ports);
        packet.emit(hdr.int_latency);
        packet.emit(hdr.int_queue);
        packet.emit(hdr.int_ingress_time);
        packet.emit(hdr.int_egress_time);
        packet.emit(hdr.int_level2);
        packet.emit(hdr.int_utilisation);
        packet.emit(hdr.int_buffer);
        packet.emit(hdr.int_stack);
        packet.emit(hdr.bth);
    }
}

control ChecksumVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ChecksumUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // with options Forward has seen to it
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == IPV4_WORDS,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.outer_ipv4.isValid(),
            { hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn, hdr.outer_ipv4.total_len,
              hdr.outer_ipv4.identification, hdr.outer_ipv4.flags, hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl,
              hdr.outer_ipv4.protocol, hdr.outer_ipv4.src, hdr.outer_ipv4.dst },
            hdr.outer_ipv4.checksum, HashAlgorithm.csum16);
    }
}
