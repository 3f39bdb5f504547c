-- ------------------------------------------------------------------------------------------------------------------ reports

local ETHERNET, IPV4, IPV6 = 3, 4, 5
local TAGS = { [0x8100] = true, [0x88A8] = true, [0x9100] = true, [0x9200] = true, [0x9900] = true }

-- Whether a packet of this inner type begins here: a frame that, behind its tags, holds IP or MPLS; an IP header by its first byte.
local function plausible(tvb, at, limit, kind)
  if kind == ETHERNET then
    if limit - at < 14 then return false end
    local ethertype = u16(tvb, at + 12)
    at = at + 14
    for _ = 1, 8 do
      if not TAGS[ethertype] then break end
      if limit - at < 4 then return false end
      ethertype, at = u16(tvb, at + 2), at + 4
    end
    if ethertype == 0x8847 or ethertype == 0x8848 then return true end
    kind = ethertype == 0x0800 and IPV4 or ethertype == 0x86DD and IPV6 or 0
  end
  if at >= limit then return false end
  local first = u8(tvb, at)
  if kind == IPV4 then return floor(first / 16) == 4 and first % 16 >= 5 end
  return kind == IPV6 and floor(first / 16) == 6
end

local function dissect_inner(tvb, at, finish, kind, pinfo, root)
  local dissector = kind == ETHERNET and frame_dissector or kind == IPV4 and ip_dissector or kind == IPV6 and ipv6_dissector
  if not dissector then return end
  local before = inside_report
  inside_report = true
  if at < finish then look_ahead[kind](tvb(at, finish - at):tvb()) end
  hand_on(dissector, tvb, at, finish, pinfo, root)
  inside_report = before
end

local function add_items(tree, items, bits, tvb, at, limit, values)
  for _, item in ipairs(items) do
    if has(bits, item[1]) then
      if at + item[2].bytes > limit then return at end
      add_header(tree, item[2], tvb, at, values)
      at = at + item[2].bytes
    end
  end
  return at
end

local function report_05(tvb, tree, limit)
  local kind = u8(tvb, 0) % 16
  if kind > 2 then return "report-type" end
  local size = kind == 0 and 12 or kind == 1 and 24 or 28
  if limit < size then return "report-truncated" end
  if not plausible(tvb, size, limit, ETHERNET) then return "report-type" end
  local values = add_header(tree, H.REPORT_05, tvb, 0)
  local at = H.REPORT_05.bytes
  for _, header in ipairs(REPORT_ITEMS_05[kind] or {}) do
    add_header(tree, header, tvb, at, values)
    at = at + header.bytes
  end
  return nil, values, { { size, limit, ETHERNET } }
end

local function report_1(tvb, tree, limit, declared)
  if limit < 4 then return declared < 4 and "report-length" or "report-truncated" end
  local word = u32(tvb, 0)
  local size, protocol, bits = floor(word / 2 ^ 24) % 16, floor(word / 2 ^ 21) % 8, floor(word / 2 ^ 15) % 64
  if size < 4 then return "report-length" end
  if protocol > 2 then return "report-type" end
  if limit < 4 * size then return declared < 4 * size and "report-length" or "report-truncated" end
  local early = both(word, 0x1C0) == 0 and both(word, 0x7000) ~= 0
  local values = add_header(tree, early and H.REPORT_1_EARLY_FLAGS or H.REPORT_1, tvb, 0)
  if size == 4 + bits_set(bits) then
    add_items(tree, REPORT_ITEMS_1, bits, tvb, 16, limit, values)
  else
    add_bytes(tree, "intreport.data", tvb, 16, 4 * size)
    tree:add_proto_expert_info(E["report-length-mismatch"])
  end
  return nil, values, { { 4 * size, limit, protocol + ETHERNET } }
end

-- One report of v2.0 at `at`: status or nil, its end, where its main contents end, RepMdBits, whether its length 0 means "to the end".
local function measure_2(tvb, at, limit, declared)
  if at + 4 > limit then return "report-truncated" end
  local types, length, metadata = u8(tvb, at), u8(tvb, at + 1), u8(tvb, at + 2)
  local kind, inner = floor(types / 16), types % 16
  if kind > 2 or inner > IPV6 then return "report-type" end
  local begin = at + 4 + (kind == 1 and 8 or 0) + 4 * metadata
  local followed = kind ~= 2 and inner >= ETHERNET
  local to_the_end = length == 0 and followed and begin < declared and plausible(tvb, begin, limit, inner)
  local finish = at + 4 + 4 * length
  if to_the_end or length == 255 then
    finish = declared
  elseif length == 0 and kind == 1 then
    return "report-length"
  end
  if finish > declared or begin > finish then return "report-length" end
  if kind == 0 and metadata ~= 0 then return "report-metadata-length" end
  local bits = 0
  if kind == 1 then
    if begin > limit then return "report-truncated" end
    bits = u16(tvb, at + 4)
    local words = bits_set(bits % 0x8000) + bits_set(both(bits, 0x0E00))
    local fits = words == metadata or words + floor(bits / 0x8000) == metadata
    if not fits and not (u16(tvb, at + 8) ~= 0 and metadata >= words) then return "report-metadata-length" end
  end
  return nil, finish, begin, bits, to_the_end
end

