/* What the monitor gets: telemetry reports v2.0, or mirrored packets in ERSPAN, and for which packets. */

// Which packets are worth a report. Steady flows stay quiet: a change is one of the quantised latency (report v2.0 §2).
control Decide(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<1>>(PORTS) above_threshold;
    register<bit<32>>(TRACKED_FLOWS) last_latency;

    action is_above(out bit<1> above) {
        above = meta.queue_threshold != 0 && meta.depth >= meta.queue_threshold ? 1w1 : 1w0;
    }

    apply {
        // Q: the depth has crossed the threshold of the port, in either direction
        bit<32> port = (bit<32>)standard.egress_port;
        bit<1> before;
        bit<1> above;
        is_above(above);
        @atomic {
            above_threshold.read(before, port);
            above_threshold.write(port, above);
        }
        meta.queue = before ^ above;

        // F: INT-MX and INT-XD report from every node (INT v2.1 §3.1, §5.9)
        bit<1> wanted = 0;
        if (hdr.int_header.isValid()) {
            meta.instructions = hdr.int_header.instructions;
            meta.intermediate = hdr.int_shim.type == INT_TYPE_MD && meta.to_host == 0 ? 1w1 : 1w0;
            wanted = hdr.int_shim.type == INT_TYPE_MX ? 1w1 : 1w0;
        } else if (meta.mode == MODE_XD) {
            wanted = 1;
        } else if (hdr.ioam.isValid()) {
            meta.instructions = REPORT_BITS & ~REPORT_BIT_LATENCY; // the trace has it, in nanoseconds
        } else {
            meta.instructions = REPORT_BITS;
        }
        if (wanted == 1 && meta.quiet == 1) {
            bit<32> flow;
            hash(flow, HashAlgorithm.crc32, 32w0, { meta.src, meta.dst, hdr.udp.src_port, hdr.bth.dest_qp }, TRACKED_FLOWS);
            bit<32> now = (meta.latency >> meta.latency_shift) + 1; // 0 is a flow never seen
            bit<32> last;
            @atomic {
                last_latency.read(last, flow);
                last_latency.write(flow, now);
            }
            wanted = now != last ? 1w1 : 1w0;
        }
        meta.flow = wanted;
    }
}

// Puts the copy that goes to the monitor into its clothes.
control Report(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard,
               in bit<48> src_mac, in bit<48> dst_mac, in bit<32> src, in bit<32> dst, in bit<16> snap) {
    register<bit<32>>(FORMATS) sequence; // of each format: whoever misses a number knows what was lost

    action outer(bit<8> protocol, bit<16> total_len) {
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.src_mac = src_mac;
        hdr.outer_ethernet.dst_mac = dst_mac;
        hdr.outer_ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.dscp = 0;
        hdr.outer_ipv4.ecn = 0;
        hdr.outer_ipv4.total_len = total_len;
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.fragment = 0;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = protocol;
        hdr.outer_ipv4.src = src;
        hdr.outer_ipv4.dst = dst;
        truncate((bit<32>)total_len + 14);
    }

    action erspan(bit<32> number, bit<1> cut) {
        hdr.gre.setValid();
        hdr.gre.flags = GRE_SEQUENCE_PRESENT;
        hdr.gre.protocol = GRE_ERSPAN_2;
        hdr.gre.sequence = number;
        hdr.erspan.setValid();
        hdr.erspan.version = ERSPAN_VERSION_2;
        hdr.erspan.vlan = 0;
        hdr.erspan.cos = 0;
        hdr.erspan.encapsulation = 0;
        hdr.erspan.truncated = cut;
        hdr.erspan.session = ERSPAN_SESSION;
        hdr.erspan.reserved = 0;
        hdr.erspan.index = (bit<20>)meta.egress_port;
    }

    action report(bit<32> number, bit<16> bits, bit<16> udp_length) {
        hdr.outer_udp.setValid();
        hdr.outer_udp.src_port = REPORT_PORT;
        hdr.outer_udp.dst_port = REPORT_PORT;
        hdr.outer_udp.length = udp_length;
        hdr.outer_udp.checksum = 0;
        hdr.report_group.setValid();
        hdr.report_group.version = REPORT_VERSION;
        hdr.report_group.hardware = 0;
        hdr.report_group.sequence = (bit<22>)number;
        hdr.report_group.node = meta.node_id;
        hdr.report.setValid();
        hdr.report.type = REPORT_TYPE_INT;
        hdr.report.inner = REPORT_INNER_ETHERNET;
        hdr.report.length = REPORT_TO_THE_END;
        hdr.report.dropped = meta.dropped;
        hdr.report.queue = meta.queue;
        hdr.report.flow = meta.flow;
        hdr.report.intermediate = meta.intermediate;
        hdr.report.reserved = 0;
        hdr.report_main.setValid();
        hdr.report_main.bits = bits;
        hdr.report_main.domain = 0;
        hdr.report_main.domain_bits = 0;
        hdr.report_main.domain_status = 0;
    }

    apply {
        bit<32> number;
        @atomic {
            sequence.read(number, (bit<32>)standard.egress_rid);
            sequence.write((bit<32>)standard.egress_rid, number + 1);
        }
        bit<16> frame = 14;
        if (hdr.ipv4.isValid()) {
            frame = 14 + hdr.ipv4.total_len;
        } else {
            frame = 54 + hdr.ipv6.payload_len;
        }
        bit<16> inner = frame > snap ? snap : frame;

        if (standard.egress_rid == FORMAT_ERSPAN) {
            outer(PROTOCOL_GRE, 36 + inner);
            erspan(number, inner < frame ? 1w1 : 1w0);
        } else if (standard.egress_rid == FORMAT_REPORT) {
            bit<16> bits = meta.instructions & REPORT_BITS;
            if (meta.dropped == 1) {
                // a packet that never left: where it came in, when, and why it went no further
                bits = (bits & 0x4800) | REPORT_BIT_DROP;
            }
            bit<8> words = 0;
            if (bits[14:14] == 1) {
                hdr.report_ports.setValid();
                hdr.report_ports.ingress = meta.ingress_port;
                hdr.report_ports.egress = meta.egress_port;
                words = words + 1;
            }
            if (bits[13:13] == 1) {
                hdr.report_latency.setValid();
                hdr.report_latency.value = meta.latency;
                words = words + 1;
            }
            if (bits[12:12] == 1) {
                hdr.report_queue.setValid();
                hdr.report_queue.id = 0;
                hdr.report_queue.depth = meta.depth;
                words = words + 1;
            }
            if (bits[11:11] == 1) {
                hdr.report_ingress_time.setValid();
                hdr.report_ingress_time.value = meta.ingress_time;
                words = words + 2;
            }
            if (bits[10:10] == 1) {
                hdr.report_egress_time.setValid();
                hdr.report_egress_time.value = meta.egress_time;
                words = words + 2;
            }
            if (bits[8:8] == 1) {
                hdr.report_utilisation.setValid();
                hdr.report_utilisation.value = meta.utilisation;
                words = words + 1;
            }
            if (bits[0:0] == 1) {
                hdr.report_drop.setValid();
                hdr.report_drop.queue = 0;
                hdr.report_drop.reason = meta.drop_reason;
                hdr.report_drop.padding = 0;
                words = words + 1;
            }
            // UDP, group, report, fixed part, metadata, and what is kept of the packet
            bit<16> udp_length = 28 + ((bit<16>)words << 2) + inner;
            report(number, bits, udp_length);
            hdr.report.metadata_words = words;
            outer(PROTOCOL_UDP, 20 + udp_length);
        }
    }
}
