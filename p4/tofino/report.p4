/* What the monitor gets: telemetry reports v2.0, or mirrored packets in ERSPAN, and for which packets. */

// Which packets are worth a report. Steady flows stay quiet: a change is one of the quantised latency (report v2.0 §2).
control Decide(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic) {
    Register<bit<8>, bit<16>>(PORTS, 0) above_threshold;
    Register<bit<32>, bit<14>>(TRACKED_FLOWS, 0) last_latency; // by the hash that the ingress made of the flow

    RegisterAction<bit<8>, bit<16>, bit<1>>(above_threshold) cross = {
        void apply(inout bit<8> value, out bit<1> crossed) {
            if (value == meta.above) {
                crossed = 0;
            } else {
                crossed = 1;
            }
            value = meta.above;
        }
    };

    RegisterAction<bit<32>, bit<14>, bit<1>>(last_latency) compare = {
        void apply(inout bit<32> value, out bit<1> changed) {
            if (value == meta.quantum) {
                changed = 0;
            } else {
                changed = 1;
            }
            value = meta.quantum;
        }
    };

    action is_above() {
        meta.above = 1;
    }

    table queue_threshold {
        key = {
            intrinsic.egress_port: exact;
            intrinsic.deq_qdepth: range;
        }
        actions = {
            is_above;
            NoAction;
        }
        size = (int)PORTS;
        const default_action = NoAction();
    }

    action flag(bit<8> bit_of_it) {
        meta.mirror.flags = meta.mirror.flags | bit_of_it;
    }

    action quantise() {
        meta.quantum = meta.mirror.latency & meta.latency_mask;
    }

    // the lowest bit tells a latency of zero from a flow never seen
    action tell_from_never() {
        meta.quantum = meta.quantum | 1;
    }

    apply {
        quantise();
        tell_from_never();

        // Q: the depth has crossed the threshold of the port, in either direction
        queue_threshold.apply();
        meta.crossed = cross.execute(7w0 ++ intrinsic.egress_port);
        if (meta.crossed == 1) {
            flag(FLAG_QUEUE);
        }

        // F: INT-MX and INT-XD report from every node (INT v2.1 §3.1, §5.9)
        if (hdr.int_header.isValid()) {
            meta.mirror.instructions = hdr.int_header.instructions;
            if (hdr.int_shim.type == INT_TYPE_MX) {
                meta.wanted = 1;
            } else if (hdr.bridge.to_host == 0) {
                flag(FLAG_INTERMEDIATE);
            }
        } else if (hdr.bridge.mode == (bit<4>)MODE_XD) {
            meta.wanted = 1;
        } else {
            meta.mirror.instructions = REPORT_BITS;
        }
        if (meta.wanted == 1) {
            meta.changed = compare.execute(hdr.bridge.flow[13:0]);
            if (meta.quiet == 0 || meta.changed == 1) {
                flag(FLAG_FLOW);
            }
        }
    }
}

