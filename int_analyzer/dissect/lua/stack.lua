-- ----------------------------------------------------------------------------------------------------------------- dialects

local function words_per_hop(instructions, time, level2)
  local times = (has(instructions, 0x0800) and 1 or 0) + (has(instructions, 0x0400) and 1 or 0)
  return bits_set(instructions) + times * (time - 1) + (has(instructions, BIT_LEVEL2) and level2 - 1 or 0)
end

-- The dialect whose widths give the words of a hop, words for each reserved bit, and how many readings there are.
local function fitting(layout, version, instructions, hop_words, extra)
  local reserved = both(instructions, RESERVED[layout])
  local found, found_reserved, readings, times, level2 = nil, 1, 0, 0, 0
  for _, dialect in ipairs(DIALECTS) do
    if dialect.layout == layout and dialect.version == version then
      local words = words_per_hop(instructions, dialect.time, dialect.level2) + extra
      local reserved_words = nil
      if words == hop_words then
        reserved_words = 1
      elseif reserved ~= 0 and words - bits_set(reserved) == hop_words then
        reserved_words = 0
      end
      if reserved_words then
        local time_width = both(instructions, 0x0C00) ~= 0 and dialect.time or 0
        local level2_width = has(instructions, BIT_LEVEL2) and dialect.level2 or 0
        if not found then
          found, found_reserved, readings, times, level2 = dialect, reserved_words, 1, time_width, level2_width
        elseif time_width ~= times or level2_width ~= level2 or (reserved ~= 0 and reserved_words ~= found_reserved) then
          readings = readings + 1
        end
      end
    end
  end
  return found, found_reserved, readings
end

