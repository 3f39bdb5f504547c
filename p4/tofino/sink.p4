/* The sink role (INT v2.1 §5.2.3): takes the telemetry out, so that the host gets what was sent, to the last bit of its ICRC. The stack is
 * gone already: the ingress parser walked over it. The monitor gets it in the copy that the ingress made. */

control Sink(inout headers_t hdr, inout egress_metadata_t meta) {
    action restore_port() {
        hdr.udp.dst_port = hdr.int_shim.next;
    }

    action restore_dscp() {
        hdr.ipv4.dscp = hdr.int_shim.next[7:2];
    }

    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) widened; // what Tofino has to move a byte into a field of two

    action take_bytes() {
        meta.bytes = widened.get({ 6w0, hdr.int_shim.length, 2w0 });
    }

    action count_shim() {
        meta.bytes = meta.bytes + 4;
    }

    action shorten() {
        hdr.udp.length = hdr.udp.length - meta.bytes;
        hdr.int_shim.setInvalid();
        hdr.int_header.setInvalid();
    }

    action shorten4() {
        hdr.ipv4.total_len = hdr.ipv4.total_len - meta.bytes;
    }

    action shorten6() {
        hdr.ipv6.payload_len = hdr.ipv6.payload_len - meta.bytes;
    }

    action take_out_trace() {
        hdr.ipv6.next_header = hdr.hop_by_hop.next_header;
        hdr.ipv6.payload_len = hdr.ipv6.payload_len - ((bit<16>)TRACE_HEADER_WORDS << 2);
        hdr.hop_by_hop.setInvalid();
        hdr.ioam.setInvalid();
        hdr.trace.node2.setInvalid();
        hdr.trace.node1.setInvalid();
        hdr.trace.node0.setInvalid();
    }

    apply {
        if (hdr.int_header.isValid()) {
            if (hdr.int_shim.npt == INT_NPT_PORT) {
                restore_port();
            } else {
                restore_dscp();
            }
            take_bytes();
            count_shim();
            meta.mirror.instructions = hdr.int_header.instructions;
            meta.mirror.flags = meta.mirror.flags | FLAG_FLOW;
            shorten();
            if (hdr.ipv6.isValid()) {
                shorten6();
            } else {
                shorten4();
            }
        } else if (IOAM && hdr.trace.node0.isValid()) {
            meta.mirror.instructions = REPORT_BITS;
            meta.mirror.flags = meta.mirror.flags | FLAG_FLOW;
            take_out_trace();
        }
    }
}
