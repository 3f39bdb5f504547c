/* The source role (INT v2.1 §5.2.1): which packets are watched, and the headers that start their telemetry. */

control Watch(inout headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t intrinsic) {
    Counter<bit<32>, bit<8>>(PASSED_REASONS, CounterType_t.PACKETS) passed_by;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) lottery4;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) lottery6;

    action from_host() {
        hdr.bridge.at_edge = 1;
    }

    table ingress_edge {
        key = {
            intrinsic.ingress_port: exact;
        }
        actions = {
            from_host;
            NoAction;
        }
        size = (int)PORTS;
        const default_action = NoAction();
    }

    // One in so many packets, the same ones at every node. Tofino masks: sample is a power of two, less one.
    action watch(bit<8> mode, bit<2> npt, bit<16> instructions, bit<8> hops, bit<16> sample) {
        meta.watched = 1;
        meta.lot = meta.lot & sample;
        hdr.bridge.mode = mode[3:0];
        hdr.bridge.npt = npt;
        hdr.bridge.instructions = instructions;
        hdr.bridge.hops = hops;
    }

    table watchlist4 {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.dscp: ternary;
            hdr.bth.dest_qp: ternary;
        }
        actions = {
            watch;
            NoAction;
        }
        size = (int)WATCHES;
        const default_action = NoAction();
    }

    table watchlist6 {
        key = {
            hdr.ipv6.src: ternary;
            hdr.ipv6.dst: ternary;
            hdr.ipv6.dscp: ternary;
            hdr.bth.dest_qp: ternary;
        }
        actions = {
            watch;
            NoAction;
        }
        size = (int)WATCHES;
        const default_action = NoAction();
    }

    apply {
        ingress_edge.apply();
        // INT changes lengths under a UDP checksum: RoCEv2 sends 0, and only that can be restored
        if (hdr.bth.isValid() && hdr.udp.checksum != 0) {
            meta.passed_by = PASSED_CHECKSUM;
        } else if (hdr.bth.isValid()) {
            if (hdr.ipv4.isValid()) {
                meta.lot = lottery4.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.udp.src_port, hdr.bth.dest_qp, hdr.bth.psn });
                watchlist4.apply();
            } else {
                meta.lot = lottery6.get({ hdr.ipv6.src, hdr.ipv6.dst, hdr.udp.src_port, hdr.bth.dest_qp, hdr.bth.psn });
                watchlist6.apply();
            }
        }
        if (hdr.bridge.at_edge == 1) {
            passed_by.count(meta.passed_by);
        }
        if (meta.lot != 0) {
            hdr.bridge.mode = (bit<4>)MODE_NONE;
        }
    }
}

