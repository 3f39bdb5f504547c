-- INT (INT-MD v1.0 and v2.x, INT-MX, v0.5) and telemetry reports (v0.5, v1.0, v2.0) for Wireshark.
-- Written by: int-analyzer wireshark-plugin. Needs Wireshark 3.6 or newer with Lua 5.2 or newer.
--
--   tshark -X lua_script:int.lua -r mirror.pcap -Y 'int.hop.queue_depth > 1000'
--   tshark -X lua_script:int.lua -o int.ports:54321 -o intreport.ports:6000 -r mirror.pcap -V
--
-- Fields: int.shim.*, int.md.*, int.hop.* (in path order, hop 0 nearest the source), int.mx.*, intreport.*; what is wrong is int.status
-- and expert information. INT is found by structure, by UDP port or by DSCP (preferences), over TCP by DSCP only. On the port of RoCE
-- only what is INT is taken; plain RoCE stays as it is.

--@declarations
local int = Proto("int", "In-band Network Telemetry")
local intreport = Proto("intreport", "INT Telemetry Report")
local floor, rep = math.floor, string.rep

-- ------------------------------------------------------------------------------------------------------- fields and experts

local F = {}
local int_fields, report_fields = {}, {}

local function declare(name, made)
  F[name] = made
  local list = name:find("^intreport") and report_fields or int_fields
  list[#list + 1] = made
end

for name, entry in pairs(FIELDS) do
  local kind, title, base_name, description = entry[1], entry[2], entry[3], entry[4]
  if kind == "bool" then
    declare(name, ProtoField.bool(name, title, base.NONE, nil, 0, description))
  else
    declare(name, ProtoField[kind](name, title, base[base_name], nil, 0, description))
  end
end
declare("int.hop", ProtoField.none("int.hop", "hop"))
declare("int.hop.number", ProtoField.uint32("int.hop.number", "hop number (0 nearest the source)"))
declare("int.hop.absent", ProtoField.string("int.hop.absent", "not available (all ones)"))
declare("int.hop.opaque", ProtoField.bytes("int.hop.opaque", "hop of a layout that is not understood"))
declare("int.hops", ProtoField.uint32("int.hops", "hops in the stack"))
declare("int.dialect", ProtoField.string("int.dialect", "dialect"))
declare("int.status", ProtoField.string("int.status", "status"))
declare("int.source_data", ProtoField.bytes("int.source_data", "data of the source only"))
declare("int.data", ProtoField.bytes("int.data", "not read"))
declare("intreport.report", ProtoField.none("intreport.report", "report"))
declare("intreport.absent", ProtoField.string("intreport.absent", "not available (all ones)"))
declare("intreport.status", ProtoField.string("intreport.status", "status"))
declare("intreport.data", ProtoField.bytes("intreport.data", "not read"))
int.fields, intreport.fields = int_fields, report_fields

local E = {}
local int_experts, report_experts = {}, {}
local function experts(texts, prefix, group, severity)
  for name, text in pairs(texts) do
    local is_report = name:find("^report") ~= nil
    local list = is_report and report_experts or int_experts
    local filter = (is_report and "intreport." or "int.") .. prefix .. name:gsub("-", "_")
    E[name] = ProtoExpert.new(filter, name .. ": " .. text, group, severity)
    list[#list + 1] = E[name]
  end
end
experts(STATUSES, "status.", expert.group.MALFORMED, expert.severity.ERROR)
experts(WARNINGS, "warning.", expert.group.PROTOCOL, expert.severity.WARN)
int.experts, intreport.experts = int_experts, report_experts

int.prefs.ports = Pref.range("UDP ports of INT", INT_PORTS, "INT is believed to be there", 65535)
int.prefs.dscp_value = Pref.uint("DSCP of INT", DSCP_VALUE, "value of the masked DSCP")
int.prefs.dscp_mask = Pref.uint("DSCP mask", DSCP_MASK, "0: the DSCP says nothing")
int.prefs.structure = Pref.bool("Find INT by its structure", STRUCTURE, "where no port and no DSCP announces it")
intreport.prefs.ports = Pref.range("UDP ports of telemetry reports", REPORT_PORTS, "reports are believed to be there", 65535)
intreport.prefs.structure = Pref.bool("Find reports by their structure", STRUCTURE, "where no port announces them")

local udp_length, dscp_4, dscp_6 = Field.new("udp.length"), Field.new("ip.dsfield.dscp"), Field.new("ipv6.tclass.dscp")
local udp_port, tcp_port, tcp_length = Field.new("udp.dstport"), Field.new("tcp.srcport"), Field.new("tcp.len")
local udp_table, protocol_table = DissectorTable.get("udp.port"), DissectorTable.get("ip.proto")
local frame_dissector, ip_dissector, ipv6_dissector = Dissector.get("eth_maybefcs"), Dissector.get("ip"), Dissector.get("ipv6")
local data_dissector = Dissector.get("data")
local roce_dissectors, int_ports, report_ports, taken, look_ahead = {}, {}, {}, {}, {}
local inside_report, seen, found_by = false, false, nil
