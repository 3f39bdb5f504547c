/* Routing by destination, with equal-cost groups by hash. A packet that is dropped here says why. */

control Forward(inout headers_t hdr, inout ingress_metadata_t meta, inout ingress_intrinsic_metadata_for_tm_t tm) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash4;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash6;

    action drop(bit<8> reason) {
        meta.dropped = 1;
        meta.mirror.drop_reason = reason;
    }

    action to_port(bit<9> port, bit<48> src_mac, bit<48> dst_mac) {
        tm.ucast_egress_port = port;
        hdr.ethernet.src_mac = src_mac;
        hdr.ethernet.dst_mac = dst_mac;
    }

    // Tofino masks where BMv2 divides: members is their number, a power of two, less one.
    action to_group(bit<16> group, bit<16> members) {
        meta.ecmp_group = group;
        meta.ecmp_index = hdr.bridge.flow & members;
    }

    table route4 {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = {
            to_port;
            to_group;
            drop;
        }
        size = (int)ROUTES;
        const default_action = drop(DROP_ROUTE_MISS);
    }

    table route6 {
        key = {
            hdr.ipv6.dst: lpm;
        }
        actions = {
            to_port;
            to_group;
            drop;
        }
        size = (int)ROUTES;
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
        size = (int)ECMP_MEMBERS;
        const default_action = drop(DROP_ROUTE_MISS);
    }

    // Options are not taken up, and the checksum cannot be made anew: it is brought along with the TTL (RFC 1624 §3).
    action bring_checksum(bit<16> more) {
        hdr.ipv4.checksum = hdr.ipv4.checksum + more;
    }

    action take_udp_port() {
        meta.udp_port = hdr.udp.dst_port;
    }

    apply {
        if (meta.udp_port == 0) {
            take_udp_port();
        }
        if (hdr.ipv4.isValid()) {
            hdr.bridge.flow = hash4.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.udp.src_port, meta.udp_port });
            if (hdr.ipv4.ttl == 0 || hdr.ipv4.ttl == 1) {
                drop(DROP_TTL_ZERO);
            } else {
                route4.apply();
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                if (hdr.ipv4.ihl != IPV4_WORDS) {
                    if (hdr.ipv4.checksum[15:8] == 0xFF || hdr.ipv4.checksum == 0xFEFF) {
                        bring_checksum(0x0101);
                    } else {
                        bring_checksum(0x0100);
                    }
                }
            }
        } else if (hdr.ipv6.isValid()) {
            hdr.bridge.flow = hash6.get({ hdr.ipv6.src, hdr.ipv6.dst, hdr.udp.src_port, meta.udp_port });
            if (hdr.ipv6.hop_limit == 0 || hdr.ipv6.hop_limit == 1) {
                drop(DROP_TTL_ZERO);
            } else {
                route6.apply();
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
        }
        if (meta.ecmp_group != 0) {
            ecmp.apply();
        }
    }
}
