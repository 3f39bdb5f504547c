-- ------------------------------------------------------------------------------------------------------- where INT is found

-- How INT at `at` in a UDP payload on a port of RoCE is told apart, or nil: DSCP, else structure where no BTH can begin.
local function tell_apart(tvb, at, limit, declared, marked)
  if marked and looks_like_int(tvb, at, limit, declared, LENGTHS, UDP) then return "dscp" end
  if plausible_bth(tvb, at, limit) then return nil end
  if int.prefs.structure and looks_like_int(tvb, at, limit, declared, HEAD, UDP) then return marked and "dscp" or "structure" end
  return marked and "dscp" or nil
end

-- A port of RoCE belongs to int for as long as a frame with INT is dissected, else to whom it always belonged. So plain RoCE never
-- passes through Lua: it stays as it is, and a frame that is cut by the snap length cannot harm (its exception would cross Lua's calls).
local function take(port)
  if taken[port] then return end
  udp_table:add(port, int)
  taken[port] = true
end
local function give_back()
  for port in pairs(taken) do
    udp_table:remove(port, int)
    if roce_dissectors[port] then udp_table:add(port, roce_dissectors[port]) end
    taken[port] = nil
  end
  found_by = nil
end

local NEXT_EXTENSION = { [0] = true, [43] = true, [60] = true }
local look_at_ip

local function look_at_protocol(tvb, at, limit, declared, protocol, dscp)
  if protocol == 4 or protocol == 41 then return look_at_ip(tvb, at, limit) end
  if protocol ~= 17 or limit - at < 8 then return end
  local port, stop = u16(tvb, at + 2), math.min(at + u16(tvb, at + 4), declared)
  if not roce_dissectors[port] then return end
  local marked = int.prefs.dscp_mask ~= 0 and both(dscp, int.prefs.dscp_mask) == int.prefs.dscp_value
  local located = tell_apart(tvb, at + 8, math.min(limit, stop), stop, marked)
  if located then
    take(port)
    found_by = located
  end
end

function look_at_ip(tvb, at, limit)
  if limit - at < 20 then return end
  local version = floor(u8(tvb, at) / 16)
  if version == 4 then
    local header, total = 4 * (u8(tvb, at) % 16), u16(tvb, at + 2)
    local declared = total == 0 and limit or at + total
    if u16(tvb, at + 6) % 0x2000 ~= 0 or header < 20 then return end
    look_at_protocol(tvb, at + header, math.min(limit, declared), declared, u8(tvb, at + 9), floor(u8(tvb, at + 1) / 4))
  elseif version == 6 and limit - at >= 40 then
    local payload, protocol, dscp = u16(tvb, at + 4), u8(tvb, at + 6), floor(u16(tvb, at) / 64) % 64
    local declared = payload == 0 and limit or at + 40 + payload
    limit, at = math.min(limit, declared), at + 40
    for _ = 1, 8 do
      if not NEXT_EXTENSION[protocol] or limit - at < 2 then break end
      protocol, at = u8(tvb, at), at + 8 * (u8(tvb, at + 1) + 1)
    end
    look_at_protocol(tvb, at, limit, declared, protocol, dscp)
  end
end

local function look_at_frame(tvb)
  give_back()
  local limit, at = tvb:len(), 14
  if limit < 14 then return end
  local ethertype = u16(tvb, 12)
  for _ = 1, 8 do
    if not TAGS[ethertype] or limit - at < 4 then break end
    ethertype, at = u16(tvb, at + 2), at + 4
  end
  if ethertype == 0x0800 or ethertype == 0x86DD then look_at_ip(tvb, at, limit) end
end
look_ahead = { [ETHERNET] = look_at_frame, [IPV4] = function(tvb) look_at_ip(tvb, 0, tvb:len()) end }
look_ahead[IPV6] = look_ahead[IPV4]

-- Asked before every Ethernet frame, outer or inner; it only looks.
int:register_heuristic("eth", function(tvb)
  look_at_frame(tvb)
  return false
end)

-- INT behind the options of a TCP header, or in front of them: only the DSCP announces it.
local function dissect_int_in_tcp(pinfo, root)
  local port, length = last(tcp_port), last(tcp_length)
  if not port or not length or not marked_by_dscp() then return end
  local tvb, at = port.source, port.offset
  local header = 4 * floor(u8(tvb, at + 12) / 16)
  if header < 20 then return end
  local declared = at + header + length.value
  local limit = math.min(tvb:len(), declared)
  for _, begin in ipairs({ at + header, at + 20 }) do
    if looks_like_int(tvb, begin, limit, declared, LENGTHS, TCP) then
      dissect_int(tvb(begin, limit - begin):tvb(), pinfo, root, "dscp", declared - begin)
      return
    end
  end
end

-- INT on a port of RoCE behind headers that the look ahead does not know, and INT over TCP.
local late = Proto("int_late", "INT that is found late")
local udp_payload = Field.new("udp.payload")
function late.dissector(_, pinfo, root)
  local payload, port = last(udp_payload), last(udp_port)
  if payload and not seen and roce_dissectors[port.value] and payload.range:len() > 0 then
    local tvb = payload.range:tvb()
    local located = tell_apart(tvb, 0, tvb:len(), declared_length(tvb), marked_by_dscp())
    if located then dissect_int(tvb, pinfo, root, located) end
  end
  if not seen then dissect_int_in_tcp(pinfo, root) end
  seen = false
  give_back()
  return 0
end
register_postdissector(late)

for _, port in ipairs(ROCE_PORTS) do
  roce_dissectors[port] = udp_table:get_dissector(port) or udp_table:get_dissector(4791) or data_dissector
end

int:register_heuristic("udp", function(tvb, pinfo, root)
  local limit, declared, marked = tvb:len(), declared_length(tvb), marked_by_dscp()
  if marked and looks_like_int(tvb, 0, limit, declared, LENGTHS, UDP) then
    dissect_int(tvb, pinfo, root, "dscp")
    return true
  end
  if int.prefs.structure and looks_like_int(tvb, 0, limit, declared, RESERVED_ZERO, UDP) then
    dissect_int(tvb, pinfo, root, "structure")
    return true
  end
  return false
end)

-- Ports of the preferences: "5000,6000-6003".
local function ports_of(text)
  local ports = {}
  for first, finish in text:gmatch("(%d+)%-?(%d*)") do
    for port = tonumber(first), tonumber(finish) or tonumber(first) do ports[port] = true end
  end
  return ports
end
local function claim(proto, ports, text)
  for port in pairs(ports) do udp_table:remove(port, proto) end
  local wanted = ports_of(text)
  for port in pairs(wanted) do udp_table:add(port, proto) end
  return wanted
end
local function claim_int() int_ports = claim(int, int_ports, int.prefs.ports) end
local function claim_reports() report_ports = claim(intreport, report_ports, intreport.prefs.ports) end
int.prefs_changed, intreport.prefs_changed = claim_int, claim_reports
claim_int()
claim_reports()
