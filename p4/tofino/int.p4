/* In-band telemetry for Tofino (TNA): INT-MD, INT-MX and INT-XD v2.1 over UDP for RoCEv2, on Tofino 2 IOAM trace for IPv6.
 *
 * The same roles, files, headers and constants as for BMv2; what differs is said where it does. Reads as the pipelines:
 *
 *   ingress   is it watched → where does it go, or why not → does it leave the fabric
 *   egress    measure → decide what to report → insert (source) → add this hop (transit) → take out (sink) → copy to the monitor
 *   egress, copies   report or mirror header
 *
 * A sink needs two copies: the ingress has the stack of hops, which its parser walks over; the egress knows queue and departure.
 */

#include <core.p4>
#if __TARGET_TOFINO__ == 1
#define WITHOUT_IOAM // its 12 stages are full without
#include <tna.p4>
#else
#include <t2na.p4>
#endif

#include "../include/defines.p4"
#include "../include/sizes.p4"
#include "../include/headers.p4"
#include "metadata.p4"
#include "parser.p4"
#include "forward.p4"
#include "source.p4"
#include "transit.p4"
#include "sink.p4"
#include "report.p4"

control IntIngress(inout headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                   in ingress_intrinsic_metadata_from_parser_t from_parser,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout ingress_intrinsic_metadata_for_tm_t tm) {
    Watch() watch;
    Forward() forward;

#ifndef WITHOUT_IOAM
    action to_host() {
        hdr.bridge.to_host = 1;
    }

    // Which ports lead to hosts; where INT is to be taken out, the parser has to know before any table (value sets local4 and local6).
    table host_edge {
        key = {
            tm.ucast_egress_port: exact;
        }
        actions = {
            to_host;
            NoAction;
        }
        size = (int)PORTS;
        const default_action = NoAction();
    }
#endif

    action copy(bit<8> flags) {
        for_deparser.mirror_type = MIRROR;
        meta.session = MIRROR_SESSION;
        meta.mirror.kind = MIRRORED_IN_INGRESS;
        meta.mirror.ingress_time_high = intrinsic.ingress_mac_tstamp[47:32];
        meta.mirror.ingress_time = intrinsic.ingress_mac_tstamp[31:0];
        meta.mirror.ingress_port = 7w0 ++ intrinsic.ingress_port;
        meta.mirror.egress_port = 0xFFFF;
        meta.mirror.egress_time_high = 0;
        meta.mirror.egress_time = 0;
        meta.mirror.latency = 0;
        meta.mirror.depth = 0;
        meta.mirror.instructions = 0;
        meta.mirror.queue_id = 0;
        meta.mirror.flags = flags;
    }

    action start_bridge() {
        hdr.bridge.setValid();
        hdr.bridge.kind = BRIDGED;
        hdr.bridge.ingress_time_high = intrinsic.ingress_mac_tstamp[47:32];
        hdr.bridge.ingress_time = intrinsic.ingress_mac_tstamp[31:0];
        hdr.bridge.ingress_port = 7w0 ++ intrinsic.ingress_port;
        hdr.bridge.instructions = 0;
        hdr.bridge.mode = (bit<4>)MODE_NONE;
        hdr.bridge.hops = 0;
        hdr.bridge.npt = 0;
        hdr.bridge.at_edge = 0;
        hdr.bridge.to_host = meta.local;
    }

    apply {
        start_bridge();
        watch.apply(hdr, meta, intrinsic);
        forward.apply(hdr, meta, tm);
        if (meta.dropped == 1) {
            if (meta.watched == 1 || hdr.int_header.isValid()) {
                copy(FLAG_DROPPED);
            }
            for_deparser.drop_ctl = 1;
        } else {
#ifndef WITHOUT_IOAM
            if (hdr.ipv6.isValid() && !hdr.int_header.isValid()) {
                host_edge.apply();
            }
#endif
            if (hdr.bridge.to_host == 1) {
                if (hdr.int_header.isValid() || (hdr.ipv6.isValid() && hdr.ipv6.next_header == PROTOCOL_HOP_BY_HOP)) {
                    copy(FLAG_FLOW);
                }
            }
        }
    }
}