local function hop_items(layout, instructions, dialect, reserved_words, domain_words)
  local items, widths = {}, { [""] = 1, time = dialect.time, level2 = dialect.level2 }
  for _, item in ipairs(ITEMS) do
    if has(instructions, item.mask) then items[#items + 1] = item[widths[item.width]] end
  end
  if layout == 2 and has(instructions, BIT_BUFFER) then items[#items + 1] = H.BUFFER end
  for _ = 1, reserved_words * bits_set(both(instructions, RESERVED[layout])) do items[#items + 1] = H.UNKNOWN end
  for _ = 1, domain_words do items[#items + 1] = H.DOMAIN_WORD end
  if has(instructions, BIT_CHECKSUM) then items[#items + 1] = H.CHECKSUM end
  return items
end

-- ---------------------------------------------------------------------------------------------------------------- structure

local HEAD, LENGTHS, RESERVED_ZERO = 0, 1, 2
local TCP, UDP = 6, 17

local function is_version_05(tvb, at, limit, transport)
  local word, instructions = u32(tvb, at + 4), u16(tvb, at + 8)
  local count, most, total = floor(word / 0x10000) % 32, floor(word / 256) % 256, word % 256
  local behind = at + 4 * u8(tvb, at + 2)
  local size = behind - at - 16
  if behind > limit or u8(tvb, at) ~= 1 or size < 0 or count < 1 or total > most then return false end
  return count == bits_set(instructions) and size == 4 * count * total and u8(tvb, behind - 4) == transport
end

-- Whether a shim and a metadata header that explain each other begin here.
local function looks_like_int(tvb, at, limit, declared, asks, transport)
  if limit - at < 12 then return false end
  local first, word, instructions = u8(tvb, at), u32(tvb, at + 4), u16(tvb, at + 8)
  local version, hop_words = floor(word / 2 ^ 28), floor(word / 256) % 32
  local length, size, behind
  if instructions == 0 and (asks == RESERVED_ZERO or hop_words ~= 0) then return false end
  if first == 1 then
    length = u8(tvb, at + 2)
    size, behind = 4 * length - 12, at + 4 * length
    if version > 1 then return false end
    if (asks == RESERVED_ZERO and both(word, 0x007FE000) ~= 0) or not fitting(1, version, instructions, hop_words, 0) then
      return version == 0 and is_version_05(tvb, at, limit, transport)
    end
  else
    if version ~= 2 or both(first, 0x0C) == 0x0C then return false end
    length = u8(tvb, at + 1)
    size, behind = 4 * length - 12, at + 4 + 4 * length
    local kind = floor(first / 16)
    if kind == 3 then
      if both(word, 0x07FFFFFF) ~= 0 or has(instructions, 1) or instructions == 0 then return false end
      return asks == HEAD or (length >= 3 and behind <= declared and limit - at >= 16)
    end
    if kind ~= 1 or (asks == RESERVED_ZERO and both(word, 0x01FFE000) ~= 0) then return false end
    if not fitting(2, 2, instructions, hop_words, 0) then return false end
    if asks ~= HEAD and limit - at < 16 then return false end
  end
  if instructions == 0 and size ~= 0 then return false end
  if asks == HEAD then return true end
  return length >= 3 and behind <= declared and (size == 0 or (hop_words ~= 0 and size % (4 * hop_words) == 0))
end

local function plausible_bth(tvb, at, limit)
  if limit - at < 12 then return false end
  return u8(tvb, at + 4) % 64 == 0 and u8(tvb, at + 8) % 128 == 0 and OPCODES[u8(tvb, at)] == true
end

-- ---------------------------------------------------------------------------------------------------------------------- INT

local function domain_words(tvb, at, layout)
  if layout == 1 or u16(tvb, at + 8) == 0 then return 0, 0 end
  local domain = DOMAINS[u16(tvb, at + 6)]
  if not domain then return 0, 0 end
  return domain.source, domain.hop
end

local function add_hops(tree, tvb, begin, count, whole, hop_bytes, items)
  for number = count - whole, count - 1 do
    -- newest first on the wire, path order here
    local at = begin + (count - 1 - number) * hop_bytes
    local range = tvb(at, hop_bytes)
    local hop = tree:add(F["int.hop"], range)
    hop:add(F["int.hop.number"], range, number):set_generated()
    local values, item_at = {}, at
    if items then
      for _, item in ipairs(items) do
        add_header(hop, item, tvb, item_at, values)
        item_at = item_at + item.bytes
      end
    else
      hop:add(F["int.hop.opaque"], range)
    end
    local node = values["int.hop.node_id"]
    local name = node and NODE_NAMES[node]
    hop:set_text(string.format("Hop %d: %s", number, node and (name or "node " .. string.format("%.0f", node)) or "node not named"))
  end
end

-- Stack behind the metadata header at `at`: status or nil, hops, offset of what is wrong.
local function add_stack(tree, md_item, tvb, at, begin, payload, layout, limit)
  local word, instructions = u32(tvb, at), u16(tvb, at + 4)
  local version, hop_words, size = floor(word / 2 ^ 28), floor(word / 256) % 32, payload - begin
  local source_words, extra = domain_words(tvb, at, layout)
  local source_only, hop_bytes = 4 * source_words, 4 * hop_words
  if size > 0 and instructions == 0 then return "int-bitmap-zero" end
  local rest, count = size, 0
  if hop_bytes == 0 then
    if size ~= 0 and size ~= source_only then return "int-hop-length-zero" end
    rest = 0
  else
    if size >= source_only and (size - source_only) % hop_bytes == 0 then
      rest = size - source_only
    elseif size % hop_bytes ~= 0 then
      return "int-stack-not-whole-hops"
    end
    count = rest / hop_bytes
  end
  count = floor(count)
  local dialect, reserved_words, readings = fitting(layout, version, instructions, hop_words, extra)
  local whole = count
  if begin + rest > limit then whole = math.max(0, floor((limit - begin) / hop_bytes)) end
  local items = dialect and hop_items(layout, instructions, dialect, reserved_words, extra)
  if readings > 1 then md_item:add_proto_expert_info(E["int-dialect-ambiguous"]) end
  if dialect then
    tree:add(F["int.dialect"], tvb(at, 8), dialect.name):set_generated()
    if dialect.name ~= "int-1.0" and dialect.name ~= "int-2.x" then md_item:add_proto_expert_info(E["int-dialect"]) end
  end
  tree:add(F["int.hops"], tvb(at, 4), count):set_generated()
  add_hops(tree, tvb, begin, count, whole, hop_bytes, items)
  add_bytes(tree, "int.source_data", tvb, begin + rest, math.min(payload, limit))
  if not dialect then return "int-hop-length-mismatch", count end
  if whole < count then return "int-stack-truncated", count end
  return nil, count
end

local function summarise(pinfo, text)
  pinfo.cols.protocol:set("INT")
  pinfo.cols.info:prepend(text .. "  ")
end

-- INT from the beginning of a UDP payload, or of `declared_in_tcp` bytes of TCP. located: "port", "dscp" or "structure".
local function dissect_int(tvb, pinfo, root, located, declared_in_tcp)
  local limit, declared, transport = tvb:len(), declared_in_tcp or declared_length(tvb), declared_in_tcp and TCP or UDP
  local tree = root:add(int, tvb(0, limit))
  seen = true
  local text, status, payload, next_port, next_protocol = "INT", nil, nil, nil, nil
  local port = transport == UDP and last(udp_port)
  port = port and port.value or pinfo.dst_port
  local function finish(item, name)
    if name then complain(tree, "int", item, name) end
    if payload and payload < limit and transport == UDP then
      if next_protocol then
        pcall(protocol_table.try, protocol_table, next_protocol, tvb(payload, limit - payload):tvb(), pinfo, root)
      elseif roce_dissectors[next_port] then
        hand_on(roce_dissectors[next_port], tvb, payload, limit, pinfo, root)
      else
        hand_on(data_dissector, tvb, payload, limit, pinfo, root)
      end
    end
    tree:set_len(math.max(math.min(payload or limit, limit), 1))
    summarise(pinfo, name and text .. " [" .. name .. "]" or text)
    return limit
  end
  if limit < 4 then return finish(tree, "int-shim-truncated") end
  local first = u8(tvb, 0)
  local layout, kind, npt, length = 2, floor(first / 16), floor(first / 4) % 4, u8(tvb, 1)
  local stop, begin = 4 + 4 * length, 16
  if first == 1 or first == 2 then
    layout, kind, npt, length = 1, first, 0, u8(tvb, 2)
    stop, begin = 4 * length, 12
  end
  local old = layout == 1 and limit >= 12 and u8(tvb, 4) < 16 and not fitting(1, 0, u16(tvb, 8), u8(tvb, 6) % 32, 0)
  local version_05 = old and is_version_05(tvb, 0, limit, transport)
  local shim = tree:add(tvb(0, 4), "INT shim")
  add_header(shim, version_05 and H.SHIM_05 or (layout == 1 and H.SHIM_1 or H["SHIM_2_" .. npt]), tvb, 0)
  if kind < 1 or kind > 3 then return finish(shim, "int-shim-type") end
  if npt == 3 then return finish(shim, "int-npt-reserved") end
  if length < (kind ~= 2 and 3 or layout == 1 and 1 or 0) then return finish(shim, "int-length-too-small") end
  if stop > declared then return finish(shim, "int-length-beyond-udp") end
  local original = port
  if located == "dscp" then
    if npt ~= 0 then shim:add_proto_expert_info(E["int-npt"]) end
    npt = 0
  elseif npt == 1 then
    original = u16(tvb, 2)
  elseif npt == 0 and located == "port" and layout == 2 then
    shim:add_proto_expert_info(E["int-npt"])
  end
  local function go_on()
    payload, next_port = stop, original
    if npt == 2 then next_protocol = u8(tvb, 3) end
  end
  if kind == 2 then
    add_bytes(tree, "int.data", tvb, 4, math.min(stop, limit))
    go_on()
    return finish(shim, "int-destination")
  end
  if begin > limit then return finish(shim, "int-shim-truncated") end
  local version = floor(u8(tvb, 4) / 16)
  local title, header = "INT-MD header", layout == 1 and H.MD_1 or H.MD_2
  if kind == 3 then title, header = "INT-MX header", H.MX end
  if version_05 then title, header = "INT header v0.5", H.MD_05 end
  local md = tree:add(tvb(4, header.bytes), title)
  if (layout == 2 and version ~= 2) or (layout == 1 and version > 1) then
    go_on()
    if payload >= limit or (roce_dissectors[next_port] and not plausible_bth(tvb, payload, limit)) then payload = nil end
    return finish(md, "int-version-unknown")
  end
  if npt == 1 and original == port then return finish(shim, "int-port-loop") end
  local values = add_header(md, header, tvb, 4)
  if values["int.md.hop_exceeded"] == 1 then md:add_proto_expert_info(E["int-hop-exceeded"]) end
  if values["int.md.mtu_exceeded"] == 1 then md:add_proto_expert_info(E["int-mtu-exceeded"]) end
  if kind == 3 then
    add_bytes(tree, "int.source_data", tvb, 16, math.min(stop, limit))
    go_on()
    text = "INT-MX"
    return finish(md)
  end
  if version_05 then
    local items = hop_items(1, both(values["int.md.instructions"], 0xFF00), { time = 1, level2 = 1 }, 0, 0)
    for position, item in ipairs(items) do
      if item == H.LEVEL2_1 then items[position] = H.CONGESTION end
    end
    local count = values["int.md.total_hops"]
    add_hops(tree, tvb, 12, count, count, 4 * values["int.md.instruction_count"], items)
    local tail = add_header(tree:add(tvb(stop - 4, 4), "INT tail"), H.TAIL_05, tvb, stop - 4)
    payload, next_port = stop, tail["int.tail.original_port"]
    text = string.format("INT v0.5, %d hops", count)
    return finish(md)
  end
  local count
  status, count = add_stack(tree, md, tvb, 4, begin, stop, layout, limit)
  if count then
    text = string.format("INT, %d hops", count)
    go_on()
  else
    add_bytes(tree, "int.data", tvb, begin, math.min(stop, limit))
  end
  return finish(md, status)
end

-- How the payload that is handed to the dissector of int was found, if not by a port of the preferences.
function int.dissector(tvb, pinfo, root)
  local located = found_by
  found_by = nil
  if not located then
    if not int_ports[pinfo.dst_port] then return 0 end
    located = "port"
  end
  return dissect_int(tvb, pinfo, root, located)
end
