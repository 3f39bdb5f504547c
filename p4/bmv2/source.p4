/* The source role (INT v2.1 §5.2.1): which packets are watched, and the headers that start their telemetry. */

// What is put in front of the UDP payload, or taken out (a negative number), in all lengths that count it. The UDP checksum is 0 and stays so,
// in IPv6 too: there the rule is a sum, and the exception is for what has a sum of its own inside (RFC 8200 §8.1, RFC 6936 §3), as RoCEv2 has.
control Grow(inout headers_t hdr, inout metadata_t meta, in bit<16> bytes) {
    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.total_len = hdr.ipv4.total_len + bytes;
        } else {
            hdr.ipv6.payload_len = hdr.ipv6.payload_len + bytes;
        }
        hdr.udp.length = hdr.udp.length + bytes;
        meta.length = meta.length + bytes;
    }
}

// The DSCP, where INT is marked by it (INT v2.1 §5.7.2).
control Mark(inout headers_t hdr, in bit<6> dscp) {
    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.dscp = dscp;
        } else {
            hdr.ipv6.dscp = dscp;
        }
    }
}

// In the ingress: decide. Every node looks, since INT-XD (INT v2.1 §3.1) has no mark in the packet; headers start at the edge only.
control Watch(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(PASSED_REASONS, CounterType.packets) passed_by;

    action from_host() {
        meta.at_edge = 1;
    }

    table ingress_edge {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            from_host;
            NoAction;
        }
        size = PORTS;
        const default_action = NoAction();
    }

    // One in `sample` packets, chosen by what the packet is: all nodes choose the same, so that their reports belong together.
    action watch(bit<8> mode, bit<2> npt, bit<16> instructions, bit<8> hops, bit<16> sample) {
        bit<16> lot;
        hash(lot, HashAlgorithm.crc32, 16w0, { meta.src, meta.dst, hdr.udp.src_port, hdr.bth.dest_qp, hdr.bth.psn }, sample);
        meta.mode = lot == 0 ? mode : MODE_NONE;
        meta.npt = npt;
        meta.instructions = instructions;
        meta.hops = hops;
    }

    table watchlist {
        key = {
            meta.src: ternary;
            meta.dst: ternary;
            meta.dscp: ternary;
            hdr.bth.dest_qp: ternary;
        }
        actions = {
            watch;
            NoAction;
        }
        size = WATCHES;
        const default_action = NoAction();
    }

    apply {
        ingress_edge.apply();
        if (standard.parser_error != error.NoError) {
            meta.passed_by = PASSED_BROKEN;
        } else if (hdr.bth.isValid() && !hdr.int_header.isValid() && !hdr.hop_by_hop.isValid()) {
            // INT changes lengths under a UDP checksum: RoCEv2 sends 0, and only that can be restored
            if (hdr.udp.checksum == 0) {
                watchlist.apply();
            } else {
                meta.passed_by = PASSED_CHECKSUM;
            }
        }
        if (meta.at_edge == 1) {
            passed_by.count((bit<32>)meta.passed_by);
        }
    }
}

// In the egress: insert, if the packet still fits the link. The hop's own data comes by Transit, as at any other node.
control Source(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Grow() grow;
    Mark() mark;

    action insert_int(bit<4> type) {
        hdr.int_shim.setValid();
        hdr.int_shim.type = type;
        hdr.int_shim.npt = meta.npt;
        hdr.int_shim.reserved = 0;
        hdr.int_shim.length = INT_HEADER_WORDS;
        hdr.int_header.setValid();
        hdr.int_header.version = INT_VERSION;
        hdr.int_header.discard = 0;
        hdr.int_header.exceeded = 0;
        hdr.int_header.mtu = 0;
        hdr.int_header.reserved = 0;
        hdr.int_header.hop_words = 0;
        hdr.int_header.remaining = 0;
        hdr.int_header.instructions = meta.instructions;
        hdr.int_header.domain = 0;
        hdr.int_header.domain_instructions = 0;
        hdr.int_header.domain_flags = 0;
    }

    action insert_ioam() {
        hdr.hop_by_hop.setValid();
        hdr.hop_by_hop.next_header = PROTOCOL_UDP;
        hdr.hop_by_hop.length = (IOAM_HEADER_WORDS >> 1) - 1;
        hdr.hop_by_hop.padding = 0x0100;
        hdr.ioam.setValid();
        hdr.ioam.option = IOAM_OPTION;
        hdr.ioam.length = 10 + ((bit<8>)IOAM_TRACE_WORDS << 2);
        hdr.ioam.reserved = 0;
        hdr.ioam.type = IOAM_TYPE_PRE_ALLOCATED;
        hdr.ioam.namespace = IOAM_NAMESPACE;
        hdr.ioam.node_words = IOAM_NODE_WORDS;
        hdr.ioam.overflow = 0;
        hdr.ioam.flags = 0;
        hdr.ioam.remaining = IOAM_TRACE_WORDS;
        hdr.ioam.trace_type = IOAM_TRACE_TYPE;
        hdr.ioam.reserved2 = 0;
        hdr.ioam_room.setValid();
        hdr.ioam_room.zeros = 0;
        hdr.ioam_node.setValid();
        hdr.ipv6.next_header = PROTOCOL_HOP_BY_HOP;
        hdr.ipv6.payload_len = hdr.ipv6.payload_len + ((bit<16>)IOAM_HEADER_WORDS << 2);
    }

    apply {
        if ((meta.mode == MODE_MD || meta.mode == MODE_MX) && meta.length + INT_BYTES <= meta.mtu) {
            if (meta.mode == MODE_MD) {
                insert_int(INT_TYPE_MD);
                hdr.int_header.hop_words = meta.words;
                hdr.int_header.remaining = meta.hops;
            } else {
                insert_int(INT_TYPE_MX);
            }
            grow.apply(hdr, meta, INT_BYTES);
            if (meta.npt == INT_NPT_PORT) {
                hdr.int_shim.next = hdr.udp.dst_port;
                hdr.udp.dst_port = INT_PORT;
            } else {
                hdr.int_shim.next = 8w0 ++ meta.dscp ++ 2w0;
                mark.apply(hdr, INT_DSCP);
            }
        } else if (hdr.ipv6.isValid() && meta.mode == MODE_IOAM && meta.length + ((bit<16>)IOAM_HEADER_WORDS << 2) <= meta.mtu) {
            insert_ioam();
        }
    }
}
