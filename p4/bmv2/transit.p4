/* The transit role (INT v2.1 §5.2.2): what this node measures of a packet, and its entry in the packet. */

// What this node knows of the packet: times in µs since the switch started, depth in packets when this one left the queue.
control Measure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<48>>(PORTS) window_number;
    register<bit<32>>(PORTS) window_bytes;
    register<bit<32>>(PORTS) last_window_bytes;

    apply {
        meta.ingress_port = (bit<16>)standard.ingress_port;
        meta.egress_port = (bit<16>)standard.egress_port;
        meta.ingress_time = 16w0 ++ standard.ingress_global_timestamp;
        meta.egress_time = 16w0 ++ standard.egress_global_timestamp;
        meta.latency = (bit<32>)(standard.egress_global_timestamp - standard.ingress_global_timestamp);
        meta.depth = 5w0 ++ standard.deq_qdepth;

        // tx utilisation: the bytes that left the port in the last whole window (INT v2.1 §4 leaves the unit to the device)
        bit<32> port = (bit<32>)standard.egress_port;
        bit<48> now = standard.egress_global_timestamp >> UTILISATION_SHIFT;
        bit<48> window;
        bit<32> bytes;
        bit<32> last;
        @atomic {
            window_number.read(window, port);
            window_bytes.read(bytes, port);
            last_window_bytes.read(last, port);
            if (now != window) {
                last = now == window + 1 ? bytes : 0;
                bytes = 0;
                window_number.write(port, now);
                last_window_bytes.write(port, last);
            }
            window_bytes.write(port, bytes + standard.packet_length);
        }
        meta.utilisation = last;
    }
}

// Adds this hop to what the packet carries.
control Transit(inout headers_t hdr, inout metadata_t meta) {
    Grow() grow;

    apply {
        if (hdr.int_header.isValid() && hdr.int_shim.type == INT_TYPE_MD) {
            bit<16> wanted = hdr.int_header.instructions;
            bit<16> bytes = (bit<16>)meta.words << 2;
            if (wanted & INT_UNSUPPORTED != 0 || hdr.int_header.hop_words != meta.words) {
                // instructions or a domain that this node does not know: it inserts nothing (INT v2.1 §5.8)
            } else if (hdr.int_header.remaining == 0) {
                hdr.int_header.exceeded = 1; // E (INT v2.1 §5.8)
            } else if (meta.length + bytes > meta.mtu || hdr.int_shim.length > 255 - (bit<8>)meta.words) {
                hdr.int_header.mtu = 1; // M (INT v2.1 §5.8)
            } else {
                if (wanted[15:15] == 1) {
                    hdr.int_node.setValid();
                    hdr.int_node.id = meta.node_id;
                }
                if (wanted[14:14] == 1) {
                    hdr.int_ports.setValid();
                    hdr.int_ports.ingress = meta.ingress_port;
                    hdr.int_ports.egress = meta.egress_port;
                }
                if (wanted[13:13] == 1) {
                    hdr.int_latency.setValid();
                    hdr.int_latency.value = meta.latency;
                }
                if (wanted[12:12] == 1) {
                    hdr.int_queue.setValid();
                    hdr.int_queue.id = 0; // v1model has one queue a port
                    hdr.int_queue.depth = meta.depth;
                }
                if (wanted[11:11] == 1) {
                    hdr.int_ingress_time.setValid();
                    hdr.int_ingress_time.value = meta.ingress_time;
                }
                if (wanted[10:10] == 1) {
                    hdr.int_egress_time.setValid();
                    hdr.int_egress_time.value = meta.egress_time;
                }
                // all ones: not available (INT v2.1 §5.8)
                if (wanted[9:9] == 1) {
                    hdr.int_level2.setValid();
                    hdr.int_level2.ports = 0xFFFFFFFFFFFFFFFF;
                }
                if (wanted[8:8] == 1) {
                    hdr.int_utilisation.setValid();
                    hdr.int_utilisation.value = meta.utilisation;
                }
                if (wanted[7:7] == 1) {
                    hdr.int_buffer.setValid();
                    hdr.int_buffer.value = 0xFFFFFFFF;
                }
                hdr.int_shim.length = hdr.int_shim.length + (bit<8>)meta.words;
                hdr.int_header.remaining = hdr.int_header.remaining - 1;
                grow.apply(hdr, meta, bytes);
            }
        } else if (hdr.ioam.isValid()) {
            if (hdr.ioam_node.isValid()) {
                hdr.ioam_node.hop_limit = hdr.ipv6.hop_limit;
                hdr.ioam_node.id = (bit<24>)meta.node_id;
                hdr.ioam_node.ingress = meta.ingress_port;
                hdr.ioam_node.egress = meta.egress_port;
                hdr.ioam_node.delay = (meta.latency * 1000) & 0x7FFFFFFF; // ns (RFC 9197 §4.4.2.5)
                hdr.ioam_node.depth = 8w0 ++ meta.depth;
                hdr.ioam.remaining = hdr.ioam.remaining - (bit<7>)IOAM_NODE_WORDS;
            } else {
                hdr.ioam.overflow = 1; // RFC 9197 §4.4.1
            }
        }
    }
}