// Puts the copy that goes to the monitor into its clothes.
control Report(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
               in bit<48> src_mac, in bit<48> dst_mac, in bit<32> src, in bit<32> dst) {
    Register<bit<32>, bit<2>>(FORMATS, 0) sequence; // of each format: whoever misses a number knows what was lost

    RegisterAction<bit<32>, bit<2>, bit<32>>(sequence) count = {
        void apply(inout bit<32> value, out bit<32> number) {
            number = value;
            value = value + 1;
        }
    };

    action outer(bit<8> protocol) {
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.src_mac = src_mac;
        hdr.outer_ethernet.dst_mac = dst_mac;
        hdr.outer_ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.dscp = 0;
        hdr.outer_ipv4.ecn = 0;
        hdr.outer_ipv4.total_len = meta.total_len;
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.fragment = 0;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = protocol;
        hdr.outer_ipv4.checksum = 0;
        hdr.outer_ipv4.src = src;
        hdr.outer_ipv4.dst = dst;
    }

    action count_around() {
        meta.length = meta.length + meta.around;
    }

    action leave_room() {
        meta.room = meta.snap |-| meta.length;
    }

    action cut() {
        meta.length = meta.snap;
    }

    action lengthen(bit<16> total, bit<16> udp) {
        meta.total_len = meta.length + total;
        meta.udp_length = meta.length + udp;
    }

    action erspan() {
        hdr.gre.setValid();
        hdr.gre.flags = GRE_SEQUENCE_PRESENT;
        hdr.gre.protocol = GRE_ERSPAN_2;
        hdr.gre.sequence = meta.number;
        hdr.erspan.setValid();
        hdr.erspan.version = ERSPAN_VERSION_2;
        hdr.erspan.vlan = 0;
        hdr.erspan.cos = 0;
        hdr.erspan.encapsulation = 0;
        hdr.erspan.truncated = 0;
        hdr.erspan.session = ERSPAN_SESSION;
        hdr.erspan.reserved = 0;
        hdr.erspan.index = 4w0 ++ meta.mirror.egress_port;
    }

    // All that a report can say here, whatever was asked for: one layout, one length.
    action report() {
        hdr.outer_udp.setValid();
        hdr.outer_udp.src_port = REPORT_PORT;
        hdr.outer_udp.dst_port = REPORT_PORT;
        hdr.outer_udp.length = meta.udp_length;
        hdr.outer_udp.checksum = 0;
        hdr.report_group.setValid();
        hdr.report_group.version = REPORT_VERSION;
        hdr.report_group.hardware = 0;
        hdr.report_group.sequence = meta.number[21:0];
        hdr.report_group.node = meta.node_id;
        hdr.report.setValid();
        hdr.report.type = REPORT_TYPE_INT;
        hdr.report.inner = REPORT_INNER_ETHERNET;
        hdr.report.length = REPORT_TO_THE_END;
        hdr.report.dropped = meta.mirror.flags[7:7];
        hdr.report.queue = meta.mirror.flags[6:6];
        hdr.report.flow = meta.mirror.flags[5:5];
        hdr.report.intermediate = meta.mirror.flags[4:4];
        hdr.report.reserved = 0;
        hdr.report_main.setValid();
        hdr.report_main.domain = 0;
        hdr.report_main.domain_bits = 0;
        hdr.report_main.domain_status = 0;
        hdr.report_ports.setValid();
        hdr.report_ports.ingress = meta.mirror.ingress_port;
        hdr.report_ports.egress = meta.mirror.egress_port;
        hdr.report_ingress_time.setValid();
        hdr.report_ingress_time.value = 16w0 ++ meta.mirror.ingress_time_high ++ meta.mirror.ingress_time;
    }

    action passed() {
        hdr.report.metadata_words = 7;
        hdr.report_main.bits = REPORT_BITS & 0xFE00; // without tx utilisation
        hdr.report_latency.setValid();
        hdr.report_latency.value = meta.mirror.latency;
        hdr.report_queue.setValid();
        hdr.report_queue.id = meta.mirror.queue_id;
        hdr.report_queue.depth = meta.mirror.depth[23:0];
        hdr.report_egress_time.setValid();
        hdr.report_egress_time.value = 16w0 ++ meta.mirror.egress_time_high ++ meta.mirror.egress_time;
    }

    action stayed() {
        hdr.report.metadata_words = 4;
        hdr.report_main.bits = 0x4800 | REPORT_BIT_DROP;
        hdr.report_drop.setValid();
        hdr.report_drop.queue = 0;
        hdr.report_drop.reason = meta.mirror.drop_reason;
        hdr.report_drop.padding = 0;
    }

    // A sink's ingress knows neither queue nor departure: its copy brings what the packet carries.
    action arrived() {
        hdr.report.metadata_words = 3;
        hdr.report_main.bits = 0x4800;
    }

    apply {
        meta.number = count.execute(intrinsic.egress_rid[1:0]);
        // the mirror session has cut the copy to `snap` bytes; a shorter packet says so itself
        count_around();
        leave_room();
        if (meta.room == 0) {
            cut();
        }
        if (intrinsic.egress_rid == FORMAT_ERSPAN) {
            lengthen(36, 0);
            outer(PROTOCOL_GRE);
            erspan();
        } else if (meta.mirror.flags & FLAG_DROPPED != 0) {
            lengthen(64, 44);
            outer(PROTOCOL_UDP);
            report();
            stayed();
        } else if (meta.mirror.kind == MIRRORED_IN_INGRESS) {
            lengthen(60, 40);
            outer(PROTOCOL_UDP);
            report();
            arrived();
        } else {
            lengthen(76, 56);
            outer(PROTOCOL_UDP);
            report();
            passed();
        }
    }
}
