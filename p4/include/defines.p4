/* Values on the wire and codes of the control plane. Python has those that it shares under the same names
 * (int_analyzer/lab/constant.py); tests/test_p4_constants.py compares them. */

#ifndef DEFINES_P4
#define DEFINES_P4

// Ethernet, IP, UDP (IANA)
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;
const bit<8> PROTOCOL_HOP_BY_HOP = 0;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_ROUTING = 43;
const bit<8> PROTOCOL_FRAGMENT = 44;
const bit<8> PROTOCOL_GRE = 47;
const bit<8> PROTOCOL_DESTINATION = 60;
const bit<4> IPV4_WORDS = 5; // of a header without options (RFC 791 §3.1)
const bit<3> IPV4_MORE = 1;  // flag: more fragments (RFC 791 §3.1)
const bit<16> ROCE_PORT = 4791;
const bit<16> REPORT_PORT = 32766;

// Where INT is: nothing is assigned, so a domain chooses (INT v2.1 §5.7.2)
const bit<16> INT_PORT = 5000;
const bit<6> INT_DSCP = 0x17;

// INT shim over UDP (INT v2.1 §5.7.2)
const bit<4> INT_TYPE_MD = 1;
const bit<4> INT_TYPE_MX = 3;
const bit<2> INT_NPT_DSCP = 0;
const bit<2> INT_NPT_PORT = 1;
const bit<8> INT_HEADER_WORDS = 3;
const bit<16> INT_BYTES = 16; // shim and header of a packet without hops

// INT headers (INT v2.1 §5.8, §5.9)
const bit<4> INT_VERSION = 2;
const bit<16> INT_UNSUPPORTED = 0x007F; // bits 9 to 14 are reserved, 15 is for TCP and UDP with a checksum: RoCEv2 sends none

// Telemetry report v2.0 (§3.2, §3.3)
const bit<4> REPORT_VERSION = 2;
const bit<4> REPORT_TYPE_INT = 1;
const bit<4> REPORT_INNER_ETHERNET = 3;
const bit<8> REPORT_TO_THE_END = 0xFF;
const bit<16> REPORT_BITS = 0x7D00;     // of an instruction bitmap: what a report can say with the same bits (1 to 5, 7)
const bit<16> REPORT_BIT_LATENCY = 0x2000;
const bit<16> REPORT_BIT_DROP = 0x0001; // queue and reason of a drop

// Reasons of a drop; the specification leaves them to the deployment (report v2.0 §3.3.1)
const bit<8> DROP_TTL_ZERO = 26;
const bit<8> DROP_ROUTE_MISS = 29;

// IOAM pre-allocated trace in an IPv6 hop-by-hop option (RFC 9197 §4.4, RFC 9486 §3)
const bit<8> IOAM_OPTION = 0x31;
const bit<8> IOAM_TYPE_PRE_ALLOCATED = 0;
const bit<16> IOAM_NAMESPACE = 123;
const bit<24> IOAM_TRACE_TYPE = 0xCA0000; // bits 0 (hop limit, node), 1 (interfaces), 4 (transit delay), 6 (queue depth)
const bit<5> IOAM_NODE_WORDS = 4;
const bit<7> IOAM_TRACE_WORDS = 24;       // room for 6 nodes
const bit<8> IOAM_HEADER_WORDS = 28;      // hop-by-hop header of 112 bytes around that

// ERSPAN type II (draft-foschiano-erspan-03 §4.2)
const bit<16> GRE_ERSPAN_2 = 0x88BE;
const bit<16> GRE_SEQUENCE_PRESENT = 0x1000;
const bit<4> ERSPAN_VERSION_2 = 1;
const bit<10> ERSPAN_SESSION = 1;

// Codes of actions' parameters
const bit<8> MODE_NONE = 0;
const bit<8> MODE_MD = 1;
const bit<8> MODE_MX = 2;
const bit<8> MODE_XD = 3;
const bit<8> MODE_IOAM = 4;

// The clone session for the monitor, and what becomes of a copy: the number of its replica. Both at once are two replicas.
const bit<32> REPORT_SESSION = 1;
const bit<16> FORMAT_REPORT = 1;
const bit<16> FORMAT_ERSPAN = 2;

// Why a packet from a host passes by without being looked at; counter passed_by of the control plane
const bit<8> PASSED_OPTIONS = 1;   // IPv4 with options
const bit<8> PASSED_FRAGMENT = 2;  // of IPv4
const bit<8> PASSED_EXTENSION = 3; // IPv6 with a header between it and UDP
const bit<8> PASSED_CHECKSUM = 4;  // RoCEv2 with a UDP checksum
const bit<8> PASSED_BROKEN = 5;    // cut, or with lengths that contradict each other

#endif
