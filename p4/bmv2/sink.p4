/* The sink role (INT v2.1 §5.2.3): takes the telemetry out, so that the host gets what was sent, to the last bit of its ICRC. */

control Sink(inout headers_t hdr, inout metadata_t meta) {
    Grow() grow;
    Mark() mark;

    apply {
        if (hdr.int_header.isValid()) {
            bit<16> bytes = ((bit<16>)hdr.int_shim.length + 1) << 2;
            hdr.kept_shim = hdr.int_shim;
            hdr.kept_header = hdr.int_header;
            hdr.kept_stack = hdr.int_stack;
            if (hdr.int_shim.npt == INT_NPT_PORT) {
                hdr.udp.dst_port = hdr.int_shim.next;
            } else {
                mark.apply(hdr, hdr.int_shim.next[7:2]);
            }
            grow.apply(hdr, meta, -bytes);
            hdr.int_shim.setInvalid();
            hdr.int_header.setInvalid();
            hdr.int_stack.setInvalid();
            meta.instructions = hdr.kept_header.instructions;
            meta.flow = 1;
        } else if (hdr.ioam.isValid()) {
            hdr.kept_hop_by_hop = hdr.hop_by_hop;
            hdr.kept_ioam = hdr.ioam;
            hdr.kept_room = hdr.ioam_room;
            hdr.kept_free = hdr.ioam_free;
            hdr.kept_node = hdr.ioam_node;
            hdr.kept_nodes = hdr.ioam_nodes;
            hdr.ipv6.next_header = hdr.hop_by_hop.next_header;
            hdr.ipv6.payload_len = hdr.ipv6.payload_len - (((bit<16>)hdr.hop_by_hop.length + 1) << 3);
            hdr.hop_by_hop.setInvalid();
            hdr.ioam.setInvalid();
            hdr.ioam_room.setInvalid();
            hdr.ioam_free.setInvalid();
            hdr.ioam_node.setInvalid();
            hdr.ioam_nodes.setInvalid();
            meta.instructions = 0; // the copy gets this hop as the last node of its trace
            meta.flow = 1;
        }
    }
}

// The same in the copy for the monitor: puts back what was taken out.
control Restore(inout headers_t hdr, inout metadata_t meta) {
    Grow() grow;
    Mark() mark;

    apply {
        if (hdr.kept_shim.isValid()) {
            bit<16> bytes = ((bit<16>)hdr.kept_shim.length + 1) << 2;
            hdr.int_shim = hdr.kept_shim;
            hdr.int_header = hdr.kept_header;
            hdr.int_stack = hdr.kept_stack;
            if (hdr.int_shim.npt == INT_NPT_PORT) {
                hdr.udp.dst_port = INT_PORT;
            } else {
                mark.apply(hdr, INT_DSCP);
            }
            grow.apply(hdr, meta, bytes);
        } else if (hdr.kept_ioam.isValid()) {
            hdr.hop_by_hop = hdr.kept_hop_by_hop;
            hdr.ioam = hdr.kept_ioam;
            hdr.ioam_room = hdr.kept_room;
            hdr.ioam_free = hdr.kept_free;
            hdr.ioam_node = hdr.kept_node;
            hdr.ioam_nodes = hdr.kept_nodes;
            hdr.ipv6.next_header = PROTOCOL_HOP_BY_HOP;
            hdr.ipv6.payload_len = hdr.ipv6.payload_len + (((bit<16>)hdr.hop_by_hop.length + 1) << 3);
        }
        hdr.kept_shim.setInvalid();
        hdr.kept_ioam.setInvalid();
    }
}