control Source(inout headers_t hdr, inout egress_metadata_t meta) {
    action insert_int(bit<4> type, bit<2> npt) {
        hdr.int_shim.setValid();
        hdr.int_shim.type = type;
        hdr.int_shim.npt = npt;
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
        hdr.int_header.instructions = hdr.bridge.instructions;
        hdr.int_header.domain = 0;
        hdr.int_header.domain_instructions = 0;
        hdr.int_header.domain_flags = 0;
        hdr.udp.length = hdr.udp.length + INT_BYTES;
    }

    action lengthen4() {
        hdr.ipv4.total_len = hdr.ipv4.total_len + INT_BYTES;
    }

    action first_hop() {
        hdr.int_header.hop_words = meta.hop_words;
        hdr.int_header.remaining = hdr.bridge.hops;
    }

    action mark_by_port() {
        hdr.int_shim.next = hdr.udp.dst_port;
        hdr.udp.dst_port = INT_PORT;
    }

    action mark_by_dscp() {
        hdr.int_shim.next = 8w0 ++ hdr.ipv4.dscp ++ 2w0;
        hdr.ipv4.dscp = INT_DSCP;
    }

    action lengthen6() {
        hdr.ipv6.payload_len = hdr.ipv6.payload_len + INT_BYTES;
    }

    action length_with_int6() {
        meta.length = hdr.ipv6.payload_len + (40 + INT_BYTES);
    }

    action insert_ioam() {
        hdr.hop_by_hop.setValid();
        hdr.hop_by_hop.next_header = PROTOCOL_UDP;
        hdr.hop_by_hop.length = (TRACE_HEADER_WORDS >> 1) - 1;
        hdr.hop_by_hop.padding = 0x0100;
        hdr.ioam.setValid();
        hdr.ioam.option = IOAM_OPTION;
        hdr.ioam.length = 10 + ((bit<8>)TRACE_WORDS << 2);
        hdr.ioam.reserved = 0;
        hdr.ioam.type = IOAM_TYPE_PRE_ALLOCATED;
        hdr.ioam.namespace = IOAM_NAMESPACE;
        hdr.ioam.node_words = IOAM_NODE_WORDS;
        hdr.ioam.overflow = 0;
        hdr.ioam.flags = 0;
        hdr.ioam.remaining = TRACE_WORDS;
        hdr.ioam.trace_type = IOAM_TRACE_TYPE;
        hdr.ioam.reserved2 = 0;
        hdr.ipv6.next_header = PROTOCOL_HOP_BY_HOP;
        hdr.ipv6.payload_len = hdr.ipv6.payload_len + ((bit<16>)TRACE_HEADER_WORDS << 2);
    }

    action empty_trace() {
        hdr.trace.node2 = { 0, 0, 0, 0, 0, 0 };
        hdr.trace.node1 = { 0, 0, 0, 0, 0, 0 };
        hdr.trace.node0 = { 0, 0, 0, 0, 0, 0 };
    }

    action length_with_trace() {
        meta.length = hdr.ipv6.payload_len + (40 + ((bit<16>)TRACE_HEADER_WORDS << 2));
    }

    // A step each: an action of Tofino does nothing to what it has just made.
    action length_with_int4() {
        meta.length = hdr.ipv4.total_len + INT_BYTES;
    }

    action leave_room() {
        meta.room = meta.limit |-| meta.length;
    }

    apply {
        // Tofino compares with constants only: what is left of the link says whether the headers fit
        if (IOAM && hdr.bth.isValid() && hdr.bridge.mode == (bit<4>)MODE_IOAM) {
            if (hdr.ipv6.isValid()) {
                length_with_trace();
                leave_room();
                if (meta.room != 0) {
                    insert_ioam();
                    empty_trace();
                }
            }
        } else if (hdr.bth.isValid()) {
            if (hdr.ipv6.isValid()) {
                length_with_int6();
            } else {
                length_with_int4();
            }
            leave_room();
            if (meta.room != 0 && (hdr.ipv4.isValid() || hdr.bridge.npt == INT_NPT_PORT)) {
                if (hdr.bridge.mode == (bit<4>)MODE_MD) {
                    if (hdr.bridge.npt == INT_NPT_PORT) {
                        insert_int(INT_TYPE_MD, INT_NPT_PORT);
                    } else {
                        insert_int(INT_TYPE_MD, INT_NPT_DSCP);
                    }
                    first_hop();
                } else if (hdr.bridge.mode == (bit<4>)MODE_MX) {
                    if (hdr.bridge.npt == INT_NPT_PORT) {
                        insert_int(INT_TYPE_MX, INT_NPT_PORT);
                    } else {
                        insert_int(INT_TYPE_MX, INT_NPT_DSCP);
                    }
                }
                if (hdr.int_shim.isValid()) {
                    if (hdr.bridge.npt == INT_NPT_PORT) {
                        mark_by_port();
                    } else {
                        mark_by_dscp();
                    }
                    if (hdr.ipv6.isValid()) {
                        lengthen6();
                    } else {
                        lengthen4();
                    }
                }
            }
        }
    }
}
