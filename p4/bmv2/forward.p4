/* Routing by destination, with equal-cost groups by hash. A packet that is dropped here says why. */

control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop(bit<8> reason) {
        meta.dropped = 1;
        meta.drop_reason = reason;
    }

    action to_port(bit<9> port, bit<48> src_mac, bit<48> dst_mac) {
        standard.egress_spec = port;
        hdr.ethernet.src_mac = src_mac;
        hdr.ethernet.dst_mac = dst_mac;
    }

    action to_group(bit<16> group, bit<16> members) {
        meta.ecmp_group = group;
        // the node id in the hash keeps the tiers of a fabric from choosing alike
        hash(meta.ecmp_index, HashAlgorithm.crc32, 16w0,
            { meta.node_id, meta.src, meta.dst, hdr.udp.src_port, meta.udp_port }, members);
    }

    table route {
        key = {
            meta.dst: lpm;
        }
        actions = {
            to_port;
            to_group;
            drop;
        }
        size = ROUTES;
        const default_action = drop(DROP_ROUTE_MISS);
    }

    table ecmp {
        key = {
            meta.ecmp_group: exact;
            meta.ecmp_index: exact;
        }
        actions = {
            to_port;
            drop;
        }
        size = ECMP_MEMBERS;
        const default_action = drop(DROP_ROUTE_MISS);
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl <= 1 || hdr.ipv6.isValid() && hdr.ipv6.hop_limit <= 1) {
            drop(DROP_TTL_ZERO);
        } else {
            route.apply();
            if (meta.ecmp_group != 0) {
                ecmp.apply();
            }
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                if (hdr.ipv4.ihl != IPV4_WORDS) {
                    // Options are not taken up, and the checksum cannot be made anew: it is brought along (RFC 1624 §3).
                    hdr.ipv4.checksum = hdr.ipv4.checksum + (hdr.ipv4.checksum < 0xFEFF ? 16w0x0100 : 16w0x0101);
                }
            } else if (hdr.ipv6.isValid()) {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
        }
    }
}
