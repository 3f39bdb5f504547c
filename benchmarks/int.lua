-- INT-MD v2.x over UDP for tshark: shim, metadata header, hops of 32 bytes (bitmap 0xFC00), then RoCEv2 by Wireshark itself.
-- Takes part in the comparison only; found by structure, as a profile would find it by DSCP.

local int = Proto("intmd", "In-band Network Telemetry MD v2")
local f = int.fields
f.npt = ProtoField.uint8("intmd.npt", "Next protocol type", base.DEC, nil, 0x0c)
f.length = ProtoField.uint8("intmd.length", "Length in words")
f.hop_ml = ProtoField.uint8("intmd.hop_ml", "Words per hop", base.DEC, nil, 0x1f)
f.remaining = ProtoField.uint8("intmd.remaining", "Remaining hop count")
f.bitmap = ProtoField.uint16("intmd.bitmap", "Instruction bitmap", base.HEX)
f.domain = ProtoField.uint16("intmd.domain", "Domain id", base.HEX)
f.node = ProtoField.uint32("intmd.node", "Node id")
f.ingress = ProtoField.uint16("intmd.ingress", "Ingress port")
f.egress = ProtoField.uint16("intmd.egress", "Egress port")
f.latency = ProtoField.uint32("intmd.latency", "Hop latency")
f.queue = ProtoField.uint8("intmd.queue", "Queue id")
f.depth = ProtoField.uint24("intmd.depth", "Queue depth")
f.ingress_time = ProtoField.uint64("intmd.ingress_time", "Ingress time")
f.egress_time = ProtoField.uint64("intmd.egress_time", "Egress time")

local ports = DissectorTable.get("udp.port")
local roce = ports:get_dissector(4791)

function int.dissector(buffer, packet, tree)
  local size = buffer:len()
  if size < 16 or buffer(0, 1):uint() ~= 0x10 or buffer(4, 1):uint() ~= 0x20 then
    return roce:call(buffer, packet, tree)
  end
  local stop = 4 + 4 * buffer(1, 1):uint()
  if stop > size then return 0 end
  local branch = tree:add(int, buffer(0, stop))
  branch:add(f.npt, buffer(0, 1))
  branch:add(f.length, buffer(1, 1))
  branch:add(f.hop_ml, buffer(6, 1))
  branch:add(f.remaining, buffer(7, 1))
  branch:add(f.bitmap, buffer(8, 2))
  branch:add(f.domain, buffer(10, 2))
  local at = 16
  while at + 32 <= stop do
    branch:add(f.node, buffer(at, 4))
    branch:add(f.ingress, buffer(at + 4, 2))
    branch:add(f.egress, buffer(at + 6, 2))
    branch:add(f.latency, buffer(at + 8, 4))
    branch:add(f.queue, buffer(at + 12, 1))
    branch:add(f.depth, buffer(at + 13, 3))
    branch:add(f.ingress_time, buffer(at + 16, 8))
    branch:add(f.egress_time, buffer(at + 24, 8))
    at = at + 32
  end
  roce:call(buffer(stop):tvb(), packet, tree)
  return size
end

ports:add(4791, int)