// A hop has up to nine headers. Tofino writes a container once in a stage: what makes each valid gets one of its own.
@pa_solitary("egress", "hdr.int_node.$valid")
@pa_solitary("egress", "hdr.int_ports.$valid")
@pa_solitary("egress", "hdr.int_latency.$valid")
@pa_solitary("egress", "hdr.int_queue.$valid")
@pa_solitary("egress", "hdr.int_ingress_time.$valid")
@pa_solitary("egress", "hdr.int_egress_time.$valid")
@pa_solitary("egress", "hdr.int_level2.$valid")
@pa_solitary("egress", "hdr.int_utilisation.$valid")
@pa_solitary("egress", "hdr.int_buffer.$valid")
// The copy's header is filled without being taken up: the compiler would give its place to headers of the packet.
@pa_no_overlay("egress", "meta.mirror.kind")
@pa_no_overlay("egress", "meta.mirror.ingress_time_high")
@pa_no_overlay("egress", "meta.mirror.ingress_time")
@pa_no_overlay("egress", "meta.mirror.egress_time_high")
@pa_no_overlay("egress", "meta.mirror.egress_time")
@pa_no_overlay("egress", "meta.mirror.ingress_port")
@pa_no_overlay("egress", "meta.mirror.egress_port")
@pa_no_overlay("egress", "meta.mirror.latency")
@pa_no_overlay("egress", "meta.mirror.depth")
@pa_no_overlay("egress", "meta.mirror.instructions")
@pa_no_overlay("egress", "meta.mirror.queue_id")
@pa_no_overlay("egress", "meta.mirror.drop_reason")
@pa_no_overlay("egress", "meta.mirror.flags")
control IntEgress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
                  in egress_intrinsic_metadata_from_parser_t from_parser,
                  inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                  inout egress_intrinsic_metadata_for_output_port_t for_port) {
    Measure() measure;
    Decide() decide;
    Source() source;
    Transit() transit;
    Sink() sink;
    Report() report;

    bit<48> report_src_mac = 0;
    bit<48> report_dst_mac = 0;
    bit<32> report_src = 0;
    bit<32> report_dst = 0;

    action set_node(bit<32> id) {
        meta.node_id = id;
    }

    table node {
        actions = {
            set_node;
        }
        size = 1;
        default_action = set_node(0);
    }

    action link(bit<16> limit) {
        meta.limit = limit;
    }

    table egress_edge {
        key = {
            intrinsic.egress_port: exact;
        }
        actions = {
            link;
        }
        size = (int)PORTS;
        const default_action = link(1501);
    }

    action set_report(bit<48> src_mac, bit<48> dst_mac, bit<32> src, bit<32> dst, bit<16> length,
                      bit<32> latency_mask, bit<1> quiet) {
        meta.monitored = 1;
        report_src_mac = src_mac;
        report_dst_mac = dst_mac;
        report_src = src;
        report_dst = dst;
        meta.snap = length;
        meta.latency_mask = latency_mask;
        meta.quiet = quiet;
    }

    table monitor {
        actions = {
            set_report;
            NoAction;
        }
        size = 1;
        default_action = NoAction();
    }

    // The words and bytes that a hop adds for a bitmap (INT v2.1 §5.8). A bitmap that is not here is not known.
    action set_words(bit<5> hop_words, bit<8> words, bit<16> bytes) {
        meta.hop_words = hop_words;
        meta.words = words;
        meta.bytes = bytes;
    }

    table bitmap {
        key = {
            hdr.int_header.instructions: exact;
            hdr.bridge.instructions: exact;
            hdr.int_header.isValid(): exact;
        }
        actions = {
            set_words;
            NoAction;
        }
        size = 128;
        const default_action = NoAction();
    }

    action copy() {
        for_deparser.mirror_type = MIRROR;
        meta.session = MIRROR_SESSION;
    }

    apply {
        node.apply();
        monitor.apply();
        if (hdr.bridge.isValid()) {
            egress_edge.apply();
            bitmap.apply();
            measure.apply(hdr, meta, intrinsic, from_parser);
            if (hdr.bridge.at_edge == 1) {
                source.apply(hdr, meta);
            }
            decide.apply(hdr, meta, intrinsic);
            if (hdr.bridge.to_host == 1) {
                sink.apply(hdr, meta);
            } else {
                transit.apply(hdr, meta);
            }
            if (meta.monitored == 1) {
                if (meta.mirror.flags & (FLAG_FLOW | FLAG_QUEUE) != 0) {
                    copy();
                }
            }
            hdr.bridge.setInvalid();
        } else {
            report.apply(hdr, meta, intrinsic, report_src_mac, report_dst_mac, report_src, report_dst);
        }
    }
}

Pipeline(IntIngressParser(), IntIngress(), IntIngressDeparser(), IntEgressParser(), IntEgress(), IntEgressDeparser()) pipe;

Switch(pipe) main;
