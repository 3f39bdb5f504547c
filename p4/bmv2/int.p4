/* In-band telemetry for BMv2 (v1model): INT-MD, INT-MX and INT-XD v2.1 over UDP for RoCEv2, IOAM trace for IPv6.
 *
 * One program for all roles: tables say which ports lead to hosts and which packets are watched. Reads as the pipeline:
 *
 *   ingress   who am I → is it watched → where does it go, or why not
 *   egress    measure → decide what to report → insert (source) → add this hop (transit) → take out (sink) → copy to the monitor
 *   egress, copies   put back what the sink took out → report or mirror header
 */

#include <core.p4>
#include <v1model.p4>

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

const bit<32> INGRESS_CLONE = 1; // instance types of simple_switch
const bit<32> EGRESS_CLONE = 2;

control IntIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Watch() watch;
    Forward() forward;

    action set_node(bit<32> id) {
        meta.node_id = id;
    }

    table node {
        actions = {
            set_node;
        }
        default_action = set_node(0);
    }

    apply {
        node.apply();
        if (hdr.ipv4.isValid() || hdr.ipv6.isValid()) {
            watch.apply(hdr, meta, standard);
            forward.apply(hdr, meta, standard);
        } else {
            meta.dropped = 1;
        }
        if (meta.dropped == 1) {
            if (meta.mode != MODE_NONE || hdr.int_header.isValid() || hdr.ioam.isValid()) {
                meta.instructions = REPORT_BITS;
                meta.ingress_port = (bit<16>)standard.ingress_port;
                meta.egress_port = 0xFFFF; // none was chosen
                meta.ingress_time = 16w0 ++ standard.ingress_global_timestamp;
                clone_preserving_field_list(CloneType.I2E, REPORT_SESSION, REPORT_FIELDS);
            }
            mark_to_drop(standard);
        }
    }
}

control IntEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Measure() measure;
    Decide() decide;
    Source() source;
    Transit() transit;
    Sink() sink;
    Restore() restore;
    Transit() transit_of_copy;
    Report() report;

    bit<48> report_src_mac = 0;
    bit<48> report_dst_mac = 0;
    bit<32> report_src = 0;
    bit<32> report_dst = 0;
    bit<16> snap = 0;

    action link(bit<16> mtu, bit<1> to_host) {
        meta.mtu = mtu;
        meta.to_host = to_host;
    }

    table egress_edge {
        key = {
            standard.egress_port: exact;
        }
        actions = {
            link;
        }
        size = PORTS;
        const default_action = link(1500, 0);
    }

    action set_report(bit<48> src_mac, bit<48> dst_mac, bit<32> src, bit<32> dst, bit<16> length,
                      bit<24> queue_threshold, bit<8> latency_shift, bit<1> quiet) {
        meta.monitored = 1;
        report_src_mac = src_mac;
        report_dst_mac = dst_mac;
        report_src = src;
        report_dst = dst;
        snap = length;
        meta.queue_threshold = queue_threshold;
        meta.latency_shift = latency_shift;
        meta.quiet = quiet;
    }

    table monitor {
        actions = {
            set_report;
            NoAction;
        }
        default_action = NoAction();
    }

    // The words that a hop adds: one a bit, two for times and level-2 ports (INT v2.1 §5.8)
    action count_words(bit<16> wanted) {
        meta.words = (bit<5>)wanted[15:15] + (bit<5>)wanted[14:14] + (bit<5>)wanted[13:13] + (bit<5>)wanted[12:12]
            + ((bit<5>)wanted[11:11] << 1) + ((bit<5>)wanted[10:10] << 1) + ((bit<5>)wanted[9:9] << 1)
            + (bit<5>)wanted[8:8] + (bit<5>)wanted[7:7];
    }

    apply {
        monitor.apply();
        if (standard.instance_type == EGRESS_CLONE) {
            bit<1> taken_out = hdr.kept_shim.isValid() || hdr.kept_ioam.isValid() ? 1w1 : 1w0;
            restore.apply(hdr, meta);
            if (taken_out == 1 && (standard.egress_rid == FORMAT_ERSPAN || hdr.ioam.isValid())) {
                // the sink's own hop: a mirrored packet has no other place for it, and a trace has units of its own
                meta.mtu = 0xFFFF;
                count_words(hdr.int_header.instructions);
                transit_of_copy.apply(hdr, meta);
            }
            report.apply(hdr, meta, standard, report_src_mac, report_dst_mac, report_src, report_dst, snap);
        } else if (standard.instance_type == INGRESS_CLONE) {
            report.apply(hdr, meta, standard, report_src_mac, report_dst_mac, report_src, report_dst, snap);
        } else if (standard.parser_error == error.NoError) { // else no role is played: it passes by as it came
            egress_edge.apply();
            measure.apply(hdr, meta, standard);
            count_words(hdr.int_header.isValid() ? hdr.int_header.instructions : meta.instructions);
            if (meta.at_edge == 1) {
                source.apply(hdr, meta, standard);
            }
            decide.apply(hdr, meta, standard);
            if (meta.to_host == 1) {
                sink.apply(hdr, meta);
            } else {
                transit.apply(hdr, meta);
            }
            if (meta.monitored == 1 && (meta.flow == 1 || meta.queue == 1)) {
                clone_preserving_field_list(CloneType.E2E, REPORT_SESSION, REPORT_FIELDS);
            }
            if (hdr.kept_header.isValid() && hdr.kept_header.discard == 1) {
                mark_to_drop(standard); // D: no packet of a host, it was sent for its telemetry (INT v2.1 §5.8)
            }
        }
    }
}

V1Switch(PacketParser(), ChecksumVerify(), IntIngress(), IntEgress(), ChecksumUpdate(), PacketDeparser()) main;
