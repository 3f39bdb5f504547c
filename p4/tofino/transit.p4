/* The transit role (INT v2.1 §5.2.2): what this node measures of a packet, and its entry in the packet. */

// Times in ns; depth in cells of 80 bytes when this packet left the queue.
control Measure(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
                in egress_intrinsic_metadata_from_parser_t from_parser) {
    action measure() {
        meta.mirror.kind = MIRRORED_IN_EGRESS;
        meta.mirror.ingress_time_high = hdr.bridge.ingress_time_high;
        meta.mirror.ingress_time = hdr.bridge.ingress_time;
        meta.mirror.egress_time_high = from_parser.global_tstamp[47:32];
        meta.mirror.egress_time = from_parser.global_tstamp[31:0];
        meta.mirror.latency = from_parser.global_tstamp[31:0] - hdr.bridge.ingress_time;
        meta.mirror.ingress_port = hdr.bridge.ingress_port;
        meta.mirror.egress_port = 7w0 ++ intrinsic.egress_port;
        meta.mirror.depth = 13w0 ++ intrinsic.deq_qdepth;
        meta.mirror.queue_id = (bit<8>)intrinsic.egress_qid;
        meta.mirror.instructions = hdr.bridge.instructions;
        meta.mirror.drop_reason = 0;
        meta.mirror.flags = 0;
    }

    apply {
        measure();
    }
}

control Transit(inout headers_t hdr, inout egress_metadata_t meta) {
    action grow() {
        hdr.int_shim.length = hdr.int_shim.length + meta.words;
        hdr.int_header.remaining = hdr.int_header.remaining - 1;
        hdr.udp.length = hdr.udp.length + meta.bytes;
    }

    action lengthen4() {
        hdr.ipv4.total_len = hdr.ipv4.total_len + meta.bytes;
    }

    action length_with_hop4() {
        meta.length = hdr.ipv4.total_len + meta.bytes;
    }

    action leave_room() {
        meta.room = meta.limit |-| meta.length;
    }

    action lengthen6() {
        hdr.ipv6.payload_len = hdr.ipv6.payload_len + meta.bytes;
    }

    action length_with_hop6() {
        meta.length = hdr.ipv6.payload_len + meta.bytes;
        meta.limit = meta.limit |-| 40; // of the IPv6 header, which its length does not count (RFC 8200 §3)
    }

    // What is left is given: Tofino does not count in seven bits of a byte.
    action write(inout ioam_node_t node, bit<7> left) {
        hdr.ioam.remaining = left;
        node.setValid();
        node.hop_limit = hdr.ipv6.hop_limit;
        node.id = meta.node_id[23:0];
        node.ingress = meta.mirror.ingress_port;
        node.egress = meta.mirror.egress_port;
        node.delay = meta.mirror.latency & 0x7FFFFFFF;
        node.depth = meta.mirror.depth;
    }

    apply {
        if (hdr.int_header.isValid() && hdr.int_shim.type == INT_TYPE_MD) {
            if (hdr.ipv6.isValid()) {
                length_with_hop6();
            } else {
                length_with_hop4();
            }
            leave_room();
            if (meta.words == 0 || hdr.int_header.hop_words != meta.hop_words) {
                // instructions or a domain that this node does not know: it inserts nothing (INT v2.1 §5.8)
            } else if (hdr.int_header.remaining == 0) {
                hdr.int_header.exceeded = 1; // E (INT v2.1 §5.8)
            } else if (meta.room == 0) {
                hdr.int_header.mtu = 1; // M (INT v2.1 §5.8)
            } else {
                if (hdr.int_header.instructions[15:15] == 1) {
                    hdr.int_node.setValid();
                    hdr.int_node.id = meta.node_id;
                }
                if (hdr.int_header.instructions[14:14] == 1) {
                    hdr.int_ports.setValid();
                    hdr.int_ports.ingress = meta.mirror.ingress_port;
                    hdr.int_ports.egress = meta.mirror.egress_port;
                }
                if (hdr.int_header.instructions[13:13] == 1) {
                    hdr.int_latency.setValid();
                    hdr.int_latency.value = meta.mirror.latency;
                }
                if (hdr.int_header.instructions[12:12] == 1) {
                    hdr.int_queue.setValid();
                    hdr.int_queue.id = meta.mirror.queue_id;
                    hdr.int_queue.depth = meta.mirror.depth[23:0];
                }
                if (hdr.int_header.instructions[11:11] == 1) {
                    hdr.int_ingress_time.setValid();
                    hdr.int_ingress_time.value = 16w0 ++ meta.mirror.ingress_time_high ++ meta.mirror.ingress_time;
                }
                if (hdr.int_header.instructions[10:10] == 1) {
                    hdr.int_egress_time.setValid();
                    hdr.int_egress_time.value = 16w0 ++ meta.mirror.egress_time_high ++ meta.mirror.egress_time;
                }
                // all ones: not available (INT v2.1 §5.8)
                if (hdr.int_header.instructions[9:9] == 1) {
                    hdr.int_level2.setValid();
                    hdr.int_level2.ports = 0xFFFFFFFFFFFFFFFF;
                }
                if (hdr.int_header.instructions[8:8] == 1) {
                    hdr.int_utilisation.setValid();
                    hdr.int_utilisation.value = 0xFFFFFFFF;
                }
                if (hdr.int_header.instructions[7:7] == 1) {
                    hdr.int_buffer.setValid();
                    hdr.int_buffer.value = 0xFFFFFFFF;
                }
                grow();
                if (hdr.ipv6.isValid()) {
                    lengthen6();
                } else {
                    lengthen4();
                }
            }
        } else if (IOAM && hdr.trace.node0.isValid()) {
            // RFC 9197 §4.4.2: a node writes right before those that were before it
            if (hdr.ioam.remaining == 12) {
                write(hdr.trace.node0, 8);
            } else if (hdr.ioam.remaining == 8) {
                write(hdr.trace.node1, 4);
            } else if (hdr.ioam.remaining == 4) {
                write(hdr.trace.node2, 0);
            } else {
                hdr.ioam.overflow = 1; // RFC 9197 §4.4.1
            }
        }
    }
}