local function add_tlvs(tree, tvb, at, finish, inner)
  while at + 4 <= finish do
    local kind, following = floor(u8(tvb, at) / 16), at + 4 + 4 * u8(tvb, at + 1)
    local tlv = tree:add(tvb(at, 4), "TLV")
    add_header(tlv, H.TLV_2, tvb, at)
    if following > finish then return "report-length" end
    if kind >= 1 and kind <= 3 and following > at + 4 then
      inner[#inner + 1] = { at + 4, following, kind + 2 }
    else
      add_bytes(tlv, "intreport.data", tvb, at + 4, following)
    end
    at = following
  end
end

local function reports_2(tvb, tree, limit, declared)
  if limit < 8 then return declared < 8 and "report-length" or "report-truncated" end
  local values, inner = add_header(tree, H.GROUP_2, tvb, 0), {}
  local cursor, number, soft = 8, 0, nil
  while cursor + 4 <= declared and number < 255 do
    local status, finish, begin, bits, to_the_end = measure_2(tvb, cursor, limit, declared)
    if status then return status, values, inner end
    local stop = math.min(finish, limit)
    local report = tree:add(F["intreport.report"], tvb(cursor, math.max(stop - cursor, 4)))
    report:set_text("Report " .. number)
    add_header(report, H.REPORT_2, tvb, cursor, values)
    local kind, inner_type = values["intreport.type"], values["intreport.inner_type"]
    if to_the_end then report:add_proto_expert_info(E["report-length-zero"]) end
    if kind == 1 then
      add_header(report, H.MAIN_2, tvb, cursor + 4, values)
      local at, words = cursor + 12, values["intreport.metadata_length"]
      local needed = bits_set(bits % 0x8000) + bits_set(both(bits, 0x0E00))
      if bits >= 0x8000 and words > needed then
        add_header(report, H.REPORT_UNKNOWN, tvb, at, values)
        at = at + 4
      end
      at = add_items(report, REPORT_ITEMS_2, bits, tvb, at, limit, values)
      while at + 4 <= math.min(begin, limit) do
        add_header(report, H.REPORT_DOMAIN_WORD, tvb, at, values)
        at = at + 4
      end
    end
    if kind ~= 2 and inner_type == 1 then
      soft = soft or add_tlvs(report, tvb, begin, stop, inner)
    elseif kind ~= 2 and inner_type >= ETHERNET and begin < stop then
      inner[#inner + 1] = { begin, stop, inner_type }
    elseif begin < stop then
      add_bytes(report, "intreport.data", tvb, begin, stop)
    end
    cursor, number = finish, number + 1
    if number == 255 and cursor + 4 <= declared then report:add_proto_expert_info(E["report-limit"]) end
  end
  return soft, values, inner
end

-- The version of the report that begins here, or nil. v2.0 must hold to its end.
local function looks_like_report(tvb, limit, declared)
  if limit < 12 then return nil end
  local word = u32(tvb, 0)
  local version = floor(word / 2 ^ 28)
  if version == 1 then
    local size, protocol = floor(word / 2 ^ 24) % 16, floor(word / 2 ^ 21) % 8
    if size ~= 4 + bits_set(floor(word / 2 ^ 15) % 64) or protocol > 2 then return nil end
    return plausible(tvb, 4 * size, limit, protocol + ETHERNET) and 1 or nil
  elseif version == 0 then
    local kind = floor(word / 2 ^ 24) % 16
    if kind > 2 then return nil end
    return plausible(tvb, kind == 0 and 12 or kind == 1 and 24 or 28, limit, ETHERNET) and 0 or nil
  elseif version ~= 2 then
    return nil
  end
  local cursor, strong, count = 8, false, 0
  while cursor + 4 <= declared and count < 255 do
    local status, finish, begin, bits = measure_2(tvb, cursor, limit, declared)
    if status == "report-truncated" then break end
    if status then return nil end
    local inner = u8(tvb, cursor) % 16
    if bits % 0x8000 ~= 0 then strong = true end
    if inner >= ETHERNET and u8(tvb, cursor) < 32 and begin < finish then
      if not plausible(tvb, begin, math.min(finish, limit), inner) then return nil end
      strong = true
    end
    cursor, count = finish, count + 1
  end
  return strong and 2 or nil
end

local function dissect_report(tvb, pinfo, root, version)
  local limit, declared = tvb:len(), declared_length(tvb)
  local tree = root:add(intreport, tvb(0, limit))
  local status, values, inner = "report-type", nil, nil
  if limit == 0 then
    status = declared == 0 and "report-length" or "report-truncated"
  elseif version == 0 then
    status, values, inner = report_05(tvb, tree, limit)
  elseif version == 1 then
    status, values, inner = report_1(tvb, tree, limit, declared)
  elseif version == 2 then
    status, values, inner = reports_2(tvb, tree, limit, declared)
  end
  if status then complain(tree, "intreport", tree, status) end
  for _, packet in ipairs(inner or {}) do
    dissect_inner(tvb, packet[1], math.min(packet[2], limit), packet[3], pinfo, root)
  end
  if inner and inner[1] then tree:set_len(math.max(inner[1][1], 1)) end
  pinfo.cols.protocol:set("INT report")
  local node = values and values["intreport.node_id"]
  local text = string.format("INT report v%s", version == 0 and "0.5" or version == 1 and "1.0" or version == 2 and "2.0" or "?")
  if node then text = text .. string.format(" node %.0f", node) end
  pinfo.cols.info:prepend(text .. (status and " [" .. status .. "]" or "") .. "  ")
  return limit
end

function intreport.dissector(tvb, pinfo, root)
  if inside_report or not report_ports[pinfo.dst_port] then return 0 end
  return dissect_report(tvb, pinfo, root, tvb:len() > 0 and floor(u8(tvb, 0) / 16) or 2)
end

intreport:register_heuristic("udp", function(tvb, pinfo, root)
  if inside_report or not intreport.prefs.structure then return false end
  local version = looks_like_report(tvb, tvb:len(), declared_length(tvb))
  if not version then return false end
  dissect_report(tvb, pinfo, root, version)
  return true
end)
